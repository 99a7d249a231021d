"""Likely causes of a change in throughput: slower statements, and a higher cost per transaction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from shootout.analysis import metrics
from shootout.analysis.pairs import Pair
from shootout.analysis.verdicts import Decision
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.verdict import Cause, MetricComparison, StatementTime, Verdict

TRIVIAL = 0.005  # what explains less is not even told where throughput decides nothing
SHARE_MIN = 0.03  # of a transaction's time: what explains less is no likely cause

_CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)


def of_cell(
    pair: Pair,
    decision: Decision,
    costs: Sequence[MetricComparison],
    statements: Sequence[StatementTime],
    policy: Policy,
    *,
    cpus: int,
    cells: int,
) -> tuple[Cause, ...]:
    """Find what changed significantly and by at least the margin, the largest share of the time first.

    A regressed cell lists what increased, an improved one what decreased. Where throughput decides nothing,
    only costs count, and must be significant among the metrics of all `cells` of the run. The metric that
    decided is no cause of itself. `cpus`: how many the server may use. Raises ValueError for latencies that
    cannot be read.
    """
    alpha, margin = 1 - policy.confidence, math.log1p(policy.margin_of(THROUGHPUT, pair.cell.workload))
    transaction_s = metrics.transaction_s(pair.base_starts)
    if not costs or not transaction_s:
        return ()
    changed = decision.verdict in _CHANGED
    # A CPU second of one transaction delays every transaction under way (Little's law).
    samples = pair.base_starts.values()
    tps = sum(sum(s.transactions) for s in samples) / sum(sum(s.window_s) for s in samples)
    waiting = max(1.0, transaction_s * tps / cpus)
    parts = {
        metric.name: (metric.cpu_s * waiting + metric.wait_s) / transaction_s
        for metric in metrics.METRICS
        if metric.cpu_s or metric.wait_s
    }
    causes = [*_costs(costs, parts, margin, alpha if changed else alpha / cells)]
    if changed:
        if len(statements) == 1:  # its time, and its CPU time, are the verdict again
            causes = [cause for cause in causes if cause.name != "server_cpu"]
        else:
            causes += _statements(statements, transaction_s, margin)
        sign = 1 if decision.verdict is Verdict.REGRESSED else -1
        decided_by = decision.metrics[0].metric if decision.metrics else ""
        causes = [cause for cause in causes if sign * cause.share >= SHARE_MIN and cause.name != decided_by]
    causes = [cause for cause in causes if abs(cause.share) >= TRIVIAL]
    return tuple(sorted(causes, key=lambda cause: -abs(cause.share)))


def _costs(
    costs: Sequence[MetricComparison], parts: Mapping[str, float], margin: float, alpha: float
) -> Iterator[Cause]:
    """`parts`: the share of a transaction's time that one unit of each metric takes."""
    for metric in costs:
        moved = metric.ratio is None or abs(math.log(metric.ratio.estimate)) >= margin
        if metric.name in parts and moved and metric.p_value < alpha:
            yield Cause(
                kind="work",
                name=metric.name,
                base=metric.base,
                head=metric.head,
                difference=metric.difference,
                share=parts[metric.name] * metric.difference.estimate,
            )


def _statements(statements: Sequence[StatementTime], transaction_s: float, margin: float) -> Iterator[Cause]:
    for statement in statements:
        by = statement.difference_s
        if by.excludes_zero and abs(by.estimate) >= margin * statement.base_s:
            yield Cause(
                kind="statement",
                name=statement.kind,
                base=statement.base_s,
                head=statement.head_s,
                difference=by,
                share=by.estimate / transaction_s,
            )
