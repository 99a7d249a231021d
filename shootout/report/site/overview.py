"""A run's overview, its page of all cells, the summary page of an old run, and the list of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shootout.model.verdict import Verdict
from shootout.report.site.downloads import fingerprints
from shootout.report.site.findings import Findings
from shootout.report.site.history import Change
from shootout.report.site.page import CellsPage, Page
from shootout.report.site.run import Run, WarningEntry

RUN_COLUMNS = ("run", "started", "runners", "page", *Verdict, "says")


@dataclass(frozen=True)
class OverviewPage(CellsPage):
    run: Run
    runs: Sequence[Run] = ()  # to list, newest first
    changes: Sequence[Change] = ()  # of level, newest first
    template = "run"

    @property
    def path(self) -> str:
        return f"{self.run.folder}/index.html"

    @cached_property
    def findings(self) -> Findings:
        return Findings(self.run)

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


@dataclass(frozen=True)
class AllCellsPage(Page):
    """All cells, worst first; its JSON and CSV are the overview's."""

    run: Run
    template = "cells"
    data = "index"

    @property
    def path(self) -> str:
        return f"{self.run.folder}/cells.html"

    @cached_property
    def warnings(self) -> dict[str, list[WarningEntry]]:
        """The cells' own warnings, by code."""
        found: dict[str, list[WarningEntry]] = {}
        for entry in self.run.warnings_of(self.run.comparison.cells):
            found.setdefault(entry.warning.code, []).append(entry)
        return found


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
                run.id, header.started, " ".join(fingerprints(header.runners)), f"{run.folder}/index.html",
                *(run.verdicts[verdict] for verdict in Verdict), run.headline.text,
            )  # fmt: skip


def run_value(run: Run) -> dict[str, Any]:
    """A run's result and the paths of its files from the site's root."""
    header = run.document.header
    return {
        "run": run.id,
        "started": header.started,
        "runners": fingerprints(header.runners),
        "shootout": header.shootout,
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
