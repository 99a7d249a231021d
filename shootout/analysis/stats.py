"""The statistics of paired ratios: how large a change is, and how sure we are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from shootout.model.verdict import Interval

# Fewer say nothing about steadiness: their standard error would itself be a guess.
STEADY_MIN = 8
SURE = 0.99  # confidence in a drift that marks a start
CLIPPED = 3  # times: outliers pull the fit that tells them, but each time less


class Effect(NamedTuple):
    """A log-ratio: its estimate, its interval, and the two-sided p-value of no difference."""

    estimate: float
    low: float
    high: float
    p_value: float
    per_start: tuple[float, ...]  # what each start gave by itself
    error: float  # standard error of the estimate
    df: float  # degrees of freedom of the error
    spread: float  # standard deviation of one start, as these starts show it; 0 with one start

    @property
    def interval(self) -> Interval:
        """The estimate in its interval, as it is."""
        return Interval(estimate=self.estimate, low=self.low, high=self.high)

    @property
    def ratio(self) -> Interval:
        """The ratio whose logarithm this is."""
        return Interval(estimate=math.exp(self.estimate), low=math.exp(self.low), high=math.exp(self.high))


class Noise(NamedTuple):
    """The standard error of an estimate, as one source of noise explains it."""

    error: float
    df: float  # degrees of freedom of the error

    def p_value(self, estimate: float) -> float:
        """Two-sided, of an estimate that is this noise alone (Student's t)."""
        if self.error > 0:
            return float(2 * stdtr(self.df, -abs(estimate) / self.error))
        return 1.0 if estimate == 0 else 0.0

    def reach(self, confidence: float) -> float:
        """How far from zero an estimate of this noise alone lies at most, with this confidence."""
        return quantile(confidence, self.df) * self.error


def trimmed_mean(values: Sequence[float], trim: float) -> float:
    """The mean without the share `trim` of the values at each end (rounded down to whole values).

    Tukey and McLaughlin 1963, "Less vulnerable confidence and significance procedures for location".
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    cut = int(trim * len(ordered))
    return float(ordered[cut : len(ordered) - cut].mean())


def trimmed_standard_error(values: Sequence[float], trim: float) -> float:
    """Standard error of the trimmed mean of independent values: s_w / ((1 - 2 trim) sqrt(n)).

    s_w is the winsorized standard deviation (Tukey and McLaughlin 1963; Wilcox, "Introduction to Robust
    Estimation and Hypothesis Testing", section 3.3). Needs two values.
    """
    return float(_winsorized(values, trim).std(ddof=1) / ((1 - 2 * trim) * np.sqrt(len(values))))


def inefficiency(values: Sequence[float]) -> float:
    """By how much autocorrelation inflates the variance of the mean: 1 + 2 * the sum of autocorrelations.

    The sum runs over Geyer's initial positive sequence: pairs of neighbouring lags as long as their sum is
    positive (Geyer 1992, "Practical Markov Chain Monte Carlo", section 3.3). Never below 1: a negative
    correlation that a short sequence shows by chance must not narrow an interval.
    """
    if np.ptp(values) == 0:
        return 1.0
    centred = np.asarray(values, dtype=float) - np.mean(values)
    variance = float(centred @ centred)
    total = -1.0
    for lag in range(0, len(centred) - 1, 2):
        pair = float(centred[: len(centred) - lag] @ centred[lag:])
        pair += float(centred[: len(centred) - lag - 1] @ centred[lag + 1 :])
        if pair <= 0:
            break
        total += 2 * pair / variance
    return max(1.0, total)


def mean_interval(values: Sequence[float], confidence: float) -> Interval:
    """Student's interval of the mean of independent values (one a start); of one value, itself."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval.exactly(mean)
    half = quantile(confidence, len(values) - 1) * float(np.std(values, ddof=1)) / np.sqrt(len(values))
    return Interval(estimate=mean, low=mean - float(half), high=mean + float(half))


def rounds_effect(values: Sequence[float], trim: float, confidence: float) -> Effect:
    """The trimmed mean over the rounds of one start, corrected for their autocorrelation.

    The standard error is that of independent rounds times the root of `inefficiency`. The df are the
    independent rounds among the untrimmed, less one (Yuen 1974 with Geyer's effective size). It takes two
    rounds; with one the interval is infinite.
    """
    centre = trimmed_mean(values, trim)
    if len(values) < 2:
        return Effect(centre, -np.inf, np.inf, 1.0, (centre,), np.inf, df=1, spread=0.0)
    inflation = inefficiency(_winsorized(values, trim).tolist())
    df = _independent(len(values), trim, inflation)
    error = trimmed_standard_error(values, trim) * float(np.sqrt(inflation))
    return _effect(centre, error, df, confidence, (centre,))


def ratio_of_starts(log_ratios: Sequence[Sequence[float]], trim: float, confidence: float) -> Effect:
    """Mean over starts of the trimmed mean over each start's rounds, on the log scale.

    Each start's mean carries its share of every variance there is: what the restart changed, the noise of its
    rounds, and their autocorrelation. Starts are independent of each other, so the spread of their means is
    the whole variance of the estimate, without a model of its parts, and Student's interval over them holds
    (batch means with the start as the batch: Law and Kelton, "Simulation Modeling and Analysis", chapter 9).
    One start cannot show what a restart changes: then the interval is `rounds_effect`'s, and too narrow.
    """
    if len(log_ratios) == 1:
        return rounds_effect(log_ratios[0], trim, confidence)
    return over_starts([trimmed_mean(rounds, trim) for rounds in log_ratios], confidence)


def over_starts(means: Sequence[float], confidence: float) -> Effect:
    """Student's interval of the mean of what each start gave; at least two starts."""
    values = np.asarray(means, dtype=float)
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    return _effect(float(values.mean()), error, len(values) - 1, confidence, tuple(map(float, values)))


def rounds_noise(log_ratios: Sequence[Sequence[float]], trim: float) -> Noise | None:
    """What the rounds alone, without anything a restart changes, make of `ratio_of_starts`.

    The mean of starts with the errors of `rounds_effect`, but for their autocorrelation, which is that of all
    starts together: of a dozen rounds it is a guess. Degrees of freedom are Satterthwaite's (1946). None
    where a start has fewer than two rounds: those say nothing of their noise.
    """
    if min(map(len, log_ratios)) < 2:
        return None
    winsorized = [_winsorized(rounds, trim) for rounds in log_ratios]
    inflation = inefficiency(np.concatenate([each - each.mean() for each in winsorized]).tolist())
    squares = inflation * np.array([trimmed_standard_error(rounds, trim) ** 2 for rounds in log_ratios])
    dfs = np.array([_independent(len(rounds), trim, inflation) for rounds in log_ratios])
    total = float(squares.sum())
    df = total**2 / float((squares**2 / dfs).sum()) if total > 0 else float(dfs.sum())
    return Noise(math.sqrt(total) / len(log_ratios), df)


def mirrored(effect: Effect) -> Effect:
    """The same seen from the other side."""
    per_start = tuple(-each for each in effect.per_start)
    return effect._replace(estimate=-effect.estimate, low=-effect.high, high=-effect.low, per_start=per_start)


def with_error(effect: Effect, error: float, df: float, confidence: float) -> Effect:
    """The same estimate, of which the error is known from more than its own starts."""
    found = _effect(effect.estimate, error, df, confidence, effect.per_start)
    return found._replace(spread=effect.spread)


def resampled(
    estimate: float,
    replicates: Sequence[float],
    per_start: Sequence[float],
    rounding: float,
    confidence: float,
) -> Effect:
    """An estimate over whole starts, and its interval from what resampled starts gave in its place.

    The error is the standard deviation of the replicates, times sqrt(n / (n - 1)): draws from n starts vary
    by that much less than starts do. The interval is Student's with n - 1 degrees of freedom (Hesterberg
    2015, "What teachers should know about the bootstrap", on narrowness bias): of a mean it is
    `over_starts`'. `rounding`: the error that stays however many starts there are. Needs two starts.
    """
    starts = len(per_start)
    error = float(np.std(replicates)) * math.sqrt(starts / (starts - 1))
    return _effect(estimate, math.hypot(error, rounding), starts - 1, confidence, tuple(per_start))


def difference(
    now: Sequence[float], then: float, then_error: float, then_starts: int, confidence: float
) -> Effect:
    """How far the mean of what each start gave now lies from a mean that was measured before.

    Welch's interval, with the degrees of freedom of both (Welch 1947; Satterthwaite 1946). At least two
    starts on both sides.
    """
    mean, variance = float(np.mean(now)), float(np.var(now, ddof=1)) / len(now)
    total = variance + then_error**2
    parts = variance**2 / (len(now) - 1) + then_error**4 / (then_starts - 1)
    df = total**2 / parts if parts > 0 else float(len(now) + then_starts - 2)
    return _effect(mean - then, math.sqrt(total), df, confidence, tuple(each - then for each in now))


def curve_effects(
    per_start: Sequence[Sequence[float]], threads: Sequence[int], confidence: float
) -> tuple[Effect, Effect]:
    """What happened to a whole scaling curve: its level, and its tilt.

    `per_start`: each start's log-ratios, one for each of `threads`. The level is their mean. The tilt is how
    far the ratio at the most threads lies above that at the fewest, on the line through all of them over
    log(threads): a collapse at many threads is a tilt, whatever the level. Both are linear contrasts of one
    start's values, so their spread over starts is their whole variance, correlations between cells included
    (repeated measures by contrasts: Maxwell and Delaney, "Designing Experiments and Analyzing Data", chapter
    13), and Student's interval over starts holds. Needs two starts, and two numbers of threads.
    """
    values = np.asarray(per_start, dtype=float)
    places = np.log(np.asarray(threads, dtype=float))
    centred = places - places.mean()
    slopes = values @ centred / (centred @ centred)
    level = over_starts(values.mean(axis=1).tolist(), confidence)
    return level, over_starts((slopes * np.ptp(places)).tolist(), confidence)


def wilson(hits: int, trials: int, confidence: float) -> Interval:
    """A share, and the interval it lies in by the score test (Wilson 1927; Newcombe 1998, method 3).

    Without a trial nothing is known: the interval is 0 to 1.
    """
    if trials == 0:
        return Interval(estimate=0.0, low=0.0, high=1.0)
    z = quantile(confidence)
    share, weight = hits / trials, z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    return Interval(estimate=share, low=max(0.0, centre - half), high=min(1.0, centre + half))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted for their number, in the order given (Holm 1979).

    The i-th smallest of m is multiplied by m - i + 1; none becomes smaller than one before it, or than 1.
    """
    order = np.argsort(p_values, kind="stable")
    ordered = np.asarray(p_values, dtype=float)[order]
    scaled = np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1))
    adjusted = np.empty_like(ordered)
    adjusted[order] = np.minimum(scaled, 1.0)
    return tuple(float(p) for p in adjusted)


def drift(values: Sequence[float]) -> tuple[float, float]:
    """The mean of the second half less the mean of the first, and its standard error; needs four values.

    A middle value belongs to the second half. The variance of each half's mean is corrected for the
    autocorrelation inside the halves (Welch 1947, with `inefficiency`).
    """
    middle = len(values) // 2
    halves = [np.asarray(half, dtype=float) for half in (values[:middle], values[middle:])]
    inflation = inefficiency(np.concatenate([half - half.mean() for half in halves]).tolist())
    variance = sum(float(half.var(ddof=1)) / len(half) for half in halves)
    return float(halves[1].mean() - halves[0].mean()), float(np.sqrt(variance * inflation))


def drifts(values: Sequence[float], tolerance: float) -> bool:
    """Whether `drift` is beyond `tolerance`, and chance does not explain it."""
    change, error = drift(values)
    return abs(change) > max(tolerance, quantile(SURE, len(values) - 2) * error)


class Settling(NamedTuple):
    """What of a cold start is left: how much it moves the mean of what is measured next."""

    left: float  # estimate, and its standard error
    error: float
    most: float  # by how much at most, with 95 % confidence, whichever way
    shown: bool  # chance does not explain it


def settling(values: Sequence[float], slowest: float, ahead: float) -> Settling:
    """How far a series has settled that begins with a cold start: for the mean of the `ahead` values to come.

    The series is taken to be a level, a cold start that fades by exp(-i / fade), and noise; level and size
    are fitted by least squares for time constants of an eighth of `slowest` up to it (in values). The whole
    series speaks: where noise hides the end of a fade, its beginning shows. Values further off than 2.5
    robust standard deviations are moved there first (Huber 1981, "Robust Statistics", section 7.7), and the
    error is corrected for autocorrelation (`inefficiency`). The estimate is that of the time constant that
    fits best; the bound holds for all that fit nearly as well (profile likelihood: Bates and Watts 1988,
    "Nonlinear Regression Analysis", section 6.1). Fewer than `STEADY_MIN` values say nothing.
    """
    count = len(values)
    if count < STEADY_MIN:
        return Settling(0.0, math.inf, math.inf, shown=False)
    fades = slowest / np.array([1.0, 2.0, 4.0, 8.0])
    shapes = np.exp(-np.arange(count) / fades[:, None])
    # What is left of a size of one, in the mean of what comes.
    rests = np.exp(-count / fades) * fades / ahead * -np.expm1(-ahead / fades)
    series = np.asarray(values, dtype=float)
    kept = series
    for _ in range(CLIPPED):
        sizes, misses = _fits(kept, shapes)
        fitted = kept - misses[_best(misses)]
        reach = 2.5 * 1.4826 * float(np.median(np.abs(series - fitted)))
        kept = np.clip(series, fitted - reach, fitted + reach)
    sizes, misses = _fits(kept, shapes)
    best, df = _best(misses), count - 3
    squares = (misses**2).sum(axis=1)
    inflation = inefficiency(misses[best].tolist())
    spreads = shapes.std(axis=1) * math.sqrt(count)
    errors = np.sqrt(squares / df * inflation) / spreads * rests
    near = squares <= squares[best] * (1 + quantile(0.95, df) ** 2 * inflation / df)
    left, error = float((sizes * rests)[best]), float(errors[best])
    most = float((np.abs(sizes * rests) + quantile(0.9, df) * errors)[near].max())
    return Settling(left, error, most, shown=abs(left) > quantile(SURE, df) * error)


def _fits(series: NDArray[np.float64], shapes: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Size of each shape (a row) beside a level, and the residuals."""
    centred = shapes - shapes.mean(axis=1, keepdims=True)
    sizes = centred @ series / (centred**2).sum(axis=1)
    return sizes, series - series.mean() - sizes[:, None] * centred


def _best(misses: NDArray[np.float64]) -> int:
    """The fit with the least squares."""
    return int((misses**2).sum(axis=1).argmin())


def _winsorized(values: Sequence[float], trim: float) -> NDArray[np.float64]:
    """The values in their order, the share `trim` at each end replaced by the nearest that stays."""
    array = np.asarray(values, dtype=float)
    ordered = np.sort(array)
    cut = int(trim * len(ordered))
    winsorized: NDArray[np.float64] = np.clip(array, ordered[cut], ordered[len(ordered) - 1 - cut])
    return winsorized


def _independent(rounds: int, trim: float, inflation: float) -> float:
    """Degrees of freedom of so many rounds: those that are independent among the untrimmed, less one."""
    return max(1.0, (rounds - 2 * int(trim * rounds)) / inflation - 1)


def quantile(confidence: float, df: float = math.inf) -> float:
    """Standard errors that Student's interval reaches to each side; infinite df: the normal interval's."""
    end = (1 + confidence) / 2
    return float(ndtri(end) if df == math.inf else stdtrit(df, end))


def _effect(
    estimate: float, error: float, df: float, confidence: float, per_start: tuple[float, ...]
) -> Effect:
    noise = Noise(error, df)
    half, p_value = noise.reach(confidence), noise.p_value(estimate)
    spread = error * math.sqrt(len(per_start)) if len(per_start) > 1 else 0.0
    return Effect(estimate, estimate - half, estimate + half, p_value, per_start, error, df, spread)
