"""Other processes on a machine: on recorded ones, and on this one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shootout.runner import interference
from shootout.runner.host import Host
from tests.support.runner.recorded import a_host, by_code


def test_a_quiet_second(tmp_path: Path) -> None:
    before = interference.snapshot(a_host("metal", tmp_path / "before"))
    later = {"proc/stat": "cpu  1010 0 500 8790 100 0 100 300 0 0"}
    after = interference.snapshot(a_host("metal", tmp_path / "after", later))
    found = by_code(interference.assess(before, after, 1.0, set(), 100))
    assert all(each.fit for each in found.values())
    assert found["pressure"].found == "for cpu 0.0%, for memory 0.0%, for io 0.0%"
    assert found["busy-processes"].found == "CPUs idle for 99%"


def test_a_second_with_others(tmp_path: Path) -> None:
    before = interference.snapshot(a_host("metal", tmp_path / "before"))
    later = {
        "proc/stat": "cpu  1100 0 540 8620 100 0 100 340 0 0",
        "proc/pressure/io": "some avg10=9.00 avg60=0.00 avg300=0.00 total=2300000",
        "proc/pressure/cpu": None,
        "proc/17/stat": "17 (kworker/3:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 15 0 0 20 0 1 0 50 0 0",
        "proc/800/stat": "800 (unattended (up) S 1 8 8 0 -1 41 1 0 0 0 100 30 0 0 20 0 1 0 900 0 0",
        "proc/900/stat": "900 (python) S 1 900 900 0 -1 41 1 0 0 0 900 30 0 0 20 0 1 0 1200 0 0",
        "proc/950/stat": "950 (new) S 1 900 900 0 -1 41 1 0 0 0 900 30 0 0 20 0 1 0 9000 0 0",
    }
    after = interference.snapshot(a_host("metal", tmp_path / "after", later))
    found = by_code(interference.assess(before, after, 1.0, {900}, 100))
    assert found["stolen"].found == "5.0%"
    assert found["pressure"].found == "for memory 0.0%, for io 30.0%"
    busy = found["busy-processes"]
    assert busy.found == "CPUs idle for 78%, unattended (up (800) 80%, kworker/3:1 (17) 5%"
    assert busy.mend == "sudo systemctl stop unattended-upgrades.service"
    assert not any(each.fit for each in found.values())


def test_a_process_of_another_birth_is_another(tmp_path: Path) -> None:
    before = interference.snapshot(a_host("metal", tmp_path / "before"))
    later = {"proc/800/stat": "800 (reused) S 1 8 8 0 -1 41 1 0 0 0 5000 30 0 0 20 0 1 0 901 0 0"}
    after = interference.snapshot(a_host("metal", tmp_path / "after", later))
    assert (
        "reused" not in by_code(interference.assess(before, after, 1.0, set(), 100))["busy-processes"].found
    )


def test_a_busy_process_of_this_machine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interference, "SECONDS", 1.0)
    host = Host()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinning:
        try:
            found = by_code(interference.findings(host))["busy-processes"]
            everything = interference.snapshot(host).processes.values()
        finally:
            spinning.kill()
    assert not found.fit
    assert "kill" not in found.mend  # it is somebody's
    assert re.search(r"CPUs idle for \d+%, ", found.found)
    used = next(each for each in everything if each.pid == spinning.pid)
    assert used.name.startswith("python")
    assert used.ticks > 2  # of a hundred, on a machine that may be very busy
