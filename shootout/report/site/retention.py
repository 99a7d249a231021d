"""Which runs have a page for each cell; the others have one page, so that years of runs build in seconds.

The slices of an old run stay in its document: `shootout site` with that document alone makes all its pages.
"""

from __future__ import annotations

from collections.abc import Sequence

from shootout.report.judgement_cache import JudgedRun

CELLS_MAX = 1200  # with a page, over all runs; each runner's newest run has all its pages, whatever its size


def detailed(runs: Sequence[JudgedRun]) -> frozenset[str]:
    """The ids of the runs that have all pages; `runs`: newest first."""
    chosen: set[str] = set()
    runners: set[str] = set()
    cells = 0
    for run in runs:
        cells += len(run.comparison.cells)
        if cells <= CELLS_MAX or not runners.issuperset(run.runners):
            chosen.add(run.id)
        runners.update(run.runners)
    return frozenset(chosen)
