from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shootout.analysis import power, stats
from shootout.analysis.stats import Noise
from shootout.model.plan import Policy

RUNS = 20_000
ONCE = Policy(confirm_starts=0)
MARGIN = math.log1p(0.02)


def a_share(
    change: float, spread: float, starts: int, policy: Policy, comparisons: int, *, bar: float = MARGIN
) -> float:
    """How many of `RUNS` runs flag a change, by doing in each what the rule says."""
    rng = np.random.default_rng(3)
    logs = rng.normal(change, spread, (RUNS, starts + policy.confirm_starts))
    chance = 1 - policy.confidence
    if not policy.confirm_starts:
        return float(passing(logs, bar, chance / comparisons).mean())
    found = passing(logs[:, :starts], bar, min(1.0, 4 * chance / comparisons))
    return float((found & passing(logs, bar, chance / 5 / comparisons)).mean())


def passing(logs: NDArray[np.float64], bar: float, p_value: float) -> NDArray[np.bool_]:
    """Which runs, one per row of starts, have a mean beyond the bar and a small enough p-value."""
    means, starts = logs.mean(axis=1), logs.shape[1]
    errors = logs.std(axis=1, ddof=1) / math.sqrt(starts)
    found: NDArray[np.bool_] = (means >= bar) & (means >= stats.quantile(1 - p_value, starts - 1) * errors)
    return found


def noise_of(spread: float, starts: int) -> Noise:
    return Noise((spread / math.sqrt(starts),), starts - 1)


@pytest.mark.slow
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


def test_by_hand() -> None:
    """Without a bar and without fresh starts: the two quantiles of Student's t(4), 2.776 and 0.941."""
    found = power.detectable(noise_of(0.03, 5), 0.0, ONCE, 1)
    assert found == pytest.approx((2.776 + 0.941) * 0.03 / math.sqrt(5), rel=1e-3)


def test_without_noise_all_that_passes_the_bar_is_flagged() -> None:
    still = Noise((0.0,), 5)
    assert [power.flagged(change, still, MARGIN, Policy(), 7) for change in (0.01, 0.03)] == [0, 1]
    assert power.detectable(still, MARGIN, Policy(), 7) == MARGIN


@given(st.floats(1e-4, 0.5), st.integers(2, 40), st.integers(1, 200), st.sampled_from([0, 1, 3]))
def test_what_is_detectable_is_flagged_in_four_of_five(
    spread: float, starts: int, comparisons: int, confirming: int
) -> None:
    policy, noise = Policy(confirm_starts=confirming), noise_of(spread, starts)
    least = power.detectable(noise, MARGIN, policy, comparisons)
    assert least >= MARGIN
    assert power.flagged(least, noise, MARGIN, policy, comparisons) == pytest.approx(0.8)


@given(st.floats(0.001, 0.2), st.integers(2, 30), st.integers(1, 50))
def test_noise_and_comparisons_hide_changes_and_starts_show_them(
    spread: float, starts: int, comparisons: int
) -> None:
    def least(spread: float = spread, starts: int = starts, comparisons: int = comparisons) -> float:
        return power.detectable(noise_of(spread, starts), MARGIN, Policy(), comparisons)

    slack = 1e-5
    assert least(spread=1.1 * spread) >= least() - slack
    assert least(comparisons=comparisons + 1) >= least() - slack
    assert least(starts=starts + 1) <= least() + slack
