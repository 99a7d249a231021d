"""Percentiles of merged histograms, and what a bootstrap of whole starts says of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shootout._engine import Histogram
from shootout.analysis import percentiles

PERCENTS = (50.0, 95.0, 99.0)
RUNS = 600


def a_histogram(latencies_s: Sequence[float]) -> Histogram:
    histogram = Histogram()
    for latency_s in latencies_s:
        histogram.record(round(latency_s * 1e9))
    return histogram


def starts_of(
    rng: np.random.Generator, starts: int, median_s: float, restart: float = 0.0
) -> list[Histogram]:
    """400 transactions a start, log-normal; `restart`: the standard deviation of what a start adds."""
    levels = np.log(median_s) + rng.normal(0, restart, (starts, 1))
    return [a_histogram(each) for each in np.exp(levels + rng.normal(0, 0.4, (starts, 400))).tolist()]


def test_percentiles_are_those_of_all_starts_together() -> None:
    fast, slow = a_histogram([0.001] * 98), a_histogram([0.010, 0.100])
    (p50, p95, p99) = percentiles.compare([fast, slow], [fast, fast], PERCENTS, 0.95)
    assert (p50.base_s, p95.base_s, p99.base_s) == pytest.approx((0.001, 0.001, 0.010), rel=1e-3)
    assert p99.head_s == pytest.approx(0.001, rel=1e-3)
    assert p99.log_ratio.estimate == pytest.approx(math.log(0.1), abs=2e-3)
    assert p99.log_ratio.per_start == pytest.approx((0.0, math.log(0.01)), abs=2e-3)
    assert p99.difference_s.estimate == pytest.approx(-0.009, rel=2e-3)


def test_a_slower_head_is_seen() -> None:
    rng = np.random.default_rng(1)
    found = percentiles.compare(starts_of(rng, 6, 0.002), starts_of(rng, 6, 0.0024), PERCENTS, 0.95)
    for each in found:
        assert each.log_ratio.low < math.log(1.2) < each.log_ratio.high
        assert each.log_ratio.p_value < 0.05
        assert each.difference_s.low > 0


def test_the_same_starts_give_the_same_interval() -> None:
    base, head = (starts_of(np.random.default_rng(seed), 4, 0.002) for seed in (1, 2))
    assert percentiles.compare(base, head, PERCENTS, 0.95) == percentiles.compare(base, head, PERCENTS, 0.95)


def test_latencies_are_known_no_better_than_their_buckets() -> None:
    """Equal starts leave no doubt but that: 64 ns of 20 microseconds are 0.3 %, on either side."""
    base, head = [a_histogram([20e-6] * 50)] * 3, [a_histogram([20.05e-6] * 50)] * 3
    (found,) = percentiles.compare(base, head, [50.0], 0.95)
    assert found.log_ratio.noise.error == pytest.approx(math.hypot(0.0032, 0.0032) / math.sqrt(12), rel=0.02)
    assert found.log_ratio.low < 0 < found.log_ratio.high
    assert found.difference_s.low < 0 < found.difference_s.high


@pytest.mark.slow
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


@pytest.mark.slow
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
