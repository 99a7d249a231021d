"""Ratios to the anchor over many runs, and where they changed."""

from __future__ import annotations

import math
import statistics
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from msgspec import structs

from shootout.analysis import change_points
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries, SeriesKey
from shootout.model.run import RunHeader
from shootout.model.verdict import CellComparison, Comparison, Interval

# How far the newest runs lie from their level to be suspected: in its standard deviations, and at least.
SUSPICIOUS = 4.0
SUSPICIOUS_MIN = 0.01
_MAD = 1.4826  # times the median absolute deviation: the standard deviation, of normal values


def series(comparisons: Iterable[Comparison]) -> tuple[HistorySeries, ...]:
    """Every cell's series, in the order of its runs; `comparisons` have the anchor as their base."""
    return of_points(point for comparison in comparisons for point in points_of(comparison))


def key_of(header: RunHeader, cell: CellComparison) -> SeriesKey:
    """The series that a run's cell belongs to."""
    runner = header.part(cell.cell).runner.fingerprint
    return SeriesKey(runner=runner, anchor=cell.base.server, **structs.asdict(cell.cell))


def points_of(comparison: Comparison) -> Iterator[tuple[SeriesKey, HistoryPoint]]:
    """What one run says of each cell."""
    header = comparison.header
    for cell in comparison.cells:
        if cell.ratio is not None and cell.figures is not None:
            yield (
                key_of(header, cell),
                HistoryPoint(
                    run=header.run,
                    started=header.started,
                    ratio=cell.ratio.estimate,
                    tps=cell.figures.tps.estimate,
                ),
            )


def of_points(found: Iterable[tuple[SeriesKey, HistoryPoint]]) -> tuple[HistorySeries, ...]:
    """Every series, in the order of its runs."""
    points: dict[SeriesKey, list[HistoryPoint]] = {}
    for key, point in found:
        points.setdefault(key, []).append(point)
    keys = sorted(points)
    for key in keys:
        points[key].sort(key=lambda point: point.run)
    return tuple(
        HistorySeries(**structs.asdict(key), points=tuple(points[key]), changes=tuple(_changes(points[key])))
        for key in keys
    )


def between(then: Interval, now: Interval) -> Interval:
    """How far a ratio went from one run to another, as a ratio; both runs measured it independently.

    Each side of the interval is the root of the sum of the squares of both runs' own sides, as logarithms
    (Zou and Donner 2008, "Construction of confidence limits about effect measures", equation 3).
    """
    before, after = _logs(then), _logs(now)
    change = after.estimate - before.estimate
    down = math.hypot(after.estimate - after.low, before.high - before.estimate)
    up = math.hypot(after.high - after.estimate, before.estimate - before.low)
    return Interval(estimate=math.exp(change), low=math.exp(change - down), high=math.exp(change + up))


def _logs(ratio: Interval) -> Interval:
    return Interval(estimate=math.log(ratio.estimate), low=math.log(ratio.low), high=math.log(ratio.high))


def _changes(points: Sequence[HistoryPoint]) -> Iterator[ChangePoint]:
    """The confirmed changes, and perhaps one that the newest runs suggest."""
    logs = [math.log(point.ratio) for point in points]
    cuts = change_points.found(logs)
    edges = (0, *cuts, len(logs))
    for before, cut, after in zip(edges, cuts, edges[2:], strict=False):
        yield _change(points, logs[before:cut], cut, logs[cut:after], confirmed=True)
    level = logs[edges[-2] :]
    newest = _departing(level)
    if newest:
        start = len(logs) - newest
        yield _change(points, level[:-newest], start, level[-newest:], confirmed=False)


def _departing(level: Sequence[float]) -> int:
    """How many of a level's newest values lie beside the others, all on one side: at most half of them.

    In a short series even many are too few for a level of their own.
    """
    most = min(len(level) // 2, len(level) - change_points.PIECE_MIN)
    if most < 1:
        return 0
    rest = sorted(level[:-most])
    lows, highs = (list(accumulate(reversed(level[-most:]), extreme)) for extreme in (min, max))
    for count in range(most, 0, -1):
        centre = _middle(rest)
        beside = max(lows[count - 1] - centre, centre - highs[count - 1])  # of them all, on one side
        if beside > SUSPICIOUS_MIN:  # rare, and the spread takes long
            spread = _MAD * statistics.median(abs(value - centre) for value in rest)
            if beside > SUSPICIOUS * spread:
                return count
        insort(rest, level[-count])
    return 0


def _middle(ascending: Sequence[float]) -> float:
    """The median of sorted values."""
    half = len(ascending) // 2
    return ascending[half] if len(ascending) % 2 else (ascending[half - 1] + ascending[half]) / 2


def _change(
    points: Sequence[HistoryPoint],
    before: Sequence[float],
    cut: int,
    after: Sequence[float],
    *,
    confirmed: bool,
) -> ChangePoint:
    return ChangePoint(
        last_good=points[cut - 1].run,
        first_bad=points[cut].run,
        before=math.exp(statistics.median(before)),
        after=math.exp(statistics.median(after)),
        confirmed=confirmed,
    )
