"""Charts as SVG."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shootout.chart import Axis, Chart, Line, Series
from shootout.model.verdict import CellComparison
from shootout.report.site import charts, svg
from shootout.report.site.svg import UNIT, Drawing
from tests.support import builders

Element = ET.Element


def a_chart() -> Chart:
    """Throughput of a base and a head at 1, 8 and 32 threads."""
    cells = [c for c in builders.a_comparison().cells if c.cell.workload == "oltp_point_select"]
    chart = charts.throughput(cells, (Series(builders.BASE, 0), Series(builders.HEAD, 1)))
    assert chart
    return chart


def drawn(chart: Chart) -> Element:
    return ET.fromstring(svg.chart(chart))


def places(path: Element) -> list[tuple[float, float]]:
    pairs = re.findall(r"([\d.-]+)[ ,]([\d.-]+)", path.attrib["d"])
    return [(float(x), float(y)) for x, y in pairs]


def styled(picture: Element, style: str) -> list[Element]:
    return [each for each in picture.iter("path") if style in each.attrib.get("style", "")]


def per_cent(text: str) -> float:
    return float(text.removesuffix("%"))


def test_a_line_has_its_pattern_its_symbols_and_a_band() -> None:
    picture = drawn(a_chart())
    lines = styled(picture, "stroke-width:2.25")
    assert [len(places(line)) for line in lines] == [3, 3]
    assert "stroke-dasharray:2 3" in lines[0].attrib["style"]  # the base is dotted
    assert len(styled(picture, "color-mix(in srgb,var(--series-1) 18%,transparent)")) == 1
    assert [each.attrib["href"] for each in picture.iter("use")] == ["#mark-circle"] * 3 + [
        "#mark-diamond"
    ] * 3


def test_labels_that_would_meet_are_left_out() -> None:
    ticks = tuple((float(at), f"mysql-8.0.{at}") for at in range(12))
    points = tuple((float(at), 1.0) for at in range(12))
    texts = list(drawn(Chart(Axis(ticks=ticks), Axis(), (Line(Series("a", 1), points),))).iter("text"))
    assert 1 < sum((text.text or "").startswith("mysql") for text in texts) < len(ticks)


def test_names_stand_at_the_ends_of_lines_and_apart() -> None:
    ends = {"a": 0.0, "b": 0.1, "c": 0.2, "d": 5.0, "e": 10.0}
    lines = tuple(
        Line(Series(name, number), ((0, 5.0), (1, y))) for number, (name, y) in enumerate(ends.items())
    )
    chart = Chart(Axis(), Axis(), lines)
    assert svg.has_names(chart)
    (group,) = (
        each for each in ET.fromstring(svg.chart(chart, named=True)) if each.attrib.get("class") == "names"
    )
    at = {str(text.text): per_cent(text.attrib["y"]) for text in group.iter("text")}
    assert [*at] == ["e", "d", "c", "b", "a"]
    assert all(low - high >= 100 * svg.NAME_HEIGHT - 0.02 for high, low in pairwise(at.values()))
    assert at["e"] >= 0
    assert at["a"] <= 100
    assert at["d"] == pytest.approx(100 * (1 - Drawing(chart).y(5.0)), abs=0.01)  # far from the others
    leads = [(per_cent(line.attrib["y1"]), per_cent(line.attrib["y2"])) for line in group.iter("line")]
    assert leads[-1][0] == pytest.approx(100 * (1 - Drawing(chart).y(0.0)), abs=0.01)
    assert [end for _, end in leads] == [*at.values()]
    assert "names" not in svg.chart(chart)


def test_names_that_do_not_fit_stay_in_the_legend() -> None:
    def fits(*names: str) -> bool:
        lines = tuple(Line(Series(name, number), ((0, 1.0),)) for number, name in enumerate(names))
        return svg.has_names(Chart(Axis(), Axis(), lines))

    assert fits("a", "b")
    assert not any(
        (fits("a"), fits(*"abcdefghijklm"), fits("a", "b" * 23), fits("a", ""), svg.has_names(None))
    )


def test_every_place_can_be_pointed_at_and_the_first_focused() -> None:
    chart = a_chart()
    stripes = [each for each in drawn(chart).iter("rect") if each.find("title") is not None]
    assert [each.findtext("title") for each in stripes] == [text for _, text in chart.readouts]
    assert sum(per_cent(each.attrib["width"]) for each in stripes) == pytest.approx(100, abs=0.1)
    assert [each.attrib.get("tabindex") for each in stripes] == ["0", None, None]


def test_what_is_missing_interrupts_a_line() -> None:
    points = ((1, 1.0), (2, 2.0), (3, None), (4, 4.0), (5, 5.0))
    chart = Chart(Axis(), Axis(), (Line(Series("a", 1, "--ink"), points, marked=False),))
    (line,) = styled(drawn(chart), "stroke:var(--ink)")
    assert line.attrib["d"].count("M") == 2


@cache
def a_cell() -> CellComparison:
    return builders.a_comparison().cells[0]


numbers = st.just(0.0) | st.floats(1e-9, 1e9)


@given(st.dictionaries(st.integers(1, 65_535), numbers, min_size=1, max_size=12), st.booleans())
def test_nothing_lies_outside_of_the_picture(values: dict[int, float], log: bool) -> None:
    cells = [
        replace(c, cell=replace(c.cell, threads=threads), figures=replace(c.figures, client_cpu_s=value))
        for threads, value in values.items()
        for c in [a_cell()]
        if c.figures
    ]
    shown = {threads: value for threads, value in values.items() if value > 0 or not log}
    chart = charts.over_threads(cells, [Series(builders.BASE, 1)], lambda f: f.client_cpu_s, log=log)
    assert bool(chart) == bool(shown)
    if not chart:
        return
    (line,) = styled(ET.fromstring(f"<svg>{Drawing(chart).plot}</svg>"), "stroke-width:2.25")
    drawn_at = places(line)
    assert len(drawn_at) == len(shown)
    assert all(0 <= x <= UNIT and 0 <= y <= UNIT for x, y in drawn_at)
    assert drawn_at == sorted(drawn_at, key=lambda at: at[0])
