"""InnoDB's status as a soak reads it, which versions word in their own ways, and the load of a soak."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path
from typing import cast

import pytest

from shootout.errors import MeasureError
from shootout.measure.plan import Plan
from shootout.servers.processes.instances import Instance
from shootout.soak import gauges, measure
from shootout.soak.documents import SOAKS
from shootout.soak.gauges import Gauges, innodb_gauges
from shootout.soak.values import SoakFailure
from tests.support.runs import BASE, HEAD, until

pytest_plugins = ["tests.support.runs", "tests.support.measure.long_loads"]
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
    monkeypatch.setattr(gauges, "GAUGES_S", 0.0)
    read = Gauges(cast(Instance, None))
    read.begin()
    try:
        until(read.taken, 10.0)
    finally:
        read.end()


def test_a_server_that_cannot_be_loaded_fails_alone(
    unloadable: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[str] = []
    for step in ("start", "end"):
        monkeypatch.setattr(measure._Loaded, step, lambda server, **_: None)
    monkeypatch.setattr(measure._Loaded, "turn", lambda server, **_: turns.append(server.server.label))
    document = SOAKS.read(measure.measure(unloadable, tmp_path, 1.0, 0.5, lambda progress: None))
    assert turns == [BASE]
    assert document.failures == (SoakFailure(server=HEAD, reason="disk full"),)
