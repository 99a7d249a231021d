"""A run's overview, its cells and settings on one page each, an old run's summary, and the list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.model.history import ChangePoint, HistorySeries
from shootout.model.verdict import CellComparison
from shootout.report import next_steps
from shootout.report.site import findings
from shootout.report.site.answers import AnswerPage
from shootout.report.site.findings import Failure, Finding
from shootout.report.site.history import Change, SeriesPage
from shootout.report.site.page import Page, RunPage
from shootout.report.site.run import Run

BRIEFS_MAX = 6  # answers, of which the first page shows something
COURSES_MAX = 6  # of series over time, on the first page


@dataclass(frozen=True)
class OverviewPage(RunPage):
    runs: Sequence[Run] = ()  # to list, newest first
    histories: Sequence[SeriesPage] = ()
    briefs: Sequence[AnswerPage] = ()  # answers to show something of
    template = "run"
    file = "index.html"

    @property
    def data(self) -> str:
        return f"{self.run.folder}/index"

    @cached_property
    def worst(self) -> Finding | None:
        c = next_steps.worst(self.run.comparison) if len(self.run.heads) == 1 else None
        return None if c is None else Finding(self.run, c)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        return findings.failures(self.run)

    @cached_property
    def others(self) -> tuple[Run, ...]:
        """The newest run of each other profile, those with most open regressions first."""
        newest: dict[str, Run] = {}
        for run in self.runs:
            newest.setdefault(run.document.header.profile_name, run)
        others = [run for run in newest.values() if run.id != self.run.id]
        return tuple(sorted(others, key=lambda run: -run.open_regressions))

    @property
    def step(self) -> tuple[CellComparison, ChangePoint] | None:
        """The worst loss from one run to the next that is still there: no comparison with a base shows it."""
        losses = [
            (c, change)
            for c in self.run.judged
            if (change := self.run.changes.get(c.cell)) and change.after < change.before
            if c.acknowledged is None and len(self.run.heads) == 1
        ]
        return min(losses, key=lambda loss: loss[1].after / loss[1].before, default=None)

    @property
    def courses(self) -> list[tuple[SeriesPage, HistorySeries, Change | None]]:
        """Series over time with their latest change of level, the greatest losses first."""
        every = [
            (page, series, next((change for change in page.changes if change.series == series), None))
            for page in self.histories
            for series in page.most_threads.values()
            if len(series.points) > 1
        ]
        return sorted(every, key=lambda each: each[2].size if each[2] else 1.0)[:COURSES_MAX]


@dataclass(frozen=True)
class FrontPage(OverviewPage):
    path = "index.html"


class AllCellsPage(RunPage):
    template = "cells"
    file = "cells.html"

    @property
    def data(self) -> str:
        return f"{self.run.folder}/index"


class SummaryPage(AllCellsPage):
    """The one page of an archived run."""

    file = "index.html"


class SettingsPage(RunPage):
    template = "settings"
    file = "settings.html"


@dataclass(frozen=True)
class RunsPage(Page):
    runs: Sequence[Run]  # newest first
    template = "runs"
    path = "runs/index.html"
    data = "index"
