"""Ratios to the anchor over many runs, and where they changed."""

from __future__ import annotations

import math
import statistics
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from msgspec import structs

from shootout.analysis import change_points
from shootout.analysis.stats import MAD
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries, SeriesKey
from shootout.model.run import RunHeader
from shootout.model.verdict import CellComparison, Comparison

# Suspected runs are off their level by at least so many standard deviations, and by at least this log-ratio.
SUSPICIOUS = 4.0
SUSPICIOUS_MIN = 0.01


def series(comparisons: Iterable[Comparison]) -> tuple[HistorySeries, ...]:
    """Build every cell's series in the order of its runs; the base of `comparisons` must be the anchor."""
    return of_points(point for comparison in comparisons for point in points_of(comparison))


def key_of(header: RunHeader, cell: CellComparison) -> SeriesKey:
    """Identify the series that a run's cell belongs to."""
    part = header.part(cell.cell)
    settings = {record.label: record.settings_name for record in part.servers}
    of_both = dict.fromkeys(settings.get(label, "") for label in (cell.cell.server, cell.base.server))
    return SeriesKey(
        runner=part.runner.fingerprint,
        anchor=cell.base.server,
        settings=" against ".join(of_both),
        **structs.asdict(cell.cell),
    )


def points_of(comparison: Comparison) -> Iterator[tuple[SeriesKey, HistoryPoint]]:
    """Yield one run's point in each cell's series."""
    header = comparison.header
    commits = {
        (part.run, record.label): record.commit
        for part in header.parts or (header,)
        for record in part.servers
    }
    for cell in comparison.cells:
        if cell.ratio is not None and cell.figures is not None:
            yield (
                key_of(header, cell),
                HistoryPoint(
                    run=header.run,
                    started=header.started,
                    ratio=cell.ratio.estimate,
                    low=cell.ratio.low,
                    high=cell.ratio.high,
                    tps=cell.figures.tps.estimate,
                    commit=commits.get((header.part(cell.cell).run, cell.cell.server), ""),
                ),
            )


def of_points(keyed: Iterable[tuple[SeriesKey, HistoryPoint]]) -> tuple[HistorySeries, ...]:
    """Build every series, in the order of its runs."""
    points: dict[SeriesKey, list[HistoryPoint]] = {}
    for key, point in keyed:
        points.setdefault(key, []).append(point)
    keys = sorted(points)
    for key in keys:
        points[key].sort(key=lambda point: point.run)
    return tuple(
        HistorySeries(**structs.asdict(key), points=tuple(points[key]), changes=tuple(_changes(points[key])))
        for key in keys
    )


def _changes(points: Sequence[HistoryPoint]) -> Iterator[ChangePoint]:
    """The confirmed changes, and the suspected one if the newest runs suggest one."""
    logs = [math.log(point.ratio) for point in points]
    cuts = change_points.find(logs)
    edges = (0, *cuts, len(logs))
    for before, cut, after in zip(edges, cuts, edges[2:], strict=False):
        yield _change(points, logs[before:cut], cut, logs[cut:after], confirmed=True)
    level = logs[edges[-2] :]
    newest = _suspected_runs(level)
    if newest:
        start = len(logs) - newest
        yield _change(points, level[:-newest], start, level[-newest:], confirmed=False)


def _suspected_runs(level: Sequence[float]) -> int:
    """Count a level's newest values, at most half, that are off the others, all on the same side.

    They are too few for a level of their own; in a short series that may be many.
    """
    most = min(len(level) // 2, len(level) - change_points.PIECE_MIN)
    if most < 1:
        return 0
    rest = sorted(level[:-most])
    lows, highs = (list(accumulate(reversed(level[-most:]), extreme)) for extreme in (min, max))
    for count in range(most, 0, -1):
        centre = statistics.median(rest)
        distance = max(lows[count - 1] - centre, centre - highs[count - 1])  # of the nearest
        if distance > SUSPICIOUS_MIN:  # rare, so the slow spread is seldom computed
            spread = MAD * statistics.median(abs(value - centre) for value in rest)
            if distance > SUSPICIOUS * spread:
                return count
        insort(rest, level[-count])
    return 0


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
        good_commit=points[cut - 1].commit,
        bad_commit=points[cut].commit,
    )
