"""The pages of soaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from shootout.report import judged_runs, site
from shootout.report.site.page import Listing
from shootout.soak import judge, report
from shootout.soak.page import POINTS_MAX, SoakPage, listing
from shootout.soak.values import Gauge, SoakDocument, SoakFailure, SoakResult
from tests.support import builders
from tests.support.browser import opened, serious
from tests.support.report.site.pages import Document, check_links, row_values, rows_in, tables
from tests.support.screen import lines_judged
from tests.support.soak.builders import SOAK, document, slices

SHORT = "20261124T100000Z-000002"


def listed(soaks: Sequence[SoakResult]) -> list[Listing]:
    listed = listing(soaks)
    return [] if listed is None else [listed]


def long(seconds: int = 900) -> SoakDocument:
    """A base as it should be, and a head that stalls, leaks and becomes slower."""
    generator = np.random.default_rng(1)
    noise = [1000 + 30 * generator.standard_normal(seconds) for _ in range(2)]
    second = np.arange(seconds)
    stalled = np.where(second % 60 < 2, 1.0, noise[1]) * (1 - 0.2 * second / seconds)

    def gauges(grown: float) -> list[dict[Gauge, float]]:
        return [{"memory": 5e8 + grown * each, "checkpoint_age": 1e8 + 1e5 * (each % 60)} for each in second]

    return document(
        ["a", "b"],
        [*slices("a", noise[0], gauges=gauges(0)), *slices("b", stalled, gauges=gauges(1e6))],
        ends={
            "a": {"memory": 5e8, "disk": 2e9, "start": 1.0},
            "b": {"memory": 1.4e9, "disk": 2e9, "start": 1.1},
        },
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of these pages in a site."""
    short = document(["a"], slices("a", [9.0] * 5), [SoakFailure(server="a", reason="<crashed>")], soak=SHORT)
    runs = [judged_runs.in_memory(*builders.a_result())]
    soaks = [judge.judge(long()), judge.judge(short)]
    return site.build(runs, tmp_path_factory.mktemp("site"), listings=listed(soaks)).parent / "soaks"


def test_a_page_has_the_findings_and_the_curves(folder: Path) -> None:
    text = (folder / f"{SOAK}.html").read_text("utf-8")
    page = Document(text)
    assert "b beside a: worse in level, slope, stalls, dips, memory." in page.text
    assert text.count('class="chart"') == 4  # throughput, latency, and the two gauges
    assert "every 60 s" in page.text
    assert "memory after the load" in page.text
    assert "Within the margins: data on disk after the load, start." in page.text
    assert "../index.html" in page.links
    ended_early = (folder / f"{SHORT}.html").read_text("utf-8")
    assert "Ended early" in ended_early
    assert "a: &lt;crashed&gt;" in ended_early


def test_a_soak_of_one_server_has_one_column_of_values(tmp_path: Path) -> None:
    taken = slices("a", [1000.0 + second % 7 for second in range(600)])
    result = judge.judge(document(["a"], taken))
    (titles,) = (line for line in lines_judged(report.judged(result)) if line.startswith("finding "))
    assert titles.split() == ["finding", "a", "verdict"]
    site.build([], tmp_path, listings=listed([result]))
    (table,) = tables(tmp_path / "soaks" / f"{SOAK}.html").values()
    assert re.findall(r'<th scope="col"[^>]*>([^<]*)<', table) == ["finding", "a", "verdict"]
    assert {len(row) for row in rows_in(table)} == {3}


def test_the_list_and_the_navigation_lead_to_every_page(folder: Path) -> None:
    page = Document((folder / "index.html").read_text("utf-8"))
    assert row_values(page) == ["2", "1"]
    links = page.links
    assert {f"../soaks/{SOAK}.html", f"../soaks/{SHORT}.html"} <= set(links)
    assert "soaks/index.html" in Document((folder.parent / "index.html").read_text("utf-8")).links


def test_a_site_of_soaks_alone_begins_with_their_list(tmp_path: Path) -> None:
    index = site.build([], tmp_path, listings=listed([judge.judge(long(200))]))
    page = Document(index.read_text("utf-8"))
    check_links(tmp_path)
    assert f"soaks/{SOAK}.html" in page.links
    assert "history.html" not in page.links


def test_a_site_without_soaks_does_not_name_them(tmp_path: Path) -> None:
    index = site.build([judged_runs.in_memory(*builders.a_result())], tmp_path)
    assert "soaks/" not in index.read_text("utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everyone_can_read_them(folder: Path, chromium: Browser, scheme: str, width: int) -> None:
    for name in (f"{SOAK}.html", f"{SHORT}.html", "index.html"):
        tab, faults = opened(chromium, folder / name, width, scheme)
        assert faults == []
        assert serious(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        tab.close()


def test_no_curve_is_heavier_than_a_page_can_be() -> None:
    result = judge.judge(long(7200))
    built = sum(len(chart.lines[0].points) for _, _, chart in SoakPage(result).charts)
    assert built <= 4 * POINTS_MAX


def test_servers_whose_gauges_were_read_at_other_times_have_readouts_in_common() -> None:
    def gauges(first: int) -> list[dict[Gauge, float]]:
        return [{"memory": 5e8} if second % 10 == first else {} for second in range(600)]

    taken = [slices(name, [1000.0] * 600, gauges=gauges(first)) for name, first in (("a", 2), ("b", 7))]
    page = SoakPage(judge.judge(document(["a", "b"], [*taken[0], *taken[1]])))
    (chart,) = (chart for name, _, chart in page.charts if name == "memory")
    first, second = ([x for x, _ in line.points] for line in chart.lines)
    assert first == second
    assert len(first) == 60
    assert all("a: " in text and "b: " in text for _, text in chart.readouts)


def test_values_have_their_units() -> None:
    (only,) = judge.judge(long()).comparisons
    texts = {each.kind: report.value(each.kind, each.head) for each in only.findings}
    assert texts["stalls"].startswith(("0.97 (", "1.03 ("))
    assert texts["memory"].startswith("60.00 (")
    assert texts["slope"].startswith("−1.")
