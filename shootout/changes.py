"""Where a series of measurements changed its level: change points by least absolute deviations.

The series is cut so that the absolute deviations from each piece's median, and a penalty for each cut, sum up
to the least there is (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an interval";
Bai 1995, "Least absolute deviation estimation of a shift"). Single bad runs do not move a median.

The search is exact, quadratic in time and space, and made for hundreds of series of a few years of weekly
runs at once: each step is one for several of them.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

PIECE_MIN = 3  # a level is more than one bad run and its neighbour
SHUFFLES = 199
STAGES = (20, 40, 80, SHUFFLES)  # how many of them before it is looked whether more can matter
FALSE_ALARM = 0.05
BLOCK = 3  # values that stay neighbours when a series is shuffled
RESOLUTION = 1e-9  # of sums of logarithms: what is smaller is rounding
TOGETHER = 16  # series: with more, what is worked on no longer lies in a CPU's cache


def cuts(values: Sequence[float], penalty: float) -> tuple[int, ...]:
    """The indexes at which a new level begins; each level holds at least `PIECE_MIN` values."""
    if len(values) < 2 * PIECE_MIN:
        return ()
    return _cuts(_costs(np.asarray([values], dtype=float)), np.asarray([penalty]))[0]


def penalty(values: Sequence[float], generator: random.Random) -> float:
    """The penalty under which a series without a change shows one in about the share `FALSE_ALARM` of cases.

    Blocks of neighbouring values are shuffled: that breaks up a change of level, and leaves the noise and its
    short memory as they are (Künsch 1989 for the blocks; Edgington, "Randomization Tests", for the rest). The
    penalty is a quantile of what the best cut saves in the shuffled series.
    """
    if len(values) < 2 * PIECE_MIN:
        return 0.0
    orders = _shuffles(len(values), generator)[np.newaxis]
    return float(_quantile(_saved(np.asarray([values], dtype=float), orders))[0])


def of_all(
    series: Sequence[Sequence[float]], generators: Sequence[random.Random]
) -> tuple[tuple[int, ...], ...]:
    """The cuts of each series under its own penalty; `generators`: one for each."""
    found: list[tuple[int, ...]] = [()] * len(series)
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, values in enumerate(series):
        if len(values) >= 2 * PIECE_MIN:
            by_length[len(values)].append(number)
    for numbers in by_length.values():
        for first in range(0, len(numbers), TOGETHER):
            some = numbers[first : first + TOGETHER]
            together = np.asarray([series[number] for number in some], dtype=float)
            for number, each in zip(some, _of(together, [generators[n] for n in some]), strict=True):
                found[number] = each
    return tuple(found)


def _of(values: Floats, generators: Sequence[random.Random]) -> list[tuple[int, ...]]:
    """The cuts of each row.

    A row without cuts under a penalty has none under a larger one, and more shuffles can only make the
    penalty larger: so most rows without a change need few of them (Besag and Clifford 1991, "Sequential Monte
    Carlo p-values").
    """
    found: list[tuple[int, ...]] = [()] * len(values)
    costs = _costs(values)
    orders = np.stack([_shuffles(values.shape[1], generator) for generator in generators])
    saved = np.empty((len(values), 0))
    rows = np.arange(len(values))
    for done, stage in zip((0, *STAGES), STAGES, strict=False):
        more = _saved(values[rows], orders[rows, done:stage])
        saved = np.concatenate([saved, more], axis=1)
        suspected = _cuts(costs[rows], _quantile(saved))
        stay = np.asarray([bool(each) for each in suspected])
        for row, each in zip(rows, suspected, strict=True):
            found[row] = each
        rows, saved = rows[stay], saved[stay]
        if not len(rows):
            break
    return found


def _cuts(costs: Floats, penalties: Floats) -> list[tuple[int, ...]]:
    """For each row's costs, under its penalty."""
    count, n, _ = costs.shape
    every = np.arange(count)
    best = np.full((count, n + 1), np.inf)  # of the first so many values
    best[:, 0] = 0.0
    begins = np.zeros((count, n + 1), dtype=np.intp)  # of their last piece
    for end in range(PIECE_MIN, n + 1):
        starts = np.asarray([0, *range(PIECE_MIN, end - PIECE_MIN + 1)])
        totals = best[:, starts] + costs[:, starts, end - 1]
        totals[:, 1:] += penalties[:, np.newaxis]
        chosen = totals.argmin(axis=1)
        best[:, end] = totals[every, chosen]
        begins[:, end] = starts[chosen]
    return [_path(row.tolist()) for row in begins]


def _path(begins: Sequence[int]) -> tuple[int, ...]:
    found = []
    end = len(begins) - 1
    while begins[end]:
        end = begins[end]
        found.append(end)
    return tuple(reversed(found))


def _quantile(saved: Floats) -> Floats:
    """Of each row, what so few of `SHUFFLES` save as much as that a series without a change rarely does.

    With fewer shuffles it is a lower bound.
    """
    rank = SHUFFLES - min(math.ceil((1 - FALSE_ALARM) * (SHUFFLES + 1)), SHUFFLES) + 1  # from the top
    quantile = np.sort(saved, axis=1)[:, -rank]
    return np.maximum(quantile, RESOLUTION)


def _shuffles(length: int, generator: random.Random) -> Ints:
    """`SHUFFLES` orders of the indexes, blocks of neighbours kept together."""
    dice = np.random.default_rng(generator.getrandbits(64))
    blocks = dice.permuted(np.tile(np.arange(-(-length // BLOCK)), (SHUFFLES, 1)), axis=1)
    indexes = (blocks[:, :, np.newaxis] * BLOCK + np.arange(BLOCK)).reshape(SHUFFLES, -1)
    return indexes[indexes < length].reshape(SHUFFLES, length)  # the last block may be shorter


def _saved(values: Floats, orders: Ints) -> Floats:
    """How much less the deviations of each row, in each of its orders, are with the best single cut."""
    count, shuffles, n = orders.shape
    shuffled = np.take_along_axis(values[:, np.newaxis, :], orders, axis=2).reshape(-1, n)
    whole = np.zeros(len(shuffled), dtype=np.intp)
    ahead, back = _deviations(shuffled, whole), _deviations(shuffled[:, ::-1], whole)
    splits = np.arange(PIECE_MIN, n - PIECE_MIN + 1)
    saved: Floats = (ahead[:, -1:] - ahead[:, splits - 1] - back[:, n - splits - 1]).max(axis=1)
    return saved.reshape(count, shuffles)


def _costs(values: Floats) -> Floats:
    """Each row's deviations by the piece's begin and its end, less one."""
    count, n = values.shape
    costs = np.empty((count, n, n))
    for parity in (0, 1):
        begins = np.arange(parity, n, 2)
        rows = np.repeat(values, len(begins), axis=0)
        costs[:, parity::2] = _deviations(rows, np.tile(begins, count)).reshape(count, len(begins), n)
    return costs


def _deviations(values: Floats, begins: Ints) -> Floats:
    """The sum of absolute deviations from their median, of each row's values from its begin on, by their end.

    `begins` are all even, or all odd. What stands before a row's begin means nothing.

    Backwards: each row's values, linked in the order of their size, lose the newest one again and again. That
    takes its distance from the middle off the sum, and moves the middle by one link at most; so a sum costs
    the same for any number of values.
    """
    count, n = values.shape
    order = np.argsort(values, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(1, n + 1)[np.newaxis, :], axis=1)  # 0 and n + 1 are the ends
    sizes = np.zeros((count, n + 2))
    sizes[:, 1:-1] = np.take_along_axis(values, order, axis=1)
    present = np.zeros((count, n + 2), dtype=bool)
    present[:, 1:-1] = order >= begins[:, np.newaxis]
    held = (n - begins)[:, np.newaxis]
    position = present.cumsum(axis=1)  # from 1 on
    side = np.where(position > held - held // 2, 1.0, 0.0) - np.where(position <= held // 2, 1.0, 0.0)
    total = (sizes * side * present).sum(axis=1)

    # From here on a place is one in all rows.
    first = np.arange(count) * (n + 2)
    middle = first + (position == held // 2 + 1).argmax(axis=1)  # of an even number: the upper of both
    before, after = ((links + first[:, np.newaxis]).ravel() for links in _links(present))
    sizes = sizes.ravel()
    places = np.ascontiguousarray((places + first[:, np.newaxis]).T)
    newest = np.ascontiguousarray(values.T)
    sums = np.empty((n, count))
    for end in range(n - 1, -1, -1):
        sums[end] = total
        gone = places[end]
        if (end + 1 - begins[0]) % 2:
            nearest = middle
            middle = np.where(gone <= middle, after.take(middle), middle)
        else:
            nearest = middle = np.where(gone >= middle, before.take(middle), middle)
        total = total - np.abs(newest[end] - sizes.take(nearest))
        left, right = before.take(gone), after.take(gone)
        after[left], before[right] = right, left
    return np.maximum(sums.T, 0.0)


def _links(present: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """For each place of a row the nearest one before and after it that is present, or the row's end."""
    n = present.shape[1]
    places = np.broadcast_to(np.arange(n), present.shape)
    before = np.zeros(present.shape, dtype=np.intp)
    np.maximum.accumulate(np.where(present, places, 0)[:, :-1], axis=1, out=before[:, 1:])
    after = np.full(present.shape, n - 1, dtype=np.intp)
    reverse = np.where(present, places, n - 1)[:, :0:-1]
    after[:, :-1] = np.minimum.accumulate(reverse, axis=1)[:, ::-1]
    return before, after
