"""`shootout crash` on real servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shootout.crash.documents import CRASHES
from tests.runs import BASE, SHOOTOUT, Lab

pytest_plugins = ["tests.runs", "tests.measure.long_loads"]
pytestmark = pytest.mark.real

LOAD = ("--workloads", "oltp_read_write", "--threads", "2")


def test_durable_commits_survive_a_crash_and_others_do_not(lab: Lab, tmp_path: Path) -> None:
    """The second server is the check's own check: it writes its log once a second."""
    done = lab.run(
        SHOOTOUT, "crash", "--profile", str(lab.profile), *LOAD, "--times", "1", "--json",
        "--servers", f"durable={BASE}@production,other={BASE}", "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    printed = json.loads(done.stdout)
    document = CRASHES.read(Path(printed["document"]))
    durable, other = document.crashes
    assert durable.acknowledged > 50
    assert durable.lost == durable.unexpected == 0
    assert durable.in_flight <= document.threads
    assert durable.syncs["InnoDB's log"] >= 1
    assert durable.recovery_s > 0
    assert durable.transactions > 0
    assert other.lost > 0
    assert lab.left() == ([], [])


def test_a_learned_workload_is_there_before_each_crash(lab: Lab, learned: tuple[str, ...]) -> None:
    """Twice: new numbers go on after those that the first crash left."""
    command = (SHOOTOUT, "crash", "--profile", str(lab.profile), "--servers", f"{BASE}@production")
    done = lab.run(*command, "--times", "2", "--json", *learned)
    assert done.returncode == 0, done.stderr
    document = CRASHES.read(Path(json.loads(done.stdout)["document"]))
    assert [each.transactions > 0 for each in document.crashes] == [True, True]
