"""How many more minutes a run would need to decide the rest of its cells, if noise stays as it was."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from statistics import stdev
from typing import NamedTuple

from shootout.analysis import stats
from shootout.model.plan import THROUGHPUT, Sampling
from shootout.model.verdict import CellComparison, Comparison, Verdict

BEYOND_ONE = 1.5  # Student's interval of one cell, widened for the correction among all cells


class Remaining(NamedTuple):
    """What more starts would decide."""

    cells: int  # undecided, by their throughput
    decided: int  # of them, by the minutes
    minutes: float


def remaining(comparison: Comparison) -> Remaining | None:
    """None if every cell is decided or lacks more than throughput, or how long a start takes is not known."""
    blocks: defaultdict[tuple[str, int], list[CellComparison]] = defaultdict(list)
    for cell in comparison.cells:
        blocks[cell.cell.workload, cell.cell.threads].append(cell)
    undecided = [cell for cell in comparison.cells if _is_undecided(cell)]
    done = sum(_starts(block) * len(block) for block in blocks.values())
    if not undecided or not done or comparison.end is None:
        return None
    start_s = comparison.end.elapsed_s / done
    decided, seconds = 0, 0.0
    for block in blocks.values():
        needing = [*_needing(comparison, block)]
        decided += len(needing)
        seconds += max(needing, default=0) * len(block) * start_s
    return Remaining(len(undecided), decided, seconds / 60)


def _starts(block: list[CellComparison]) -> int:
    return max(len(cell.per_start) for cell in block)


def _is_undecided(cell: CellComparison) -> bool:
    """Whether a cell is inconclusive, and no other metric than throughput decided that."""
    decisive = [(metric.metric, metric.verdict) for metric in cell.judged[:1]]
    return cell.verdict is Verdict.INCONCLUSIVE and decisive in ([], [(THROUGHPUT, Verdict.INCONCLUSIVE)])


def _needing(comparison: Comparison, block: list[CellComparison]) -> Iterator[int]:
    """How many more starts each undecided cell needs, of those that the schedule gives enough."""
    sampling, confidence = comparison.header.profile.sampling, comparison.policy.confidence
    for cell in block:
        starts = len(cell.per_start)
        if not _is_undecided(cell) or cell.ratio is None or cell.figures is None or starts < 2:
            continue
        margin = comparison.policy.margin_of(THROUGHPUT, cell.cell.workload)
        away = abs(math.log(cell.ratio.estimate)) - math.log1p(margin)
        # Beyond the margin, the interval must exclude no change; within it, lie within it.
        wanted = (away + math.log1p(margin)) / BEYOND_ONE if away > 0 else -away
        half = math.log(cell.ratio.high / cell.ratio.low) / 2
        spread = half / stats.half_width(1.0, starts, confidence)
        needed = max(stats.starts_for(max(wanted, 1e-6), spread, confidence), starts + 1)
        possible = sampling.starts_max - len(cell.figures.left_out)
        if needed <= min(_given(block, sampling, confidence), possible):
            yield needed - starts


def _given(block: list[CellComparison], sampling: Sampling, confidence: float) -> int:
    """After how many starts the block's widest interval, as `pairs.half_width`, is narrow enough."""
    spreads = [stdev(map(math.log, cell.per_start)) for cell in block if len(cell.per_start) > 1]
    return max(sampling.starts_min, stats.starts_for(sampling.half_width, max(spreads), confidence))
