"""The picture of a workload: a chart that is shown where the site is not."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from playwright.sync_api import Browser

from shootout.model.run import RunDocument
from shootout.report.site.render import renderer
from shootout.report.site.run import Run
from shootout.report.site.workload_svg import FRAME, LABEL_GAP, OWN_ROLES, Picture, palette, spread
from tests import builders

WIDTH = FRAME.left + FRAME.width + FRAME.right
SVG = "{http://www.w3.org/2000/svg}"
MYSQL = ("mysql-5.5.34", "mysql-5.6.24", "mysql-5.7.22", "mysql-8.0.33", "mysql-9.7")
MARIADB = ("mariadb-10.1.23", "mariadb-10.5", "mariadb-10.11", "mariadb-11.8")
NINE = (*MYSQL, *MARIADB)


def nine() -> RunDocument:
    """One workload on nine servers of two families, of which the second dies at 8 threads."""
    header = builders.a_header(NINE, ["oltp_read_write"], [1, 8])
    servers = tuple(builders.a_server(label, family=label.partition("-")[0]) for label in NINE)
    return builders.a_run(replace(header, servers=servers))


def a_picture(document: RunDocument) -> Picture:
    run = Run(*builders.a_result(document))
    return Picture(run=run, set=run.sets[-1])


def text_of(picture: Picture) -> str:
    return renderer()("picture.svg", picture=picture)


def names(picture: ET.Element) -> list[ET.Element]:
    return [each for each in picture.iter(f"{SVG}text") if each.attrib.get("class") == "name"]


def test_each_line_is_named_at_its_end_from_the_fastest_to_the_slowest() -> None:
    picture = a_picture(nine())
    ends = [label.end[1] for label in picture.labels]
    assert ends == sorted(ends)
    rows = [label.y for label in picture.labels]
    assert all(after - before >= LABEL_GAP - 1e-6 for before, after in pairwise(rows))
    assert [each.text for each in names(ET.fromstring(text_of(picture)))] == [
        label.series.label for label in picture.labels
    ]


def test_every_colour_of_a_picture_is_said_for_both_schemes() -> None:
    text = text_of(a_picture(nine()))
    used = set(re.findall(r"var\((--[\w-]+)\)", text))
    light, dark = re.findall(r":root \{ (.*?) \}", text)
    for scheme in (light, dark):
        assert used <= {rule.partition(":")[0] for rule in scheme.split("; ")}
    assert set(OWN_ROLES) <= used
    assert light != dark
    assert {"--mysql-6", "--mariadb-6", "--percona-6", "--series-7"} <= {color.role for color in palette()}


def test_a_picture_says_where_it_was_measured_and_what_failed() -> None:
    said = [each.text or "" for each in ET.fromstring(text_of(a_picture(nine()))).iter(f"{SVG}text")]
    assert "oltp_read_write" in said
    assert any("AMD EPYC 7763 64-Core Processor, 2 CPUs, virtual (kvm)" in text for text in said)
    assert any("4 tables of 25\u202f000 rows" in text and "starts: " in text for text in said)
    assert "Failed: mysql-5.6.24 with 8 threads" in said
    assert any("95\u202f% interval of the change against mysql-5.5.34, dotted" in text for text in said)


def test_bands_are_the_intervals_of_verdicts_around_the_lines() -> None:
    picture = a_picture(nine())
    for drawn, c in zip(picture.set.with_change_intervals, picture.set.cells, strict=True):
        assert drawn.figures
        assert c.figures
        tps = drawn.figures.tps
        assert tps.estimate == c.figures.tps.estimate
        if c.cell == c.base:
            assert tps.low == tps.estimate == tps.high
        elif c.ratio:
            assert (tps.low / tps.estimate, tps.high / tps.estimate) == pytest.approx(
                (c.ratio.low / c.ratio.estimate, c.ratio.high / c.ratio.estimate)
            )


def test_without_a_base_bands_are_the_throughputs_own() -> None:
    picture = a_picture(builders.a_run(builders.a_header([builders.BASE], ["oltp_read_write"], [1, 8])))
    assert picture.set.with_change_intervals == picture.set.cells
    assert "interval of the change" not in text_of(picture)


@given(st.lists(st.floats(-50, 500), max_size=12).map(sorted), st.floats(0, 60))
def test_labels_keep_apart_and_near(wanted: list[float], gap: float) -> None:
    low, high = 0.0, 400.0
    found = spread(wanted, gap, low, high)
    assert len(found) == len(wanted)
    room = min(gap, (high - low) / max(1, len(wanted) - 1))
    assert all(after - before >= room - 1e-6 for before, after in pairwise(found))
    assert all(low - 1e-6 <= place <= high + 1e-6 for place in found)
    inside = all(low <= place <= high for place in wanted)
    if inside and all(after - before >= gap for before, after in pairwise(wanted)):
        assert found == pytest.approx(wanted)


def test_labels_that_meet_part_evenly() -> None:
    assert spread([100, 100, 100], 18, 0, 400) == pytest.approx([82, 100, 118])
    assert spread([395, 399], 18, 0, 400) == pytest.approx([382, 400])
    assert spread([], 18, 0, 400) == []


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(251, 251, 250)"), ("dark", "rgb(18, 21, 25)")])
def test_a_picture_stands_alone(tmp_path: Path, chromium: Browser, scheme: str, paper: str) -> None:
    path = tmp_path / "picture.svg"
    path.write_text(text_of(a_picture(nine())), "utf-8")
    tab = chromium.new_page(color_scheme="dark" if scheme == "dark" else "light")
    tab.goto(path.as_uri())
    assert tab.evaluate("getComputedStyle(document.querySelector('.paper')).fill") == paper
    boxes = tab.evaluate(
        "[...document.querySelectorAll('text')].map(each => each.getBoundingClientRect().toJSON())"
    )
    assert all(box["left"] >= 0 and box["right"] <= WIDTH for box in boxes)
    rows = tab.evaluate(
        "[...document.querySelectorAll('.name')].map(each => each.getBoundingClientRect().toJSON())"
    )
    assert len(rows) == len(NINE)
    assert all(above["bottom"] <= below["top"] + 2 for above, below in pairwise(rows))
    tab.close()
