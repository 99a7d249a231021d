"""The rule that turns an interval into a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis.interval_verdict import difference_verdict, interval_verdict
from shootout.model.verdict import Interval, Verdict


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((1.001, 1.01, 1.02), Verdict.REGRESSED),  # of low, estimate and high
        ((0.98, 0.99, 0.999), Verdict.IMPROVED),
        ((0.999, 1.0, 1.004), Verdict.EQUIVALENT),
        ((1.001, 1.002, 1.003), Verdict.EQUIVALENT),  # a change, but not worth a verdict
        ((0.999, 1.01, 1.02), Verdict.INCONCLUSIVE),
        ((1.001, 1.004, 1.007), Verdict.INCONCLUSIVE),
    ],
)
def test_a_change_reaches_the_margin_and_excludes_no_change(
    ends: tuple[float, float, float], verdict: Verdict
) -> None:
    low, estimate, high = ends
    assert interval_verdict(Interval(estimate=estimate, low=low, high=high), 0.005, worse="higher") is verdict


@given(st.floats(0.5, 2.0), st.floats(1.0, 1.1), st.floats(1.0, 1.1), st.floats(0.001, 0.1))
def test_swapping_base_and_head_mirrors_a_verdict(middle: float, up: float, down: float, bar: float) -> None:
    ratio = Interval(estimate=middle, low=middle / down, high=middle * up)
    swapped = Interval(estimate=1 / middle, low=1 / (middle * up), high=down / middle)
    mirror = {Verdict.REGRESSED: Verdict.IMPROVED, Verdict.IMPROVED: Verdict.REGRESSED}
    edges = (middle, ratio.low, ratio.high)
    if any(abs(edge - end) < 1e-9 for edge in edges for end in (1, 1 + bar, 1 / (1 + bar))):
        return
    verdict = interval_verdict(ratio, bar, worse="higher")
    mirrored = mirror.get(verdict, verdict)
    assert interval_verdict(swapped, bar, worse="higher") is mirrored
    assert interval_verdict(ratio, bar, worse="lower") is mirrored


@pytest.mark.parametrize(
    ("ends", "bar", "verdict"),
    [
        ((0.1, 1.0, 2.0), 1.0, Verdict.IMPROVED),
        ((-2.0, -1.0, -0.1), 1.0, Verdict.REGRESSED),
        ((-1.0, 0.0, 1.0), 1.0, Verdict.EQUIVALENT),
        ((0.0, 0.0, 0.0), 0.0, Verdict.EQUIVALENT),
        ((0.0, 1.0, 2.0), 0.0, Verdict.INCONCLUSIVE),
        ((-0.1, 1.0, 2.0), 1.0, Verdict.INCONCLUSIVE),
    ],
)
def test_a_difference_is_judged_beside_zero(
    ends: tuple[float, float, float], bar: float, verdict: Verdict
) -> None:
    low, estimate, high = ends
    assert difference_verdict(Interval(estimate=estimate, low=low, high=high), bar, worse="lower") is verdict
