"""How many more minutes would decide cells: said only where that holds in four of five runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import stdev, variance
from typing import NamedTuple

import numpy as np

from shootout.analysis import pairs, stats
from shootout.analysis.thresholds import CONFIRMED
from shootout.model.plan import THROUGHPUT, Policy, Sampling
from shootout.model.verdict import CellComparison, Comparison, Verdict

TOLD_FROM = 3  # starts: two say too little of their noise
DRAWS = 500  # of what further starts may show
USUAL = 0.05  # standard deviation of true changes: an estimate that is noisy is no large change
# A few starts that are alike by chance promise most where the machine is noisy: what all cells show counts.
SPREAD_MAX = 0.02  # standard deviation of starts; where it is 4 % predictions hold in 70 % (docs/results.md)
SPREAD_DF = 10  # degrees of freedom that say so
LIKELY = 0.85  # of these draws: the noise is no better known than by a few starts


class Remaining(NamedTuple):
    cells: int  # undecided, by their throughput
    decided: int  # of them, by the minutes
    minutes: float


def remaining(comparison: Comparison) -> Remaining | None:
    """Estimate it; None if no cell would be decided, no more starts are taken, or their time is unknown."""
    blocks: defaultdict[tuple[str, int], list[CellComparison]] = defaultdict(list)
    for cell in comparison.cells:
        blocks[cell.cell.workload, cell.cell.threads].append(cell)
    undecided = [cell for cell in comparison.cells if _is_undecided(cell)]
    done = sum(max(len(cell.per_start) for cell in block) * len(block) for block in blocks.values())
    # After the starts that confirm its changes a run takes no others.
    confirmed = any(metric.confirmed is not None for cell in comparison.cells for metric in cell.judged)
    every = (*comparison.cells, *comparison.aa_controls)
    quiet = is_quiet([[*map(math.log, cell.per_start)] for cell in every])
    if confirmed or not done or comparison.end is None or not quiet:
        return None
    start_s = comparison.end.elapsed_s / done
    decided, seconds = 0, 0.0
    for block in blocks.values():
        needing = [*_needing(comparison, block)]
        decided += len(needing)
        seconds += max(needing, default=0) * len(block) * start_s
    return Remaining(len(undecided), decided, seconds / 60) if decided else None


def is_quiet(logs: Sequence[Sequence[float]]) -> bool:
    """Whether the starts of a run's cells certainly differ so little that predictions hold."""
    freedom = sum(max(len(starts) - 1, 0) for starts in logs)
    squares = sum(variance(starts) * (len(starts) - 1) for starts in logs if len(starts) > 1)
    return freedom >= SPREAD_DF and squares <= freedom * SPREAD_MAX**2


def starts_needed(
    per_start: Sequence[float], most: int, margin: float, policy: Policy, comparisons: int
) -> int | None:
    """Find after how many starts, at most so many, a cell would be decided in four of five runs.

    The change, the noise, and what further starts add are drawn: from the posterior of a normal sample
    (Gelman et al., "Bayesian Data Analysis", sections 2.5 and 3.2). The verdict is rule 1's with Student's
    interval and Bonferroni's bound. None if so many starts do not suffice.
    """
    rng, made = np.random.default_rng(1), len(per_start)
    estimate, squares = float(np.mean(per_start)), float(np.var(per_start, ddof=1)) * (made - 1)
    spread = np.sqrt(squares / rng.chisquare(made - 1, DRAWS))
    variance = spread**2 / made
    weight = USUAL**2 / (USUAL**2 + variance)
    truth = weight * estimate + np.sqrt(weight * variance) * rng.normal(size=DRAWS)
    noise = rng.normal(size=(DRAWS, max(most - made, 0)))
    chance = (CONFIRMED if policy.confirm_starts else 1) * (1 - policy.confidence) / comparisons
    for starts in range(made + 1, most + 1):
        new = truth[:, None] + spread[:, None] * noise[:, : starts - made]
        sums, all_squares = new.sum(axis=1) + made * estimate, (new**2).sum(axis=1) + squares
        means = sums / starts
        errors = np.sqrt(np.maximum(all_squares + made * estimate**2 - starts * means**2, 0) / (starts - 1))
        errors /= math.sqrt(starts)
        within = abs(means) + stats.quantile(policy.confidence, starts - 1) * errors <= margin
        changed = abs(means) >= np.maximum(margin, stats.quantile(1 - chance, starts - 1) * errors)
        if (within | changed).mean() >= LIKELY:
            return starts
    return None


def _is_undecided(cell: CellComparison) -> bool:
    """Whether a cell is inconclusive, and no other metric than throughput decided that."""
    decisive = [(metric.metric, metric.verdict) for metric in cell.judged[:1]]
    return cell.verdict is Verdict.INCONCLUSIVE and decisive in ([], [(THROUGHPUT, Verdict.INCONCLUSIVE)])


def _needing(comparison: Comparison, block: list[CellComparison]) -> Iterator[int]:
    """Estimate how many more starts each undecided cell needs, of those that the schedule gives enough."""
    sampling, policy = comparison.header.profile.sampling, comparison.policy
    comparisons = max(1, sum(len(cell.judged) for cell in (*comparison.cells, *comparison.aa_controls)))
    for cell in block:
        starts = len(cell.per_start)
        if not _is_undecided(cell) or cell.figures is None or starts < TOLD_FROM:
            continue
        margin = math.log1p(policy.margin_of(THROUGHPUT, cell.cell.workload))
        possible = sampling.starts_max - len(cell.figures.left_out)
        most = min(_given(block, sampling, policy.confidence), possible)
        logs = [*map(math.log, cell.per_start)]
        if (needed := starts_needed(logs, most, margin, policy, comparisons)) is not None:
            yield needed - starts


def _given(block: list[CellComparison], sampling: Sampling, confidence: float) -> int:
    """Find after how many starts each interval of the block, as `pairs.is_narrow`, is narrow enough."""
    given = sampling.starts_min
    for cell in block:
        if len(logs := [*map(math.log, cell.per_start)]) > 1:
            wanted = max(sampling.half_width, pairs.OF_CHANGE * abs(float(np.mean(logs))))
            given = max(given, stats.starts_for(wanted, stdev(logs), confidence))
    return given
