"""The pages of counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from shootout.count.page import listing

from shootout.count import judge
from shootout.count.values import CountComparison, CountFailure
from shootout.report import judged_runs, site
from shootout.report.judged_runs import JudgedRun
from tests.support import builders
from tests.support.count.builders import BASE, document, times
from tests.support.report.site.pages import Document, check_figures, row_values


def built(counted: Sequence[CountComparison], out: Path, runs: Sequence[JudgedRun] = ()) -> Path:
    """The site's index."""
    listed = listing(counted, [run.comparison for run in runs])
    assert listed is not None
    return site.build(runs, out, listings=[listed])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of these pages in a site."""
    failure = CountFailure(server="gone", workload="", reason="<b>it crashed</b>")
    counted = [
        judge.compare(document({"base": BASE, "head": times(1.1), "gone": {}}, [failure])),
        judge.compare(document({"alone": BASE}, run="20261123T100000Z-000002")),
        judge.compare(document({"base": times(2.0)}, run="20261122T100000Z-000003")),
    ]
    document_, comparison = builders.a_result()
    runs = [judged_runs.in_memory(document_, comparison)]
    return built(counted, tmp_path_factory.mktemp("site"), runs).parent / "count"


def read(path: Path) -> Document:
    return Document(path.read_text("utf-8"))


def test_a_page_has_the_verdicts_and_why_counts_are_missing(folder: Path) -> None:
    page = read(folder / "20261124T100000Z-000001.html")
    assert "head executes more instructions than base for 5 of 5 kinds (most: +10.0" in page.text
    assert "▼ regressed" in page.text
    assert "gone: <b>it crashed</b>" in page.text
    assert "memcpy [libc.so.6]" in page.text
    assert "innodb-use-native-aio = 0" in page.text
    check_figures((folder / "20261124T100000Z-000001.html").read_text("utf-8"))


def test_a_single_server_has_no_chart(folder: Path) -> None:
    text = (folder / "20261123T100000Z-000002.html").read_text("utf-8")
    assert 'id="chart-' not in text
    assert 'id="chart-' in (folder / "20261124T100000Z-000001.html").read_text("utf-8")


def test_the_list_leads_to_every_page(folder: Path) -> None:
    page = read(folder / "index.html")
    for name in ("20261124T100000Z-000001.html", "20261123T100000Z-000002.html"):
        assert f"../count/{name}" in page.links
    assert row_values(page)[:3] == ["3", "2", "1"]


def test_kinds_that_were_counted_again_have_a_line_over_time(folder: Path) -> None:
    page = read(folder / "index.html")
    assert "Over time" in page.text
    assert page.text.count("\N{MINUS SIGN}50.00") == 2 * 5  # the newest step, and all steps


def test_a_site_without_runs_has_counts_only(tmp_path: Path) -> None:
    index = built([judge.compare(document({"base": BASE, "head": times(1.1)}))], tmp_path)
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.html")}
    assert found == {"index.html", "count/index.html", "count/20261124T100000Z-000001.html"}
    for path in found:
        for link in read(tmp_path / path).links:
            target = (tmp_path / path).parent / link.partition("#")[0]
            assert target.is_file() or link.startswith(("#", "data:")), (path, link)
    assert "count/20261124T100000Z-000001.html" in read(index).links


def test_throughput_at_one_thread_stands_beside_counts(tmp_path: Path) -> None:
    run, comparison = builders.a_result()
    labels = [server.label for server in run.header.servers]
    counted = judge.compare(document(dict.fromkeys(labels, BASE), workload="oltp_read_write"))
    runs = [judged_runs.in_memory(run, comparison)]
    folder = built([counted], tmp_path, runs).parent / "count"
    page = read(folder / "20261124T100000Z-000001.html")
    recorded = [
        cell.figures.tps.estimate
        for cell in comparison.cells
        if cell.figures and (cell.cell.workload, cell.cell.threads) == ("oltp_read_write", 1)
    ]
    assert len(recorded) == 2
    assert " ".join(f"{tps:.0f}" for tps in recorded) in page.text
    assert any(run.header.run in link for link in page.links)
