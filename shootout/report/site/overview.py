"""The first pages of a run: its overview, all its cells, the summary of an old run, and the list of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shootout.model.verdict import Verdict
from shootout.report.site.downloads import CELL_COLUMNS, cell_row, cells_value, fingerprints
from shootout.report.site.findings import Findings
from shootout.report.site.page import Page
from shootout.report.site.run import Run

RUN_COLUMNS = ("run", "started", "runners", "page", *Verdict, "says")


@dataclass(frozen=True)
class OverviewPage(Page):
    """What a run found."""

    run: Run
    template = "run"
    columns = CELL_COLUMNS

    @property
    def path(self) -> str:
        """The run's index."""
        return f"{self.run.folder}/index.html"

    @property
    def runs(self) -> Sequence[Run]:
        """The runs to list: those of the whole site, on its first page."""
        return ()

    @cached_property
    def findings(self) -> Findings:
        """What changed, and what failed."""
        return Findings(self.run)

    @property
    def value(self) -> object:
        """Its cells."""
        return cells_value(self.run.document.header, self.run.comparison.cells)

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """A line for each cell."""
        run = self.run
        return (cell_row(run.document.header, c, run.cells) for c in run.comparison.cells)


@dataclass(frozen=True)
class FrontPage(OverviewPage):
    """The newest run's overview, as the index of the site."""

    listed: Sequence[Run]  # all runs, newest first
    map: dict[str, Any]  # where everything is, for programs

    @property
    def path(self) -> str:
        """The site's index."""
        return "index.html"

    @property
    def runs(self) -> Sequence[Run]:
        """All runs of the site."""
        return self.listed

    @property
    def value(self) -> object:
        """The site's map."""
        return self.map


class SummaryPage(OverviewPage):
    """All that an old run has: each cell's verdict, ratio and throughput."""

    template = "summary"


@dataclass(frozen=True)
class AllCellsPage(Page):
    """Every cell, worst first; its files for machines are the overview's."""

    run: Run
    template = "cells"

    @property
    def path(self) -> str:
        """Beside the overview."""
        return f"{self.run.folder}/cells.html"

    @property
    def data(self) -> str:
        """The overview's."""
        return "index"


@dataclass(frozen=True)
class RunsPage(Page):
    """Every run of the site."""

    runs: Sequence[Run]  # newest first
    template = "runs"
    columns = RUN_COLUMNS

    @property
    def path(self) -> str:
        """Above the runs' folders."""
        return "runs/index.html"

    @property
    def value(self) -> object:
        """What is known of each run."""
        return [run_value(run) for run in self.runs]

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """A line for each run."""
        for run in self.runs:
            header = run.document.header
            yield (
                run.id, header.started, " ".join(fingerprints(header.runners)), f"{run.folder}/index.html",
                *(run.verdicts[verdict] for verdict in Verdict), run.headline.text,
            )  # fmt: skip


def run_value(run: Run) -> dict[str, Any]:
    """A run's result and the paths of its files, from the site's top."""
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
