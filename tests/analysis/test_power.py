from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import nctdtr

from shootout.analysis import power, stats
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
    found &= passing(logs, bar, chance / 5 / comparisons)
    return float((found & (logs[:, starts:].mean(axis=1) >= bar / 2)).mean())


def passing(logs: NDArray[np.float64], bar: float, p_value: float) -> NDArray[np.bool_]:
    """Which runs, one per row of starts, have a mean beyond the bar and a small enough p-value."""
    means, starts = logs.mean(axis=1), logs.shape[1]
    errors = logs.std(axis=1, ddof=1) / math.sqrt(starts)
    found: NDArray[np.bool_] = (means >= bar) & (means >= stats.quantile(1 - p_value, starts - 1) * errors)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("policy", [ONCE, Policy()], ids=["once", "confirmed"])
@pytest.mark.parametrize(
    ("spread", "starts", "comparisons"), [(0.004, 3, 13), (0.015, 6, 1), (0.015, 6, 13), (0.04, 24, 13)]
)
def test_the_power_is_that_of_the_rule(spread: float, starts: int, comparisons: int, policy: Policy) -> None:
    for change in (0.015, 0.03, 0.1):
        expected = a_share(change, spread, starts, policy, comparisons)
        assert power.flagged(
            change, spread, starts, MARGIN, policy, comparisons=comparisons
        ) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize(("change", "starts"), [(0.01, 4), (0.03, 8), (0.05, 20)])
def test_without_a_bar_it_is_the_non_central_t(change: float, starts: int) -> None:
    reach = stats.quantile(0.95, starts - 1)
    expected = 1 - nctdtr(starts - 1, change / (0.03 / math.sqrt(starts)), reach)
    assert power.flagged(change, 0.03, starts, 0.0, ONCE, comparisons=1) == pytest.approx(expected, abs=0.005)


def test_a_spread_that_other_heads_have_shown_too_sees_more() -> None:
    """The non-central t of the degrees of freedom, and not of the starts."""
    expected = 1 - nctdtr(5.1, 0.05 / (0.03 / math.sqrt(3)), stats.quantile(0.95, 5.1))
    found = power.flagged(0.05, 0.03, 3, 0.0, ONCE, comparisons=1, df=5.1)
    assert found == pytest.approx(expected, abs=0.005)
    least = [power.detectable(0.03, 3, MARGIN, ONCE, 112, df=df) for df in (2, 5.1)]
    assert least[1] < 0.4 * least[0]


def test_without_noise_all_that_passes_the_bar_is_flagged() -> None:
    assert [power.flagged(change, 0.0, 6, MARGIN, Policy(), comparisons=7) for change in (0.01, 0.03)] == [
        0,
        1,
    ]
    assert power.detectable(0.0, 6, MARGIN, Policy(), 7) == MARGIN


@given(st.floats(1e-4, 0.5), st.integers(2, 40), st.integers(1, 200), st.sampled_from([0, 1, 3]))
def test_what_is_detectable_is_flagged_in_four_of_five_runs(
    spread: float, starts: int, comparisons: int, confirming: int
) -> None:
    policy = Policy(confirm_starts=confirming)
    least = power.detectable(spread, starts, MARGIN, policy, comparisons)
    assert least >= MARGIN
    assert power.flagged(least, spread, starts, MARGIN, policy, comparisons=comparisons) == pytest.approx(
        0.8, abs=0.01
    )


@given(st.floats(0.001, 0.2), st.integers(2, 30), st.integers(1, 50))
def test_noise_and_comparisons_hide_changes_and_starts_show_them(
    spread: float, starts: int, comparisons: int
) -> None:
    def least(spread: float = spread, starts: int = starts, comparisons: int = comparisons) -> float:
        return power.detectable(spread, starts, MARGIN, Policy(), comparisons)

    slack = 1e-5
    assert least(spread=1.1 * spread) >= least() - slack
    assert least(comparisons=comparisons + 1) >= least() - slack
    assert least(starts=starts + 1) <= least() + slack
