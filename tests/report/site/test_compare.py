"""The compare page in Chromium, opened from a file: what its script shows is what Python would say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page

from shootout.analysis import compare
from shootout.model.verdict import Interval
from shootout.report import judgement_cache, site, wording
from shootout.report.judgement_cache import JudgedRun
from shootout.report.site import compare as compare_page
from tests import builders
from tests.analysis.builders import a_document, starts_of
from tests.report.site.pages import opened, serious

SERVERS = (builders.BASE, builders.HEAD, "mariadb-11.8")


def a_run(number: int, level: float) -> JudgedRun:
    """Three servers, all of them compared with each other."""
    header = builders.a_header(
        SERVERS, workloads=("oltp_point_select", "oltp_read_write"), threads=(1, 8), seed=number,
        run=f"2026112{number}T024100Z-7f3a", started=f"2026-11-2{number}T02:41:00+00:00",
    )  # fmt: skip
    document = builders.a_run(header, failing=number == 2)
    comparison = compare.compare(document)
    cells = tuple(
        replace(
            cell,
            ratio=Interval(
                estimate=cell.ratio.estimate * level, low=cell.ratio.low * level, high=cell.ratio.high * level
            ),
        )
        if cell.ratio
        else cell
        for cell in comparison.cells
    )
    others = tuple(compare.between_heads(document, comparison, ()))
    return judgement_cache.in_memory(document, replace(comparison, cells=cells), others)


@pytest.fixture(scope="module")
def runs() -> list[JudgedRun]:
    return [a_run(1, 1.0), a_run(2, 1.03), a_run(3, 0.9)]


@pytest.fixture(scope="module")
def page(runs: list[JudgedRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.build(runs, tmp_path_factory.mktemp("compare")).parent / "compare.html"


@pytest.fixture
def tab(page: Path, chromium: Browser) -> Iterator[Page]:
    tab, faults = opened(chromium, page)
    tab.wait_for_function("document.querySelectorAll('.choose')[0].querySelectorAll('option').length > 3")
    yield tab
    assert faults == []
    tab.close()


def table(tab: Page, name: str) -> list[list[str]]:
    rows = tab.locator(f"#of-{name} tbody tr").all()
    return [[text.strip() for text in row.locator("th, td").all_inner_texts()] for row in rows]


def choose(tab: Page, group: str, **values: str) -> None:
    for label, value in values.items():
        box = tab.locator(f"[data-choose={group}]").get_by_label(label.capitalize())
        box.select_option(value)
        tab.wait_for_timeout(150)


def test_pairs_of_heads_get_the_verdicts_of_another_base() -> None:
    read = a_document(starts_of(-10, (-0.1, 0.1)))
    assert tuple(compare.between_heads(read, compare.compare(read), ())) == ()
    document = builders.a_run(builders.a_header(SERVERS, workloads=("oltp_read_only",)), failing=False)
    found = tuple(compare.between_heads(document, compare.compare(document), ()))
    again = compare.compare(document, base=builders.HEAD)
    assert [(each.cell, each.base) for each in found] == [
        (block.cell("mariadb-11.8"), block.cell(builders.HEAD)) for block in document.header.blocks
    ]
    by_cell = {cell.cell: cell for cell in again.cells}
    rests_on = {
        "figures": None, "per_start": (), "warnings": (), "judged": (), "metrics": (), "statements": (),
        "causes": (),
    }  # fmt: skip
    assert found == tuple(replace(by_cell[each.cell], **rests_on) for each in found)


def test_the_first_choice_is_complete_without_scripts(page: Path, runs: list[JudgedRun]) -> None:
    text = page.read_text("utf-8")
    shown = compare_page.ComparePage(runs=tuple(runs[::-1]), detailed=frozenset(), others=())
    assert len(shown.pairs) == 4
    assert len(shown.steps) == 7  # one cell of the earlier run has failed
    for pair in shown.pairs:
        assert pair.ratio is not None
        assert wording.change_range(pair.ratio) in text
    for step in shown.steps:
        assert wording.change_range(step.change) in text


@pytest.mark.browser
def test_the_script_says_what_the_page_says(tab: Page) -> None:
    servers, steps = table(tab, "servers"), table(tab, "runs")
    assert len(servers) == 4
    assert len(steps) == 7
    choose(tab, "servers", second="mariadb-11.8")
    choose(tab, "servers", second=builders.HEAD)
    assert table(tab, "servers") == servers
    choose(tab, "runs", first="20261121T024100Z-7f3a")
    choose(tab, "runs", first="20261122T024100Z-7f3a")
    assert table(tab, "runs") == steps


@pytest.mark.browser
def test_any_two_servers_of_any_run(tab: Page, runs: list[JudgedRun]) -> None:
    choose(tab, "servers", run=runs[0].id, first="mariadb-11.8", second=builders.HEAD)
    rows = table(tab, "servers")
    whole = runs[0].whole()
    expected = [compare_page.mirrored(each) for each in whole.others]
    assert len(rows) == len(expected) == 4
    for row, (ratio, verdict) in zip(rows, expected, strict=True):
        assert ratio is not None
        assert row[4:6] == [wording.change(ratio), wording.change_range(ratio)]
        assert row[6].endswith(verdict)


@pytest.mark.browser
def test_a_choice_is_an_address(page: Path, tab: Page, chromium: Browser) -> None:
    choose(tab, "runs", first="20261121T024100Z-7f3a", second="20261122T024100Z-7f3a")
    rows, address = table(tab, "runs"), tab.url
    assert "now=20261122T024100Z-7f3a" in address
    other = chromium.new_page()
    other.goto(address)
    other.wait_for_function("document.querySelector('#of-runs caption').textContent.includes('22 November')")
    assert table(other, "runs") == rows
    other.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 390])
def test_pages_of_many_runs_fit_and_can_be_used_by_all(
    page: Path,
    chromium: Browser,
    width: int,
) -> None:
    out = page.parent
    pages = [page, out / "history.html", out / "runner-5e7c0f2a91d4.html", next(out.glob("history/*.html"))]
    for each in pages:
        for scheme in ("light", "dark"):
            tab, faults = opened(chromium, each, width, scheme)
            assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, each
            assert faults == []
            assert serious(tab) == []
            tab.close()
