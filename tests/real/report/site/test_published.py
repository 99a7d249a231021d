"""The pages of published comparisons, as files and in Chromium."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import structs
from playwright.sync_api import Browser

from lab.showcase import repetitions
from shootout import steps
from shootout.analysis import claims
from shootout.inputs import published
from shootout.inputs.options import Selection
from shootout.model.run import RunDocument
from shootout.model.verdict import Outcome
from tests.support.browser import opened, serious
from tests.support.repeated import NAMES, a_repetition, concluded
from tests.support.report.site.pages import Document, a_site, check_links, rows_in, tables

THREADS = {"flavours": "12", "thread-pool": "1,16"}


def built(folder: Path, *documents: RunDocument) -> Path:
    return a_site([concluded(document) for document in documents], folder)


def table(folder: Path, document: RunDocument, caption: str) -> list[list[str]]:
    """A table's rows on the page of a site with this run alone."""
    index = built(folder, document)
    page = index.parent / "published" / f"{document.header.profile.published}.html"
    return rows_in(tables(page)[caption])


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a run of each comparison."""
    documents = [
        structs.replace(document, header=structs.replace(document.header, run=f"20261120T02410{i}Z-{name}"))
        for i, name in enumerate(NAMES)
        for document in [a_repetition(name, starts=2, threads=THREADS.get(name, "1,12,64"))]
    ]
    return built(tmp_path_factory.mktemp("published"), *documents).parent


FIGURES = "Published and measured throughput, relative to {}"


def figures(folder: Path, document: RunDocument) -> dict[tuple[str, str, str], tuple[str, str]]:
    """The published and the measured figure by server, workload and threads."""
    publication = published.load(document.header.profile.published or "")
    rows = table(folder, document, FIGURES.format(publication.reference))
    return {(server, workload, threads): (theirs, ours) for server, workload, threads, theirs, ours in rows}


def test_published_and_measured_figures_stand_side_by_side(tmp_path: Path) -> None:
    document = a_repetition("scaling", starts=2, threads="1,64", failing=["mysql-5.7.22"])
    found = figures(tmp_path, document)

    def cells_of(server: str, threads: int) -> tuple[str, str]:
        return found[server, "oltp_read_write", str(threads)]

    assert not any(server.startswith("MySQL 5.0.15") for server, *_ in found)  # it is not here
    assert cells_of("MySQL 5.7.4 stand-in: mysql-5.7.22", 1) == ("−3.3 % 145", "error")
    pool = "Percona 5.6.21, thread pool stand-in: mariadb-10.1.23@scaling-thread-pool"
    assert cells_of(pool, 4096) == ("×32.6 295", "–")
    theirs, ours = cells_of("MySQL 5.6.20 stand-in: mysql-5.6.24", 64)
    assert theirs == "−5.9 % 2 801"
    assert "%" in ours
    reference = "MySQL 5.5.39 stand-in: mysql-5.5.34"
    assert "%" not in "".join(cells_of(reference, 1))
    assert cells_of(reference, 1)[0] == "150"


def test_servers_beyond_the_published_ones_are_shown(tmp_path: Path) -> None:
    found = figures(tmp_path, a_repetition("shootout", starts=2, threads="1,64"))
    theirs, ours = found["mariadb-11.8 not published", "oltp_read_write", "64"]
    assert theirs == "–"
    assert "%" in ours
    assert ("mariadb-11.8 not published", "oltp_read_write", "2") not in found  # neither has a figure
    text = (tmp_path / "published" / "shootout.html").read_text("utf-8")
    assert re.search(r"Not here, or without figures: .*path:percona-5\.5", text)


def test_published_peaks_stand_beside_measured_peaks(tmp_path: Path) -> None:
    def tps(label: str, workload: str, threads: int) -> float:
        return (1000.0 if label == "mysql-5.5.34" else 800.0) / abs(threads - 5)

    document = a_repetition("history", tps, starts=2, spread=0.0, threads="1,4,64")
    found = figures(tmp_path, document)
    assert found["5.4.1 stand-in: mysql-5.5.34", "oltp_read_only", "peak"] == ("4 795", "1 000")
    assert found["6.0.11 stand-in: mysql-5.6.24", "oltp_read_only", "peak"] == ("−4.8 % 4 566", "−20.0 % 800")


def test_claims_stand_with_their_intervals(tmp_path: Path) -> None:
    def tps(label: str, workload: str, threads: int) -> float:
        return 1000.0 if label == "mysql-5.5.34" else 800.0

    document = a_repetition("shootout", tps, starts=3, threads="1,32")
    rows = table(tmp_path, document, "Published claims and their outcomes on this machine")
    claims = {claim: found for claim, *found in rows}
    outcome, theirs, ours = claims["With one thread 5.6.2 is slower than 5.5"]
    assert (outcome, theirs) == ("✓ holds", "−1.0 %")
    assert ours.startswith("5.6.2 over 5.5 at 1 thread: −20")
    text = Document((tmp_path / "published" / "shootout.html").read_text("utf-8")).text
    untold = text.split("too little was measured here: ")[1]
    assert "With many threads the InnoDB plugin gives up to 1.7" in untold
    assert not [claim for claim in claims if claim.startswith("With many threads the InnoDB plugin")]


def test_there_is_a_page_for_the_newest_run_of_each_and_a_link_to_it(everything: Path) -> None:
    pages = {path.stem for path in (everything / "published").glob("*.html")}
    assert pages == {"index", *NAMES}
    check_links(everything)
    for name in NAMES:
        (overview,) = (everything / "runs").glob(f"*{name}/index.html")
        assert f'href="../../published/{name}.html"' in overview.read_text("utf-8")
        text = (everything / "published" / f"{name}.html").read_text("utf-8")
        assert f'href="../{overview.relative_to(everything)}"' in text
        threads = THREADS.get(name, "1,12,64")
        assert f"--profile {name} --threads {threads} --set scale=small" in text


def test_the_index_says_of_each_comparison_whether_it_was_repeated_and_what_came_of_it(
    tmp_path: Path,
) -> None:
    document = a_repetition("shootout", starts=3, threads="1,32")
    index = built(tmp_path, document).parent / "published" / "index.html"
    (found,) = tables(index).values()
    rows = {title: cells for title, *cells in rows_in(found)}
    titles = {name: published.load(name).title for name in NAMES}
    judged = claims.evaluate_all(document, document.header.profile.policy)
    counts = [str(sum(each.outcome is outcome for each in judged)) for outcome in Outcome]
    assert rows.pop(titles["shootout"]) == [
        str(len(judged)), *counts, "20 Nov 2026 scale small, cut short", "2011",
    ]  # fmt: skip
    assert len(rows) == len(NAMES) - 1
    assert all(cells[-2].startswith("not yet measure with shootout run --profile") for cells in rows.values())
    check_links(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_each_comparison_is_repeated_by_the_profile_of_its_name(name: str) -> None:
    made = steps.plan(Selection.read(profile=name, set=["scale=small"], seed="1"))
    assert made.profile.published == name


@pytest.mark.parametrize("name", ["index", "engines", "flavours", "history", "scaling"])
def test_pages_are_drawn_whole_at_every_width(everything: Path, chromium: Browser, name: str) -> None:
    tab, faults = opened(chromium, everything / "published" / f"{name}.html")
    # A list has no charts, and one number of threads makes no curve.
    assert (tab.locator(".chart").count() == 0) == (name in ("index", "flavours"))
    for width in (1440, 768, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") == 0, width
    assert serious(tab) == []
    assert faults == []


def test_each_comparison_has_been_repeated_here_and_its_findings_are_the_runs_own() -> None:
    runs = repetitions.runs()
    assert sorted(str(run.header.profile.published) for run in runs) == sorted(NAMES)
    text = repetitions.FINDINGS.read_text("utf-8")
    assert "\n".join(repetitions.decided(runs)) in text, "If it is meant: python -m lab.showcase.repetitions"
