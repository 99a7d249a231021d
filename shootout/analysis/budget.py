"""Choose the blocks of the next start, so that a budget makes as many as possible precise enough.

Blocks differ in their spread over starts and in how long a start takes. Those that need the least time come
first. Only the widths of intervals count, never what lies inside them.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shootout.analysis import stats
from shootout.model.plan import Sampling
from shootout.model.run import StartRecord

STARTS_LIMIT = 1_000_000  # larger numbers count as this one


class BlockProgress(NamedTuple):
    """Progress of a block that needs further starts."""

    block: str  # its key
    starts: int
    steady: int  # starts that count
    half_width: float  # of its widest interval so far; infinite: unknown
    start_s: float  # time of one more start, without the restart that all blocks share


def progress(
    block: str, starts: Sequence[StartRecord], half_width: float, sampling: Sampling
) -> BlockProgress:
    """The progress of a block after these starts."""
    return BlockProgress(
        block=block,
        starts=len(starts),
        steady=sum(all(samples.steady for samples in start.samples) for start in starts),
        half_width=half_width,
        start_s=loaded_s(starts, sampling) / max(1, len(starts)),
    )


def loaded_s(starts: Iterable[StartRecord], sampling: Sampling) -> float:
    """Approximate time under load in these starts: ramps and windows. Warm-up windows are half as long."""
    windows_s = 0.0
    for start in starts:
        for samples in (*start.samples, *([start.aa_control] if start.aa_control else [])):
            windows_s += sum(samples.window_s) * (1 + samples.warmup_rounds / len(samples.window_s) / 2)
    return windows_s * (1 + sampling.ramp_s / sampling.slice_s)


def next_start(
    blocks: Sequence[BlockProgress], sampling: Sampling, confidence: float, *, left_s: float, restart_s: float
) -> tuple[str, ...]:
    """The blocks of the next start; empty if none fits into the `left_s` seconds of the budget.

    Blocks with fewer than `starts_min` starts come first, the fewest first. Then come those that need the
    least time to become narrow enough or to reach `starts_max`, as long as all of that time is left. The rest
    goes to the widest of the others, to narrow them as far as possible. `restart_s`: one restart of all
    servers, whatever the number of blocks.
    """
    needed = {each.block: _starts_needed(each, sampling, confidence) for each in blocks}
    due = sorted(blocks, key=lambda each: (each.steady, each.start_s))
    due = [each for each in due if each.steady < sampling.starts_min]
    others = [each for each in blocks if each not in due]
    chosen = _fitting(due, left_s - restart_s)
    blocks_s = sum(needed[each.block] * each.start_s for each in chosen)
    restarts = max((needed[each.block] for each in chosen), default=0)
    for each in sorted(others, key=lambda each: needed[each.block] * each.start_s):
        need_s, more = needed[each.block] * each.start_s, max(restarts, needed[each.block])
        if blocks_s + need_s + more * restart_s <= left_s:
            chosen.append(each)
            blocks_s, restarts = blocks_s + need_s, more
    widest = sorted(others, key=lambda each: -each.half_width)
    rest_s = left_s - blocks_s - max(restarts, 1) * restart_s
    chosen += _fitting([each for each in widest if each not in chosen], rest_s)
    return tuple(each.block for each in blocks if each in chosen)


def _fitting(blocks: Iterable[BlockProgress], left_s: float) -> list[BlockProgress]:
    """Blocks whose next start fits into the time that the blocks before them leave."""
    chosen = []
    for each in blocks:
        if each.start_s <= left_s:
            chosen.append(each)
            left_s -= each.start_s
    return chosen


def half_width(spread: float, starts: int, confidence: float) -> float:
    """Half the width of Student's interval over `starts` starts with standard deviation `spread`."""
    return stats.quantile(confidence, starts - 1) * spread / math.sqrt(starts)


def starts_for(wanted: float, spread: float, confidence: float) -> int:
    """The fewest starts, at least two, whose interval has a half-width of at most `wanted`."""
    counts = range(2, STARTS_LIMIT)
    narrow = bisect.bisect_left(counts, -wanted, key=lambda starts: -half_width(spread, starts, confidence))
    return counts[narrow] if narrow < len(counts) else STARTS_LIMIT


def spread(half_width: float, starts: int, confidence: float) -> float:
    """The standard deviation of starts whose interval has this half-width."""
    return half_width * math.sqrt(starts) / stats.quantile(confidence, starts - 1)


def _starts_needed(each: BlockProgress, sampling: Sampling, confidence: float) -> int:
    """Further starts that the block needs, at least one."""
    needed = sampling.starts_min - each.steady
    if needed <= 0 and math.isfinite(each.half_width):
        deviation = spread(each.half_width, each.steady, confidence)
        needed = starts_for(sampling.half_width, deviation, confidence) - each.steady
    return max(1, min(needed, sampling.starts_max - each.starts))
