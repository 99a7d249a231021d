"""Choose the revisions that a bisection measures next, by the cost of builds and starts. Pure."""

from __future__ import annotations

import math
from typing import NamedTuple

from shootout.bisect.judge import Found

FIRST, MOST = 8, 32  # starts of a batch; a revision that stays undecided gets as many as it has had
TOGETHER_MAX = 7  # revisions beside the base


class Costs(NamedTuple):
    """Seconds."""

    build_s: float  # one revision
    start_s: float  # one server in one start
    batch_s: float  # a batch of no starts


class Batch(NamedTuple):
    """Revisions to measure together, the base among them, in so many starts."""

    revisions: tuple[int, ...]
    starts: int


def next_batch(found: Found, costs: Costs) -> Batch | None:
    """The next batch; None if there is nothing to measure."""
    numbers = found.halving.next_revisions(lambda among: _together(among, costs))
    if not numbers:
        return None
    labels = [found.bisection.revisions[number].label for number in numbers]
    made = min(found.measured.starts[label] for label in labels)
    return Batch((0, *numbers), min(max(FIRST, made), MOST))


def _together(among: int, costs: Costs) -> int:
    """The number of revisions that narrows a history most for its cost: k leave one part in k + 1."""

    def cost(count: int) -> float:
        starts_s = FIRST * costs.start_s * (count + 1)
        return (costs.batch_s + count * costs.build_s + starts_s) / math.log(count + 1)

    return min(range(1, min(among, TOGETHER_MAX) + 1), key=cost)
