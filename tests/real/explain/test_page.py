"""The section of a cell's page that explains its change: as text, and in Chromium."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from shootout import cli
from shootout.document import journal
from shootout.explain import flame, judge
from shootout.explain.answer import section
from tests.support import builders
from tests.support.browser import opened, serious
from tests.support.explain.builders import an_explanation, profiled, written
from tests.support.report.site.pages import Document, a_page, check_figures


def a_site(folder: Path, *, damaged: bool = False) -> Path:
    """The cell's page in a site of one run with its explanation."""
    (folder / "results").mkdir()
    (folder / "results" / "run.jsonl").write_bytes(journal.encoded(builders.a_run()))
    file = written(folder / "results", an_explanation())
    if damaged:
        file.write_text("{")
    assert cli.main(["site", "--results", str(folder / "results"), "--out", str(folder / "site")]) == 0
    return a_page(folder / "site" / "index.html", "oltp_read_write-t8-mysql-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_site(tmp_path_factory.mktemp("explained"))


def test_everything_is_there_without_a_script(page: Path) -> None:
    document = Document(page.read_text("utf-8"))
    assert document.open == []
    assert len(set(document.ids)) == len(document.ids)
    for topic in section(judge.evaluate(an_explanation(), profiled()), None).topics:
        assert topic.title in document.text
    assert "-> ALL" in document.text  # a detail
    check_figures(page.read_text("utf-8").partition('id="why"')[2])


def test_frames_lie_inside_their_callers(page: Path) -> None:
    frames = re.findall(
        r'<svg class="[^"]*" x="([\d.]+)%" y="(\d+)" width="([\d.]+)%"', page.read_text("utf-8")
    )
    rows: dict[int, list[tuple[float, float]]] = {}
    for left, top, width in frames:
        rows.setdefault(int(top) // flame.HEIGHT, []).append((float(left), float(left) + float(width)))
    assert rows[0] == [(0.0, 100.0)]
    assert len(rows) == 5
    for depth in range(1, len(rows)):
        for left, right in rows[depth]:
            assert any(low - 0.01 <= left and right <= high + 0.01 for low, high in rows[depth - 1])
        starts = sorted(rows[depth])
        assert all(first[1] <= second[0] + 0.01 for first, second in pairwise(starts))


def test_what_cannot_be_read_is_reported_and_the_site_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = a_site(tmp_path, damaged=True)
    assert "not an explanation" in capfd.readouterr().err
    assert 'id="why"' not in page.read_text("utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (768, "dark"), (390, "light"), (390, "dark")])
def test_everybody_can_use_it(page: Path, chromium: Browser, width: int, scheme: str) -> None:
    tab, faults = opened(chromium, page, width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert serious(tab) == []
    assert faults == []
    tab.close()


def test_frames_are_found_and_zoomed_into(page: Path, chromium: Browser) -> None:
    tab, faults = opened(chromium, page)
    frame = tab.locator(".flame > svg").filter(has_text="row_search_mvcc")
    before = frame.bounding_box()
    search = tab.get_by_label("Find a function in the flame graph")
    search.fill("ROW_search")
    assert tab.locator(".flame .found").count() == 1
    assert re.match(r"1 frame, \d", tab.locator(".filter", has=search).locator("output").inner_text())
    frame.click()
    zoomed = frame.bounding_box()
    whole = tab.locator("svg.flame").bounding_box()
    assert before is not None
    assert zoomed is not None
    assert whole is not None
    assert before["width"] < zoomed["width"] == pytest.approx(whole["width"], abs=3)  # with its frame
    assert not tab.locator(".flame > svg").filter(has_text="tcp_sendmsg").is_visible()
    tab.get_by_text("Whole graph").click()
    again = frame.bounding_box()
    assert again is not None
    assert again["width"] == pytest.approx(before["width"], abs=3)  # with its frame
    assert faults == []
    tab.close()
