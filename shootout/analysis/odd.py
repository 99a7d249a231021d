"""Figures that are odd against their neighbours: the same server's at fewer and at more threads."""

from __future__ import annotations

from collections.abc import Mapping

ODD = 3.0  # times both neighbours, or as small a part of them


def among(values: Mapping[int, float]) -> frozenset[int]:
    """The numbers of threads whose value is ODD times both neighbours or more, or 1 / ODD of them or less.

    The first and the last have one neighbour only, and are never odd; nor is a value beside zero.
    """
    counts = sorted(values)
    odd = set()
    for before, here, after in zip(counts, counts[1:], counts[2:], strict=False):
        value, low, high = values[here], *sorted((values[before], values[after]))
        if min(value, low) > 0 and (value >= ODD * high or value <= low / ODD):
            odd.add(here)
    return frozenset(odd)
