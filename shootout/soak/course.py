"""The course of a server's speed, or of two servers' ratio: its level, its slope, and its largest step.

The noise of levels and slopes is that of the curve's own low frequencies: the mean square of its projections
on a few cosines, with Student's t of as many degrees of freedom (Müller 2004, "A theory of robust long-run
variance estimation"; Lazarus, Lewis, Stock and Watson 2018, "HAR inference: recommendations for practice",
equal-weighted cosines). Far fewer cosines than those authors recommend cost power, but the interval then
also holds if the machine shifts its speed once in a while.

A step may be at any time, and is judged by its own noise, too: the sums of deviations from the means before
and after it (Shao and Zhang 2010, "Testing for change points in time series"). Autocorrelation then needs no
estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shootout.analysis.stats import quantile, welch
from shootout.model.verdict import Interval
from shootout.soak.curves import Parts, Values

COSINES = 10  # from the second on: the first is nearly a slope
SECTIONS = 10
EDGE = 0.1  # of the load, at either end, in which no step is looked for
# Quantiles of the largest self-normalised step, by chance of a larger one (Shao and Zhang 2010, table 1).
_CHANCES = (0.1, 0.05, 0.025, 0.01, 0.005, 0.001)
_LARGEST = (29.6, 40.1, 52.2, 68.6, 84.6, 121.9)
POWER = 1.5  # times the root of such a quantile: the step midway found in four of five (docs/results.md)
FOUR_OF_FIVE = 0.84  # standard errors


@dataclass(frozen=True)
class Estimate:
    """A value with its noise."""

    value: float
    error: float = 0.0
    df: float = math.inf

    def interval(self, confidence: float) -> Interval:
        """Make Student's interval."""
        half = quantile(confidence, self.df) * self.error
        return Interval(estimate=self.value, low=self.value - half, high=self.value + half)

    def minus(self, other: Estimate) -> Estimate:
        """Subtract an independent value (Welch 1947)."""
        noise = welch((self.error, self.df), (other.error, other.df))
        return Estimate(self.value - other.value, noise.error, noise.df)


def ends(parts: Parts) -> tuple[Estimate, Estimate]:
    """Estimate the logarithms of the speed in the first and in the last tenth.

    The noise is that within sections, of which a sudden change spoils one.
    """
    noise, df = _within(parts.steady)
    tenth = len(parts.steady) // 10
    first, last = float(parts.steady[:tenth].mean()), float(parts.steady[-tenth:].mean())
    error = math.sqrt(noise / tenth)
    return Estimate(first, error, df), Estimate(last, error, df)


def level(parts: Parts, confidence: float) -> Interval:
    """Compare the last tenth with the first."""
    first, last = ends(parts)
    change = last.minus(first)
    return Estimate(change.value, change.error, first.df).interval(confidence)  # they share their noise


def slope(parts: Parts, confidence: float) -> Interval:
    """Estimate the change for each minute."""
    minutes = np.arange(len(parts.steady)) * parts.width_s / 60
    centred = minutes - minutes.mean()
    rise = float(centred @ parts.steady / (centred @ centred))
    noise = _projections(parts.steady - parts.steady.mean() - rise * centred, range(2, 2 + COSINES))
    error = math.sqrt(float(np.mean(noise**2) / (centred @ centred)))
    return Estimate(rise, error, COSINES).interval(confidence)


def step(parts: Parts, confidence: float) -> Interval:
    """Find the step that is largest beside its own noise; the interval holds for all times at once."""
    change, error = _contrast(parts.steady, _place(parts.steady))
    half = math.sqrt(_largest(1 - confidence)) * error
    return Interval(estimate=change, low=change - half, high=change + half)


def step_s(parts: Parts) -> float:
    """Find when that step was, in seconds since the judged part of the load began."""
    return _place(parts.steady) * parts.width_s


def detectable(parts: Parts, seconds: float, bar: float, confidence: float) -> float:
    """Compute the loss from midway on that so many seconds, as noisy as these parts, show in four of five."""
    noise, _ = _within(parts.steady)
    error = math.sqrt(noise * parts.width_s / seconds)
    proven = POWER * math.sqrt(_largest(1 - confidence)) * error
    return -math.expm1(-max(proven, bar + FOUR_OF_FIVE * 2 * error))


def _place(logs: Values) -> int:
    """The first part after the largest step."""
    edge = math.ceil(EDGE * len(logs))

    def size(at: int) -> float:
        change, error = _contrast(logs, at)
        return abs(change) / error

    return max(range(edge, len(logs) - edge + 1), key=size)


def _contrast(logs: Values, at: int) -> tuple[float, float]:
    """The mean from there on less the mean before, and its error."""
    before, after = logs[:at], logs[at:]
    change = float(after.mean() - before.mean())
    sums = np.cumsum(before - before.mean()), np.cumsum((after - after.mean())[::-1])
    noise = math.sqrt(sum(float(each @ each) for each in sums) * len(logs))
    return change, max(noise / (len(before) * len(after)), 1e-12)


def _largest(chance: float) -> float:
    """The quantile of the largest step; straight lines over the logarithm of the chance."""
    chances = np.log(_CHANCES)[::-1]
    wanted = math.log(min(chance, _CHANCES[0]))
    rise = (_LARGEST[-1] - _LARGEST[-2]) / (chances[0] - chances[1])
    beyond = rise * min(0.0, wanted - float(chances[0]))
    return float(np.interp(wanted, chances, _LARGEST[::-1])) + float(beyond)


def _within(logs: Values) -> tuple[float, int]:
    """The long-run variance within sections, and its degrees of freedom."""
    squares = [float(_projections(each, (1,))[0]) ** 2 for each in np.array_split(logs, SECTIONS)]
    return sum(squares) / len(squares), len(squares)


def _projections(values: Values, numbers: Iterable[int]) -> Values:
    """Project on cosines of so many half-waves; white noise gives each its own variance."""
    count = len(values)
    phases = np.pi * (np.arange(count) + 0.5) / count
    return np.array([math.sqrt(2 / count) * float(values @ np.cos(number * phases)) for number in numbers])
