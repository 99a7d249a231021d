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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np
from msgspec import structs
from scipy.special import betaincinv, gammaincinv, ndtri

from shootout.analysis.interval_verdict import Side, difference_verdict
from shootout.analysis.stats import as_ratio, quantile, welch
from shootout.model.verdict import Interval, Verdict
from shootout.soak.curves import Curve, Values, curves, filled
from shootout.soak.values import (
    Finding,
    FindingKind,
    FootprintChange,
    Measure,
    SoakComparison,
    SoakDocument,
    SoakResult,
)

SECONDS_MIN = 180  # of load, for any finding: in less, intervals are too narrow
COSINES = 5  # from the second on: the first is nearly a slope
SECTIONS = 10
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


def judge(document: SoakDocument) -> SoakResult:
    """Compare each head with the base; a single server's findings have no difference and no verdict."""
    by_server = curves(document)
    base, *heads = document.header.servers
    ended = {end.server for end in document.ends}
    failed = {name: "cut short" for name in by_server if name not in ended}
    failed |= {failure.server: failure.reason for failure in document.failures}
    confidence = document.header.confidence
    comparisons = []
    for head in heads or [base]:
        pair = _common({name: by_server[name] for name in (base, head) if name in by_server})
        reason = next((f"{name}: {failed[name]}" for name in (base, head) if name in failed), "")
        long = {name: curve for name, curve in pair.items() if len(curve.tps) >= SECONDS_MIN}
        judged = long.keys() == {base, head}
        comparisons.append(
            SoakComparison(
                base=base,
                head=head,
                findings=compare(long[base] if heads else None, long[head], confidence) if judged else (),
                footprint=_footprint(document, base, head) if heads else (),
                levels={
                    name: tuple(as_ratio(end.interval(confidence)) for end in ends(curve))
                    for name, curve in long.items()
                },
                reason=reason if reason or judged else f"less than {SECONDS_MIN} s of load",
            )
        )
    return SoakResult(document=document, comparisons=tuple(comparisons))


