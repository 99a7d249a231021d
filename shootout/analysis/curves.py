"""Whole scaling curves: one test over all cells of a curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shootout.analysis import stats
from shootout.analysis.pairs import Pair, log_ratios
from shootout.model.plan import Policy
from shootout.model.verdict import CurveComparison

THREADS_MIN = 2


def compare(pairs: Iterable[Pair], policy: Policy) -> tuple[CurveComparison, ...]:
    """Compare curves with their base's where two starts cover all threads; p after Bonferroni and Hommel."""
    by_curve: dict[tuple[str, str, str, str], dict[int, Pair]] = {}
    for pair in pairs:
        if pair.throughput is not None and pair.cell != pair.base:
            key = (pair.cell.workload, pair.cell.dataset, pair.cell.server, pair.base.server)
            by_curve.setdefault(key, {})[pair.cell.threads] = pair
    covered = [
        (key, tuple(sorted(curve)), effects)
        for key, curve in by_curve.items()
        if len(curve) >= THREADS_MIN and (effects := _effects(curve, policy)) is not None
    ]
    p_values = stats.hommel([min(1.0, 2 * min(e.p_value for e in effects)) for _, _, effects in covered])
    return tuple(
        CurveComparison(
            workload=workload, dataset=dataset, server=server, base=base, threads=threads,
            level=level.ratio, tilt=tilt.ratio, p_value=p_value,
        )
        for ((workload, dataset, server, base), threads, (level, tilt)), p_value in zip(
            covered, p_values, strict=True
        )
    )  # fmt: skip


def _effects(curve: Mapping[int, Pair], policy: Policy) -> tuple[stats.Effect, stats.Effect] | None:
    """Level and tilt over the starts in which all thread counts were measured and steady; at least two."""
    ratios = [
        dict(zip(log_ratios(pair.base_starts, pair.starts), pair.throughput.per_start, strict=True))
        for _, pair in sorted(curve.items())
        if pair.throughput is not None
    ]
    starts = sorted(set.intersection(*map(set, ratios)))
    if len(starts) < 2:
        return None
    per_start = [[of_threads[start] for of_threads in ratios] for start in starts]
    return stats.curve_effects(per_start, sorted(curve), policy.confidence)
