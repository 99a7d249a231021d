"""Where a series of measurements changed its level: change points by least absolute deviations.

The series is cut so that the absolute deviations from each piece's median, and a penalty for each cut, sum up
to the least there is (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an interval";
Bai 1995, "Least absolute deviation estimation of a shift"). Single bad runs do not move a median.

The search is exact. A piece's median is a value of the series, so it is enough to know, for each value as the
level of the newest piece, the least sum so far (Rigaill 2015, "A pruned dynamic programming algorithm to
recover the best segmentations", which keeps this as a function of the level): quadratic in time, linear in
space, and each step is one for many series.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

PIECE_MIN = 3  # a level is more than one bad run and its neighbour
SHUFFLES = 99  # the level is that which is asked for with any number of which 5 % of one more is whole
STAGES = (10, 20, 40, SHUFFLES)  # how many of them before it is looked whether more can matter
FALSE_ALARM = 0.05
BLOCK = 3  # values that stay neighbours when a series is shuffled
RESOLUTION = 1e-9  # of sums of logarithms: what is smaller is rounding
# Rows of what is worked on at once: with more it no longer lies in a CPU's cache, with fewer steps cost more
# than what they do.
SERIES_TOGETHER = 64
SHUFFLES_TOGETHER = 200


def cuts(values: Sequence[float], penalty: float) -> tuple[int, ...]:
    """The indexes at which a new level begins; each level holds at least `PIECE_MIN` values."""
    if len(values) < 2 * PIECE_MIN:
        return ()
    return _cuts(np.asarray([values], dtype=float), np.asarray([penalty]))[0]


def penalty(values: Sequence[float]) -> float:
    """The penalty under which a series without a change shows one in about the share `FALSE_ALARM` of cases.

    Blocks of neighbouring values are shuffled: that breaks up a change of level, and leaves the noise and its
    short memory as they are (Künsch 1989 for the blocks; Edgington, "Randomization Tests", for the rest). The
    penalty is a quantile of what the best cut saves in the shuffled series.
    """
    if len(values) < 2 * PIECE_MIN:
        return 0.0
    return float(_quantile(_saved(np.asarray([values], dtype=float), _shuffles(len(values))))[0])


def of_all(series: Sequence[Sequence[float]]) -> tuple[tuple[int, ...], ...]:
    """The cuts of each series, each under its own penalty."""
    found: list[tuple[int, ...]] = [()] * len(series)
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, values in enumerate(series):
        if len(values) >= 2 * PIECE_MIN:
            by_length[len(values)].append(number)
    for numbers in by_length.values():
        for first in range(0, len(numbers), SERIES_TOGETHER):
            some = numbers[first : first + SERIES_TOGETHER]
            together = np.asarray([series[number] for number in some], dtype=float)
            for number, each in zip(some, _of(together), strict=True):
                found[number] = each
    return tuple(found)


def _of(values: Floats) -> list[tuple[int, ...]]:
    """The cuts of each row.

    A row without cuts under a penalty has none under a larger one, and more shuffles can only make the
    penalty larger: so most rows without a change need few of them (Besag and Clifford 1991, "Sequential Monte
    Carlo p-values").
    """
    found: list[tuple[int, ...]] = [()] * len(values)
    orders = _shuffles(values.shape[1])
    saved = np.empty((len(values), 0))
    rows = np.arange(len(values))
    for done, stage in zip((0, *STAGES), STAGES, strict=False):
        saved = np.concatenate([saved, _saved(values[rows], orders[done:stage])], axis=1)
        suspected = _cuts(values[rows], _quantile(saved))
        stay = np.asarray([bool(each) for each in suspected])
        for row, each in zip(rows, suspected, strict=True):
            found[row] = each
        rows, saved = rows[stay], saved[stay]
        if not len(rows):
            break
    return found


def _cuts(values: Floats, penalties: Floats) -> list[tuple[int, ...]]:
    """For each row, under its penalty."""
    count, n = values.shape
    every = np.arange(count)
    levels = np.sort(values, axis=1)
    # For each level: what the values so far cost, the newest piece at that level; and where it begins.
    costs = np.full((count, n), np.inf)
    begins = np.zeros((count, n), dtype=np.intp)
    best = np.full((n + 1, count), np.inf)  # these two: by how many values there are, at the best level
    best[0] = 0.0
    chosen = np.zeros((n + 1, count), dtype=np.intp)
    distances = np.zeros((PIECE_MIN, count, n))  # of the newest values to the levels
    for end in range(1, n + 1):
        newest = distances[end % PIECE_MIN]
        np.abs(levels - values[:, end - 1 : end], out=newest)
        costs += newest
        begin = end - PIECE_MIN
        if begin >= 0:
            before = best[begin] + (penalties if begin else 0.0)
            cut = distances.sum(axis=0)
            cut += before[:, np.newaxis]
            better = cut < costs
            np.copyto(costs, cut, where=better)
            begins[better] = begin
        level = costs.argmin(axis=1)
        best[end] = costs[every, level]
        chosen[end] = begins[every, level]
    return [_path(each) for each in chosen.T.tolist()]


def _path(begins: Sequence[int]) -> tuple[int, ...]:
    found = []
    end = len(begins) - 1
    while begins[end]:
        end = begins[end]
        found.append(end)
    return tuple(reversed(found))


def _quantile(saved: Floats) -> Floats:
    """Of each row, what so few of `SHUFFLES` save as much as that a series without a change rarely does.

    With fewer shuffles it is a lower bound. A short series has few orders, its own among them: what saves as
    much as that, but for rounding, is no change.
    """
    rank = SHUFFLES - min(math.ceil((1 - FALSE_ALARM) * (SHUFFLES + 1)), SHUFFLES) + 1  # from the top
    quantile: Floats = np.sort(saved, axis=1)[:, -rank] + RESOLUTION
    return quantile


@lru_cache(64)
def _shuffles(length: int) -> Ints:
    """`SHUFFLES` orders of so many indexes, blocks of neighbours kept together.

    They are the same for every series of a length, every time: what is found in a series stays what it is.
    """
    dice = np.random.default_rng(length)
    blocks = dice.permuted(np.tile(np.arange(-(-length // BLOCK)), (SHUFFLES, 1)), axis=1)
    indexes = (blocks[:, :, np.newaxis] * BLOCK + np.arange(BLOCK)).reshape(SHUFFLES, -1)
    return indexes[indexes < length].reshape(SHUFFLES, length)  # the last block may be shorter


def _saved(values: Floats, orders: Ints) -> Floats:
    """How much less the deviations of each row, in each of the orders, are with the best single cut."""
    count, n = values.shape
    splits = np.arange(PIECE_MIN, n - PIECE_MIN + 1)
    saved = np.empty((count, len(orders)))
    together = max(1, SHUFFLES_TOGETHER // len(orders))
    for first in range(0, count, together):
        some = values[first : first + together]
        ranks = _ranks(some)[:, orders].reshape(-1, n)
        sizes = np.repeat(np.sort(some, axis=1), len(orders), axis=0)
        both_ways = np.concatenate([ranks, ranks[:, ::-1]])
        ahead, back = np.split(_deviations(np.concatenate([sizes, sizes]), both_ways), 2)
        cut = ahead[:, splits - 1] + back[:, n - splits - 1]
        saved[first : first + together] = (ahead[:, -1] - cut.min(axis=1)).reshape(-1, len(orders))
    return saved


def _ranks(values: Floats) -> Ints:
    """The place of each value among those of its row, from the smallest: 0, 1, …"""
    order = np.argsort(values, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(values.shape[1])[np.newaxis, :], axis=1)
    return ranks


def _deviations(ascending: Floats, ranks: Ints) -> Floats:
    """The sum of absolute deviations from their median, of each row's first values, by their number less one.

    A row's values are told by their ranks, and by what lies at each rank: an order of them costs no sorting.
    Backwards: each row's values, linked in the order of their size, lose the newest one again and again. That
    takes its distance from the middle off the sum, and moves the middle by one link at most; so a sum costs
    the same for any number of values.
    """
    count, n = ranks.shape
    sizes = np.zeros((count, n + 2))  # at 0 and n + 1 are the ends
    sizes[:, 1:-1] = ascending
    half = n // 2
    total = sizes[:, n - half + 1 : n + 1].sum(axis=1) - sizes[:, 1 : half + 1].sum(axis=1)

    # From here on a place is one in all rows.
    first = np.arange(count) * (n + 2)
    middle = first + half + 1  # of an even number: the upper of both
    before, after = np.arange(-1, sizes.size - 1), np.arange(1, sizes.size + 1)
    sizes = sizes.ravel()
    places = np.ascontiguousarray((ranks + 1 + first[:, np.newaxis]).T)
    sums = np.empty((n, count))
    for end in range(n - 1, -1, -1):
        sums[end] = total
        gone = places[end]
        if end % 2:
            nearest = middle = np.where(gone >= middle, before.take(middle), middle)
        else:
            nearest = middle
            middle = np.where(gone <= middle, after.take(middle), middle)
        total = total - np.abs(sizes.take(gone) - sizes.take(nearest))
        left, right = before.take(gone), after.take(gone)
        after[left], before[right] = right, left
    return np.maximum(sums.T, 0.0)
