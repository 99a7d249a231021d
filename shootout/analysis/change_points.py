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
import statistics
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from shootout import _engine

PIECE_MIN = 3  # a level is more than one bad run and its neighbour
CLEAR_MIN = 5  # two bad runs are no majority of so many
SHUFFLES = 99  # a quantile is exact for any n for which 5 % of n + 1 is a whole number
STAGES = (10, 20, 40, SHUFFLES)  # numbers of shuffles after which to check whether more can matter
FALSE_ALARM = 0.05
BLOCK = 3  # neighbouring values that shuffles keep together
RESOLUTION = 1e-9  # of sums of logarithms; smaller differences are rounding


def cuts(values: Sequence[float], penalty: float) -> tuple[int, ...]:
    """Indexes at which a new level begins; each level has at least `PIECE_MIN` values."""
    return tuple(_engine.cuts(list(values), penalty, PIECE_MIN))


def find(values: Sequence[float]) -> tuple[int, ...]:
    """Find cuts under the penalty with which about the share `FALSE_ALARM` of unchanged series get one.

    Shuffling blocks of neighbouring values breaks up any change of level, but preserves the noise and its
    short memory (Künsch 1989 for the blocks; Edgington, "Randomization Tests", for the rest). The penalty is
    a quantile of what the best cut saves in the shuffled series. Shuffles of a short series, or of one with
    two changes, are often divided as clearly as the series itself, and would hide any change. So what is left
    beside the first cut's levels is shuffled, too, and the smaller penalty applies.

    More shuffles can only raise the penalty, and a series without cuts has none under a higher one. So most
    unchanged series need few shuffles (Besag and Clifford 1991, "Sequential Monte Carlo p-values").
    """
    if len(values) < 2 * CLEAR_MIN:
        return ()
    noise, orders = _noise(values), _shuffles(len(values))
    of_values: list[float] = []
    of_noise: list[float] = []
    suspected: tuple[int, ...] = ()
    for stage in STAGES:
        more = orders[len(of_values) : stage]
        of_values += _saved(values, more)
        of_noise += _saved(noise, more)
        suspected = cuts(values, _smaller(of_values, of_noise, len(values)))
        if not suspected:
            break
    return suspected


def _smaller(of_values: Sequence[float], of_noise: Sequence[float], length: int) -> float:
    """The smaller penalty of two, from what cuts save in shuffles of a series and of its `_noise`.

    The first cut took some noise along. The allowance gives that back, and is so large that both penalties
    together cause few more false alarms than one (docs/results.md).
    """
    return min(_quantile(of_values), (1.6 + 20 / length) * _quantile(of_noise))


def _saved(values: Sequence[float], orders: list[list[int]]) -> list[float]:
    """Find what the best single cut takes off the absolute deviations, for each order of the values."""
    return _engine.saved(list(values), orders, PIECE_MIN)


def _noise(values: Sequence[float]) -> list[float]:
    """Subtract the level of each value: levels that the first cut divides, of at least `CLEAR_MIN` values."""
    (most,) = _engine.saved(list(values), [[*range(len(values))]], CLEAR_MIN)
    edges = (0, *_engine.cuts(list(values), max(0.0, most - RESOLUTION), CLEAR_MIN), len(values))
    levels = [values[begin:end] for begin, end in pairwise(edges)]
    return [value - statistics.median(level) for level in levels for value in level]


def _quantile(saved: Iterable[float]) -> float:
    """The saving that only the share `FALSE_ALARM` of change-free shuffles exceed.

    With fewer than `SHUFFLES` it is a lower bound. A saving must exceed it by more than rounding.
    """
    rank = SHUFFLES - min(math.ceil((1 - FALSE_ALARM) * (SHUFFLES + 1)), SHUFFLES) + 1  # from the top
    return sorted(saved)[-rank] + RESOLUTION


@lru_cache(64)
def _shuffles(length: int) -> list[list[int]]:
    """`SHUFFLES` orders of `length` indexes; blocks of neighbours stay together.

    The series is a ring that each order cuts into blocks from elsewhere, which makes more orders of it. The
    seed is the length, so results are reproducible.
    """
    rng = np.random.default_rng(length)
    blocks = rng.permuted(np.tile(np.arange(-(-length // BLOCK)), (SHUFFLES, 1)), axis=1)
    indexes = (blocks[:, :, np.newaxis] * BLOCK + np.arange(BLOCK)).reshape(SHUFFLES, -1)
    orders = indexes[indexes < length].reshape(SHUFFLES, length)  # the last block may be shorter
    turned: list[list[int]] = ((orders + rng.integers(length, size=(SHUFFLES, 1))) % length).tolist()
    return turned
