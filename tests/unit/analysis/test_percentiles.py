"""Percentiles of merged histograms, and their intervals by a bootstrap of whole starts."""

from __future__ import annotations

import math

import pytest

from shootout.analysis import percentiles
from tests.support.analysis.builders import a_histogram

PERCENTS = (50.0, 95.0, 99.0)


def test_percentiles_are_those_of_all_starts_together() -> None:
    fast, slow = a_histogram([0.001] * 98), a_histogram([0.010, 0.100])
    (p50, p95, p99) = percentiles.compare([fast, slow], [fast, fast], PERCENTS, 0.95)
    assert (p50.base_s, p95.base_s, p99.base_s) == pytest.approx((0.001, 0.001, 0.010), rel=1e-3)
    assert p99.head_s == pytest.approx(0.001, rel=1e-3)
    assert p99.log_ratio.estimate == pytest.approx(math.log(0.1), abs=2e-3)
    assert p99.log_ratio.per_start == pytest.approx((0.0, math.log(0.01)), abs=2e-3)
    assert p99.difference_s.estimate == pytest.approx(-0.009, rel=2e-3)


def test_latencies_are_known_no_better_than_their_buckets() -> None:
    """Equal starts leave no doubt but that: 64 ns of 20 microseconds are 0.3 %, on either side."""
    base, head = [a_histogram([20e-6] * 50)] * 3, [a_histogram([20.05e-6] * 50)] * 3
    (found,) = percentiles.compare(base, head, [50.0], 0.95)
    assert found.log_ratio.noise.error == pytest.approx(math.hypot(0.0032, 0.0032) / math.sqrt(12), rel=0.02)
    assert found.log_ratio.low < 0 < found.log_ratio.high
    assert found.difference_s.low < 0 < found.difference_s.high
