from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from shootout.analysis import power, stats
from shootout.model.plan import Policy
from tests.unit.analysis.test_power import MARGIN, ONCE, noise_of

RUNS = 20_000


def a_share(
    change: float, spread: float, starts: int, policy: Policy, comparisons: int, *, bar: float = MARGIN
) -> float:
    """Count how many of `RUNS` runs flag a change, by doing in each what the rule says."""
    rng = np.random.default_rng(3)
    logs = rng.normal(change, spread, (RUNS, starts + policy.confirm_starts))
    chance = 1 - policy.confidence
    if not policy.confirm_starts:
        return float(passing(logs, bar, chance / comparisons).mean())
    found = passing(logs[:, :starts], bar, min(1.0, 4 * chance / comparisons))
    return float((found & passing(logs, bar, chance / 5 / comparisons)).mean())


def passing(logs: NDArray[np.float64], bar: float, p_value: float) -> NDArray[np.bool_]:
    """Find the runs, one per row of starts, with a mean beyond the bar and a small enough p-value."""
    means, starts = logs.mean(axis=1), logs.shape[1]
    errors = logs.std(axis=1, ddof=1) / math.sqrt(starts)
    found: NDArray[np.bool_] = (means >= bar) & (means >= stats.quantile(1 - p_value, starts - 1) * errors)
    return found


@pytest.mark.parametrize("policy", [ONCE, Policy()], ids=["once", "confirmed"])
@pytest.mark.parametrize(
    ("spread", "starts", "comparisons"), [(0.004, 6, 13), (0.015, 6, 1), (0.015, 6, 13), (0.04, 24, 13)]
)
def test_what_is_detectable_is_found_in_four_of_five_runs(
    spread: float, starts: int, comparisons: int, policy: Policy
) -> None:
    """Or in more: fresh starts, which the formula leaves out, add to what noisy runs find."""
    least = power.detectable(noise_of(spread, starts), MARGIN, policy, comparisons)
    found = a_share(least, spread, starts, policy, comparisons)
    assert 0.72 <= found <= (0.99 if policy.confirm_starts else 0.85)
