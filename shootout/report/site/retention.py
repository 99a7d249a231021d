"""Selection of runs that get all pages; the others get one, so that years of runs build in seconds.

An old run's slices stay in its document: `shootout site` with that document alone builds all its pages.
"""

from __future__ import annotations

from collections.abc import Sequence

from shootout.report.judgement_cache import JudgedRun

CELLS_MAX = 1200  # with pages, over all runs; each runner's newest run has all pages, whatever its size


def detailed(runs: Sequence[JudgedRun]) -> frozenset[str]:
    """The ids of the runs that get all pages; `runs`: newest first."""
    chosen: set[str] = set()
    runners: set[str] = set()
    cells = 0
    for run in runs:
        cells += len(run.comparison.cells)
        if cells <= CELLS_MAX or not runners.issuperset(run.runners):
            chosen.add(run.id)
        runners.update(run.runners)
    return frozenset(chosen)
