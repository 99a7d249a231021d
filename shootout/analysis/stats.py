"""Statistics of paired log-ratios: estimates, intervals and p-values."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri, stdtr, stdtrit

from shootout.model.value import LOG_MAX
from shootout.model.verdict import Interval

STARTS_MIN = 2  # for an interval: one start has no spread
MAD = 1.4826  # standard deviation over median absolute deviation, for normal values
# With fewer values the standard error would be a guess.
STEADY_MIN = 8
STRICT = 0.99  # that a drift is real
STARTS_LIMIT = 1_000_000  # larger numbers count as this one
ROUNDING = 1e-12  # of a log-ratio; what differs by less is equal
CLIPPINGS = 3  # outliers pull the fit that identifies them, but less each time

Values = Sequence[float] | NDArray[np.float64]


class Noise(NamedTuple):
    """How far noise moves an estimate: Student's t, or a mixture of such where its error is uncertain."""

    errors: tuple[float, ...]  # standard errors that it may have, ascending
    df: float  # degrees of freedom of each
    weights: tuple[float, ...] = (1.0,)  # their probabilities

    @property
    def error(self) -> float:
        """The standard error: the root of the mean square of those that it may have."""
        return math.sqrt(sum(w * each**2 for each, w in zip(self.errors, self.weights, strict=True)))

    def p_value(self, estimate: float) -> float:
        """Two-sided p-value of an estimate, if it is this noise alone."""
        if self.errors[0] == 0:
            return 1.0 if estimate == 0 else 0.0
        return float(np.dot(self.weights, 2 * stdtr(self.df, -abs(estimate) / np.array(self.errors))))

    def reach(self, confidence: float) -> float:
        """Compute the farthest from zero that this noise alone puts an estimate, with this confidence."""
        least, most = (quantile(confidence, self.df) * self.errors[end] for end in (0, -1))

        def excess(place: float) -> float:
            return self.p_value(place) - (1 - confidence)

        if least == most or excess(most) >= 0:  # one error has all the weight, but for rounding
            return most
        return least if excess(least) <= 0 else float(brentq(excess, least, most))

    def times(self, factor: float) -> Noise:
        """Scale the noise."""
        return self._replace(errors=tuple(factor * each for each in self.errors))


class Effect(NamedTuple):
    """A log-ratio: its estimate, its interval, and the two-sided p-value of no difference."""

    estimate: float
    low: float
    high: float
    p_value: float
    per_start: tuple[float, ...]  # the estimate of each start alone
    noise: Noise  # of the estimate
    spread: float  # standard deviation of one start, estimated from these starts; 0 with one start
    rounds: Noise | None = None  # noise of the estimate from rounds alone; None: unknown

    @property
    def interval(self) -> Interval:
        """The estimate and its interval, on the log scale."""
        return Interval(estimate=self.estimate, low=self.low, high=self.high)

    @property
    def ratio(self) -> Interval:
        """The estimate and its interval as a ratio."""
        return as_ratio(self.interval)


def as_ratio(log: Interval) -> Interval:
    """Return the ratio of which this is the logarithm."""
    return Interval(estimate=ratio(log.estimate), low=ratio(log.low), high=ratio(log.high))


def ratio(log: float) -> float:
    """Compute the ratio with this logarithm; an interval's end beyond LOG_MAX gives that of LOG_MAX."""
    return math.exp(min(max(log, -LOG_MAX), LOG_MAX))


def trimmed_mean(values: Values, trim: float) -> float:
    """Compute the mean without the share `trim` of values at each end, rounded down to whole values.

    Tukey and McLaughlin 1963, "Less vulnerable confidence and significance procedures for location".
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    cut = int(trim * len(ordered))
    return float(ordered[cut : len(ordered) - cut].mean())


def inefficiency(values: Values) -> float:
    """Compute how autocorrelation inflates the variance of the mean: 1 + 2 * sum of autocorrelations.

    The sum runs over Geyer's initial positive sequence: pairs of neighbouring lags as long as their sum is
    positive (Geyer 1992, "Practical Markov Chain Monte Carlo", section 3.3). Never below 1: a chance negative
    correlation in a short sequence must not narrow an interval.
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
    """Student's interval of the mean of independent values, one per start; a single value has no width."""
    if len(values) < STARTS_MIN:
        return Interval.exactly(float(np.mean(values)))
    return over_starts(values, confidence).interval


