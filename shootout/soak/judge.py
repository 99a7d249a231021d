"""Soaks judged: what long load did to a server, from its curves by second, and beside the base.

Everything is compared as a change over time, the head's less the base's: one start of each says little about
their levels, which is what runs are for. Intervals are for all findings of a head together (Bonferroni).

The noise of levels and slopes is that of the curve's own low frequencies: the mean square of its projections
on a few cosines, with Student's t of as many degrees of freedom (Müller 2004, "A theory of robust long-run
variance estimation"; Lazarus, Lewis, Stock and Watson 2018, "HAR inference: recommendations for practice",
equal-weighted cosines). Far fewer cosines than those authors recommend cost power, but the interval then
also holds if the machine shifts its speed once in a while.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from scipy.special import betaincinv, gammaincinv, ndtri

from shootout.analysis.stats import as_ratio, quantile, welch
from shootout.model.verdict import Interval, Verdict
from shootout.soak.values import (
    Finding,
    FindingKind,
    FootprintChange,
    Gauge,
    Measure,
    SoakComparison,
    SoakDocument,
    SoakResult,
    SoakSlice,
)

SECONDS_MIN = 180  # of load, for any finding: in less, intervals are too narrow
SETTLING_S = 30  # at most a tenth of the load: what a cold start may take is not judged
PARTS = 60  # medians of parts of the load keep its course, without its stalls
COSINES = 5  # from the second on: the first is nearly a slope
SECTIONS = 10
STALL = 0.1  # of the median throughput
EPISODE_S = 5  # stalls that are not farther apart are one
PERIOD_MIN_S = 4
PERIODS_MIN = 5
HARMONIC = 0.7  # of the highest autocorrelation: a shorter period with so much is the period
MEMORY_PARTS = 12  # of the second half
# The smallest differences worth a verdict. A stall is worth one whenever it is proven.
LEVEL_BAR = 0.1  # beginning to end, up to half an hour
SLOPE_BAR = 0.05  # over all, up to ten minutes; in more, a machine's own shifts add up as a random walk does
DIP_BAR = 0.05  # of throughput
MEMORY_BAR = 0.01  # of the memory, over half of the load
MARGINS: Mapping[Measure, float] = {
    "memory": 0.05,
    "disk": 0.05,
    "write_amplification": 0.1,
    "fsyncs": 0.1,
    "start": 0.25,
    "shutdown": 0.25,
}
MARGIN_S = 0.5  # of start and shutdown, at least

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value with its noise."""

    value: float
    error: float = 0.0
    df: float = math.inf

    def interval(self, confidence: float) -> Interval:
        """With Student's interval."""
        half = quantile(confidence, self.df) * self.error
        return Interval(estimate=self.value, low=self.value - half, high=self.value + half)

    def minus(self, other: Estimate) -> Estimate:
        """The difference of two independent values (Welch 1947)."""
        noise = welch((self.error, self.df), (other.error, other.df))
        return Estimate(self.value - other.value, noise.error, noise.df)


