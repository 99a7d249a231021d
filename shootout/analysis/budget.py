"""Which blocks get the next start, so that a budget brings as many as it can to the width asked for.

Blocks differ in how much their starts differ, and in what a start of them takes: what is left goes first to
those that need least of it. It looks at widths only, never at what lies inside them.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shootout.analysis import stats
from shootout.model.plan import Sampling
from shootout.model.run import StartRecord

STARTS_MOST = 1_000_000  # so many or more are not told apart


class Standing(NamedTuple):
    """What is known of a block that wants further starts."""

    block: str  # its key
    starts: int
    steady: int  # of them: those that count
    half_width: float  # of its widest interval so far; endless: not known
    start_s: float  # that one more start of it takes, without the restart that all blocks share


def standing(block: str, starts: Sequence[StartRecord], half_width: float, sampling: Sampling) -> Standing:
    """Where a block stands after these starts of it."""
    return Standing(
        block=block,
        starts=len(starts),
        steady=sum(all(samples.steady for samples in start.samples) for start in starts),
        half_width=half_width,
        start_s=loaded_s(starts, sampling) / max(1, len(starts)),
    )


def loaded_s(starts: Iterable[StartRecord], sampling: Sampling) -> float:
    """About how long these starts loaded servers: ramps and windows, those of the warm-up half as long."""
    windows_s = 0.0
    for start in starts:
        for samples in (*start.samples, *([start.aa_control] if start.aa_control else [])):
            windows_s += sum(samples.window_s) * (1 + samples.warmup_rounds / len(samples.window_s) / 2)
    return windows_s * (1 + sampling.ramp_s / sampling.slice_s)


def next_start(
    standings: Sequence[Standing], sampling: Sampling, confidence: float, *, left_s: float, restart_s: float
) -> tuple[str, ...]:
    """The blocks of the next start; none where not even one fits into what is left.

    First come those with fewer starts than `starts_min`, the fewest first: each should have some. Then those
    that need least time to become narrow enough, or to reach `starts_max`, as long as all of that fits. What
    remains goes to the widest of the others: they are narrowed as far as it goes. `restart_s`: of all
    servers, however many blocks follow.
    """
    wanted = {each.block: _wanted(each, sampling, confidence) for each in standings}
    due = sorted(standings, key=lambda each: (each.steady, each.start_s))
    due = [each for each in due if each.steady < sampling.starts_min]
    others = [each for each in standings if each not in due]
    chosen = _fitting(due, left_s - restart_s)
    blocks_s = sum(wanted[each.block] * each.start_s for each in chosen)
    restarts = max((wanted[each.block] for each in chosen), default=0)
    for each in sorted(others, key=lambda each: wanted[each.block] * each.start_s):
        need_s, more = wanted[each.block] * each.start_s, max(restarts, wanted[each.block])
        if blocks_s + need_s + more * restart_s <= left_s:
            chosen.append(each)
            blocks_s, restarts = blocks_s + need_s, more
    widest = sorted(others, key=lambda each: -each.half_width)
    rest_s = left_s - blocks_s - max(restarts, 1) * restart_s
    chosen += _fitting([each for each in widest if each not in chosen], rest_s)
    return tuple(each.block for each in standings if each in chosen)


def _fitting(standings: Iterable[Standing], left_s: float) -> list[Standing]:
    """Those that one start of fits into what is left by those before them."""
    chosen = []
    for each in standings:
        if each.start_s <= left_s:
            chosen.append(each)
            left_s -= each.start_s
    return chosen


def half_width(spread: float, starts: int, confidence: float) -> float:
    """Half of Student's interval over so many starts that differ by `spread` (a standard deviation)."""
    return stats.quantile(confidence, starts - 1) * spread / math.sqrt(starts)


def starts_for(wanted: float, spread: float, confidence: float) -> int:
    """The fewest starts, two or more, whose interval has half that width or less."""
    counts = range(2, STARTS_MOST)
    narrow = bisect.bisect_left(counts, -wanted, key=lambda starts: -half_width(spread, starts, confidence))
    return counts[narrow] if narrow < len(counts) else STARTS_MOST


def spread(half_width: float, starts: int, confidence: float) -> float:
    """By how much starts differ whose interval is that wide."""
    return half_width * math.sqrt(starts) / stats.quantile(confidence, starts - 1)


def _wanted(each: Standing, sampling: Sampling, confidence: float) -> int:
    """How many starts more: one at least."""
    wanted = sampling.starts_min - each.steady
    if wanted <= 0 and math.isfinite(each.half_width):
        differ = spread(each.half_width, each.steady, confidence)
        wanted = starts_for(sampling.half_width, differ, confidence) - each.steady
    return max(1, min(wanted, sampling.starts_max - each.starts))
