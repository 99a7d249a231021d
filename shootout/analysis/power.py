"""Power: how often the rule of verdicts.py flags a change of known size, and which change is detectable."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaincinv, ndtr

from shootout.analysis import stats
from shootout.model.plan import Policy

POWER = 0.8  # at the detectable change
_POINTS = 64  # of the distribution of an estimated spread


def flagged(
    change: float,
    spread: float,
    starts: int,
    bar: float,
    policy: Policy,
    *,
    comparisons: int,
    df: float | None = None,
    rounds: stats.Noise | None = None,
) -> float:
    """The share of runs that flag a true `change`, a logarithm; `spread` is the standard deviation of starts.

    A flag takes three things. The estimate passes the bar. Its p-value, by the noise of starts and that of
    `rounds`, is small enough for the only change among all `comparisons` (for which Holm equals Bonferroni).
    The mean of the confirming starts passes the bar, too. Start means are assumed to be normal: then estimate
    and estimated spread are independent, and the power is averaged over the distribution of the estimated
    spread (a non-central t, with a bar: Johnson, Kotz and Balakrishnan, "Continuous Univariate
    Distributions", chapter 31). Needs two starts. `df`: degrees of freedom of the estimated spread; by
    default those of its starts.
    """
    df = starts - 1 if df is None else df
    if spread == 0:
        return float(change >= bar)
    error = spread / math.sqrt(starts)
    among = 1 - (1 - policy.confidence) / comparisons
    reach = stats.Noise(error, df).reach(among)
    least = bar if rounds is None else max(bar, rounds.reach(among))
    found = float(ndtr((change - np.maximum(least, reach * _spread_ratios(df))) / error).mean())
    if not policy.confirm_starts:
        return found
    return found * float(ndtr((change - bar) / (spread / math.sqrt(policy.confirm_starts))))


def detectable(
    spread: float,
    starts: int,
    bar: float,
    policy: Policy,
    comparisons: int,
    *,
    df: float | None = None,
    rounds: stats.Noise | None = None,
) -> float:
    """The smallest change, a logarithm, that the share `POWER` of such runs flag, as in `flagged`."""
    if spread == 0:
        return bar

    def surplus(change: float) -> float:
        share = flagged(change, spread, starts, bar, policy, comparisons=comparisons, df=df, rounds=rounds)
        return share - POWER

    most, step = bar, spread
    while surplus(most) < 0:
        most, step = most + step, 2 * step
    return float(brentq(surplus, bar, most, xtol=1e-6))


@cache
def _spread_ratios(df: float) -> NDArray[np.float64]:
    """Equally likely ratios of an estimated to the true standard deviation, ascending."""
    places = (np.arange(_POINTS) + 0.5) / _POINTS
    spreads: NDArray[np.float64] = np.sqrt(2 * gammaincinv(df / 2, places) / df)
    return spreads
