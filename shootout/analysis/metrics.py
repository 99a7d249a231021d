"""Metrics beside throughput: latencies, cost per transaction, and where a transaction's time goes.

Cost per transaction hardly depends on the state of the machine, so a change shows there even where throughput
is inconclusive. Each start gives one value per metric and server, and intervals are over starts. Server CPU
is known by round, too, and its ratio is formed there, as throughput's is. Percentiles pool the latencies of
all starts (percentiles.py).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from shootout.analysis import percentiles, stats
from shootout.analysis.histograms import decoded, merged
from shootout.analysis.stats import STARTS_MIN
from shootout.model.run import FLUSH_S, FLUSHES, Samples
from shootout.model.verdict import Interval, MetricComparison, StatementTime

Starts = Mapping[int, Samples]  # one server's in one block, by number


@dataclass(frozen=True)
class Metric:
    """A metric: one row of the registry, which all pages, policies and causes are made from. More is worse.

    It is a `percentile` of the latencies, or `source` reads one start's value, mostly per transaction, from
    its samples, None where it is not visible. `by_round` reads its values by round, where rounds have it. The
    costs rank causes, so their order of magnitude is enough. Work that background threads do by the clock
    falls to fewer transactions on a slower server: it is a consequence, has no costs, and is no cause.
    """

    name: str  # in policies and JSON; model.plan.Metric lists it for those who write policies
    title: str  # for people
    unit: str  # "s", "bytes", or "" for a count
    source: Callable[[Samples], float | None] | None = None
    percentile: float | None = None
    cpu_s: float = 0.0  # seconds of CPU that one unit costs
    wait_s: float = 0.0  # seconds that one unit makes a transaction wait
    by_round: Callable[[Samples], Sequence[float]] | None = None
    background: bool = False  # counts the work of background threads, too


def server_cpu_s(samples: Samples) -> float | None:
    """Compute the seconds of CPU for each transaction of a start; None: not visible."""
    if samples.server_cpu_s is None:
        return None
    return sum(samples.server_cpu_s) / max(1, sum(samples.completed))


def _round_cpu_s(samples: Samples) -> Sequence[float]:
    return [
        s / max(0.5, done) for s, done in zip(samples.server_cpu_s or (), samples.completed, strict=False)
    ]


def _counted(name: str, samples: Samples) -> float | None:
    count = samples.counters.get(name)
    return None if count is None else count / max(1, sum(samples.completed))


def _counter(name: str) -> Callable[[Samples], float | None]:
    return partial(_counted, name)


_FLUSHES_MIN = 100  # in a start; fewer are not what transactions wait for


def _flush_s(samples: Samples) -> float | None:
    """Seconds for each flush of the disk in the server's slices."""
    flushes = samples.counters.get(FLUSHES, 0.0)
    return samples.counters.get(FLUSH_S, 0.0) / flushes if flushes >= _FLUSHES_MIN else None


_INNODB_ROWS = tuple(f"Innodb_rows_{how}" for how in ("read", "inserted", "updated", "deleted"))


def _rows_read(samples: Samples) -> float | None:
    """Rows that storage engines returned, temporary tables' left out; on MySQL only InnoDB counts them.

    Not Handler_read_*: it holds the rows of SHOW GLOBAL STATUS, 342 to 736 of them at each reading.
    """
    if "Rows_read" in samples.counters:
        return _counted("Rows_read", samples)
    # Where InnoDB did nothing, the tables are another engine's.
    return _counted(_INNODB_ROWS[0], samples) if any(map(samples.counters.get, _INNODB_ROWS)) else None


