"""Old runs: their gist on one page each, so that a site of many years is made in seconds.

A page for each cell, with its slices and histograms, is worth its time while the run is news. What is still
asked of a run years later is what it said; the slices are in its document, and `shootout site` makes their
pages of the runs that are given to it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shootout.model.run import RunDocument
from shootout.report.judgement_cache import Judged, Outline
from shootout.report.site.names import run_folder
from shootout.report.site.run import Run

CELLS_MAX = 1200  # of all runs that have a page for each cell; each runner's newest run has, however many


def whole(runs: Sequence[Judged]) -> frozenset[str]:
    """The ids of the runs that have all pages; `runs`: the newest first."""
    chosen: set[str] = set()
    runners: set[str] = set()
    cells = 0
    for run in runs:
        cells += len(run.cells)
        if cells <= CELLS_MAX or not runners.issuperset(run.runners):
            chosen.add(run.id)
        runners.update(run.runners)
    return frozenset(chosen)


@dataclass(frozen=True)
class Listed:
    """A run in a list of runs."""

    outline: Outline

    @property
    def folder(self) -> str:
        """Where its pages lie in the site."""
        return run_folder(self.outline.run)

    @property
    def judged(self) -> int:
        """How many cells asked for a verdict."""
        return sum(self.outline.verdicts.values())


def gist_of(run: Judged) -> Run:
    """A run as its page in the archive needs it; without anything that was sampled."""
    document = RunDocument(header=run.gist.header, starts=(), failures=(), end=run.gist.end)
    return Run(document, run.gist)
