from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from shootout.analysis import stats
from shootout.model.plan import Policy
from tests.unit.analysis.test_stats import RUNS, Noise, Shape, autoregressive, restarts, share_covered

SLOWER = math.log(0.97)


def of_the_machine(rng: np.random.Generator, shape: Shape) -> Noise:
    """It slows down by 20 % in each start, and wanders by 11 %, under both servers."""
    return np.linspace(0, -0.2, shape[-1]) + autoregressive(rng, shape, 0.9, 0.05)


def independent(rng: np.random.Generator, shape: Shape) -> Noise:
    return rng.normal(0, 0.08, shape)


def with_memory(rng: np.random.Generator, shape: Shape) -> Noise:
    return autoregressive(rng, shape, 0.7, 0.08 * math.sqrt(1 - 0.7**2))


def drifting(rng: np.random.Generator, shape: Shape) -> Noise:
    """Each server by itself, by up to some 10 % in a start, whichever way."""
    return rng.normal(0, 0.05, (*shape[:2], 1)) * np.linspace(-1, 1, shape[-1]) + independent(rng, shape)


def spikes(rng: np.random.Generator, shape: Shape) -> Noise:
    """One slice in twelve loses most of its transactions, to a checkpoint or another guest."""
    return rng.normal(0, 0.03, shape) - np.where(rng.random(shape) < 1 / 12, rng.exponential(1.0, shape), 0)


def two_modes_of_slices(rng: np.random.Generator, shape: Shape) -> Noise:
    """A core that the scheduler picks: 40 % faster or not, and it stays with it for a few slices."""
    picked = autoregressive(rng, shape, 0.6, 1.0) > 0.5
    return np.where(picked, 0.4, 0.0) + rng.normal(0, 0.05, shape)


def two_modes_of_starts(rng: np.random.Generator, shape: Shape) -> Noise:
    """Simulate the effect of memory's place: three starts in ten are 5 % slower to their end."""
    return np.where(rng.random((*shape[:2], 1)) < 0.3, -0.05, 0.0) + rng.normal(0, 0.05, shape)


def all_of_it(rng: np.random.Generator, shape: Shape) -> Noise:
    return restarts(rng, shape) + with_memory(rng, shape) + spikes(rng, shape)


NOISES = (
    independent, restarts, with_memory, drifting, spikes, two_modes_of_slices, two_modes_of_starts, all_of_it,
)  # fmt: skip


def simulated_changes(rng: np.random.Generator, noise: Callable[..., Noise], starts: int) -> Noise:
    """Log-ratios of `RUNS` runs in which head is 3 % slower, on a machine that does what it likes."""
    shape = (RUNS, starts, 15)
    machine = of_the_machine(rng, shape)
    head, base = (machine + noise(rng, shape) for _ in range(2))
    changes: Noise = SLOWER + head - base
    return changes


@pytest.mark.parametrize(
    ("noise", "starts"), [*((noise, 6) for noise in NOISES), (all_of_it, 2), (all_of_it, 12)]
)
def test_the_interval_over_starts_covers_the_truth_as_often_as_it_says(
    noise: Callable[..., Noise], starts: int
) -> None:
    changes = simulated_changes(np.random.default_rng(starts), noise, starts)
    intervals = [stats.ratio_of_starts(run, Policy().trim, 0.95) for run in changes.tolist()]
    assert 0.93 <= share_covered(intervals, SLOWER) <= 0.97


@pytest.mark.parametrize(("noise", "most"), [(independent, 0.07), (spikes, 0.07), (with_memory, 0.24)])
def test_the_noise_of_rounds_explains_starts_that_differ_by_nothing_else(
    noise: Callable[..., Noise], most: float
) -> None:
    """Not all of it where noise lasts: fifteen rounds hide a part. The noise of starts has it whole."""
    changes = simulated_changes(np.random.default_rng(6), noise, starts=6) - SLOWER
    found = []
    for run in changes.tolist():
        effect = stats.ratio_of_starts(run, Policy().trim, 0.95)
        assert effect.rounds is not None
        found.append(effect.rounds.p_value(effect.estimate) < 0.05)
    assert 0.03 <= np.mean(found) <= most


@pytest.mark.parametrize("spread", [0.015, 0.03])
def test_stopping_when_the_interval_is_narrow_costs_little_coverage(spread: float) -> None:
    """The quick profile's rule: 6 to 12 starts, until half the width is 1.5 %. It never looks at the sign."""
    covered = 0
    for starts in np.random.default_rng(8).normal(0, spread, (RUNS, 12)):
        for count in range(6, 13):
            found = stats.mean_interval(starts[:count].tolist(), 0.95)
            if (found.high - found.low) / 2 <= 0.015:
                break
        covered += found.low <= 0 <= found.high
    assert 0.92 <= covered / RUNS <= 0.97
