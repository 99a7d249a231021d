"""Whether two servers return as many rows: if not, they did not do the same work, and no ratio counts.

Both answer the same kinds of statements with the same seed, but not equally many. So rows per execution are
compared, by Welch's test over slices. Where the load writes, what statements return depends on how far it
came; where each connection asks for other rows, on how often which is served. There only kinds that return a
constant number on one of the servers are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shootout.analysis import stats
from shootout.analysis.metrics import Starts
from shootout.model.run import Returned

CHANCE = 1e-7  # of one kind of statement to differ falsely


class Difference(NamedTuple):
    """A kind of statement that returns other amounts on the head, per execution."""

    kind: str
    base: float
    head: float


class _Level(NamedTuple):
    mean: float  # per execution
    error: float
    slices: int


def differing_rows(base: Starts, head: Starts) -> tuple[Difference, ...]:
    """Find kinds of statements that return more or fewer rows on the head, the largest difference first."""
    return _differences(base, head, lambda kind: (kind.rows, kind.rows_error))


def bytes_of_rows(base: Starts, head: Starts) -> tuple[Difference, ...]:
    """Find kinds of statements whose rows are longer or shorter on the head, of a load that only reads."""
    if _writes(base) or _writes(head):
        return ()
    return _differences(base, head, lambda kind: (kind.bytes, kind.bytes_error))


def _differences(
    base: Starts, head: Starts, read: Callable[[Returned], tuple[int, float]]
) -> tuple[Difference, ...]:
    found = []
    sides = [samples.returned for samples in base.values()], [samples.returned for samples in head.values()]
    for kind in dict.fromkeys(kind for returned in sides[0] for kind in returned):
        of_base, of_head = ([returned[kind] for returned in side if kind in returned] for side in sides)
        if not of_head:
            continue
        then, now = _level(of_base, read), _level(of_head, read)
        alike = all(start.alike for start in of_base) and not (_writes(base) or _writes(head))
        if (alike or min(then.error, now.error) == 0) and _differ(then, now):
            found.append(Difference(kind, then.mean, now.mean))
    return tuple(sorted(found, key=lambda each: -abs(each.head - each.base) / max(each.base, each.head)))


def _level(starts: Sequence[Returned], read: Callable[[Returned], tuple[int, float]]) -> _Level:
    """A kind's mean over all executions, with the larger of its errors over slices and over starts."""
    executions = sum(start.executions for start in starts)
    mean = sum(read(start)[0] for start in starts) / executions
    within = math.hypot(*(read(start)[1] * start.executions for start in starts)) / executions
    means = [read(start)[0] / start.executions for start in starts]
    between = float(np.std(means, ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else 0.0
    return _Level(mean, max(within, between), sum(start.slices for start in starts))


def _differ(base: _Level, head: _Level) -> bool:
    """Whether the levels differ beyond chance.

    As if one slice more of each had shown the other's level: few slices alike do not prove a constant.
    """
    apart = head.mean - base.mean
    if apart == 0 or min(base.slices, head.slices) < 2:
        return False
    sides = [(math.hypot(level.error, apart / level.slices), level.slices - 1) for level in (base, head)]
    return stats.welch(*sides).p_value(apart) < CHANCE


def _writes(starts: Starts) -> bool:
    return any(samples.writes for samples in starts.values())
