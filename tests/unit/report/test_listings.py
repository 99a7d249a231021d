"""Listings of commands without verdicts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import pytest
from msgspec import structs

from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries
from shootout.report import listings
from shootout.servers.sources.cache import Contents, Entry
from tests.support.builders import BASE, HEAD
from tests.support.screen import answered, row


def test_a_series_has_a_row_and_each_further_change_a_line() -> None:
    points = [
        HistoryPoint(run=f"r{ratio}", started="", ratio=ratio, low=ratio, high=ratio, tps=900.0)
        for ratio in (1.0, 0.9, 0.95)
    ]
    slower = ChangePoint(
        last_good="r1.0", first_bad="r0.9", before=1.0, after=0.9, confirmed=True,
        good_commit="a" * 40, bad_commit="b" * 40,
    )  # fmt: skip
    faster = ChangePoint(last_good="r0.9", first_bad="r0.95", before=0.9, after=0.99, confirmed=False)
    series = HistorySeries(
        workload="oltp_read_only", dataset="d", settings="in-memory", threads=8, server=HEAD, anchor=BASE,
        runner="f", points=tuple(points), changes=(slower, faster),
    )  # fmt: skip
    both = listings.history([series, structs.replace(series, changes=())])
    titles, first, second, unchanged = answered(both).splitlines()
    assert dict(zip(row(titles), row(first), strict=True)) == {
        "workload": "oltp_read_only", "settings": "in-memory", "threads": "8", "server": HEAD, "anchor": BASE,
        "runs": "3", "first": "0 %", "newest": "−5.0 %",
        "change": f"▼ −10.0 %, confirmed: last good r1.0, first bad r0.9; commits {'a' * 12}..{'b' * 12}",
    }  # fmt: skip
    assert second.strip() == "▲ +10.0 %, suspected: last good r0.9, first better r0.95"
    assert second.index("▲") == first.index("▼")
    assert row(unchanged)[-1] == "none"


@pytest.mark.parametrize("state", ["ready", "broken"])
def test_a_broken_entry_of_the_cache_is_explained(state: Literal["ready", "broken"]) -> None:
    entry = Entry(
        kind="server",
        name="s",
        server="",
        datasets=(),
        size_bytes=1,
        used=datetime(2026, 1, 1, tzinfo=UTC),
        state=state,
    )
    contents = Contents(entries=(entry,), total_bytes=1, limit_bytes=2)
    lines = answered(listings.cache(contents)).splitlines()
    assert any(line.startswith("broken: incomplete or changed") for line in lines) == (state == "broken")