METRICS = (
    Metric("latency_p50", "median latency", "s", percentile=50.0),
    Metric("latency_p95", "95 % latency", "s", percentile=95.0),
    Metric("latency_p99", "99 % latency", "s", percentile=99.0),
    Metric("latency_p999", "99.9 % latency", "s", percentile=99.9),
    Metric("server_cpu", "server CPU", "s", server_cpu_s, cpu_s=1.0, by_round=_round_cpu_s),
    Metric("context_switches", "context switches", "", _counter("context_switches"), background=True),
    Metric("disk_written", "bytes written", "bytes", _counter("disk_written_bytes"), background=True),
    Metric("fsyncs", "fsyncs", "", _counter("Innodb_data_fsyncs"), background=True),
    Metric("flush_latency", "latency of a disk flush", "s", _flush_s),
    Metric("rows_read", "rows read", "", _rows_read, cpu_s=2e-7),
    Metric("buffer_pool_reads", "buffer pool reads", "", _counter("Innodb_buffer_pool_reads"), wait_s=1e-4),
    Metric("lock_waits", "row lock waits", "", _counter("Innodb_row_lock_waits"), wait_s=1e-3),
)
BY_NAME = {metric.name: metric for metric in METRICS}
TITLES = {metric.name: metric.title for metric in METRICS}


def compare(base: Starts, head: Starts, trim: float, confidence: float) -> tuple[MetricComparison, ...]:
    """Compare all metrics that both servers show, over the starts that both have; none with fewer than two.

    Intervals are Student's over starts, of log-ratios where no value is 0; `trim`: of rounds at each end.
    p-values are Hommel's over the metrics. Raises ValueError for latencies that cannot be read.
    """
    changes = _changes(METRICS, base, head, trim, confidence)
    p_values = stats.hommel([change.p_value for change in changes.values()])
    return tuple(
        MetricComparison(
            name=name,
            base=change.base,
            head=change.compared_head,
            difference=_moved(change.difference.interval, change.compared_head - change.base),
            ratio=change.ratio and change.ratio.ratio,
            p_value=p_value,
        )
        for (name, change), p_value in zip(changes.items(), p_values, strict=True)
    )


def log_ratio(name: str, base: Starts, head: Starts, trim: float, confidence: float) -> stats.Effect | None:
    """Compute one metric's log(head / base) over the starts; None if it is 0 or not visible in some start."""
    change = _changes([BY_NAME[name]], base, head, trim, confidence).get(name)
    return None if change is None else change.ratio


def always_zero(name: str, base: Starts, head: Starts) -> bool:
    """Whether a metric is visible in every start of both servers, and 0 in each."""
    source = BY_NAME[name].source if name in BY_NAME else None
    return source is not None and all(source(samples) == 0 for samples in (*base.values(), *head.values()))


def transaction_s(starts: Starts) -> float:
    """Mean latency of all transactions, seconds. Raises ValueError for latencies that cannot be read."""
    return merged(tuple(samples.latencies for samples in starts.values())).mean_s


def statement_times(base: Starts, head: Starts, confidence: float) -> tuple[StatementTime, ...]:
    """Split a transaction's time by kind of statement, the largest change first; none without two starts.

    The times are means over all transactions, as the transaction's is; they add up to it, and so do the
    differences, whose intervals are over starts. Raises ValueError for latencies that cannot be read.
    """
    starts = sorted(base.keys() & head.keys())
    if len(starts) < STARTS_MIN:
        return ()
    times = [(_times_s(base[start]), _times_s(head[start])) for start in starts]
    weights = [[_transactions(side[start]) for start in starts] for side in (base, head)]
    statements = []
    for kind in dict.fromkeys(kind for both in times for one in both for kind in one):
        pairs = [(of_base.get(kind, 0.0), of_head.get(kind, 0.0)) for of_base, of_head in times]
        base_s, head_s = map(_mean, zip(*pairs, strict=True), weights)
        by = _moved(_change(pairs, confidence).difference.interval, head_s - base_s)
        statements.append(StatementTime(kind=kind, base_s=base_s, head_s=head_s, difference_s=by))
    return tuple(sorted(statements, key=lambda statement: -abs(statement.difference_s.estimate)))


class _Change(NamedTuple):
    base: float
    head: float
    difference: stats.Effect
    ratio: stats.Effect | None  # the logarithm's

    @property
    def p_value(self) -> float:
        return (self.ratio or self.difference).p_value

    @property
    def compared_head(self) -> float:
        """The head's value that the ratio gives: the mean over starts is another estimate."""
        return self.head if self.ratio is None else self.base * self.ratio.ratio.estimate


