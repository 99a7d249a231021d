"""What is compared beside throughput: latencies, the work each transaction takes, and where its time goes.

Work for each transaction hardly depends on the machine's mood: a change there shows where throughput cannot
tell. Each of these figures is formed once a start, from what both servers did in it, and judged over the
starts; percentiles are those of all starts' latencies together (percentiles.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from shootout.analysis import percentiles, stats
from shootout.analysis.histograms import decoded, merged
from shootout.model.run import Samples
from shootout.model.verdict import MetricComparison, StatementTime

Starts = Mapping[int, Samples]  # of one server in one block, by number

STARTS_MIN = 2  # one says nothing about the next


@dataclass(frozen=True)
class Metric:
    """A figure of each transaction; of all these, more is worse."""

    name: str  # in policies and JSON
    title: str  # for people
    unit: str  # "s", "bytes", or "" for a count
    # One start's, None where it is not visible; or which percentile of the latencies it is.
    of: Callable[[Samples], float | None] | float


def _server_cpu_s(samples: Samples) -> float | None:
    if samples.server_cpu_s is None:
        return None
    return sum(samples.server_cpu_s) / max(1, sum(samples.completed))


def _counted(names: Iterable[str], samples: Samples) -> float | None:
    """The sum of those of the server's counters that it has."""
    found = [samples.counters[name] for name in names if name in samples.counters]
    return sum(found) / max(1, sum(samples.completed)) if found else None


_READS = ("first", "key", "last", "next", "prev", "rnd", "rnd_next")

METRICS = (
    Metric("latency_p50", "median latency", "s", 50.0),
    Metric("latency_p95", "95 % latency", "s", 95.0),
    Metric("latency_p99", "99 % latency", "s", 99.0),
    Metric("latency_p999", "99.9 % latency", "s", 99.9),
    Metric("server_cpu", "server CPU", "s", _server_cpu_s),
    Metric("context_switches", "context switches", "", partial(_counted, ("context_switches",))),
    Metric("disk_written", "bytes written", "bytes", partial(_counted, ("disk_written_bytes",))),
    Metric("fsyncs", "fsyncs", "", partial(_counted, ("Innodb_data_fsyncs",))),
    Metric("rows_read", "rows read", "", partial(_counted, [f"Handler_read_{how}" for how in _READS])),
    Metric("buffer_pool_reads", "buffer pool reads", "", partial(_counted, ("Innodb_buffer_pool_reads",))),
    Metric("lock_waits", "row lock waits", "", partial(_counted, ("Innodb_row_lock_waits",))),
)
TITLES = {metric.name: metric.title for metric in METRICS}


def compare(base: Starts, head: Starts, confidence: float) -> tuple[MetricComparison, ...]:
    """All figures that both servers show, over the starts that both have; none with fewer than two starts.

    The interval of a change is Student's over the starts, of the logarithms of the ratios where there are any
    (a figure may be 0). p-values are Holm's over the figures. Raises ValueError for latencies that cannot be
    read.
    """
    changes = _changes(METRICS, base, head, confidence)
    p_values = stats.holm([change.p_value for change in changes.values()])
    return tuple(
        MetricComparison(
            name=name,
            base=change.base,
            head=change.head,
            difference=change.difference.interval,
            ratio=change.ratio and change.ratio.ratio,
            p_value=p_value,
        )
        for (name, change), p_value in zip(changes.items(), p_values, strict=True)
    )


def log_ratio(name: str, base: Starts, head: Starts, confidence: float) -> stats.Effect | None:
    """One figure's log(head / base) over the starts; None where it is not visible in all of them, or 0.

    Raises ValueError for latencies that cannot be read.
    """
    change = _changes([each for each in METRICS if each.name == name], base, head, confidence).get(name)
    return None if change is None else change.ratio


def always_zero(name: str, base: Starts, head: Starts) -> bool:
    """Whether a figure is visible in every start of both, and 0 in each."""
    of = next((metric.of for metric in METRICS if metric.name == name), None)
    return callable(of) and all(of(samples) == 0 for samples in (*base.values(), *head.values()))


