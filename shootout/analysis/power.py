"""Power: how often the rule of verdicts.py flags a change of known size, and which change is detectable."""

from __future__ import annotations

from shootout.analysis.stats import Noise
from shootout.analysis.thresholds import CONFIRMED, POWER
from shootout.model.plan import Policy


def flagged(change: float, noise: Noise, bar: float, policy: Policy, comparisons: int) -> float:
    """Compute the share of runs that flag a true `change`, a logarithm, where estimates have this `noise`.

    A flag takes an estimate beyond the bar, and a p-value that is small enough for the only change among all
    `comparisons` (Bonferroni's bound).
    """
    short = _least(noise, bar, policy, comparisons) - change
    beyond = noise.p_value(short) / 2
    return beyond if short > 0 else 1 - beyond


def detectable(noise: Noise, bar: float, policy: Policy, comparisons: int) -> float:
    """Compute the smallest change, a logarithm, that the share `POWER` of runs with this `noise` would flag.

    The sum of two quantiles, of the test and of the power (Zar, "Biostatistical Analysis", section 7.7). The
    precision that fresh starts add is left out, so noisy runs find more.
    """
    return _least(noise, bar, policy, comparisons) + noise.reach(2 * POWER - 1)


def _least(noise: Noise, bar: float, policy: Policy, comparisons: int) -> float:
    chance = (CONFIRMED if policy.confirm_starts else 1) * (1 - policy.confidence) / comparisons
    return max(bar, noise.reach(1 - chance))
