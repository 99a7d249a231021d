"""Soaks judged: what long load did to a server, from its curves by second, and beside the base.

Everything is compared as a change over time, of the head relative to the base: one start of each says little
about their levels, which is what runs are for. Intervals are for all findings of a head together. Each has a
share of the chance of an error; stalls, which are rare, have the largest (docs/decisions.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import numpy as np
from msgspec import structs
from scipy.special import betaincinv, gammaincinv, ndtri

from shootout.analysis.interval_verdict import difference_verdict
from shootout.analysis.stats import as_ratio
from shootout.model.verdict import Interval, Verdict
from shootout.soak import course
from shootout.soak.course import Estimate
from shootout.soak.curves import Curve, Parts, Values, curves, filled
from shootout.soak.values import (
    Finding,
    FindingKind,
    FootprintChange,
    Measure,
    SoakComparison,
    SoakDocument,
    SoakHeader,
    SoakResult,
    SoakSlice,
)

SECONDS_MIN = 180  # of load, for any finding: in less, intervals are too narrow
PERIOD_MIN_S = 4
PERIODS_MIN = 5
HARMONIC = 0.7  # of the highest autocorrelation: a shorter period with so much is the period
MEMORY_PARTS = 12  # of the second half
# Shares of the chance that any finding is an error.
SHARES: Mapping[FindingKind, float] = {
    "level": 0.12,
    "slope": 0.12,
    "step": 0.12,
    "stalls": 0.4,  # proves seven against none
    "dips": 0.12,
    "memory": 0.12,
}
COURSES: Mapping[FindingKind, Callable[[Parts, float], Interval]] = {
    "level": course.level,
    "slope": course.slope,
    "step": course.step,
}
# The smallest differences worth a verdict. A stall is worth one whenever it is proven.
LEVEL_BAR = 0.1  # beginning to end, up to half an hour
SLOPE_BAR = 0.05  # over all, up to ten minutes; in more, a machine's own shifts add up as a random walk does
STEP_BAR = 0.05  # up to half an hour
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


def judge(document: SoakDocument) -> SoakResult:
    """Compare each head with the base; a single server's findings have no difference and no verdict."""
    by_server = curves(document.header, document.slices)
    base, *heads = document.header.servers
    ended = {end.server for end in document.ends}
    failed = {name: "cut short" for name in by_server if name not in ended}
    failed |= {failure.server: failure.reason for failure in document.failures}
    confidence, turns = document.header.confidence, document.header.turn_s > 0
    comparisons = []
    for head in heads or [base]:
        pair = _common({name: by_server[name] for name in (base, head) if name in by_server})
        reason = next((f"{name}: {failed[name]}" for name in (base, head) if name in failed), "")
        long = {name: curve for name, curve in pair.items() if len(curve.tps) >= SECONDS_MIN}
        levels = {name: _levels(curve, confidence) for name, curve in long.items()}
        others = {name: curve.gauges["others"] for name, curve in pair.items() if "others" in curve.gauges}
        findings, loss = tuple[Finding, ...](), None
        if long.keys() == {base, head}:
            findings = compare(long[base] if heads else None, long[head], confidence, turns)
            if turns:
                loss = detectable(long[base], long[head], len(long[head].tps), confidence)
        elif not reason:
            reason = f"less than {SECONDS_MIN} s of load"
        comparisons.append(
            SoakComparison(
                base=base, head=head, findings=findings, levels=levels, detectable=loss, reason=reason,
                footprint=_footprint(document, base, head) if heads else (),
                others={name: float(np.nanmean(seen)) for name, seen in others.items()},
            )
        )  # fmt: skip
    return SoakResult(document=document, comparisons=tuple(comparisons))


def _levels(curve: Curve, confidence: float) -> tuple[Interval, ...]:
    return tuple(as_ratio(end.interval(confidence)) for end in course.ends(curve.parts))


