"""Verdicts of a run's cells without their evidence: the same that a comparison has."""

from __future__ import annotations

from shootout.analysis import decisions
from shootout.model.plan import Policy
from tests.support.analysis.builders import APART, a_document, an_entry, starts_of, with_aa_controls


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
