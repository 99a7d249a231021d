"""The site's script, and its pages in Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support import builders
from tests.support.browser import opened, serious
from tests.support.report.site.pages import a_page, a_site


def kinds_of_pages(index: Path) -> dict[Path, int]:
    """One page of each kind, and how many charts it has."""
    return {
        **{index.parent / place: 0 for place in ("how-to-read.html", "runs/index.html")},
        index: 1,
        a_page(index, "cells"): 0,
        a_page(index, "settings"): 0,
        a_page(index, "workload-oltp_read_write"): 8,
        a_page(index, "oltp_read_write-t1-mysql-8"): 3,
        a_page(index, "oltp_read_write-t8-mysql-8"): 2,
    }


Show = Callable[..., Page]


@pytest.fixture
def show(chromium: Browser) -> Iterator[Show]:
    """Open pages; none of them may complain."""
    every: list[tuple[Page, list[str]]] = []

    def show(*args: Any, **more: Any) -> Page:
        every.append(opened(chromium, *args, **more))
        return every[-1][0]

    yield show
    for tab, faults in every:
        assert faults == []
        tab.close()


# Elements that reach beyond the window, outside of boxes that scroll and say so.
OVERFLOWING = """[...document.querySelectorAll("main *")].filter(element =>
    element.getBoundingClientRect().right > document.documentElement.clientWidth + 1
    && !element.closest(".scroll, .flames, svg, .unseen") && getComputedStyle(element).position !== "absolute"
).map(element => element.outerHTML.slice(0, 200))"""
# Names, changes and verdicts that a reader finds only by scrolling sideways.
BESIDE = """[...document.querySelectorAll(
    ".matrix .tile, .heat .names td, .heat td > a, .worst tbody th, .worst .badge, .stack tbody :is(th, td)"
)].filter(element => element.getBoundingClientRect().right > innerWidth).map(element => element.outerHTML)"""


def test_a_phone_shows_name_change_and_verdict_of_every_cell(small: Path, built: Path, show: Show) -> None:
    for page in (small, built, a_page(small, "cells"), a_page(built, "cells")):
        tab = show(page, 390)
        assert tab.evaluate(BESIDE) == [], page


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_pages_are_drawn_whole_and_can_be_used_by_everybody_at_every_width(
    small: Path, show: Show, width: int, scheme: str
) -> None:
    for page, count in kinds_of_pages(small).items():
        tab = show(page, width, scheme)
        assert tab.locator(".chart .plot").count() == count
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page
        assert tab.evaluate(OVERFLOWING) == [], page
        dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(251, 251, 250)"
        assert dark == (scheme == "dark")
        assert serious(tab) == [], page


def test_tables_sort_by_value_both_ways(built: Path, show: Show) -> None:
    tab = show(a_page(built, "cells"))
    worst = tab.locator("table.worst")

    def column(number: int) -> list[str]:
        return worst.locator(f"tbody tr > :nth-child({number})").all_inner_texts()

    header = worst.get_by_role("columnheader", name="threads")
    header.get_by_role("button").click()
    assert column(2) == ["1", "1", "1", "8", "8", "8", "32", "32", "32"]
    assert header.get_attribute("aria-sort") == "ascending"
    header.get_by_role("button").press("Enter")
    assert column(2) == ["32", "32", "32", "8", "8", "8", "1", "1", "1"]
    change = worst.get_by_role("columnheader", name="change").get_by_role("button")
    for _ in range(2):
        change.click()
        assert "failed" in worst.locator("tbody tr").last.inner_text()  # what has no figure stays last


MAKE_LONG = """document.addEventListener("DOMContentLoaded", () => {
    for (const table of document.querySelectorAll("table.worst")) {
        const row = table.tBodies[0].rows[0];
        row.before(...Array.from({ length: 9 }, () => row.cloneNode(true)));
    }
});"""


def test_a_table_is_filtered_by_words(built: Path, show: Show) -> None:
    assert show(a_page(built, "cells")).locator(".filter").count() == 0  # with so few rows
    tab = show(a_page(built, "cells"), before=MAKE_LONG)
    rows = tab.locator("table.worst tbody tr:visible")
    box = tab.get_by_role("searchbox", name="Filter: All cells with a verdict")
    box.fill("READ_WRITE regressed")
    assert rows.count() == 1
    assert tab.locator(".filter output").inner_text() == "1 of 18"
    box.fill("no such cell")
    assert rows.count() == 0
    box.fill("")
    assert rows.count() == 18


def test_servers_are_picked_and_the_address_keeps_the_choice(tmp_path: Path, show: Show) -> None:
    servers = [builders.BASE, "mysql-8.0.12", "a", "b", "c"]
    header = builders.a_header(servers, ["oltp_read_only"], [1, 8])
    index = a_site([builders.a_result(builders.a_run(header, failing=False))], tmp_path)
    tab = show(a_page(index, "workload-oltp_read_only"))
    chart = tab.locator("#chart-throughput")
    names = chart.locator(".names text")
    bands = chart.locator(".band")
    visible = """parts => parts.filter(part => !part.closest(".unpicked")
        && getComputedStyle(part).display !== "none").length"""
    assert (names.evaluate_all(visible), bands.evaluate_all(visible)) == (5, 0)
    picks = tab.locator(".picks").first
    picks.get_by_role("button", name="mysql-8.0.12").click()
    picks.get_by_role("button", name="c", exact=True).click()
    assert tab.url.endswith("#servers=mysql-8.0.12,c")
    tab.mouse.move(0, 0)
    assert (names.evaluate_all(visible), bands.evaluate_all(visible)) == (2, 2)
    tab.reload()
    assert names.evaluate_all(visible) == 2
    picks.get_by_role("button", name="c", exact=True).click()
    picks.get_by_role("button", name="mysql-8.0.12").click()
    assert "#" not in tab.url
    assert names.evaluate_all(visible) == 5


def test_the_picture_is_in_the_first_screen(tmp_path: Path, show: Show) -> None:
    servers = [f"s{number}" for number in range(8)]
    header = builders.a_header(servers, [f"oltp_{number}" for number in range(5)], [1, 8, 32])
    index = a_site([builders.a_result(builders.a_run(header, failing=False))], tmp_path)
    for width, height in ((1440, 900), (390, 844)):
        tab = show(index, width)
        box = tab.locator(".panels").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < height, width


def test_a_chart_says_what_is_pointed_at(built: Path, show: Show) -> None:
    tab = show(a_page(built, "workload-oltp_read_write"))
    chart = tab.locator("#chart-throughput")
    stripes, readout = chart.locator(".readouts rect"), chart.locator(".readout")
    stripes.nth(1).hover()
    assert re.fullmatch(
        r"8 threads\nmysql-5.7.22: [\d\u202f]+\nmysql-8.0.12: [\d\u202f]+", readout.inner_text()
    )
    tab.mouse.move(0, 0)
    assert readout.count() == 0
    stripes.first.focus()
    assert readout.inner_text().startswith("1 thread\n")
    tab.keyboard.press("ArrowRight")
    assert readout.inner_text().startswith("8 threads\n")
    assert [stripe.get_attribute("tabindex") for stripe in stripes.all()] == ["-1", "0", None]
    tab.keyboard.press("Escape")
    assert readout.count() == 0


def test_the_scheme_can_be_switched_and_the_charts_follow(built: Path, show: Show) -> None:
    tab = show(a_page(built, "workload-oltp_read_write"))
    tab.get_by_role("button", name="Switch between light and dark").click()
    stroke = tab.locator(".chart .lines path[style*='stroke:var(--series-1)']").first
    assert stroke.evaluate("line => getComputedStyle(line).stroke") == "rgb(116, 170, 242)"
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 25)"


def test_the_keyboard_reaches_the_content_first_and_sections_have_links(built: Path, show: Show) -> None:
    tab = show(built)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "content"
    tab.get_by_role("link", name="Verdicts").click()
    assert tab.url.endswith("#verdicts")


def test_pages_are_complete_without_scripts(built: Path, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.goto(a_page(built, "cells").as_uri())
    assert tab.locator("table.worst tbody tr").count() == 9
    assert tab.get_by_role("button").count() == 0
    tab.goto(a_page(built, "workload-oltp_read_write").as_uri())
    pictures = tab.locator(".chart .plot")
    assert all(box and box["height"] > 200 for box in (each.bounding_box() for each in pictures.all()))
    context.close()