def rounds_effect(values: Sequence[float], trim: float, confidence: float) -> Effect:
    """Compute the trimmed mean over the rounds of one start, corrected for their autocorrelation.

    The standard error is that of independent rounds times sqrt(`inefficiency`): s_w / ((1 - 2 trim) sqrt(n)),
    where s_w is the winsorized standard deviation (Tukey and McLaughlin 1963; Wilcox, "Introduction to Robust
    Estimation and Hypothesis Testing", section 3.3). Degrees of freedom: the independent rounds among the
    untrimmed, less one (Yuen 1974 with Geyer's effective size). With one round the interval is infinite.
    """
    centre = trimmed_mean(values, trim)
    if len(values) < 2:
        return _effect(centre, Noise((math.inf,), 1), confidence, (centre,))
    array = np.asarray(values, dtype=float)
    ordered, cut = np.sort(array), int(trim * len(array))
    winsorized = np.clip(array, ordered[cut], ordered[len(array) - 1 - cut])
    inflation = inefficiency(winsorized)
    df = _independent(len(values), trim, inflation)
    error = float(winsorized.std(ddof=1) / ((1 - 2 * trim) * np.sqrt(len(values)))) * float(
        np.sqrt(inflation)
    )
    return _effect(centre, Noise((error,), df), confidence, (centre,))


def ratio_of_starts(log_ratios: Sequence[Sequence[float]], trim: float, confidence: float) -> Effect:
    """Compute the mean over starts without their outlying rounds, on the log scale, with Student's interval.

    Rounds are trimmed by their distance from their own start's trimmed mean, those of all starts together: a
    noisy start loses more rounds and counts less, but a start that is slow as a whole counts in full.
    Each start's contribution has all sources of variance: the effect of the restart, the noise of its rounds,
    and their autocorrelation. Starts are independent, so the spread of their contributions is the whole
    variance of the estimate, without a model of its parts (batch means with the start as the batch: Law and
    Kelton, "Simulation Modeling and Analysis", chapter 9). One start cannot show the effect of a restart:
    then the interval is that of `rounds_effect`, and too narrow.
    """
    if len(log_ratios) == 1:
        return rounds_effect(log_ratios[0], trim, confidence)
    linear = _linear(log_ratios, trim)
    effect = over_starts([float(each.mean()) for each in linear], confidence)
    return effect._replace(rounds=_rounds_noise(linear, trim))


def over_starts(means: Sequence[float], confidence: float) -> Effect:
    """Student's interval of the mean over at least two starts."""
    values = np.asarray(means, dtype=float)
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    return _effect(
        float(values.mean()), Noise((error,), len(values) - 1), confidence, tuple(map(float, values))
    )


def half_width(spread: float, starts: int, confidence: float) -> float:
    """Half the width of Student's interval over `starts` starts with standard deviation `spread`."""
    return quantile(confidence, starts - 1) * spread / math.sqrt(starts)


def starts_for(wanted: float, spread: float, confidence: float) -> int:
    """Find the fewest starts, at least two, whose interval has a half-width of at most `wanted`."""
    counts = range(2, STARTS_LIMIT)
    narrow = bisect.bisect_left(counts, -wanted, key=lambda starts: -half_width(spread, starts, confidence))
    return counts[narrow] if narrow < len(counts) else STARTS_LIMIT


def mirrored(effect: Effect) -> Effect:
    """Reverse the sign of the effect."""
    per_start = tuple(-each for each in effect.per_start)
    return effect._replace(estimate=-effect.estimate, low=-effect.high, high=-effect.low, per_start=per_start)