def _moved(interval: Interval, estimate: float) -> Interval:
    by = estimate - interval.estimate
    return Interval(estimate=estimate, low=interval.low + by, high=interval.high + by)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def _changes(
    metrics: Sequence[Metric], base: Starts, head: Starts, trim: float, confidence: float
) -> dict[str, _Change]:
    """Metrics that are visible in every common start, and not always 0; none with fewer than two starts."""
    starts = sorted(base.keys() & head.keys())
    if len(starts) < STARTS_MIN:
        return {}
    of_base, of_head = [base[start] for start in starts], [head[start] for start in starts]
    percents = {metric.name: metric.percentile for metric in metrics if metric.percentile is not None}
    changes = _percentiles(percents, of_base, of_head, confidence)
    for metric in metrics:
        pairs = _pairs(metric.source, of_base, of_head) if metric.source else []
        if not any(map(any, pairs)):
            continue
        changes[metric.name] = _change(pairs, confidence)
        if metric.by_round and (logs := _round_logs(metric.by_round, of_base, of_head)):
            by_rounds = stats.ratio_of_starts(logs, trim, confidence)
            changes[metric.name] = changes[metric.name]._replace(ratio=by_rounds)
    return changes


def _round_logs(
    by_round: Callable[[Samples], Sequence[float]], base: Sequence[Samples], head: Sequence[Samples]
) -> list[list[float]]:
    """log(head / base) by start and round; none if a round has no value above 0."""
    values = [
        [*zip(by_round(one), by_round(other), strict=False)] for one, other in zip(base, head, strict=True)
    ]
    if not all(rounds and all(map(all, rounds)) for rounds in values):
        return []
    return [[_log_ratio(*pair) for pair in rounds] for rounds in values]


def _percentiles(
    percents: Mapping[str, float], base: Sequence[Samples], head: Sequence[Samples], confidence: float
) -> dict[str, _Change]:
    if not percents:
        return {}
    of_base, of_head = ([decoded(s.latencies) for s in side] for side in (base, head))
    if not all(histogram.count for histogram in (*of_base, *of_head)):
        return {}
    compared = percentiles.compare(of_base, of_head, [*percents.values()], confidence)
    return {name: _Change(*percentile) for name, percentile in zip(percents, compared, strict=True)}


def _pairs(
    source: Callable[[Samples], float | None], base: Sequence[Samples], head: Sequence[Samples]
) -> list[tuple[float, float]]:
    """Both servers' values in each start; none if one is not visible."""
    values = [(source(one), source(other)) for one, other in zip(base, head, strict=True)]
    pairs = [(of_base, of_head) for of_base, of_head in values if of_base is not None and of_head is not None]
    return pairs if len(pairs) == len(values) else []


def _times_s(samples: Samples) -> dict[str, float]:
    transactions = _transactions(samples)
    times = samples.times or {
        kind: (latencies.count, latencies.mean_s)
        for kind, latencies in ((kind, decoded(text)) for kind, text in samples.statements.items())
    }
    return {kind: mean_s * count / transactions for kind, (count, mean_s) in times.items()}


def _transactions(samples: Samples) -> int:
    return max(1, decoded(samples.latencies).count)


def _log_ratio(base: float, head: float) -> float:
    """log(head / base), which documents can make as small or large as no float is."""
    return math.log(min(max(head / base, sys.float_info.min), sys.float_info.max))


def _change(pairs: Sequence[tuple[float, float]], confidence: float) -> _Change:
    base, head = ([*side] for side in zip(*pairs, strict=True))
    positive = min(map(min, pairs)) > 0  # a counter that was reset meanwhile has decreased
    return _Change(
        base=sum(base) / len(pairs),
        head=sum(head) / len(pairs),
        difference=stats.over_starts([of_head - of_base for of_base, of_head in pairs], confidence),
        ratio=stats.over_starts([_log_ratio(*pair) for pair in pairs], confidence) if positive else None,
    )
