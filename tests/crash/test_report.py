from __future__ import annotations

from pathlib import Path

from msgspec import structs

from shootout.crash import report
from shootout.crash.values import Crash, CrashDocument, CrashFailure
from shootout.model.plan import Dataset
from tests import builders
from tests.screen import lines_judged, row


def test_the_crashes_of_a_server_have_one_row() -> None:
    crash = Crash(
        server="a", number=1, load_s=2.0, acknowledged=1000, lost=3, in_flight=5, unexpected=0,
        recovery_s=1.5, transactions=90, syncs={"redo log": 1.0},
    )  # fmt: skip
    more = structs.replace(
        crash, number=2, acknowledged=500, unexpected=7, recovery_s=2.5, syncs={"redo log": 0.5}
    )
    document = CrashDocument(
        format=1, crash="20261125T100000Z-000001", started="2026-11-25T10:00:00+00:00", shootout="0", seed=1,
        given={}, settings="production", workload=builders.a_record("oltp_read_write"), dataset=Dataset(),
        threads=8, runner=builders.a_runner(), servers=tuple(map(builders.a_server, "ab")),
        crashes=(crash, more), failures=(CrashFailure(server="b", reason="it did not start again"),),
    )  # fmt: skip
    path = Path("crash.json")
    _, headline, _, titles, of_a, failure, _, last = lines_judged(report.judged(document).at(path))
    assert headline == "6 of 1 500 confirmed commits were lost in 2 crashes."
    assert dict(zip(row(titles), row(of_a), strict=True)) == {
        "server": "a", "crashes": "2", "confirmed": "1 500", "lost": "6", "in flight": "10",
        "unexpected": "7", "recovery": "1.5 to 2.5 s", "syncs": "redo log 0.75",
    }  # fmt: skip
    assert failure == "b: it did not start again"
    assert last == f"document      {path}"
