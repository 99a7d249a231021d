"""The pages of bisections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shootout.bisect import counts
from shootout.bisect.judge import Found
from shootout.bisect.page import listing
from shootout.bisect.values import Answer, Revision
from shootout.report import judged_runs, site
from shootout.report.judged_runs import JudgedRun
from tests.support import builders
from tests.support.bisect.builders import LABELS, a_bisection, a_run, found_by_time
from tests.support.report.site.pages import Document, check_figures, check_links, row_values
from tests.unit.bisect.test_counts import counted

STEP = {label: (-0.05 if label >= "e" else 0.0) for label in LABELS}
SEVERAL = {label: -0.1 * number for number, label in enumerate(LABELS)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of these pages in a site."""
    versions = tuple(Revision(label=label, server=label) for label in LABELS)
    answers = [
        found_by_time(a_bisection(link="https://example.org/{commit}"), a_run(STEP)).answer,
        found_by_time(a_bisection(id="20261123T100000Z-000002")).answer,
        found_by_time(a_bisection(id="20261122T100000Z-000003", revisions=versions), a_run(SEVERAL)).answer,
    ]
    runs = [judged_runs.in_memory(*builders.a_result())]
    return built(answers, tmp_path_factory.mktemp("site"), runs).parent / "bisections"


def built(answers: Sequence[Answer], folder: Path, runs: Sequence[JudgedRun] = ()) -> Path:
    listed = listing(answers)
    assert listed is not None
    return site.build(runs, folder, listings=[listed])


def read(path: Path) -> Document:
    return Document(path.read_text("utf-8"))


def test_a_page_has_the_answer_and_every_revision(folder: Path) -> None:
    page = read(folder / "20261124T100000Z-000001.html")
    assert ") since e." in page.text
    assert "Change <b>e, Some Engineer, 2026-11-01" in page.text
    assert f"https://example.org/{'e' * 40}" in page.links
    assert (folder / "20261124T100000Z-000001.html").read_text("utf-8").count('class="chart"') == 1


def test_without_starts_there_is_no_chart_of_throughput(folder: Path) -> None:
    text = (folder / "20261123T100000Z-000002.html").read_text("utf-8")
    assert 'class="chart"' not in text
    assert "not decided" in text


def test_several_steps_are_those_of_the_table(folder: Path) -> None:
    text = (folder / "20261122T100000Z-000003.html").read_text("utf-8")
    assert "more than one step" in text
    assert text.count("<li>b beside a: ") == 1
    assert text.count('<td class="text">yes</td>') == len(LABELS) - 1


def test_the_list_leads_to_every_page(folder: Path) -> None:
    page = read(folder / "index.html")
    assert row_values(page) == ["3", "2", "1"]
    links = page.links
    for name in ("20261124T100000Z-000001.html", "20261123T100000Z-000002.html"):
        assert f"../bisections/{name}" in links


def by_counts() -> Answer:
    bisection = a_bisection(LABELS[:2], instrument="work")
    return Found(
        bisection, counts.measured(bisection, {"1.json": counted({"b": 1.03})}, "instructions")
    ).answer


def test_counts_say_where_the_step_is(tmp_path: Path) -> None:
    index = built([by_counts()], tmp_path, [judged_runs.in_memory(*builders.a_result())])
    text = (index.parent / "bisections" / "20261124T100000Z-000001.html").read_text("utf-8")
    assert "more instructions (" in Document(text).text
    assert text.count('class="chart"') == 1
    assert "shootout count --servers" in text


def test_the_table_sorts_by_figures(folder: Path) -> None:
    for page in folder.glob("2026*.html"):
        check_figures(page.read_text("utf-8"))


def test_a_site_of_bisections_alone_begins_with_their_list(tmp_path: Path) -> None:
    index = built([by_counts()], tmp_path)
    check_links(index.parent)
    page = read(index)
    assert "bisections/20261124T100000Z-000001.html" in page.links
    assert "Bisections" in page.text
