"""Charts as values."""

from __future__ import annotations

from shootout.chart import MARKERS, Series
from shootout.report.site import charts
from tests.support import builders

MYSQL = ("mysql-5.5.34", "mysql-5.6.24", "mysql-5.7.22", "mysql-8.0.33", "mysql-9.7")
MARIADB = ("mariadb-10.1.23", "mariadb-10.5", "mariadb-10.11", "mariadb-11.8")
NINE = (*MYSQL, *MARIADB)
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


def test_more_servers_than_colours_look_like_their_families() -> None:
    servers = [builders.a_server(label, family=label.partition("-")[0]) for label in NINE]
    series = charts.series_of(servers)
    shades = {label: one.color for label, one in series.items()}
    assert [shades[label] for label in MYSQL] == [f"--mysql-{number}" for number in (1, 2, 4, 5, 6)]
    assert [shades[label] for label in MARIADB] == [f"--mariadb-{number}" for number in (1, 3, 4, 6)]
    assert len({(one.color, one.dash) for one in series.values()}) == len(NINE)
    assert series[NINE[0]].dash == "dot"
    assert len({(one.color, one.marker) for one in series.values()}) == len(NINE)
    few = charts.series_of(servers[: len(MARKERS)])
    assert [one.color for one in few.values()] == [f"--series-{number}" for number in range(len(MARKERS))]


def test_of_an_unknown_family_the_number_is_shown() -> None:
    servers = [builders.a_server(f"x{number}", family="x") for number in range(9)]
    assert charts.series_of(servers)["x8"].color == "--series-0"


def test_each_of_many_servers_has_a_look_of_its_own() -> None:
    series = {(one.color, one.marker) for number in range(64) for one in [Series("a", number)]}
    assert len(series) == 64