def _common(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """The curves over the seconds that all have: one may have been cut short."""
    seconds = min((len(curve.tps) for curve in curves.values()), default=0)
    return {name: curve.until(seconds) for name, curve in curves.items()}


def compare(base: Curve | None, head: Curve, confidence: float, turns: bool) -> tuple[Finding, ...]:
    """All findings of a head beside the base, over as many seconds, or of a single server.

    turns: the servers took turns: a machine's shifts of speed are in both. Without, no step is sought.
    """
    minutes = len(head.tps) / 60
    slope_bar = SLOPE_BAR * _longer(minutes, 10, turns) / minutes
    growth = None if base is None else _growth(base), _growth(head)
    return (
        _course("level", base, head, confidence, math.log1p(LEVEL_BAR) * _longer(minutes, 30, turns)),
        _course("slope", base, head, confidence, slope_bar),
        *([_course("step", base, head, confidence, math.log1p(STEP_BAR))] if turns else []),
        _stalls(base, head, confidence),
        _dips(base, head, confidence),
        _difference("memory", growth, confidence, _memory_bar(head)),
    )


def detectable(base: Curve, head: Curve, seconds: float, confidence: float) -> float:
    """The loss from midway on that so many seconds with the noise of these curves show in four of five."""
    one, ratio = _confidence("step", confidence), head.parts.over(base.parts)
    return course.detectable(ratio, seconds, math.log1p(STEP_BAR), one)


def foreseen(header: SoakHeader, slices: Iterable[SoakSlice]) -> Iterator[str]:
    """Say what each head's soak in turns can find, by the noise of its first slices."""
    base, *heads = header.servers
    found = curves(header, slices)
    for head in heads if header.turn_s else ():
        pair = _common({name: found[name] for name in (base, head)})
        loss = detectable(pair[base], pair[head], header.duration_s, header.confidence)
        yield f"{head}: a loss of {100 * loss:.0f} % from midway on would be found in four of five such soaks"


def _longer(minutes: float, usual: float, turns: bool) -> float:
    """A machine's own shifts add up as a random walk does, unless both servers have them."""
    return 1.0 if turns else max(1.0, math.sqrt(minutes / usual))


def _confidence(kind: FindingKind, confidence: float) -> float:
    """Compute the confidence of one finding, so that all together have the given one."""
    return 1 - SHARES[kind] * (1 - confidence)


def _course(kind: FindingKind, base: Curve | None, head: Curve, confidence: float, bar: float) -> Finding:
    """A change of speed over time: the head's, and that of its ratio to the base."""
    one, found = _confidence(kind, confidence), COURSES[kind]
    ratio = head.parts.over(base.parts) if base else None
    by, shown = found(ratio, one) if ratio else None, ratio or head.parts
    proven = kind == "step" and found(shown, one).excludes_zero
    return Finding(
        kind=kind,
        base=_change(found(base.parts, one)) if base else None,
        head=_change(found(head.parts, one)),
        difference=_change(by) if by else None,
        bar=math.expm1(bar),
        verdict=_verdict(by, bar, "lower"),
        note=f"after {head.settled_s + course.step_s(shown):.0f} s" if proven else "",
    )


def _verdict(by: Interval | None, bar: float, worse: Literal["lower", "higher"]) -> Verdict:
    return Verdict.UNJUDGED if by is None else difference_verdict(by, bar, worse=worse)


def _difference(
    kind: FindingKind, pair: tuple[Estimate | None, Estimate | None], confidence: float, bar: float
) -> Finding:
    """Judge the head's value less the base's, where more is worse."""
    (base, head), one = pair, _confidence(kind, confidence)
    by = head.minus(base).interval(one) if base and head else None
    own = [each.interval(one) if each else None for each in pair]
    verdict = _verdict(by, bar, "higher")
    return Finding(kind=kind, base=own[0], head=own[1], difference=by, bar=bar, verdict=verdict)


# --- stalls and dips --------------------------------------------------------------------------------


def _stalls(base: Curve | None, head: Curve, confidence: float) -> Finding:
    """Episodes per minute, as counts of rare events."""
    one = _confidence("stalls", confidence)
    mine, theirs = ((len(each.stalls), len(each.residual) / 60) for each in (head, base or head))
    difference, beyond = more_often(mine, theirs, one) if base else (None, None)
    lengths = [last - first + 1 for first, last in head.stalls]
    return Finding(
        kind="stalls",
        base=_rate(*theirs, one) if base else None,
        head=_rate(*mine, one),
        difference=difference,
        bar=0.0,
        verdict=_verdict(beyond, 0.0, "higher"),
        note=f"{sum(lengths)} s in all, at most {max(lengths)} s at once" if lengths else "",
    )


def more_often(
    head: tuple[int, float], base: tuple[int, float], confidence: float
) -> tuple[Interval, Interval]:
    """By how much rare events are more frequent, and the test of it; of each server its count and minutes.

    Each rate has the exact interval of a Poisson count (Garwood 1936), and the difference what follows from
    both (Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach").
    The test is exact: both servers' events together, the head's share of them is binomial; its interval, less
    the share of the minutes, is Clopper and Pearson's (1934). The difference's holds zero unless that
    excludes it.
    """
    (mine, minutes), (theirs, base_minutes) = head, base
    expected, total, tail = minutes / (minutes + base_minutes), mine + theirs, (1 - confidence) / 2
    low = float(betaincinv(mine, total - mine + 1, tail)) if mine else 0.0
    high = float(betaincinv(mine + 1, total - mine, 1 - tail)) if mine < total else 1.0
    share = mine / total if total else expected
    beyond = Interval(estimate=share - expected, low=low - expected, high=high - expected)
    here, there = _rate(mine, minutes, confidence), _rate(theirs, base_minutes, confidence)
    estimate = here.estimate - there.estimate
    lowest = estimate - math.hypot(here.estimate - here.low, there.high - there.estimate)
    highest = estimate + math.hypot(here.high - here.estimate, there.estimate - there.low)
    if not beyond.excludes_zero:
        lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    return Interval(estimate=estimate, low=lowest, high=highest), beyond


def _rate(count: int, minutes: float, confidence: float) -> Interval:
    tail = (1 - confidence) / 2
    low = float(gammaincinv(count, tail)) / minutes if count else 0.0
    high = float(gammaincinv(count + 1, 1 - tail)) / minutes
    return Interval(estimate=count / minutes, low=low, high=high)


def _dips(base: Curve | None, head: Curve, confidence: float) -> Finding:
    """Find how deep throughput dips once in each period, as a share of it."""
    one = _confidence("dips", confidence)
    period = period_s(head, one) or (period_s(base, one) if base else None)
    both = (base, head) if period else (None, None)
    depths = [_depth(each.residual, period or 1) if each else None for each in both]
    found = _difference("dips", (depths[0], depths[1]), confidence, DIP_BAR)
    return structs.replace(
        found,
        base=found.base and _within(found.base, 0.0),
        head=found.head and _within(found.head, 0.0),
        difference=found.difference and _within(found.difference, -1.0),
        note=f"every {period} s" if period else "",
    )


def _within(part: Interval, least: float) -> Interval:
    """The interval of a share, or of a difference of shares: they end at 100 %."""
    return Interval(
        estimate=part.estimate, low=max(part.low, min(least, part.estimate)), high=min(part.high, 1.0)
    )


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
    before, after = (by_server.get(server, {}) for server in (base, head))

    def changed(measure: Measure) -> bool:
        least = MARGIN_S if measure in ("start", "shutdown") else 0.0
        return abs(after[measure] - before[measure]) > max(MARGINS[measure] * before[measure], least)

    return tuple(
        FootprintChange(measure=each, base=before[each], head=after[each], changed=changed(each))
        for each in MARGINS
        if each in before and each in after
    )


def _change(logs: Interval) -> Interval:
    """Convert logarithms to relative changes."""
    ratio = as_ratio(logs)
    return Interval(estimate=ratio.estimate - 1, low=ratio.low - 1, high=ratio.high - 1)
