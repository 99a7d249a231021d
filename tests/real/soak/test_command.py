"""`shootout soak` on real servers."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import groupby
from pathlib import Path

import pytest

from shootout.soak import curves
from shootout.soak.documents import SOAKS
from tests.support.runs import BASE, SHOOTOUT, Lab, until

pytest_plugins = ["tests.support.runs"]

LOAD = ("--workloads", "oltp_read_write", "--threads", "2")
STOPPED_S = 3.0


@pytest.mark.parametrize("turn_s", [0.0, 2.0])
def test_a_soak_is_kept_by_the_second_judged_and_published(lab: Lab, tmp_path: Path, turn_s: float) -> None:
    done = lab.run(
        SHOOTOUT, "soak", "--profile", str(lab.profile), *LOAD, "--servers", f"{BASE},{BASE}",
        "--minutes", "0.1", "--turns", str(turn_s), "--json", "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    document = SOAKS.read(Path(printed["document"]))
    base, head = document.header.servers
    assert [each.server.label for each in document.servers] == [base, head]
    turns = [server for server, _ in groupby(each.server for each in document.slices)]
    assert turns == (3 if turn_s else 1) * [base, head]
    for server in document.header.servers:
        slices = [each for each in document.slices if each.server == server]
        assert len(slices) >= 3
        assert sum(each.transactions for each in slices) > 0
        seen = {name for each in slices for name in each.gauges}
        assert seen == {"memory", "disk", "dirty_pages", "checkpoint_age", "history_list", "others"}
        assert [each.begins_s for each in slices] == sorted(each.begins_s for each in slices)
        assert slices[-1].begins_s < 60 * 0.1
    (first, second) = (end.footprint for end in document.ends)
    assert first.keys() == second.keys()
    assert {"memory", "disk", "write_amplification", "fsyncs", "start", "shutdown"} == first.keys()
    assert "180 s" in printed["comparisons"][0]["reason"]
    assert Path(printed["page"]).is_file()
    assert lab.left() == ([], [])


def test_a_soak_needs_no_page(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "site").touch()
    done = lab.run(
        SHOOTOUT, "soak", "--profile", str(lab.profile), *LOAD, "--servers", BASE,
        "--minutes", "0.05", "--json", "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"shootout: left out: {tmp_path}/site: cannot write the site: File exists\n" in done.stderr
    printed = json.loads(done.stdout)
    assert SOAKS.read(Path(printed["document"])).slices
    assert "page" not in printed


def test_a_server_that_stands_still_is_a_stall_and_an_interruption_loses_nothing(
    lab: Lab, tmp_path: Path
) -> None:
    command = (
        SHOOTOUT, "soak", "--profile", str(lab.profile), *LOAD, "--servers", BASE,
        "--minutes", "30", "--out", str(tmp_path),
    )  # fmt: skip

    def lines() -> int:
        return sum(path.read_bytes().count(b"\n") for path in SOAKS.find(tmp_path / "results"))

    with lab.running(*command, folder=tmp_path) as running:
        until(lambda: lines() >= 6 or running.process.poll() is not None)
        (pid,) = lab.servers()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(pid, signal.SIGCONT)
        before = lines()
        until(lambda: lines() >= before + 4 or running.process.poll() is not None)
        running.process.send_signal(signal.SIGINT)
        assert running.ended() == 130, running.err.read_text()
    assert "what was measured is kept" in running.err.read_text()
    (path,) = SOAKS.find(tmp_path / "results")
    document = SOAKS.read(path)
    (curve,) = curves.curves(document.header, document.slices).values()
    assert max(each.lasts_s for each in document.slices) > STOPPED_S - 1
    assert curve.tps.min() < curves.STALL * curve.tps.max()
    assert lab.left() == ([], [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--threads", "1,2"], "expected one workload and one number of threads"),
        (["--servers", "mine=dsn:mysql://root@127.0.0.1:1"], "expected a server that shootout can start"),
        (["--minutes", "-1"], "--minutes"),
        (["--turns", "-1"], "--turns"),
    ],
)
def test_what_a_soak_cannot_do_is_refused(lab: Lab, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = lab.run(SHOOTOUT, "soak", "--profile", str(lab.profile), *LOAD, *arguments, "--out", str(tmp_path))
    assert done.returncode == 2
    assert words in done.stderr
