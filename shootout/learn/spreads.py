"""How positions and sizes spread: frequent ones with their shares, and a curve of quantiles for others."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

Spread = tuple[tuple[tuple[float, float], ...], tuple[float, ...]]  # frequent positions, and a curve

HOT_SHARE = 0.03  # a value with less of the draws has no entry of its own
HOT_MAX = 64  # values of a column that has so few are all frequent
_KS = 1.36  # Kolmogorov and Smirnov's bound at 95 % for the distance of a sample's curve, times sqrt(size)


def curve(sizes: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Give the deciles of weighted sizes; one if all are equal, none if there are no sizes."""
    if not sizes:
        return ()
    ordered = sorted(sizes)
    if ordered[0][0] == ordered[-1][0]:
        return (ordered[0][0],)
    totals = list(accumulate(weight for _, weight in ordered))
    at = (min(bisect_left(totals, totals[-1] * step / 10), len(ordered) - 1) for step in range(11))
    return tuple(ordered[index][0] for index in at)


def spread(places: Sequence[tuple[int, float]], count: int, size: int) -> Spread:
    """Frequent places, and for others the curve of the fewest steps that the sample cannot tell from it."""
    if not places or count < 1:
        return (), (0.0, 1.0)
    weights = _summed(places)
    whole = sum(weights.values())
    near = _KS / math.sqrt(max(size, 1)) + 1e-9
    if (plain := _fitted(weights, count, near, (1, 2, 4))) is not None:
        return (), plain
    digits = len(str(count)) + 2
    frequent = sorted(weights, key=lambda place: -weights[place])[:HOT_MAX]
    few = len(weights) <= HOT_MAX
    hot = [place for place in frequent if few or weights[place] / whole >= HOT_SHARE]
    rest = {place: weight for place, weight in weights.items() if place not in hot}
    steps = (1, 2, 4, 8, 16, 32, 64)
    left = (_fitted(rest, count, near, steps) or _steps(rest, count, 128)) if rest else (0.0, 1.0)
    shares = [
        (round((place + 0.5) / count, digits), rounded(weights[place] / whole)) for place in sorted(hot)
    ]
    if not rest:  # the shares are all there is
        over = sum(share for _, share in shares)
        shares = [(place, math.floor(share / over * 1e6) / 1e6) for place, share in shares]
    return tuple((place, min(share, 0.999999)) for place, share in shares), left


def fits(known: Spread, places: Sequence[tuple[int, float]], count: int, size: int) -> bool:
    """Whether a spread is one from which the places may be, as far as a sample of `size` can tell."""
    hot, positions = known
    near = _KS * math.sqrt(2 / max(size, 1))
    return bool(places) and _distance(positions, _summed(places), count, hot) <= near


def rounded(share: float) -> float:
    """Round a share to as many digits as it is worth."""
    return min(1.0, float(f"{share:.3g}"))


def _summed(places: Iterable[tuple[int, float]]) -> dict[int, float]:
    weights: dict[int, float] = {}
    for place, weight in places:
        weights[place] = weights.get(place, 0.0) + weight
    return weights


def _fitted(
    weights: dict[int, float], count: int, near: float, numbers: Sequence[int]
) -> tuple[float, ...] | None:
    curves = chain([(0.0, 1.0)], (_steps(weights, count, steps) for steps in numbers))
    return next((points for points in curves if _distance(points, weights, count) <= near), None)


def _steps(weights: dict[int, float], count: int, steps: int) -> tuple[float, ...]:
    ordered = sorted(weights)
    totals = list(accumulate(weights[place] for place in ordered))
    whole, points = totals[-1], []
    for step in range(steps + 1):
        wanted = whole * step / steps
        index = min(bisect_left(totals, wanted), len(ordered) - 1) if step else 0
        place = ordered[index]
        part = 1 - (totals[index] - wanted) / weights[place]
        points.append(round(min(max((place + part) / count, 0.0), 1.0), len(str(count)) + 2))
    return tuple(points)


def _distance(
    points: tuple[float, ...], weights: dict[int, float], count: int, hot: Sequence[tuple[float, float]] = ()
) -> float:
    """The greatest distance between a spread's shares and the weights', over all indexes."""
    rest = 1 - sum(share for _, share in hot)

    def below(position: float) -> float:
        frequent = sum(share for place, share in hot if place < position)
        return frequent + rest * _share_below(points, position)

    ordered = sorted(weights)
    totals = list(accumulate(weights[place] for place in ordered))
    worst, before = 0.0, 0.0
    for place, total in zip(ordered, totals, strict=True):
        share = total / totals[-1]
        worst = max(worst, abs(below((place + 1) / count) - share), abs(below(place / count) - before))
        before = share
    return worst


def _share_below(points: tuple[float, ...], position: float) -> float:
    if position >= points[-1]:
        return 1.0
    at = bisect_left(points, position)
    if at == 0:
        return 0.0
    low, high = points[at - 1], points[at]
    return (at - 1 + (position - low) / (high - low if high > low else 1.0)) / (len(points) - 1)
