"""Verdicts of a run's cells without their evidence: the same that a comparison has."""

from __future__ import annotations

from shootout.analysis import compare, decisions
from shootout.model.plan import Policy
from shootout.model.verdict import Verdict
from tests.support.analysis.builders import (
    APART,
    READS,
    WRITES,
    a_document,
    an_entry,
    starts_of,
    with_aa_controls,
)

A_RUN = a_document([*starts_of(-10), *starts_of(0, block=WRITES)], blocks=(READS, WRITES))


def test_decisions_are_those_of_the_comparison() -> None:
    made = decisions.of_run(A_RUN, Policy())
    compared = compare.compare(A_RUN).cells
    assert [decided.pair.cell for decided in made.cells] == [cell.cell for cell in compared]
    assert [decided.decision.metrics for decided in made.cells] == [cell.judged for cell in compared]
    assert [decided.decision.verdict for decided in made.cells] == [
        Verdict.UNJUDGED,
        Verdict.REGRESSED,
        Verdict.UNJUDGED,
        Verdict.EQUIVALENT,
    ]


def test_the_noise_floor_comes_from_earlier_a_a_cells_and_the_runs_own() -> None:
    def floor(effects: tuple[float, ...] | None, *spreads: float) -> float | None:
        starts = starts_of(0) if effects is None else with_aa_controls(starts_of(0), 0, effects)
        made = decisions.of_run(a_document(starts), Policy(), earlier=map(an_entry, spreads))
        return made.cells[1].decision.metrics[0].floor

    assert floor(None) is None
    quiet, noisy = floor(None, 0.001), floor(None, 0.001, 0.1)
    assert quiet is not None
    assert noisy is not None
    assert quiet < noisy
    own = floor(APART, 0.001)
    assert own is not None
    assert quiet < own
