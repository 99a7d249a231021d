"""What a soak reads of InnoDB's status, which versions word in their own ways, and what it loads."""

from __future__ import annotations

import json
from itertools import chain, repeat
from pathlib import Path
from typing import cast

import pytest

from shootout.crash import documents as crashes
from shootout.crash import measure as crash
from shootout.crash.values import CrashDocument, CrashFailure
from shootout.errors import MeasureError
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.model.value import decoded
from shootout.servers.instances import Instance
from shootout.soak import documents as soaks
from shootout.soak import measure as soak
from shootout.soak.measure import Gauges, innodb_gauges
from shootout.soak.values import SoakFailure
from tests.plans import planned
from tests.runs import BASE, HEAD, SHOOTOUT, Lab, until

pytest_plugins = ["tests.runs"]

OF_5_0 = """
Log sequence number 1 84000620
Log flushed up to   1 84000611
Last checkpoint at  0 4294967000
Modified db pages  17
History list length 15
"""
OF_8_0 = """
Log sequence number          84000620
Log buffer assigned up to    84000620
Last checkpoint at           84000120
Modified db pages  17
History list length 0
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (OF_5_0, {"checkpoint_age": 84_000_620.0 + 296.0, "dirty_pages": 17.0, "history_list": 15.0}),
        (OF_8_0, {"checkpoint_age": 500.0, "dirty_pages": 17.0, "history_list": 0.0}),
        (OF_8_0.replace("Last checkpoint at", "Checkpoint"), {"dirty_pages": 17.0, "history_list": 0.0}),
        ("", {}),
    ],
)
def test_gauges_of_each_versions_status(text: str, found: dict[str, float]) -> None:
    assert innodb_gauges(text) == found


def test_after_a_reading_that_fails_gauges_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = chain([MeasureError("timed out")], repeat({"disk": 1.0}))

    def now(_: Gauges) -> object:
        if isinstance(found := next(readings), MeasureError):
            raise found
        return found

    monkeypatch.setattr(Gauges, "now", now)
    monkeypatch.setattr(soak, "GAUGES_S", 0.0)
    gauges = Gauges(cast(Instance, None))
    with gauges.read():
        until(gauges.taken, 10.0)


class Unloadable:
    """A server whose data cannot be loaded if it has that label."""

    def __init__(self, label: str) -> None:
        self.label = label

    def load(self, held: object) -> str:
        if self.label == HEAD:
            raise MeasureError("disk full")
        return "loaded"


@pytest.fixture
def unloadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan of two servers, the second of which cannot be loaded; loads start nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(ManagedServer, "find", lambda plan, label, *_: Unloadable(label))
    return planned(profile="soak", servers=f"{BASE},{HEAD}")


def test_a_server_that_cannot_be_loaded_fails_alone(
    unloadable: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[str] = []
    monkeypatch.setattr(soak._Turn, "run", lambda turn: turns.append(turn.server.label))
    document = soaks.read(soak.measure(unloadable, tmp_path, 1.0, lambda progress: None))
    assert turns == [BASE]
    assert document.failures == (SoakFailure(server=HEAD, reason="disk full"),)


def test_a_server_that_cannot_be_loaded_is_not_crashed(
    unloadable: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = crash.measure(unloadable, tmp_path, 0, lambda progress: None)
    assert document.failures == (CrashFailure(server=HEAD, reason="disk full"),)
    assert crashes.path_of(tmp_path, document).is_file()


LEARNED = """
title = "Learned"
description = "Values of a column, and new ones."
[dataset]
dump = "t.sql"
[parameters]
known = { type = "learned", column = "t.id" }
new = { type = "learned", column = "t.id", absent = 1.0, fresh = true }
[[transactions]]
[[transactions.steps]]
statements = [
    { name = "read", sql = "SELECT id FROM t WHERE id = {known}" },
    { name = "written", sql = "INSERT INTO t VALUES ({new})" },
]
"""


@pytest.fixture
def learned(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "t.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (5);\n")
    (tmp_path / "learned.toml").write_text(LEARNED)
    return "--workloads", str(tmp_path / "learned.toml"), "--threads", "2", "--out", str(tmp_path)


@pytest.mark.real
def test_a_learned_workload_is_soaked(lab: Lab, learned: tuple[str, ...]) -> None:
    command = (SHOOTOUT, "soak", "--profile", str(lab.profile), "--servers", BASE, "--minutes", "0.03")
    done = lab.run(*command, "--json", *learned)
    assert done.returncode == 0, done.stderr
    document = soaks.read(Path(json.loads(done.stdout)["document"]))
    assert sum(each.completed for each in document.slices) > 0


@pytest.mark.real
def test_a_learned_workload_is_there_before_each_crash(lab: Lab, learned: tuple[str, ...]) -> None:
    """Twice: new numbers go on after those that the first crash left."""
    command = (SHOOTOUT, "crash", "--profile", str(lab.profile), "--servers", f"{BASE}@production")
    done = lab.run(*command, "--times", "2", "--json", *learned)
    assert done.returncode == 0, done.stderr
    document = decoded(Path(json.loads(done.stdout)["file"]).read_bytes(), CrashDocument)
    assert [each.transactions > 0 for each in document.crashes] == [True, True]
