"""A run's overview, its cells and settings on one page each, an old run's summary, and the list of runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.model.history import ChangePoint, HistorySeries
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import next_steps, wording
from shootout.report.next_steps import NextSteps
from shootout.report.site.answers import AnswerPage
from shootout.report.site.history import Change, SeriesPage
from shootout.report.site.page import Page, RunPage
from shootout.report.site.run import Run

BRIEFS_MAX = 6  # answers, of which the first page shows something
COURSES_MAX = 6  # of series over time, on the first page
LISTED_MAX = 10  # findings of each kind; the page of all cells lists every one
OTHERS_MAX = 4  # profiles, and changes of level, on the first page


@dataclass(frozen=True)
class Finding:
    run: Run
    comparison: CellComparison

    @property
    def confirmed(self) -> bool | None:
        return self.comparison.judged[0].confirmed if self.comparison.judged else None

    @property
    def since(self) -> ChangePoint | None:
        """The latest change point of the cell's history, if it has the direction of the verdict."""
        change = self.run.changes.get(self.comparison.cell)
        if change is None or wording.decisive(self.comparison) is None:
            return None
        slower = change.after < change.before
        return change if slower == (self.comparison.verdict is Verdict.REGRESSED) else None

    @property
    def next(self) -> NextSteps:
        return next_steps.steps_after(self.run.comparison, self.comparison)

    @property
    def why(self) -> tuple[str, tuple[str, ...], str]:
        """A title, why the cell changed, and the command that looks for a cause, if none is known."""
        c = self.comparison
        return wording.leading_causes(c, self.run.sections.get(c.cell, ()), self.run.id)


@dataclass(frozen=True)
class Failure:
    server: str
    reason: str  # its first line
    cells: tuple[CellComparison, ...]


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
        failed: defaultdict[tuple[str, str], list[CellComparison]] = defaultdict(list)
        for c in self.run.judged:
            if c.verdict is Verdict.FAILED:
                failed[c.cell.server, wording.first_line(c.reason)].append(c)
        return tuple(Failure(*of, tuple(cells)) for of, cells in failed.items())

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
