"""What is compared beside throughput: latencies, the work each transaction takes, and where its time goes.

Work for each transaction hardly depends on the machine's mood: a change there shows where throughput cannot
tell. Every figure is formed once a start, from what both servers did in it, and judged over the starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from shootout import stats
from shootout._engine import Histogram
from shootout.model import Interval, MetricComparison, Samples, StatementTime

Starts = Mapping[int, Samples]  # of one server in one block, by number

STARTS_MIN = 2  # one says nothing about the next


@dataclass(frozen=True)
class Metric:
    """A figure of each transaction; of all these, more is worse."""

    name: str  # in policies and JSON
    title: str  # for people
    unit: str  # "s", "bytes", or "" for a count
    of: Callable[[Samples], float | None]  # one start's; None: it is not visible


def _percentile(percent: float, samples: Samples) -> float | None:
    latencies = Histogram.decode(samples.latencies)
    return latencies.percentile(percent) if latencies.count else None


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
    Metric("latency_p50", "median latency", "s", partial(_percentile, 50)),
    Metric("latency_p95", "95 % latency", "s", partial(_percentile, 95)),
    Metric("latency_p99", "99 % latency", "s", partial(_percentile, 99)),
    Metric("latency_p999", "99.9 % latency", "s", partial(_percentile, 99.9)),
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
    changes = {}
    for metric in METRICS:
        pairs = _pairs(metric, base, head)
        if pairs and len(pairs) >= STARTS_MIN and any(map(any, pairs)):
            changes[metric.name] = _change(pairs, confidence)
    p_values = stats.holm([change.p_value for change in changes.values()])
    return tuple(
        MetricComparison(
            name=name,
            base=change.base,
            head=change.head,
            difference=change.difference,
            ratio=change.ratio,
            p_value=p_value,
        )
        for (name, change), p_value in zip(changes.items(), p_values, strict=True)
    )


def log_ratios(name: str, base: Starts, head: Starts) -> list[float] | None:
    """One figure's log(head / base) in each start that both have; None where it is not visible in all, or 0.

    Raises ValueError for latencies that cannot be read.
    """
    (metric,) = (each for each in METRICS if each.name == name)
    pairs = _pairs(metric, base, head)
    if pairs is None or not all(map(all, pairs)):
        return None
    return [math.log(of_head / of_base) for of_base, of_head in pairs]


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
        found.append(
            StatementTime(kind=kind, base_s=change.base, head_s=change.head, difference_s=change.difference)
        )
    return tuple(sorted(found, key=lambda each: -abs(each.difference_s.estimate)))


def _pairs(metric: Metric, base: Starts, head: Starts) -> list[tuple[float, float]] | None:
    """The figure of both in each start that both have; None where one of them is not visible."""
    starts = sorted(base.keys() & head.keys())
    values = [(metric.of(base[start]), metric.of(head[start])) for start in starts]
    pairs = [(of_base, of_head) for of_base, of_head in values if of_base is not None and of_head is not None]
    return pairs if len(pairs) == len(values) else None


def _times_s(samples: Samples) -> dict[str, float]:
    """Seconds of a mean transaction that pass in each kind of statement."""
    transactions = max(1, Histogram.decode(samples.latencies).count)
    decoded = {kind: Histogram.decode(text) for kind, text in samples.statements.items()}
    return {kind: latencies.mean_s * latencies.count / transactions for kind, latencies in decoded.items()}


class _Change(NamedTuple):
    base: float  # mean
    head: float
    difference: Interval
    ratio: Interval | None
    p_value: float


def _change(pairs: Sequence[tuple[float, float]], confidence: float) -> _Change:
    base, head = ([*side] for side in zip(*pairs, strict=True))
    by = stats.over_starts([of_head - of_base for of_base, of_head in pairs], confidence)
    p_value, ratio = by.p_value, None
    if all(map(all, pairs)):
        logs = stats.over_starts([math.log(of_head / of_base) for of_base, of_head in pairs], confidence)
        p_value = logs.p_value
        ratio = Interval(estimate=math.exp(logs.estimate), low=math.exp(logs.low), high=math.exp(logs.high))
    return _Change(
        base=sum(base) / len(pairs),
        head=sum(head) / len(pairs),
        difference=Interval(estimate=by.estimate, low=by.low, high=by.high),
        ratio=ratio,
        p_value=p_value,
    )
