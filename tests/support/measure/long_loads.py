"""Servers and workloads for commands that load servers for long; a pytest plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import MeasureError
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from tests.support.plans import planned
from tests.support.runs import BASE, HEAD


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
    """Make a plan of two servers, the second of which cannot be loaded; loads start nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(ManagedServer, "find", lambda plan, label, *_: Unloadable(label))
    return planned(profile="quick", workloads="oltp_point_select", threads="1", servers=f"{BASE},{HEAD}")


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
