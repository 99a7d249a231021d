"""Change points: where a series of measurements changed its level, by least absolute deviations.

The cuts minimize the absolute deviations from each piece's median plus a penalty per cut (Jackson et al.
2005, "An algorithm for optimal partitioning of data on an interval"; Bai 1995, "Least absolute deviation
estimation of a shift"). Single bad runs do not move a median.

The search (engine/src/levels.rs) is exact. A piece's median is a value of the series, so it suffices to track
the least sum so far for each value as the level of the newest piece (Rigaill 2015, "A pruned dynamic
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
SHUFFLES = 99  # the false-alarm rate is exact for any n for which 5 % of n + 1 is a whole number
STAGES = (10, 20, 40, SHUFFLES)  # numbers of shuffles after which to check whether more can matter
FALSE_ALARM = 0.05
BLOCK = 3  # neighbouring values that shuffles keep together
RESOLUTION = 1e-9  # of sums of logarithms; smaller differences are rounding


def cuts(values: Sequence[float], penalty: float) -> tuple[int, ...]:
    """Indexes at which a new level begins; each level has at least `PIECE_MIN` values."""
    return tuple(_engine.cuts(list(values), penalty, PIECE_MIN))


def penalty(values: Sequence[float]) -> float:
    """The penalty under which about the share `FALSE_ALARM` of unchanged series still get a cut.

    Shuffling blocks of neighbouring values breaks up any change of level, but preserves the noise and its
    short memory (Künsch 1989 for the blocks; Edgington, "Randomization Tests", for the rest). The penalty is
    a quantile of what the best cut saves in the shuffled series.
    """
    if len(values) < 2 * PIECE_MIN:
        return 0.0
    return _quantile(_engine.saved(list(values), _shuffles(len(values)), PIECE_MIN))


def find(values: Sequence[float]) -> tuple[int, ...]:
    """The cuts of a series under its own penalty.

    More shuffles can only raise the penalty, and a series without cuts has none under a higher one. So most
    unchanged series need few shuffles (Besag and Clifford 1991, "Sequential Monte Carlo p-values").
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
    """The saving that only the share `FALSE_ALARM` of change-free shuffles exceed.

    With fewer than `SHUFFLES` it is a lower bound. A short series has few orders, its own among them, so a
    saving must exceed the quantile by more than rounding.
    """
    rank = SHUFFLES - min(math.ceil((1 - FALSE_ALARM) * (SHUFFLES + 1)), SHUFFLES) + 1  # from the top
    return sorted(saved)[-rank] + RESOLUTION


@lru_cache(64)
def _shuffles(length: int) -> list[list[int]]:
    """`SHUFFLES` orders of `length` indexes; blocks of neighbours stay together.

    The seed is the length, so results are reproducible.
    """
    rng = np.random.default_rng(length)
    blocks = rng.permuted(np.tile(np.arange(-(-length // BLOCK)), (SHUFFLES, 1)), axis=1)
    indexes = (blocks[:, :, np.newaxis] * BLOCK + np.arange(BLOCK)).reshape(SHUFFLES, -1)
    orders: list[list[int]] = indexes[indexes < length].reshape(SHUFFLES, length).tolist()
    return orders  # the last block may be shorter
