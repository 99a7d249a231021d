"""Percentiles of merged histograms, and their intervals by a bootstrap of whole starts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shootout.analysis import percentiles
from tests.support.analysis.builders import a_histogram
from tests.unit.analysis.test_percentiles import PERCENTS

RUNS = 600


@given(st.lists(st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=20), min_size=4, max_size=4))
def test_swapping_base_and_head_mirrors_the_change(starts: list[list[float]]) -> None:
    base, head = ([a_histogram(each) for each in side] for side in (starts[:2], starts[2:]))
    there, back = (percentiles.compare(*sides, PERCENTS, 0.95) for sides in ((base, head), (head, base)))
    for one, other in zip(there, back, strict=True):
        assert (one.base_s, one.head_s) == (other.head_s, other.base_s)
        assert one.log_ratio.low == pytest.approx(-other.log_ratio.high, abs=1e-9)
        assert one.log_ratio.low <= one.log_ratio.estimate <= one.log_ratio.high


EDGES = np.arange(-2.0, 6.0, 0.005)  # logarithms: buckets of 0.5 %


def simulated(rng: np.random.Generator, restart: float) -> NDArray[np.float64]:
    """Percentiles of each draw of six starts of 1500 transactions, with a tail of one in fifty."""
    shape = (6, 1500)
    tail = np.where(rng.random(shape) < 0.02, rng.exponential(1.0, shape), 0)
    logs = rng.normal(0, restart, (6, 1)) + rng.normal(0, 0.3, shape) + tail
    counts = np.array([np.histogram(each, EDGES)[0] for each in logs])
    some = counts.any(axis=0)
    return percentiles.of_draws(np.exp(EDGES[:-1])[some], counts[:, some], PERCENTS)


@pytest.mark.parametrize("restart", [0.0, 0.03])
def test_intervals_of_percentiles_cover_the_truth_as_often_as_they_say(restart: float) -> None:
    """The head is 5 % slower in all."""
    rng, covered = np.random.default_rng(3), np.zeros(len(PERCENTS))
    for _ in range(RUNS):
        base, head = simulated(rng, restart), 1.05 * simulated(rng, restart)
        for place, sides in enumerate(zip(base, head, strict=True)):
            found = percentiles.from_draws(*sides, 6, 0.95)
            covered[place] += found.log_ratio.low <= math.log(1.05) <= found.log_ratio.high
    assert np.all((covered / RUNS >= 0.93) & (covered / RUNS <= 0.97)), covered / RUNS