def with_noise(effect: Effect, noise: Noise, confidence: float) -> Effect:
    """Give an estimate the noise known from more than its own starts."""
    renewed = _effect(effect.estimate, noise, confidence, effect.per_start)
    return renewed._replace(spread=effect.spread, rounds=effect.rounds)


def resampled(
    estimate: float,
    replicates: Sequence[float],
    per_start: Sequence[float],
    rounding: float,
    confidence: float,
) -> Effect:
    """Estimate over whole starts, with the interval from the estimates of resampled starts.

    The error is the standard deviation of the replicates times sqrt(n / (n - 1)), because resamples of n
    starts vary that much less than starts do. The interval is Student's with n - 1 degrees of freedom
    (Hesterberg 2015, "What teachers should know about the bootstrap", on narrowness bias); for a mean it is
    that of `over_starts`. `rounding`: the error that no number of starts reduces. Needs two starts.
    """
    starts = len(per_start)
    error = float(np.std(replicates)) * math.sqrt(starts / (starts - 1))
    noise = Noise((math.hypot(error, rounding),), starts - 1)
    return _effect(estimate, noise, confidence, tuple(per_start))


def difference(
    now: Sequence[float], then: float, then_error: float, then_starts: int, confidence: float
) -> Effect:
    """Compute the difference between the mean over these starts and a mean measured before.

    Welch's interval, with the degrees of freedom of both (Welch 1947; Satterthwaite 1946). Both sides need
    two starts.
    """
    mean, error = float(np.mean(now)), float(np.std(now, ddof=1)) / math.sqrt(len(now))
    noise = welch((error, len(now) - 1), (then_error, then_starts - 1))
    return _effect(mean - then, noise, confidence, tuple(each - then for each in now))


def welch(*sides: tuple[float, float]) -> Noise:
    """Compute the noise of a difference of independent estimates, each with error and degrees of freedom."""
    total = sum(error**2 for error, _ in sides)
    parts = sum(error**4 / df for error, df in sides)
    return Noise((math.sqrt(total),), total**2 / parts if parts > 0 else float(sum(df for _, df in sides)))


def curve_effects(
    per_start: Sequence[Sequence[float]], threads: Sequence[int], confidence: float
) -> tuple[Effect, Effect]:
    """Estimate level and tilt: the changes of a whole scaling curve.

    `per_start`: each start's log-ratios, one for each of `threads`. The level is their mean. The tilt is the
    rise from the fewest to the most threads of the line through all of them over log(threads): a collapse at
    many threads is a tilt, whatever the level. Both are linear contrasts of one
    start's values, so their spread over starts is their whole variance, correlations between cells included
    (repeated measures by contrasts: Maxwell and Delaney, "Designing Experiments and Analyzing Data", chapter
    13), and Student's interval over starts holds. Needs two starts, and two thread counts.
    """
    values = np.asarray(per_start, dtype=float)
    places = np.log(np.asarray(threads, dtype=float))
    centred = places - places.mean()
    slopes = values @ centred / (centred @ centred)
    level = over_starts(values.mean(axis=1).tolist(), confidence)
    return level, over_starts((slopes * np.ptp(places)).tolist(), confidence)


def wilson(hits: int, trials: int, confidence: float) -> Interval:
    """Give a share its score interval (Wilson 1927; Newcombe 1998, method 3); 0 to 1 without trials."""
    if trials == 0:
        return Interval(estimate=0.0, low=0.0, high=1.0)
    z = quantile(confidence)
    share, weight = hits / trials, z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    return Interval(estimate=share, low=max(0.0, centre - half), high=min(1.0, centre + half))


