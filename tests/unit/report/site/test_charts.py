"""Charts as values."""

from __future__ import annotations

from shootout.chart import Series
from shootout.report.site import charts
from tests.support import builders

SERIES = (Series(builders.BASE, 0), Series(builders.HEAD, 1))


def test_starts_lie_between_margin_and_interval() -> None:
    _, comparison = builders.a_result()
    chart = charts.per_start(comparison.cells[1], (1, 2, 4, 5, 7), comparison.policy, SERIES[1])
    assert chart
    assert len(chart.bands) == 2  # margin and interval
    assert [label for _, label in chart.x.ticks] == ["1", "2", "4", "5", "7"]
    assert len(chart.readouts) == builders.STARTS


def test_slices_are_interrupted_between_starts() -> None:
    document, _ = builders.a_result()
    samples = [
        (one, [(r.start, s) for r in document.starts if r.block == "oltp_point_select-t1" for s in r.samples
               if s.server == one.label])
        for one in SERIES
    ]  # fmt: skip
    chart = charts.slices(samples)
    assert chart
    assert [sum(y is None for _, y in line.points) for line in chart.lines] == [builders.STARTS] * 2
    assert chart.readouts[0][1].startswith("start 1, round 1\n")


def test_a_server_looks_the_same_in_all_runs_and_the_others_of_its_run_differ() -> None:
    """Two servers, then eight with these, then one of them and a stranger."""
    labels = [*(f"mysql-{number}.0" for number in (10, 9, 8, 5, 6)), *(f"mariadb-{n}" for n in (10, 11, 12))]
    servers = [builders.a_server(label, family=label.partition("-")[0]) for label in labels]
    runs = [servers[:2], servers, [servers[4], builders.a_server("trunk")]]
    every = charts.looks(runs)
    series = [Series(label, every[label]) for label in every]
    assert len({(one.color, one.dash) for one in series}) == len(series) == 9
    assert len({Series(label, every[label]).color for label in labels}) == len(labels)
    assert charts.looks(runs[:2]).items() <= every.items()


def test_40_servers_have_looks_of_their_own() -> None:
    every = [Series("a", number) for number in range(40)]
    assert (
        len({(one.color, one.dash) for one in every}) == len({(one.color, one.marker) for one in every}) == 40
    )
