"""Power: how often the rule of verdicts.py flags a change of known size, and which change is detectable."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaincinv, ndtr, ndtri

from shootout.analysis import stats
from shootout.analysis.thresholds import CONFIRMED, CONFIRMING_BAR, POWER, WORTH_CONFIRMING
from shootout.model.plan import Policy

_POINTS = 32  # of the distribution of an estimated spread
_SHARES = (np.arange(16) + 0.5) / 16


def flagged(
    change: float,
    spread: float,
    starts: int,
    bar: float,
    policy: Policy,
    *,
    comparisons: int,
    df: float | None = None,
) -> float:
    """The share of runs that flag a true `change`, a logarithm; `spread` is the standard deviation of starts.

    A flag takes an estimate beyond the bar whose p-value is small enough for the only change among all
    `comparisons` (for which Bonferroni's bound is used): worth confirming first; then, over all starts, as
    small as a confirmed change asks. The confirming starts alone must reach `CONFIRMING_BAR`. Start means are
    assumed to be normal: then estimate and estimated spread are independent, and the power is averaged over
    the distribution of the estimated spread (a non-central t, with a bar: Johnson, Kotz and Balakrishnan,
    "Continuous Univariate Distributions", chapter 31). Needs two starts. `df`: degrees of freedom of the
    estimated spread; by default those of its starts. Each confirming start adds one.
    """
    df = starts - 1 if df is None else df
    if spread == 0:
        return float(change >= bar)
    fresh, error = policy.confirm_starts, spread / math.sqrt(starts)
    # Axes: spread estimated by the starts, and by the confirming ones; share of first estimates that pass.
    chance, ratios = (1 - policy.confidence) / comparisons, _spread_ratios(df)[:, None, None]
    seen = min(1.0, WORTH_CONFIRMING * chance) if fresh else chance
    passing = ndtr((change - np.maximum(bar, stats.Noise(error, df).reach(1 - seen) * ratios)) / error)
    if not fresh:
        return float(passing.mean())
    # What the fresh starts must show beside each.
    first = change - error * ndtri(passing * _SHARES)
    overall = stats.Noise(spread / math.sqrt(starts + fresh), df + fresh)
    fresh_ratios = _spread_ratios(fresh)[_POINTS // 16 :: _POINTS // 8, None]
    pooled = np.sqrt((df * ratios**2 + fresh * fresh_ratios**2) / (df + fresh))
    least = np.maximum(bar, overall.reach(1 - CONFIRMED * chance) * pooled)
    needed = np.maximum(CONFIRMING_BAR * bar, ((starts + fresh) * least - starts * first) / fresh)
    return float((passing * ndtr((change - needed) / (spread / math.sqrt(fresh)))).mean())


def detectable(
    spread: float, starts: int, bar: float, policy: Policy, comparisons: int, *, df: float | None = None
) -> float:
    """The smallest change, a logarithm, that the share `POWER` of such runs flag, as in `flagged`."""
    if spread == 0:
        return bar

    def surplus(change: float) -> float:
        return flagged(change, spread, starts, bar, policy, comparisons=comparisons, df=df) - POWER

    most, step = bar, spread
    while surplus(most) < 0:
        most, step = most + step, 2 * step
    return float(brentq(surplus, bar, most, xtol=1e-3 * spread))


@cache
def _spread_ratios(df: float) -> NDArray[np.float64]:
    """Equally likely ratios of an estimated to the true standard deviation, ascending."""
    places = (np.arange(_POINTS) + 0.5) / _POINTS
    spreads: NDArray[np.float64] = np.sqrt(2 * gammaincinv(df / 2, places) / df)
    return spreads
