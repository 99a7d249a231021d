"""Charts drawn as pictures."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.model.plan import Cell
from shootout.model.verdict import CellComparison, ScalingLaw, Verdict
from shootout.report.site import charts
from shootout.report.site.charts import MARKERS, Figure, Series
from shootout.report.site.svg import PAGE, THUMBNAIL, Frame, marker, sketch
from tests import builders

Element = ET.Element


def drawn(figure: Figure, frame: Frame = PAGE) -> Element:
    return ET.fromstring(sketch(figure, frame))


def places(path: Element) -> list[tuple[float, float]]:
    pairs = re.findall(r"([\d.-]+)[ ,]([\d.-]+)", path.attrib["d"])
    return [(float(x), float(y)) for x, y in pairs]


def styled(picture: Element, style: str) -> list[Element]:
    return [each for each in picture.iter("path") if style in each.attrib.get("style", "")]


def a_chart(laws: dict[str, ScalingLaw] | None = None) -> Figure:
    comparison = builders.a_comparison()
    cells = [c for c in comparison.cells if c.cell.workload == "oltp_point_select"]
    series = [Series(builders.BASE, 0), Series(builders.HEAD, 1)]
    return charts.throughput(cells, series, laws or {})


def test_throughput_has_a_line_a_band_and_a_ring_for_each_server() -> None:
    picture = drawn(a_chart())
    lines = styled(picture, "stroke-width:2.25")
    assert [len(places(line)) for line in lines] == [3, 3]
    assert "stroke-dasharray:2 3" in lines[0].attrib["style"]  # the base is dotted
    assert len(styled(picture, "color-mix(in srgb,var(--series-1) 18%,transparent)")) == 1
    rings = styled(picture, "stroke-width:1.5")
    assert len(rings) == 2
    assert "fill:none" in rings[1].attrib["style"]
    peak = min(places(lines[1]), key=lambda at: at[1])
    assert places(rings[1])[0] == pytest.approx(peak, abs=0.1)


def test_axes_have_their_titles_and_the_numbers_of_threads() -> None:
    texts = [text.text for text in drawn(a_chart()).iter("text")]
    assert texts[-2:] == ["threads", "transactions / s"]
    assert {"1", "8", "32", "0", "10\u202fk", "40\u202fk"} <= set(texts)
    assert not list(drawn(a_chart(), THUMBNAIL).iter("text"))


def test_a_law_is_a_thin_line_through_its_throughputs() -> None:
    law = ScalingLaw(
        workload="w", dataset="d", server=builders.HEAD, one=10_000, contention=0.1, coherency=0.001,
        peak_threads=30.0, peak_tps=60_000,
    )  # fmt: skip
    figure = a_chart({builders.HEAD: law})
    (trace,) = (each for each in figure["data"] if each.get("line", {}).get("width") == 1)
    assert (trace["x"][0], trace["y"][0]) == (1, 10_000)
    assert trace["x"][-1] == 32
    thin = [each for each in drawn(figure).iter("path") if each.get("style", "").endswith("stroke-width:1")]
    assert len(thin) == 1


def test_the_line_through_servers_begins_at_the_base() -> None:
    cells = [c for c in builders.a_comparison().cells if c.cell.workload == "oltp_point_select"]
    looks = {1: Series("1 thread", 1), 8: Series("8 threads", 2)}
    figure = charts.through_servers(cells, [builders.BASE, "a < b", builders.HEAD], looks)
    assert [trace["x"] for trace in figure["data"]] == [[0, 2], [0, 2]]
    first, last = figure["data"][0]["y"]
    assert (first, last) == (0, pytest.approx(-24.2, abs=0.1))
    texts = [text.text for text in drawn(figure).iter("text")]
    assert {builders.BASE, builders.HEAD, "−20"} <= set(texts)


def test_what_is_missing_parts_a_line() -> None:
    figure: Figure = {
        "data": [
            {"x": [1, 2, None, 4, 5], "y": [1.0, 2.0, None, 4.0, 5.0], "mode": "lines",
             "line": {"color": "--ink", "width": 1}},
        ],
        "layout": {"xaxis": {}, "yaxis": {}},
    }  # fmt: skip
    (line,) = styled(drawn(figure), "stroke:var(--ink)")
    assert line.attrib["d"].count("M") == 2


def test_a_cells_charts_can_be_drawn() -> None:
    document, comparison = builders.a_result()
    here, there = Series(builders.HEAD, 1), Series(builders.BASE, 0)
    ratios = charts.ratios(comparison.cells[1], comparison.policy, here)
    assert ratios
    picture = drawn(ratios)
    assert len(list(picture.iter("rect"))) == 2  # margin and interval
    samples = [
        (one, [(r.start, s) for r in document.starts if r.block == "oltp_point_select-t1" for s in r.samples
               if s.server == one.label])
        for one in (there, here)
    ]  # fmt: skip
    slices = charts.slices(samples)
    assert slices
    lines = styled(drawn(slices), "stroke-width:1.25")
    assert [line.attrib["d"].count("M") for line in lines] == [builders.STARTS, builders.STARTS]


numbers = st.just(0.0) | st.floats(1e-9, 1e9)


@given(
    st.dictionaries(st.integers(1, 65_535), numbers, min_size=1, max_size=12), st.booleans(), st.booleans()
)
def test_nothing_lies_outside_of_the_picture(values: dict[int, float], small: bool, log: bool) -> None:
    cells = [
        CellComparison(
            cell=cell, base=cell, verdict=Verdict.UNJUDGED, figures=None, ratio=None, p_value=None,
            per_start=(), reason="", warnings=(),
        )
        for threads in values
        for cell in [Cell(workload="w", dataset="d", server="a", threads=threads)]
    ]  # fmt: skip
    shown = {threads: value for threads, value in values.items() if value > 0 or not log}
    figure = charts.over_threads(cells, [Series("a", 1)], lambda c: values[c.cell.threads], log=log)
    assert bool(figure) == bool(shown)
    if not figure:
        return
    frame = THUMBNAIL if small else PAGE
    (line,) = styled(drawn(figure, frame), "stroke-width:2.25")
    found = places(line)
    assert len(found) == len(shown)
    assert all(0 <= x <= frame.width and 0 <= y <= frame.height for x, y in found)
    assert [x for x, _ in found] == sorted(x for x, _ in found)


def test_each_of_many_servers_has_a_look_of_its_own() -> None:
    looks = {(one.color, one.marker) for number in range(64) for one in [Series("a", number)]}
    assert len(looks) == 64


def test_every_symbol_can_be_drawn() -> None:
    found = {marker(symbol, 16, 6, 5) for symbol in MARKERS}
    assert len(found) == len(MARKERS)
    assert all(ET.fromstring(each).attrib["d"].startswith("M16.0 6.0m") for each in found)
