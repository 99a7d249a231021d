"""A run's overview, its page of all cells, the summary page of an old run, and the list of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shootout.model.verdict import CellComparison, Verdict
from shootout.report.site.downloads import fingerprints
from shootout.report.site.findings import Findings
from shootout.report.site.page import CellsPage, Page
from shootout.report.site.run import Run

RUN_COLUMNS = ("run", "started", "runners", "page", *Verdict, "says")


@dataclass(frozen=True)
class OverviewPage(CellsPage):
    """A run's findings, verdicts and conditions."""

    run: Run
    template = "run"

    @property
    def path(self) -> str:
        """The index of the run's folder."""
        return f"{self.run.folder}/index.html"

    @property
    def runs(self) -> Sequence[Run]:
        """The runs to list; only the front page lists any."""
        return ()

    @cached_property
    def findings(self) -> Findings:
        """Changed and failed cells."""
        return Findings(self.run)

    @property
    def cells(self) -> Sequence[CellComparison]:
        """All cells."""
        return self.run.comparison.cells


@dataclass(frozen=True)
class FrontPage(OverviewPage):
    """The newest run's overview as the site's index."""

    listed: Sequence[Run]  # all runs, newest first
    index: dict[str, Any]  # the site's index for programs

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
        """The site's index for programs."""
        return self.index


class SummaryPage(OverviewPage):
    """The one page of an old run: each cell's verdict, ratio and throughput."""

    template = "summary"


@dataclass(frozen=True)
class AllCellsPage(Page):
    """All cells, worst first; its JSON and CSV are the overview's."""

    run: Run
    template = "cells"

    @property
    def path(self) -> str:
        """In the run's folder."""
        return f"{self.run.folder}/cells.html"

    @property
    def data(self) -> str:
        """The stem of the overview's files."""
        return "index"


@dataclass(frozen=True)
class RunsPage(Page):
    """All runs of the site."""

    runs: Sequence[Run]  # newest first
    template = "runs"
    columns = RUN_COLUMNS

    @property
    def path(self) -> str:
        """In the parent of the runs' folders."""
        return "runs/index.html"

    @property
    def value(self) -> object:
        """Every run's result and files."""
        return [run_value(run) for run in self.runs]

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """One line per run."""
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
