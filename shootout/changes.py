"""Where a series of measurements changed its level: change points by least absolute deviations.

The series is cut so that the absolute deviations from each piece's median, and a penalty for each cut, sum up
to the least there is (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an interval";
Bai 1995, "Least absolute deviation estimation of a shift"). Single bad runs do not move a median. A series is
as long as a few years of weekly runs: the exact search, quadratic in time and space, takes no longer than
reading them.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Sequence

PIECE_MIN = 3  # a level is more than one bad run and its neighbour
SHUFFLES = 199


def cuts(values: Sequence[float], penalty: float) -> tuple[int, ...]:
    """The indexes at which a new level begins; each level holds at least `PIECE_MIN` values."""
    n = len(values)
    costs = [_deviations(values[begin:]) for begin in range(n)]
    best = [0.0] + [math.inf] * n  # of the first so many values
    begins = [0] * (n + 1)  # of their last piece
    for end in range(PIECE_MIN, n + 1):
        for begin in (0, *range(PIECE_MIN, end - PIECE_MIN + 1)):
            total = best[begin] + costs[begin][end - begin - 1] + (penalty if begin else 0.0)
            if total < best[end]:
                best[end], begins[end] = total, begin
    found = []
    end = n
    while begins[end]:
        end = begins[end]
        found.append(end)
    return tuple(reversed(found))


def penalty(
    values: Sequence[float], generator: random.Random, false_alarm: float = 0.05, block: int = 3
) -> float:
    """The penalty under which a series without a change shows one in about the share `false_alarm` of cases.

    Blocks of neighbouring values are shuffled: that breaks up a change of level, and leaves the noise and its
    short memory as they are (Künsch 1989 for the blocks; Edgington, "Randomization Tests", for the rest). The
    penalty is a quantile of what the best cut saves in the shuffled series.
    """
    pieces = [values[begin : begin + block] for begin in range(0, len(values), block)]
    saved = sorted(
        _saved_by_one([value for piece in generator.sample(pieces, len(pieces)) for value in piece])
        for _ in range(SHUFFLES)
    )
    return saved[min(math.ceil((1 - false_alarm) * (SHUFFLES + 1)), SHUFFLES) - 1]


def _saved_by_one(values: Sequence[float]) -> float:
    """How much less the deviations are with the best single cut."""
    ahead, back = _deviations(values), _deviations(values[::-1])
    n = len(values)
    splits = range(PIECE_MIN, n - PIECE_MIN + 1)
    return max((ahead[-1] - ahead[split - 1] - back[n - split - 1] for split in splits), default=0.0)


def _deviations(values: Sequence[float]) -> list[float]:
    """Of each beginning of the series, the sum of absolute deviations from its median."""
    ordered: list[float] = []
    sums = []
    for value in values:
        bisect.insort(ordered, value)
        half = len(ordered) // 2
        sums.append(math.fsum(ordered[-half:]) - math.fsum(ordered[:half]) if half else 0.0)
    return sums
