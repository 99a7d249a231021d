"""Changes of level over many runs."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from shootout.analysis import history
from shootout.chart import Series
from shootout.model.verdict import Acknowledgement
from shootout.report import site
from shootout.report.judged_runs import JudgedRun
from shootout.report.site.history import HistoryPage, chart, level_changes, series_pages
from tests.support.report.site.pages import Document, check_links, csv_rows
from tests.support.report.site.weeks import REGRESSED_AT


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
        found = level_changes(series, [changed], newest)
        assert sum(change.acknowledged is not None for change in found) == marked


def test_a_history_is_drawn_with_intervals_levels_and_zero(weeks: list[JudgedRun]) -> None:
    series = history.series(run.comparison for run in weeks)
    (changed,) = [each for each in series if each.changes and each.threads == 1]
    found = level_changes([changed], [], weeks[-1].comparison.header.started)
    drawn = chart([changed], [Series("a", 1)], found)
    levels, line = drawn.lines
    assert line.whiskers
    assert len(line.intervals) == len(weeks)
    before, after = ([y for _, y in levels.points][at] for at in (0, 3))
    assert before == pytest.approx(0, abs=0.5)
    assert after == pytest.approx(-8, abs=0.5)
    assert [rule.at for rule in drawn.rules] == [0, REGRESSED_AT - 0.5]
    assert drawn.y.ends
    assert drawn.y.ends[1] > 0


def test_a_server_beside_two_anchors_has_two_pages_of_one_look(weeks: list[JudgedRun]) -> None:
    (one,) = [each for each in history.series(run.comparison for run in weeks) if each.changes][:1]
    found = level_changes([one], [], weeks[-1].comparison.header.started)
    pages = series_pages([one, replace(one, anchor="another", changes=())], found, {one.server: 5})
    assert len({page.path for page in pages}) == 2
    assert {style.number for page in pages for table in page.tables for style in table.styles} == {5}
    newest = HistoryPage(pages, found, len(weeks)).newest
    assert [(series.anchor, worse) for _, series, worse, _ in newest] == [(one.anchor, 1), ("another", 0)]


def test_runs_of_one_day_are_told_apart_by_their_time(weeks: list[JudgedRun]) -> None:
    series = history.series(run.comparison for run in weeks)[0]
    times = ("2026-11-21T20:19:00+00:00", "2026-11-21T20:24:00+00:00", "2026-11-22T02:41:00+00:00")
    points = tuple(replace(point, started=at) for point, at in zip(series.points, times, strict=False))
    drawn = chart([replace(series, points=points, changes=())], [Series("a", 1)], [])
    assert [label for _, label in drawn.x.ticks] == ["21 Nov 2026", "20:24", "22 Nov 2026"]
    assert drawn.readouts[1][1].startswith("21 November 2026, 20:24 UTC\n")


def test_a_single_run_has_no_history(weeks: list[JudgedRun], tmp_path: Path) -> None:
    index = site.build(weeks[:1], tmp_path)
    assert [*index.parent.glob("history/*")] == []
    text = Document((tmp_path / "history.html").read_text("utf-8")).text
    assert "No cell has been compared with an anchor in two runs yet." in text
    check_links(tmp_path)
    menu = Document(index.read_text("utf-8")).links
    assert not {"history.html", "published/index.html"}.intersection(menu)  # nothing leads to empty pages


def test_every_point_is_in_the_files_for_machines(weekly: Path, weeks: list[JudgedRun]) -> None:
    rows = csv_rows(weekly / "history.csv")
    assert len(rows) == 20 * 4
    assert {row["run"] for row in rows} == {run.id for run in weeks}
    index = msgspec.json.decode((weekly / "history.json").read_bytes())
    assert [change["first_bad"] for change in index["changes"]] == [weeks[REGRESSED_AT].id] * 2
    assert sorted(change["acknowledged"] for change in index["changes"]) == [False, True]
    places = {path.relative_to(weekly).as_posix() for path in weekly.glob("history/*.html")}
    assert {page["page"] for page in index["pages"]} == places
    assert sum(len(series["points"]) for page in index["pages"] for series in page["series"]) == len(rows)
