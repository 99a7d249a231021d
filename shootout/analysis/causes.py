"""What a change of throughput may come from: slower statements, transactions that need more work."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from shootout.analysis import metrics
from shootout.analysis.pairs import Pair
from shootout.analysis.verdicts import Judgement
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.verdict import Cause, MetricComparison, StatementTime, Verdict

# About what one of it costs, in seconds, to rank by: no more than its order of magnitude counts. On a CPU:
_CPU_S = {"server_cpu": 1.0, "context_switches": 2e-6, "rows_read": 2e-7}
# Waiting: for a page of an SSD, for its 200 MB/s, for its cache to be flushed, for who holds a row.
_WAIT_S = {"buffer_pool_reads": 1e-4, "disk_written": 5e-9, "fsyncs": 2e-4, "lock_waits": 1e-3}

_TOLD = (Verdict.REGRESSED, Verdict.IMPROVED)


def of_cell(
    pair: Pair,
    judgement: Judgement,
    work: Sequence[MetricComparison],
    statements: Sequence[StatementTime],
    policy: Policy,
    *,
    cpus: int,
    cells: int,
) -> tuple[Cause, ...]:
    """What changed for certain and by the margin or more, what takes most of a transaction's time first.

    Of a regressed cell only what became more, of an improved one only what became less. Where throughput does
    not tell, only work counts, and must be certain among the figures of all `cells` of the run. The metric
    that decided is no cause of itself. `cpus`: of the server. Raises ValueError for latencies that cannot be
    read.
    """
    doubt, margin = 1 - policy.confidence, math.log1p(policy.margin_of(THROUGHPUT, pair.cell.workload))
    transaction_s = metrics.transaction_s(pair.base_starts)
    if not work or not transaction_s:
        return ()
    told = judgement.verdict in _TOLD
    # A CPU second of one transaction delays all that wait for the CPU: of those under way (Little's law).
    waiting = max(1.0, transaction_s * _tps(pair) / cpus)
    parts = {name: price * waiting / transaction_s for name, price in _CPU_S.items()}
    parts |= {name: price / transaction_s for name, price in _WAIT_S.items()}
    found = [*_work(work, parts, margin, doubt if told else doubt / cells)]
    if told:
        found += _statements(statements, transaction_s, margin)
        sign = 1 if judgement.verdict is Verdict.REGRESSED else -1
        decided_by = judgement.metrics[0].metric if judgement.metrics else ""
        found = [cause for cause in found if sign * cause.share > 0 and cause.name != decided_by]
    return tuple(sorted(found, key=lambda cause: -abs(cause.share)))


def _work(
    work: Sequence[MetricComparison], parts: Mapping[str, float], margin: float, doubt: float
) -> Iterator[Cause]:
    """`parts`: of a transaction's time, that one of each takes."""
    for each in work:
        moved = each.ratio is None or abs(math.log(each.ratio.estimate)) >= margin
        if each.name in parts and moved and each.p_value < doubt:
            yield Cause(
                kind="work",
                name=each.name,
                base=each.base,
                head=each.head,
                difference=each.difference,
                share=parts[each.name] * each.difference.estimate,
            )


def _statements(statements: Sequence[StatementTime], transaction_s: float, margin: float) -> Iterator[Cause]:
    for each in statements:
        by = each.difference_s
        if (by.low > 0 or by.high < 0) and abs(by.estimate) >= margin * each.base_s:
            yield Cause(
                kind="statement",
                name=each.kind,
                base=each.base_s,
                head=each.head_s,
                difference=by,
                share=by.estimate / transaction_s,
            )


def _tps(pair: Pair) -> float:
    """The base's throughput."""
    starts = pair.base_starts.values()
    return sum(sum(s.transactions) for s in starts) / sum(sum(s.window_s) for s in starts)