def hommel(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values for their number (Hommel 1988); the order stays.

    Each becomes the largest p-value that Simes's test (1986) gives any set of hypotheses it belongs to. Tests
    must be independent or positively dependent, as those of cells with a common base are.
    """
    order = np.argsort(p_values, kind="stable")
    ordered = np.asarray(p_values, dtype=float)[order]
    count, worst = len(ordered), ordered.copy()
    for size in range(2, count + 1):
        # The set of this size with the largest others.
        simes = size * ordered[count - size :] / np.arange(1, size + 1)
        alone = np.minimum(size * ordered[: count - size], simes[1:].min())
        worst = np.maximum(worst, np.append(alone, np.full(size, simes.min())))
    adjusted = np.empty_like(ordered)
    adjusted[order] = worst
    return tuple(adjusted.tolist())


def drift(values: Sequence[float]) -> tuple[float, float]:
    """Mean of the second half less mean of the first, and its standard error; needs four values.

    A middle value belongs to the second half. The variance of each half's mean is corrected for the
    autocorrelation within the halves (Welch 1947, with `inefficiency`).
    """
    middle = len(values) // 2
    halves = [np.asarray(half, dtype=float) for half in (values[:middle], values[middle:])]
    inflation = inefficiency(np.concatenate([half - half.mean() for half in halves]))
    variance = sum(float(half.var(ddof=1)) / len(half) for half in halves)
    return float(halves[1].mean() - halves[0].mean()), float(np.sqrt(variance * inflation))


def drifts(values: Sequence[float], tolerance: float) -> bool:
    """Whether `drift` is beyond `tolerance` and significant."""
    change, error = drift(values)
    return abs(change) > max(tolerance, quantile(STRICT, len(values) - 2) * error)


class Settling(NamedTuple):
    """The rest of a cold start: how far it shifts the mean of the values to come."""

    remaining: float  # estimate
    bound: float  # of its absolute value, with 95 % confidence
    significant: bool


def settling(values: Sequence[float], slowest: float, ahead: float) -> Settling:
    """Estimate how far a cold start at the beginning of a series shifts the mean of the next `ahead` values.

    The model is a level, a cold start that fades as exp(-i / fade), and noise. Level and size are fitted by
    least squares for time constants from an eighth of `slowest` up to `slowest`, in values. The fit uses the
    whole series: if noise hides the end of a fade, its beginning shows it. Before that, values further off
    than 2.5 robust standard deviations are moved to that distance (Huber 1981, "Robust Statistics", section
    7.7). The error is corrected for autocorrelation (`inefficiency`). The estimate is that of the time
    constant that fits best; the bound holds for all that fit nearly as well (profile likelihood: Bates and
    Watts 1988, "Nonlinear Regression Analysis", section 6.1). With fewer than `STEADY_MIN` values the bound
    is infinite.
    """
    count = len(values)
    if count < STEADY_MIN:
        return Settling(0.0, math.inf, significant=False)
    fades = slowest / np.array([1.0, 2.0, 4.0, 8.0])
    shapes = np.exp(-np.arange(count) / fades[:, None])
    # The share of the initial size that remains in the mean of the values to come.
    rests = np.exp(-count / fades) * fades / ahead * -np.expm1(-ahead / fades)
    series = np.asarray(values, dtype=float)
    clipped = series
    for _ in range(CLIPPINGS):
        sizes, residuals = _fits(clipped, shapes)
        fitted = clipped - residuals[_best(residuals)]
        reach = 2.5 * MAD * float(np.median(np.abs(series - fitted)))
        clipped = np.clip(series, fitted - reach, fitted + reach)
    sizes, residuals = _fits(clipped, shapes)
    best, df = _best(residuals), count - 3
    squares = (residuals**2).sum(axis=1)
    inflation = inefficiency(residuals[best].tolist())
    spreads = shapes.std(axis=1) * math.sqrt(count)
    errors = np.sqrt(squares / df * inflation) / spreads * rests
    near = squares <= squares[best] * (1 + quantile(0.95, df) ** 2 * inflation / df)
    remaining, error = float((sizes * rests)[best]), float(errors[best])
    bound = float((np.abs(sizes * rests) + quantile(0.9, df) * errors)[near].max())
    return Settling(remaining, bound, significant=abs(remaining) > quantile(STRICT, df) * error)


def _fits(series: NDArray[np.float64], shapes: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Size of each shape (a row) beside a level, and the residuals."""
    centred = shapes - shapes.mean(axis=1, keepdims=True)
    sizes = centred @ series / (centred**2).sum(axis=1)
    return sizes, series - series.mean() - sizes[:, None] * centred


def _best(residuals: NDArray[np.float64]) -> int:
    return int((residuals**2).sum(axis=1).argmin())


def _linear(log_ratios: Sequence[Sequence[float]], trim: float) -> list[NDArray[np.float64]]:
    """Rounds by start, replaced by values whose mean varies as the estimate does.

    The estimate is the sum of a trimmed mean of the rounds' distances from their starts' centres, and of the
    mean centre, weighted by the rounds that remain. The first varies as the winsorized distances over the
    share that is not trimmed (Huber 1981, "Robust Statistics", section 3.3).
    """
    starts = [np.asarray(rounds, dtype=float) for rounds in log_ratios]
    centres = np.array([trimmed_mean(rounds, trim) for rounds in starts])
    distances = [rounds - centre for rounds, centre in zip(starts, centres, strict=True)]
    ordered = np.sort(np.concatenate(distances))
    cut = int(trim * len(ordered))
    low, high = ordered[cut] - ROUNDING, ordered[len(ordered) - 1 - cut] + ROUNDING
    kept = [(low <= each) & (each <= high) for each in distances]
    counts = np.array([inside.sum() for inside in kept])
    sums = [rounds[inside].sum() for rounds, inside in zip(starts, kept, strict=True)]
    estimate = float(sum(sums) / counts.sum())
    shifts = counts / counts.mean() * (centres - estimate)
    influences = [
        shift + np.clip(each, low, high) * len(ordered) / counts.sum()
        for shift, each in zip(shifts, distances, strict=True)
    ]
    off = float(np.mean([each.mean() for each in influences])) - estimate
    return [each - off for each in influences]


def _rounds_noise(linear: Sequence[NDArray[np.float64]], trim: float) -> Noise | None:
    """Noise of the mean over starts from rounds alone, without restarts; `linear`: of `_linear`.

    Autocorrelation is pooled over all starts: from a dozen rounds it would be a guess. Degrees of freedom are
    Satterthwaite's (1946). None if a start has fewer than two rounds.
    """
    if min(map(len, linear)) < 2:
        return None
    inflation = inefficiency(np.concatenate([each - each.mean() for each in linear]))
    squares = inflation * np.array([each.var(ddof=1) / len(each) for each in linear])
    dfs = np.array([_independent(len(each), trim, inflation) for each in linear])
    total = float(squares.sum())
    df = total**2 / float((squares**2 / dfs).sum()) if total > 0 else float(dfs.sum())
    return Noise((math.sqrt(total) / len(linear),), df)


def _independent(rounds: int, trim: float, inflation: float) -> float:
    """Degrees of freedom of rounds: the independent ones among the untrimmed, less one; at least 1."""
    return max(1.0, (rounds - 2 * int(trim * rounds)) / inflation - 1)


def quantile(confidence: float, df: float = math.inf) -> float:
    """Half-width of Student's interval in standard errors; of the normal interval for infinite `df`."""
    end = (1 + confidence) / 2
    return float(ndtri(end) if df == math.inf else stdtrit(df, end))


def _effect(estimate: float, noise: Noise, confidence: float, per_start: tuple[float, ...]) -> Effect:
    half, p_value = noise.reach(confidence), noise.p_value(estimate)
    spread = noise.error * math.sqrt(len(per_start)) if len(per_start) > 1 else 0.0
    return Effect(estimate, estimate - half, estimate + half, p_value, per_start, noise, spread)
