"""The one rule that turns an interval into a verdict: of counts, of soaks and of claims.

A change is proven if the interval excludes every value that is no change, and counts if the estimate reaches
a bound. Nothing changed if the whole interval lies within the bounds. Cells of a run, also beside a stored
baseline, are judged by rule 1 itself (verdicts.py), which adjusts p-values over all of them.
"""

from __future__ import annotations

from typing import Literal

from shootout.model.verdict import Interval, Verdict

Side = Literal["higher", "lower"]


def place(
    value: Interval, bounds: tuple[float, float], unchanged: tuple[float, float]
) -> Side | Literal["within", "unclear"]:
    """Place a value; `unchanged`: the least and the most that are no change."""
    low, high = bounds
    if value.low > unchanged[1] and value.estimate >= high:
        return "higher"
    if value.high < unchanged[0] and value.estimate <= low:
        return "lower"
    return "within" if low <= value.low and value.high <= high else "unclear"


def interval_verdict(ratio: Interval, margin: float, *, worse: Side) -> Verdict:
    """Judge a ratio of head to base, of which higher or lower values are worse."""
    return _verdict(place(ratio, (1 / (1 + margin), 1 + margin), (1, 1)), worse)


def difference_verdict(difference: Interval, bar: float, *, worse: Side) -> Verdict:
    """Judge head less base, likewise."""
    return _verdict(place(difference, (-bar, bar), (0, 0)), worse)


def _verdict(where: Side | Literal["within", "unclear"], worse: Side) -> Verdict:
    match where:
        case "within":
            return Verdict.EQUIVALENT
        case "unclear":
            return Verdict.INCONCLUSIVE
    return Verdict.REGRESSED if where == worse else Verdict.IMPROVED