def _common(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """The curves over the seconds that all have: one may have been cut short."""
    seconds = min((len(curve.tps) for curve in curves.values()), default=0)
    return {name: curve.until(seconds) for name, curve in curves.items()}


def compare(base: Curve | None, head: Curve, confidence: float) -> tuple[Finding, ...]:
    """All findings of a head beside the base, over as many seconds, or of a single server."""
    one = 1 - (1 - confidence) / len(get_args(FindingKind))
    level, slope, growth = (
        (None if base is None else estimate(base), estimate(head)) for estimate in (_level, _slope, _growth)
    )
    minutes = len(head.tps) / 60
    level_bar = math.log1p(LEVEL_BAR) * max(1.0, math.sqrt(minutes / 30))
    slope_bar = SLOPE_BAR * max(1.0, math.sqrt(minutes / 10)) / minutes
    return (
        _relative(_finding("level", level, one, bar=level_bar, worse="lower")),
        _relative(_finding("slope", slope, one, bar=slope_bar, worse="lower")),
        _stalls(base, head, one),
        _dips(base, head, one),
        _finding("memory", growth, one, bar=_memory_bar(head), worse="higher"),
    )


def _finding(
    kind: FindingKind,
    pair: tuple[Estimate | None, Estimate | None],
    confidence: float,
    *,
    bar: float,
    worse: Side,
) -> Finding:
    """Judge the head's value less the base's."""
    base, head = pair
    by = None if base is None or head is None else head.minus(base).interval(confidence)
    return Finding(
        kind=kind,
        base=None if base is None else base.interval(confidence),
        head=None if head is None else head.interval(confidence),
        difference=by,
        bar=bar,
        verdict=Verdict.UNJUDGED if by is None else difference_verdict(by, bar, worse=worse),
    )


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


def _level(curve: Curve) -> Estimate:
    first, last = ends(curve)
    change = last.minus(first)
    return Estimate(change.value, change.error, first.df)  # they share their noise


def _slope(curve: Curve) -> Estimate:
    """The change of the speed's logarithm for each minute."""
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
    lengths = [last - first + 1 for first, last in head.stalls]
    finding = Finding(
        kind="stalls",
        base=None,
        head=_rate(mine, minutes, confidence),
        difference=None,
        bar=0.0,
        verdict=Verdict.UNJUDGED,
        note=f"{sum(lengths)} s in all, at most {max(lengths)} s at once" if lengths else "",
    )
    if base is None:
        return finding
    theirs, base_minutes = len(base.stalls), len(base.residual) / 60
    all_minutes = minutes + base_minutes
    expected, total, tail = minutes / all_minutes, mine + theirs, (1 - confidence) / 2
    low = float(betaincinv(mine, total - mine + 1, tail)) if mine else 0.0
    high = float(betaincinv(mine + 1, total - mine, 1 - tail)) if mine < total else 1.0
    share = mine / total if total else expected
    beyond = Interval(estimate=share - expected, low=low - expected, high=high - expected)
    both = total / all_minutes
    lowest, highest = (both * (end / expected - (1 - end) / (1 - expected)) for end in (low, high))
    if not total:
        most = _rate(0, minutes, confidence).high
        lowest, highest = -most, most
    return structs.replace(
        finding,
        base=_rate(theirs, base_minutes, confidence),
        difference=Interval(estimate=mine / minutes - theirs / base_minutes, low=lowest, high=highest),
        verdict=difference_verdict(beyond, 0.0, worse="higher"),
    )


def _rate(count: int, minutes: float, confidence: float) -> Interval:
    tail = (1 - confidence) / 2
    low = float(gammaincinv(count, tail)) if count else 0.0
    return Interval(
        estimate=count / minutes,
        low=low / minutes,
        high=float(gammaincinv(count + 1, 1 - tail)) / minutes,
    )


def _dips(base: Curve | None, head: Curve, confidence: float) -> Finding:
    """How deep throughput dips once in each period, as a share of it."""
    period = period_s(head, confidence) or (period_s(base, confidence) if base else None)
    if period is None:
        return Finding(
            kind="dips", base=None, head=None, difference=None, bar=DIP_BAR, verdict=Verdict.UNJUDGED
        )
    depths = (None if base is None else _depth(base.residual, period), _depth(head.residual, period))
    finding = _finding("dips", depths, confidence, bar=DIP_BAR, worse="higher")
    return structs.replace(finding, note=f"every {period} s")


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
    repeats = np.array([float(values[: count - lag] @ values[lag:]) for lag in range(longest + 2)]) / power
    memory = int(np.argmax(repeats <= 0)) or longest
    error = math.sqrt((1 + 2 * float(np.sum(repeats[1:memory] ** 2))) / count)
    lags = range(max(PERIOD_MIN_S, memory), longest + 1)
    bound = float(ndtri(1 - (1 - confidence) / max(1, len(lags)))) * error
    peaks = [lag for lag in lags if repeats[lag] > bound and repeats[lag] == max(repeats[lag - 1 : lag + 2])]
    highest = max((repeats[lag] for lag in peaks), default=0.0)
    return next((lag for lag in peaks if repeats[lag] >= HARMONIC * highest), None)


def _depth(residual: Values, period: int) -> Estimate:
    """The mean of the phase at which throughput is lowest, over whole periods."""
    folded = -residual[: len(residual) // period * period].reshape(-1, period)
    deepest = folded[:, int(folded.mean(axis=0).argmax())]
    return Estimate(
        float(deepest.mean()), float(deepest.std(ddof=1)) / math.sqrt(len(deepest)), len(deepest) - 1
    )


# --- memory and footprint ---------------------------------------------------------------------------


def _growth(curve: Curve) -> Estimate | None:
    """Bytes per second by which memory still grows at the end.

    A line through the growth of each part of the second half gives the growth at its end, so that growth
    towards a plateau is none. Parts grow independently of each other, as a random walk does: a single jump
    is noise, steady growth is not.
    """
    memory = curve.gauges.get("memory")
    if memory is None:
        return None
    half = filled(memory)[len(memory) // 2 :]
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
    by_server = {end.server: end.footprint for end in document.ends}
    changes = []
    for measure, margin in MARGINS.items():
        before, after = (by_server.get(server, {}).get(measure) for server in (base, head))
        if before is None or after is None:
            continue
        least = MARGIN_S if measure in ("start", "shutdown") else 0.0
        changed = abs(after - before) > max(margin * before, least)
        changes.append(FootprintChange(measure=measure, base=before, head=after, changed=changed))
    return tuple(changes)


def _relative(finding: Finding) -> Finding:
    """A finding on logarithms, as relative changes."""
    base, head, by = map(_change, (finding.base, finding.head, finding.difference))
    return structs.replace(finding, base=base, head=head, difference=by, bar=math.expm1(finding.bar))


def _change(logs: Interval | None) -> Interval | None:
    if logs is None:
        return None
    ratio = as_ratio(logs)
    return Interval(estimate=ratio.estimate - 1, low=ratio.low - 1, high=ratio.high - 1)