def transaction_s(starts: Starts) -> float:
    """The mean latency of all transactions. Raises ValueError where it cannot be read."""
    return merged(tuple(samples.latencies for samples in starts.values())).mean_s


def statement_times(base: Starts, head: Starts, confidence: float) -> tuple[StatementTime, ...]:
    """Where a transaction's time goes, by kind of statement; what changed most comes first.

    The kinds' times add up to the transaction's, so each one's difference is its part of the whole one. None
    with fewer than two starts. Raises ValueError for latencies that cannot be read.
    """
    starts = sorted(base.keys() & head.keys())
    if len(starts) < STARTS_MIN:
        return ()
    times = [(_times_s(base[start]), _times_s(head[start])) for start in starts]
    found = []
    for kind in dict.fromkeys(kind for both in times for one in both for kind in one):
        pairs = [(of_base.get(kind, 0.0), of_head.get(kind, 0.0)) for of_base, of_head in times]
        change = _change(pairs, confidence)
        by = change.difference.interval
        found.append(StatementTime(kind=kind, base_s=change.base, head_s=change.head, difference_s=by))
    return tuple(sorted(found, key=lambda each: -abs(each.difference_s.estimate)))


class _Change(NamedTuple):
    base: float
    head: float
    difference: stats.Effect
    ratio: stats.Effect | None  # the logarithm's

    @property
    def p_value(self) -> float:
        return (self.ratio or self.difference).p_value


def _changes(metrics: Iterable[Metric], base: Starts, head: Starts, confidence: float) -> dict[str, _Change]:
    """Those that are visible in each start that both have, and not always 0; none with fewer than two."""
    starts = sorted(base.keys() & head.keys())
    if len(starts) < STARTS_MIN:
        return {}
    of_base, of_head = [base[start] for start in starts], [head[start] for start in starts]
    found = _percentiles({m.name: m.of for m in metrics if not callable(m.of)}, of_base, of_head, confidence)
    for metric in metrics:
        if callable(metric.of):
            pairs = _pairs(metric.of, of_base, of_head)
            if any(map(any, pairs)):
                found[metric.name] = _change(pairs, confidence)
    return found


def _percentiles(
    percents: Mapping[str, float], base: Sequence[Samples], head: Sequence[Samples], confidence: float
) -> dict[str, _Change]:
    if not percents:
        return {}
    of_base, of_head = ([decoded(s.latencies) for s in side] for side in (base, head))
    if not all(histogram.count for histogram in (*of_base, *of_head)):
        return {}
    found = percentiles.compare(of_base, of_head, [*percents.values()], confidence)
    return {name: _Change(*each) for name, each in zip(percents, found, strict=True)}


def _pairs(
    of: Callable[[Samples], float | None], base: Sequence[Samples], head: Sequence[Samples]
) -> list[tuple[float, float]]:
    """The figure of both in each start; none where one of them is not visible."""
    values = [(of(one), of(other)) for one, other in zip(base, head, strict=True)]
    pairs = [(of_base, of_head) for of_base, of_head in values if of_base is not None and of_head is not None]
    return pairs if len(pairs) == len(values) else []


def _times_s(samples: Samples) -> dict[str, float]:
    """Seconds of a mean transaction that pass in each kind of statement."""
    transactions = max(1, decoded(samples.latencies).count)
    by_kind = {kind: decoded(text) for kind, text in samples.statements.items()}
    return {kind: latencies.mean_s * latencies.count / transactions for kind, latencies in by_kind.items()}


def _change(pairs: Sequence[tuple[float, float]], confidence: float) -> _Change:
    """Over the starts, of which each gave a pair."""
    base, head = ([*side] for side in zip(*pairs, strict=True))
    logs = [math.log(of_head / of_base) for of_base, of_head in pairs] if all(map(all, pairs)) else None
    return _Change(
        base=sum(base) / len(pairs),
        head=sum(head) / len(pairs),
        difference=stats.over_starts([of_head - of_base for of_base, of_head in pairs], confidence),
        ratio=None if logs is None else stats.over_starts(logs, confidence),
    )
