"""The feed, badges, and the map of the site."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import replace

from shootout.analysis import history
from shootout.model.verdict import Verdict
from shootout.report import headlines
from shootout.report.judged_runs import JudgedRun
from shootout.report.site import feeds, publish
from shootout.report.site.history import level_changes
from tests.support.report.compared import E, R, U, a_comparison_of
from tests.support.report.site.pages import ATOM, check_entry_link, csv_rows, entries_of
from tests.support.report.site.weeks import FIRST, REGRESSED_AT, a_week


def test_a_regression_is_one_entry_however_many_runs_have_it(weekly: Path, weeks: list[JudgedRun]) -> None:
    entries = entries_of(weekly / "feed.xml")
    kinds = [str(entry.find(f"{ATOM}category").get("term")) for entry in entries]  # type: ignore[union-attr]
    assert sorted(kinds) == ["change", "change", "verdict", "verdict"]
    for entry in entries:
        assert entry.findtext(f"{ATOM}updated") == weeks[REGRESSED_AT].comparison.header.started
        check_entry_link(entry, weekly)


def test_entries_keep_their_ids_when_runs_are_added(weeks: list[JudgedRun]) -> None:
    def ids(runs: Sequence[JudgedRun]) -> set[str]:
        changes = level_changes(history.series(run.comparison for run in runs), (), FIRST.isoformat())
        found = feeds.entries(runs, changes, publish.detailed(runs))
        assert len({entry.id for entry in found}) == len(found)
        return {entry.id for entry in found}

    assert ids(weeks[:18]) == ids(weeks)


def test_a_regression_that_was_mended_and_comes_back_is_news(weeks: list[JudgedRun]) -> None:
    def verdicts(*drops: float) -> list[JudgedRun]:
        return [a_week(REGRESSED_AT + number, drop) for number, drop in enumerate(drops)]

    def mended(run: JudgedRun, verdict: Verdict) -> JudgedRun:
        cells = tuple(
            replace(each, verdict=verdict) if each.verdict is Verdict.REGRESSED else each
            for each in run.comparison.cells
        )
        return dataclasses.replace(run, comparison=replace(run.comparison, cells=cells))

    first, second, third = verdicts(0.08, 0.08, 0.08)
    for verdict, count in ((Verdict.EQUIVALENT, 4), (Verdict.INCONCLUSIVE, 2), (Verdict.FAILED, 2)):
        assert len(feeds.entries([first, mended(second, verdict), third], (), frozenset())) == count


def test_a_regression_under_other_settings_is_news() -> None:
    """An upgrade measures in memory, then with every commit on disk: with one profile, by `@durable`."""
    in_memory, durable = (a_week(REGRESSED_AT + number, 0.08) for number in range(2))
    header = durable.comparison.header
    servers = tuple(replace(server, settings_name="durable") for server in header.servers)
    durable = dataclasses.replace(
        durable, comparison=replace(durable.comparison, header=replace(header, servers=servers))
    )
    assert len(feeds.entries([in_memory, in_memory, durable], (), frozenset())) == 4


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ((R, R, E, U, U), "▼ 2 of 3 regressed"),
        ((E, U), "no regression, 1 not measured"),
        ((U, U), "not measured"),
        ((), "not compared"),
    ],
)
def test_a_badge_counts_the_cells_that_the_headline_counts(verdicts: tuple[Verdict, ...], said: str) -> None:
    comparison = a_comparison_of(*((verdict, None if verdict is U else 0.9) for verdict in verdicts))
    assert feeds.badge(comparison)[0] == said
    counts = re.findall(r"\d+ of \d+", said)
    assert all(count in headlines.of_heads(comparison)[0].claim for count in counts)


def test_a_badge_is_a_picture_that_can_be_read_aloud(weekly: Path) -> None:
    root = ElementTree.parse(weekly / "badge.svg").getroot()
    assert (root.get("role"), root.get("aria-label")) == ("img", "performance: ▼ 2 of 4 regressed")


def test_the_index_leads_to_everything(weekly: Path, weeks: list[JudgedRun]) -> None:
    index = msgspec.json.decode((weekly / "index.json").read_bytes())
    assert index["newest"] == index["front"] == weeks[-1].id
    assert [run["run"] for run in index["runs"]] == [run.id for run in reversed(weeks)]
    places = [index[name] for name in ("history", "feed", "badge")]
    places += [each["page"] for each in index["runners"]]
    places += [run[name] for run in index["runs"] for name in ("page", "cells", "csv")]
    assert all((weekly / place).is_file() for place in places)
    assert index["runs"][0]["verdicts"]["regressed"] == 2
    assert [row["run"] for row in csv_rows(weekly / "index.csv")] == [run["run"] for run in index["runs"]]
