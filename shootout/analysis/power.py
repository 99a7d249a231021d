"""How large a change a run can see: how often the rule of judge.py flags one whose size is known."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammaincinv, ndtr

from shootout.analysis import stats
from shootout.model.plan import Policy

POWER = 0.8  # of what is called detectable
_POINTS = 64  # at which the distribution of an estimated spread is looked at


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
    """The share of runs that flag a true `change`, the logarithm's, where starts differ by `spread`.

    Three things must come together: the estimate passes the bar, its p-value is small enough for the only
    change among all `comparisons` (where Holm asks what Bonferroni does) beside both noises, that of starts
    and that of `rounds`, and the mean of the fresh starts that confirm it passes the bar again. Start means
    are taken to be normal: then estimate and estimated spread are independent, and the power is that of each
    spread that a run may see, averaged over their distribution (a non-central t, with a bar: Johnson, Kotz
    and Balakrishnan, "Continuous Univariate Distributions", chapter 31). Needs two starts. `df`:
    degrees of freedom of the spread that a run sees; by default those of its starts.
    """
    df = starts - 1 if df is None else df
    if spread == 0:
        return float(change >= bar)
    error = spread / math.sqrt(starts)
    among = 1 - (1 - policy.confidence) / comparisons
    reach = stats.Noise(error, df).reach(among)
    least = bar if rounds is None else max(bar, rounds.reach(among))
    found = float(ndtr((change - np.maximum(least, reach * _seen(df))) / error).mean())
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
    """The smallest change of the logarithm that `POWER` of such runs flag, as `flagged` has it."""
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
def _seen(df: float) -> NDArray[np.float64]:
    """What an estimated standard deviation may be of the true one: as likely each, in order."""
    places = (np.arange(_POINTS) + 0.5) / _POINTS
    spreads: NDArray[np.float64] = np.sqrt(2 * gammaincinv(df / 2, places) / df)
    return spreads
