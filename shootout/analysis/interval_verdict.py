"""The one rule that turns an interval into a verdict."""

from __future__ import annotations

from typing import Literal

from shootout.model.verdict import Interval, Verdict


def interval_verdict(ratio: Interval, margin: float, *, worse: Literal["higher", "lower"]) -> Verdict:
    """The verdict on a ratio of head to base, of which higher or lower values are worse.

    A change reaches the margin, and its interval excludes no change. Without a change, the interval lies
    inside of the margins.
    """
    higher, lower = Verdict.REGRESSED, Verdict.IMPROVED
    if worse == "lower":
        higher, lower = lower, higher
    if ratio.low > 1 and ratio.estimate >= 1 + margin:
        return higher
    if ratio.high < 1 and ratio.estimate <= 1 / (1 + margin):
        return lower
    if ratio.high < 1 + margin and ratio.low > 1 / (1 + margin):
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE
