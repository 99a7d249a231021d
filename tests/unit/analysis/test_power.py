from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis import power
from shootout.analysis.stats import Noise
from shootout.model.plan import Policy

ONCE = Policy(confirm_starts=0)
MARGIN = math.log1p(0.02)


def noise_of(spread: float, starts: int) -> Noise:
    return Noise((spread / math.sqrt(starts),), starts - 1)


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
