"""Ratios to the anchor over many runs, and where they changed."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Iterator, Sequence

from shootout import changes
from shootout.model import ChangePoint, Comparison, HistoryPoint, HistorySeries

RUNS_MIN = 2 * changes.PIECE_MIN  # with fewer there is no change to be found
# How far the newest runs lie from their level to be suspected: in its standard deviations, and at least.
SUSPICIOUS = 4.0
SUSPICIOUS_MIN = 0.01
_MAD = 1.4826  # times the median absolute deviation: the standard deviation, of normal values


def series(comparisons: Iterable[Comparison]) -> tuple[HistorySeries, ...]:
    """Every cell's series, in the order of its runs; `comparisons` have the anchor as their base."""
    points: dict[tuple[str, str, str, str, str, int], list[HistoryPoint]] = {}
    for comparison in sorted(comparisons, key=lambda each: each.header.run):
        header = comparison.header
        for cell in comparison.cells:
            if cell.ratio is None or cell.figures is None:
                continue
            of, anchor = cell.cell, cell.base.server
            runner = header.part(of).runner.fingerprint
            key = (runner, of.workload, of.dataset, of.server, anchor, of.threads)
            points.setdefault(key, []).append(
                HistoryPoint(
                    run=header.run,
                    started=header.started,
                    ratio=cell.ratio.estimate,
                    tps=cell.figures.tps.estimate,
                )
            )
    return tuple(
        HistorySeries(
            runner=runner,
            workload=workload,
            dataset=dataset,
            server=server,
            anchor=anchor,
            threads=threads,
            points=tuple(found),
            changes=tuple(_changes(found, seed=f"{runner}/{workload}/{dataset}/{server}/{threads}")),
        )
        for (runner, workload, dataset, server, anchor, threads), found in sorted(points.items())
    )


def _changes(points: Sequence[HistoryPoint], seed: str) -> Iterator[ChangePoint]:
    """The confirmed changes, and perhaps one that the newest runs suggest."""
    logs = [math.log(point.ratio) for point in points]
    cuts: tuple[int, ...] = ()
    if len(logs) >= RUNS_MIN:
        cuts = changes.cuts(logs, changes.penalty(logs, random.Random(seed)))
    edges = (0, *cuts, len(logs))
    for before, cut, after in zip(edges, cuts, edges[2:], strict=False):
        yield _change(points, logs[before:cut], cut, logs[cut:after], confirmed=True)
    level = logs[edges[-2] :]
    newest = _departing(level)
    if newest:
        start = len(logs) - newest
        yield _change(points, level[:-newest], start, level[-newest:], confirmed=False)


def _departing(level: Sequence[float]) -> int:
    """How many of a level's newest values, too few to be a level, lie beside it, all on one side."""
    for count in range(changes.PIECE_MIN - 1, 0, -1):
        rest, newest = level[:-count], level[-count:]
        if len(rest) < changes.PIECE_MIN:
            continue
        centre = statistics.median(rest)
        spread = _MAD * statistics.median(abs(value - centre) for value in rest)
        far = max(SUSPICIOUS * spread, SUSPICIOUS_MIN)
        if all(value - centre > far for value in newest) or all(centre - value > far for value in newest):
            return count
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
    )