@dataclass(frozen=True)
class Curve:
    """One server's load by second."""

    tps: Values
    latency_s: Values  # the 95 % latency; NaN: nothing ended
    gauges: Mapping[Gauge, Values] = field(default_factory=dict)  # NaN: not read in that second
    open_loop: bool = False  # at a given rate, latency shows the server's speed

    @cached_property
    def speed(self) -> Values:
        """What a healthy server keeps: throughput, or in an open loop the inverse latency."""
        return 1 / np.maximum(_filled(self.latency_s), 1e-6) if self.open_loop else self.tps

    def until(self, seconds: int) -> Curve:
        """Its first seconds."""
        gauges = {name: values[:seconds] for name, values in self.gauges.items()}
        visible = {name: values for name, values in gauges.items() if not np.isnan(values).all()}
        return Curve(self.tps[:seconds], self.latency_s[:seconds], visible, self.open_loop)

    @property
    def _judged(self) -> slice:
        return slice(min(SETTLING_S, len(self.tps) // 10), None)

    @cached_property
    def parts(self) -> tuple[Values, float]:
        """Logarithms of the speed's medians over the parts, and a part's length in seconds."""
        judged = self.speed[self._judged]
        width = max(1, len(judged) // PARTS)
        medians = np.median(judged[: len(judged) // width * width].reshape(-1, width), axis=1)
        return np.log(np.maximum(medians, 0.01 * max(float(np.median(judged)), 1e-6))), float(width)

    @cached_property
    def stalls(self) -> tuple[tuple[int, int], ...]:
        """First and last second of each episode whose throughput is below a tenth of the median."""
        low = np.flatnonzero(self.tps < STALL * np.median(self.tps))
        found: list[tuple[int, int]] = []
        for second in map(int, low[low >= (self._judged.start)]):
            if found and second - found[-1][1] <= EPISODE_S:
                found[-1] = (found[-1][0], second)
            else:
                found.append((second, second))
        return tuple(found)

    @cached_property
    def residual(self) -> Values:
        """Throughput relative to its running median, less one."""
        judged = self.tps[self._judged]
        median = median_filter(judged, len(judged) // 4 | 1, mode="nearest")
        relative: Values = np.clip(judged / np.maximum(median, 1e-9) - 1, -1, 1)
        return relative


def curves(document: SoakDocument) -> dict[str, Curve]:
    """Each server's curve."""
    of: dict[str, list[SoakSlice]] = {}
    for each in document.slices:
        of.setdefault(each.server, []).append(each)
    open_loop = document.header.load.rate is not None
    return {server: _curve(slices, open_loop) for server, slices in of.items()}


def _curve(slices: Sequence[SoakSlice], open_loop: bool) -> Curve:
    """Slices spread over whole seconds: transactions of a window and of its drain evenly over each."""
    count = int(max(each.begins_s + each.lasts_s for each in slices))
    times, done = [0.0], [0.0]
    for each in slices:
        ends_s = each.begins_s + each.lasts_s
        rest = max(0.0, each.completed - each.transactions)
        for at_s, more in (
            (each.begins_s, 0.0),
            (each.begins_s + each.window_s, each.transactions),
            (ends_s, rest),
        ):
            times.append(max(at_s, times[-1]))
            done.append(done[-1] + more)
    tps = np.diff(np.interp(np.arange(count + 1), times, done))
    latency_s, gauges = np.full(count, np.nan), {name: np.full(count, np.nan) for name in get_args(Gauge)}
    for each in slices:
        first = min(int(each.begins_s), count - 1)
        if each.completed:
            latency_s[first : int(each.begins_s + each.lasts_s)] = each.p95_s
        for name, value in each.gauges.items():
            gauges[name][first] = value
    return Curve(tps, latency_s, gauges, open_loop).until(count)


def judge(document: SoakDocument) -> SoakResult:
    """Compare each head with the base; a single server's findings have no difference and no verdict."""
    found = curves(document)
    base, *heads = document.header.servers
    ended = {end.server for end in document.ends}
    failed = {name: "cut short" for name in found if name not in ended}
    failed |= {failure.server: failure.reason for failure in document.failures}
    confidence = document.header.confidence
    comparisons = []
    for head in heads or [base]:
        pair = _common({name: found[name] for name in (base, head) if name in found})
        reason = next((f"{name}: {failed[name]}" for name in (base, head) if name in failed), "")
        long = {base, head} == pair.keys() and all(len(curve.tps) >= SECONDS_MIN for curve in pair.values())
        of_base = pair.get(base) if heads else None
        levels = {
            name: tuple(as_ratio(each.interval(confidence)) for each in ends(curve))
            for name, curve in pair.items()
            if len(curve.tps) >= SECONDS_MIN
        }
        comparisons.append(
            SoakComparison(
                base=base,
                head=head,
                findings=compare(of_base, pair[head], confidence) if long else (),
                footprint=_footprint(document, base, head) if heads else (),
                levels=levels,
                reason=reason if reason or long else f"less than {SECONDS_MIN} s of load",
            )
        )
    return SoakResult(document=document, comparisons=tuple(comparisons))


def _common(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """The curves over the seconds that all have: one may have been cut short."""
    seconds = min((len(curve.tps) for curve in curves.values()), default=0)
    return {name: curve.until(seconds) for name, curve in curves.items()}


def compare(base: Curve | None, head: Curve, confidence: float) -> tuple[Finding, ...]:
    """All findings of a head beside the base, over as many seconds, or of a single server."""
    each = 1 - (1 - confidence) / len(get_args(FindingKind))
    level, slope, growth = ((of(base), of(head)) for of in (_level, _slope, _growth))
    minutes = len(head.tps) / 60
    level_bar = math.log1p(LEVEL_BAR) * max(1.0, math.sqrt(minutes / 30))
    slope_bar = SLOPE_BAR * max(1.0, math.sqrt(minutes / 10)) / minutes
    return (
        _relative(_finding("level", level, each, bar=level_bar, worse=-1)),
        _relative(_finding("slope", slope, each, bar=slope_bar, worse=-1)),
        _stalls(base, head, each),
        _dips(base, head, each),
        _finding("memory", growth, each, bar=_memory_bar(head), worse=1),
    )


def _finding(
    kind: FindingKind,
    pair: tuple[Estimate | None, Estimate | None],
    confidence: float,
    *,
    bar: float,
    worse: int,
) -> Finding:
    """Judge the head's value less the base's; `worse`: the sign of a difference for the worse."""
    base, head = pair
    by = None if base is None or head is None else head.minus(base).interval(confidence)
    return Finding(
        kind=kind,
        base=None if base is None else base.interval(confidence),
        head=None if head is None else head.interval(confidence),
        difference=by,
        bar=bar,
        verdict=_verdict(by, bar, worse),
    )


def _verdict(by: Interval | None, bar: float, worse: int) -> Verdict:
    if by is None:
        return Verdict.UNJUDGED
    if abs(by.estimate) >= bar and not by.low <= 0 <= by.high:
        return Verdict.REGRESSED if by.estimate * worse > 0 else Verdict.IMPROVED
    return Verdict.EQUIVALENT if -bar <= by.low and by.high <= bar else Verdict.INCONCLUSIVE


# --- level and slope --------------------------------------------------------------------------------


def ends(curve: Curve) -> tuple[Estimate, Estimate]:
    """The logarithms of the speed in the first and in the last tenth.

    The noise is that within sections, of which a sudden change spoils one.
    """
    logs, _ = curve.parts
    within = [_projections(each, (1,)) for each in np.array_split(logs, SECTIONS)]
    squares = np.concatenate(within) ** 2
    tenth = len(logs) // 10
    first, last = (
        Estimate(float(each.mean()), math.sqrt(float(squares.mean()) / tenth), len(squares))
        for each in (logs[:tenth], logs[-tenth:])
    )
    return first, last


def _level(curve: Curve | None) -> Estimate | None:
    if curve is None:
        return None
    first, last = ends(curve)
    change = last.minus(first)
    return Estimate(change.value, change.error, first.df)  # they share their noise


def _slope(curve: Curve | None) -> Estimate | None:
    """The change of the speed's logarithm for each minute."""
    if curve is None:
        return None
    logs, width_s = curve.parts
    minutes = np.arange(len(logs)) * width_s / 60
    rise, error = _line(minutes, logs)
    return Estimate(rise, error, COSINES)


def _line(x: Values, y: Values) -> tuple[float, float]:
    """A line's slope, and its error from the residuals' low frequencies."""
    centred = x - x.mean()
    rise = float(centred @ y / (centred @ centred))
    noise = _projections(y - y.mean() - rise * centred, range(2, 2 + COSINES))
    return rise, math.sqrt(float(np.mean(noise**2) / (centred @ centred)))


def _projections(values: Values, numbers: Iterable[int]) -> Values:
    """On cosines of so many half-waves; white noise gives each its own variance."""
    count = len(values)
    phases = np.pi * (np.arange(count) + 0.5) / count
    return np.array([math.sqrt(2 / count) * float(values @ np.cos(number * phases)) for number in numbers])


# --- stalls and dips --------------------------------------------------------------------------------


def _stalls(base: Curve | None, head: Curve, confidence: float) -> Finding:
    """Episodes per minute, as counts of rare events.

    Each rate has the exact interval of a Poisson count (Garwood 1936). Both servers' episodes together, the
    head's share of them is binomial: the exact test and the rates' ratio by its limits (Clopper and Pearson
    1934). The difference's interval follows from the ratio's for the rate of both.
    """
    mine, minutes = len(head.stalls), len(head.residual) / 60
    head_rate = _rate(mine, minutes, confidence)
    found = Finding(
        kind="stalls",
        base=None,
        head=head_rate,
        difference=None,
        bar=0.0,
        verdict=Verdict.UNJUDGED,
        note=_stall_note(head),
    )
    if base is None:
        return found
    theirs, base_minutes = len(base.stalls), len(base.residual) / 60
    share = minutes / (minutes + base_minutes)
    total, tail = mine + theirs, (1 - confidence) / 2
    low = betaincinv(mine, total - mine + 1, tail) if mine else 0.0
    high = betaincinv(mine + 1, total - mine, 1 - tail) if mine < total else 1.0
    both = total / (minutes + base_minutes)
    differences = (both * (each / share - (1 - each) / (1 - share)) for each in (low, high))
    by = mine / minutes - theirs / base_minutes
    lowest, highest = differences if total else (-head_rate.high, head_rate.high)
    difference = Interval(estimate=by, low=float(lowest), high=float(highest))
    proven = total > 0 and not low <= share <= high
    verdict = (Verdict.REGRESSED if by > 0 else Verdict.IMPROVED) if proven else Verdict.INCONCLUSIVE
    return structs.replace(
        found, base=_rate(theirs, base_minutes, confidence), difference=difference, verdict=verdict
    )


def _rate(count: int, minutes: float, confidence: float) -> Interval:
    tail = (1 - confidence) / 2
    low = float(gammaincinv(count, tail)) if count else 0.0
    return Interval(
        estimate=count / minutes,
        low=low / minutes,
        high=float(gammaincinv(count + 1, 1 - tail)) / minutes,
    )


def _stall_note(curve: Curve) -> str:
    lengths = [last - first + 1 for first, last in curve.stalls]
    return f"{sum(lengths)} s in all, at most {max(lengths)} s at once" if lengths else ""


def _dips(base: Curve | None, head: Curve, confidence: float) -> Finding:
    """How deep throughput dips once in each period, as a share of it."""
    period = period_s(head, confidence) or (period_s(base, confidence) if base else None)
    if period is None:
        return Finding(
            kind="dips", base=None, head=None, difference=None, bar=DIP_BAR, verdict=Verdict.UNJUDGED
        )
    depths = (None if base is None else _depth(base.residual, period), _depth(head.residual, period))
    found = _finding("dips", depths, confidence, bar=DIP_BAR, worse=1)
    return structs.replace(found, note=f"every {period} s")


def period_s(curve: Curve, confidence: float) -> int | None:
    """The period at which throughput repeats itself, if its autocorrelation proves one.

    The bound is for the highest of all lags (Bonferroni), with the standard error that autocorrelations have
    beyond the noise's own short memory (Bartlett 1946, "On the theoretical specification of sampling
    properties of autocorrelated time series").
    """
    values = curve.residual - curve.residual.mean()
    count, longest = len(values), len(values) // PERIODS_MIN
    power = float(values @ values)
    if power == 0:
        return None
    found = np.array([float(values[: count - lag] @ values[lag:]) for lag in range(longest + 2)]) / power
    memory = int(np.argmax(found <= 0)) or longest
    error = math.sqrt((1 + 2 * float(np.sum(found[1:memory] ** 2))) / count)
    lags = range(max(PERIOD_MIN_S, memory), longest + 1)
    bound = float(ndtri(1 - (1 - confidence) / max(1, len(lags)))) * error
    peaks = [lag for lag in lags if found[lag] > bound and found[lag] == max(found[lag - 1 : lag + 2])]
    highest = max((found[lag] for lag in peaks), default=0.0)
    return next((lag for lag in peaks if found[lag] >= HARMONIC * highest), None)


def _depth(residual: Values, period: int) -> Estimate:
    """The mean of the phase at which throughput is lowest, over whole periods."""
    folded = -residual[: len(residual) // period * period].reshape(-1, period)
    deepest = folded[:, int(folded.mean(axis=0).argmax())]
    return Estimate(
        float(deepest.mean()), float(deepest.std(ddof=1)) / math.sqrt(len(deepest)), len(deepest) - 1
    )


# --- memory and footprint ---------------------------------------------------------------------------


def _growth(curve: Curve | None) -> Estimate | None:
    """Bytes per second by which memory still grows at the end.

    A line through the growth of each part of the second half gives the growth at its end, so that growth
    towards a plateau is none. Parts grow independently of each other, as a random walk does: a single jump
    is noise, steady growth is not.
    """
    memory = None if curve is None else curve.gauges.get("memory")
    if memory is None:
        return None
    half = _filled(memory)[len(memory) // 2 :]
    width = len(half) // MEMORY_PARTS
    if not width:
        return None
    marks = half[-1 - width * MEMORY_PARTS :: width] if len(half) % MEMORY_PARTS else half[::width]
    growth = np.diff(marks) / width
    places = np.arange(len(growth)) - (len(growth) - 1) / 2
    rise = float(places @ growth / (places @ places))
    df = len(growth) - 2
    spread = float(np.sum((growth - growth.mean() - rise * places) ** 2)) / df
    last = float(places[-1])
    error = math.sqrt(spread * (1 / len(growth) + last**2 / float(places @ places)))
    return Estimate(float(growth.mean()) + rise * last, error, df)


def _memory_bar(curve: Curve) -> float:
    memory = curve.gauges.get("memory")
    return 0.0 if memory is None else MEMORY_BAR * float(np.nanmax(memory)) / (len(memory) / 2)


def _footprint(document: SoakDocument, base: str, head: str) -> tuple[FootprintChange, ...]:
    of = {end.server: end.footprint for end in document.ends}
    found = []
    for measure, margin in MARGINS.items():
        before, after = (of.get(server, {}).get(measure) for server in (base, head))
        if before is None or after is None:
            continue
        least = MARGIN_S if measure in ("start", "shutdown") else 0.0
        changed = abs(after - before) > max(margin * before, least)
        found.append(FootprintChange(measure=measure, base=before, head=after, changed=changed))
    return tuple(found)


def _relative(found: Finding) -> Finding:
    """A finding on logarithms, as relative changes."""
    base, head, by = map(_change, (found.base, found.head, found.difference))
    return structs.replace(found, base=base, head=head, difference=by, bar=math.expm1(found.bar))


def _change(logs: Interval | None) -> Interval | None:
    if logs is None:
        return None
    found = as_ratio(logs)
    return Interval(estimate=found.estimate - 1, low=found.low - 1, high=found.high - 1)


def _filled(values: Values) -> Values:
    """The values with gaps filled linearly."""
    known = np.flatnonzero(~np.isnan(values))
    filled: Values = (
        np.interp(np.arange(len(values)), known, values[known]) if len(known) else np.zeros(len(values))
    )
    return filled
