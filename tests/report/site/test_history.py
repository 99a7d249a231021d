"""Changes of level over many runs."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
from msgspec.structs import replace

from shootout.analysis import history
from shootout.model.verdict import Acknowledgement
from shootout.report.judgement_cache import JudgedRun
from shootout.report.site import history as history_pages
from tests.report.site.pages import csv_rows
from tests.report.site.weeks import REGRESSED_AT


def test_history_says_what_changed_when_and_who_knows(weekly: Path, weeks: list[JudgedRun]) -> None:
    text = " ".join((weekly / "history.html").read_text("utf-8").split())
    assert "2 changes of level in 20 runs: 2 for the worse, 1 of them acknowledged" in text
    assert text.count('<tr class="regressed">') == 2
    assert f'href="runs/{weeks[REGRESSED_AT].id}/index.html">11 Apr 2026</a>' in text
    assert f'href="runs/{weeks[REGRESSED_AT - 1].id}/index.html"' in text
    assert "by ann until 2027-01-01 <small>the safer default</small>" in text
    (page,) = weekly.glob("history/oltp_read_only*.html")
    series = page.read_text("utf-8")
    assert series.count("confirmed; acknowledged by ann until 2027-01-01: the safer default") == 1
    assert series.count("since <a") == 2
    assert series.count("All 20 runs as a table") == 2


def test_an_acknowledgement_that_is_over_or_too_small_marks_no_change(
    weeks: list[JudgedRun], known: Acknowledgement
) -> None:
    series = history.series(run.comparison for run in weeks)
    newest = weeks[-1].comparison.header.started
    for changed, marked in (
        (known, 1),
        (replace(known, threads=None), 2),
        (replace(known, at_most=0.05), 0),
        (replace(known, expires=date(2026, 1, 1)), 0),
        (replace(known, server="mariadb-*"), 0),
    ):
        found = history_pages.changes(series, [changed], newest)
        assert sum(change.acknowledged is not None for change in found) == marked


def test_every_point_is_in_the_files_for_machines(weekly: Path, weeks: list[JudgedRun]) -> None:
    pages = list(weekly.glob("history/*.csv"))
    rows = [row for page in pages for row in csv_rows(page)]
    assert len(rows) == 20 * 4
    assert {row["run"] for row in rows} == {run.id for run in weeks}
    found = csv_rows(weekly / "history.csv")
    assert [row["first_bad"] for row in found] == [weeks[REGRESSED_AT].id] * 2
    assert sorted(row["acknowledged"] for row in found) == ["False", "True"]
    index = msgspec.json.decode((weekly / "history.json").read_bytes())
    assert len(index["changes"]) == 2
    assert {str(Path(page).stem) for page in index["pages"]} == {page.stem for page in pages}
