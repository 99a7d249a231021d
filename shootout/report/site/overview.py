"""A run's overview, its cells and settings on one page each, an old run's summary, and the list of runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shootout.model.verdict import Verdict
from shootout.report import next_steps
from shootout.report.site import findings
from shootout.report.site.downloads import about, fingerprints
from shootout.report.site.findings import Failure, Finding
from shootout.report.site.history import Change
from shootout.report.site.page import CellsPage, Listing, Page, RunPage
from shootout.report.site.run import Run, WarningEntry

RUN_COLUMNS = ("run", "started", "runners", "page", *Verdict, "says")
SETTING_COLUMNS = (
    "server", "setting", "requested", "effective", "differs", "lacking", "variables", "note",
)  # fmt: skip


@dataclass(frozen=True)
class OverviewPage(CellsPage):
    runs: Sequence[Run] = ()  # to list, newest first
    changes: Sequence[Change] = ()  # of level, newest first
    leads: Sequence[Listing] = ()  # what it begins with
    template = "run"
    file = "index.html"

    @cached_property
    def changed(self) -> tuple[Finding, ...]:
        return findings.changes(self.run)

    @cached_property
    def worst(self) -> Finding | None:
        """What to look at first, where two servers are compared; None if nothing regressed."""
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
    value: object = None  # the site's index for programs
    path = "index.html"


class SummaryPage(OverviewPage):
    """The one page of an old run: each cell's verdict, ratio and throughput."""

    template = "summary"


class AllCellsPage(RunPage):
    """All cells, worst first; its JSON and CSV are the overview's."""

    template = "cells"
    file = "cells.html"
    data = "index"

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
    columns = SETTING_COLUMNS

    @property
    def value(self) -> object:
        header = self.run.document.header
        return {**about(header), "servers": header.servers}

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        return (
            (
                server.label, setting.name, setting.requested, setting.effective, setting.differs,
                setting.lacking, " ".join(setting.variables), setting.note,
            )
            for server in self.run.document.header.servers
            for setting in server.settings
        )  # fmt: skip


@dataclass(frozen=True)
class RunsPage(Page):
    runs: Sequence[Run]  # newest first
    template = "runs"
    path = "runs/index.html"
    columns = RUN_COLUMNS

    @property
    def value(self) -> object:
        return [run_value(run) for run in self.runs]

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        for run in self.runs:
            header = run.document.header
            yield (
                run.id, header.started, " ".join(fingerprints(header)), f"{run.folder}/index.html",
                *(run.verdicts[verdict] for verdict in Verdict), run.headline.text,
            )  # fmt: skip


def run_value(run: Run) -> dict[str, Any]:
    """A run's result and the paths of its files from the site's root."""
    header = run.document.header
    return {
        **about(header),
        "complete": run.complete,
        "description": header.profile.description,
        "servers": [server.label for server in header.servers],
        "verdicts": run.verdicts,
        "says": run.headline.text,
        "page": f"{run.folder}/index.html",
        "cells": f"{run.folder}/index.json",
        "csv": f"{run.folder}/index.csv",
        "badge": f"{run.folder}/badge.svg",
    }
