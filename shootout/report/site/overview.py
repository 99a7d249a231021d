"""A run's overview, its cells and settings on one page each, an old run's summary, and the list of runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.report import next_steps
from shootout.report.site import findings
from shootout.report.site.findings import Failure, Finding
from shootout.report.site.history import Change
from shootout.report.site.page import Listing, Page, RunPage
from shootout.report.site.run import Run, WarningEntry


@dataclass(frozen=True)
class OverviewPage(RunPage):
    runs: Sequence[Run] = ()  # to list, newest first
    changes: Sequence[Change] = ()  # of level, newest first
    leads: Sequence[Listing] = ()  # what it begins with
    template = "run"
    file = "index.html"

    @property
    def data(self) -> str:
        return f"{self.run.folder}/index"

    @cached_property
    def changed(self) -> tuple[Finding, ...]:
        return findings.changes(self.run)

    @cached_property
    def worst(self) -> Finding | None:
        """The finding to look at first, where two servers are compared; None if nothing regressed."""
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


@dataclass(frozen=True)
class FrontPage(OverviewPage):
    path = "index.html"


class SummaryPage(OverviewPage):
    """The one page of an old run: each cell's verdict, ratio and throughput."""

    template = "summary"


class AllCellsPage(RunPage):
    """All cells, worst first."""

    template = "cells"
    file = "cells.html"

    @property
    def data(self) -> str:
        return f"{self.run.folder}/index"

    @cached_property
    def warnings(self) -> dict[str, list[WarningEntry]]:
        """The cells' own warnings, by code."""
        entries: defaultdict[str, list[WarningEntry]] = defaultdict(list)
        for entry in self.run.warnings_of(self.run.comparison.cells):
            entries[entry.warning.code].append(entry)
        return entries


class SettingsPage(RunPage):
    template = "settings"
    file = "settings.html"


@dataclass(frozen=True)
class RunsPage(Page):
    runs: Sequence[Run]  # newest first
    template = "runs"
    path = "runs/index.html"
    data = "index"
