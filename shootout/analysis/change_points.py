"""Where a series of measurements changed its level: change points by least absolute deviations.

The series is cut so that the absolute deviations from each piece's median, and a penalty for each cut, sum up
to the least there is (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an interval";
Bai 1995, "Least absolute deviation estimation of a shift"). Single bad runs do not move a median.

The search (engine/src/levels.rs) is exact. A piece's median is a value of the series, so it is enough to
know, for each value as the level of the newest piece, the least sum so far (Rigaill 2015, "A pruned dynamic
programming algorithm to recover the best segmentations", which keeps this as a function of the level):
quadratic in time, linear in space.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from shootout import _engine

PIECE_MIN = 3  # a level is more than one bad run and its neighbour
SHUFFLES = 99  # the level is that which is asked for with any number of which 5 % of one more is whole
STAGES = (10, 20, 40, SHUFFLES)  # how many of them before it is looked whether more can matter
FALSE_ALARM = 0.05
BLOCK = 3  # values that stay neighbours when a series is shuffled
RESOLUTION = 1e-9  # of sums of logarithms: what is smaller is rounding


def cuts(values: Sequence[float], penalty: float) -> tuple[int, ...]:
    """The indexes at which a new level begins; each level holds at least `PIECE_MIN` values."""
    return tuple(_engine.cuts(list(values), penalty, PIECE_MIN))


def penalty(values: Sequence[float]) -> float:
    """The penalty under which a series without a change shows one in about the share `FALSE_ALARM` of cases.

    Blocks of neighbouring values are shuffled: that breaks up a change of level, and leaves the noise and its
    short memory as they are (Künsch 1989 for the blocks; Edgington, "Randomization Tests", for the rest). The
    penalty is a quantile of what the best cut saves in the shuffled series.
    """
    if len(values) < 2 * PIECE_MIN:
        return 0.0
    return _quantile(_engine.saved(list(values), _shuffles(len(values)), PIECE_MIN))


def found(values: Sequence[float]) -> tuple[int, ...]:
    """The cuts of a series under its own penalty.

    A series without cuts under a penalty has none under a larger one, and more shuffles can only make the
    penalty larger: so most series without a change need few of them (Besag and Clifford 1991, "Sequential
    Monte Carlo p-values").
    """
    if len(values) < 2 * PIECE_MIN:
        return ()
    given, orders = list(values), _shuffles(len(values))
    saved: list[float] = []
    for stage in STAGES:
        saved += _engine.saved(given, orders[len(saved) : stage], PIECE_MIN)
        suspected = cuts(given, _quantile(saved))
        if not suspected:
            break
    return suspected


def _quantile(saved: Iterable[float]) -> float:
    """What so few of `SHUFFLES` save as much as that a series without a change rarely does.

    With fewer shuffles it is a lower bound. A short series has few orders, its own among them: what saves as
    much as that, but for rounding, is no change.
    """
    rank = SHUFFLES - min(math.ceil((1 - FALSE_ALARM) * (SHUFFLES + 1)), SHUFFLES) + 1  # from the top
    return sorted(saved)[-rank] + RESOLUTION


@lru_cache(64)
def _shuffles(length: int) -> list[list[int]]:
    """`SHUFFLES` orders of so many indexes, blocks of neighbours kept together.

    They are the same for every series of a length, every time: what is found in a series stays what it is.
    """
    dice = np.random.default_rng(length)
    blocks = dice.permuted(np.tile(np.arange(-(-length // BLOCK)), (SHUFFLES, 1)), axis=1)
    indexes = (blocks[:, :, np.newaxis] * BLOCK + np.arange(BLOCK)).reshape(SHUFFLES, -1)
    orders: list[list[int]] = indexes[indexes < length].reshape(SHUFFLES, length).tolist()
    return orders  # the last block may be shorter
