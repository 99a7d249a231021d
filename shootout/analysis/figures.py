"""A cell's absolute figures, for display; verdicts come from ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec import structs

from shootout._engine import Histogram
from shootout.analysis import metrics, stats
from shootout.analysis.histograms import merged
from shootout.analysis.metrics import Starts
from shootout.errors import InputError, quoted
from shootout.model.plan import Policy
from shootout.model.run import RunDocument, Samples
from shootout.model.verdict import CellFigures, Interval, Latency


def require_readable(document: RunDocument) -> None:
    """Raise InputError, naming the place, if a histogram of the document cannot be read."""
    run = document.header.run
    for record in document.starts:
        for samples in (*record.samples, *([record.aa_control] if record.aa_control else [])):
            where = f"run {run}: start {record.start} of {record.block}, {samples.server}"
            for what, text in {"latencies": samples.latencies, **samples.statements}.items():
                try:
                    Histogram.decode(text)
                except ValueError as error:
                    raise InputError(quoted(f"{where}: {what} cannot be read: {error}")) from None


def of_cell(starts: Starts, used: Set[int], policy: Policy) -> CellFigures | None:
    """Compute the cell's figures over the starts of its verdict; over all without one, None without starts.

    Latencies of statements are always those of all starts: a packed document has no others.
    """
    if not starts:
        return None
    rested_on = only(starts, used)
    samples = tuple(rested_on.values())
    transactions = completed(rested_on)
    return CellFigures(
        tps=tps(rested_on, policy),
        latency=_latency(tuple(s.latencies for s in samples)),
        server_cpu_s=server_cpu_s(samples),
        client_cpu_s=sum(sum(s.client_cpu_s) for s in samples) / transactions,
        reads=sum(s.reads for s in samples) / transactions,
        writes=sum(s.writes for s in samples) / transactions,
        other=sum(s.other for s in samples) / transactions,
        errors=errors(rested_on),
        counters=_counters(samples, transactions),
        starts=len(samples),
        rounds=sum(len(s.transactions) for s in samples),
        statements=_statements(tuple(starts.values())),
        left_out=tuple(start for start in starts if start not in rested_on),
    )


def only(starts: Starts, used: Set[int]) -> Starts:
    """Select the starts that are used; all if none is."""
    return {start: samples for start, samples in starts.items() if start in used} or starts


def as_compared(figures: CellFigures, compared: Mapping[str, float]) -> CellFigures:
    """The figures with latencies as `compared`: another estimator has other last digits."""
    latencies = {
        f"{name.removeprefix('latency_')}_s": value
        for name, value in compared.items()
        if name.startswith("latency_")
    }
    return structs.replace(figures, latency=structs.replace(figures.latency, **latencies))


def tps(starts: Starts, policy: Policy) -> Interval:
    """Mean throughput over starts."""
    of_starts = [sum(s.transactions) / sum(s.window_s) for s in starts.values()]
    return stats.mean_interval(of_starts, policy.confidence)


def server_cpu_s(samples: Sequence[Samples]) -> float | None:
    """Compute the mean over starts for each transaction; None if it is not visible in some start."""
    used = [cpu_s for cpu_s in map(metrics.server_cpu_s, samples) if cpu_s is not None]
    return sum(used) / len(used) if used and len(used) == len(samples) else None


def _counters(samples: Sequence[Samples], transactions: int) -> dict[str, float]:
    """Sum per transaction the counters that were visible in every start: a missing one is not zero."""
    every = [s.counters for s in samples]
    visible = set.intersection(*map(set, every))
    return {name: total / transactions for name, total in _sums(every).items() if name in visible}


def completed(starts: Starts) -> int:
    """Count all transactions of all slices, at least 1: the divisor of counts per transaction."""
    return max(1, sum(sum(samples.completed) for samples in starts.values()))


def errors(starts: Starts) -> dict[str, int]:
    """Count each error, by the server's code."""
    return {code: int(count) for code, count in _sums([s.errors for s in starts.values()]).items()}


def _sums(counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = sorted({name for count in counts for name in count})
    return {name: sum(count.get(name, 0) for count in counts) for name in names}


def _statements(every: Sequence[Samples]) -> dict[str, Latency]:
    by_kind: dict[str, list[str]] = {}
    for samples in every:
        for kind, latencies in samples.statements.items():
            by_kind.setdefault(kind, []).append(latencies)
    return {kind: _latency(tuple(texts)) for kind, texts in by_kind.items()}


def _latency(of_starts: tuple[str, ...]) -> Latency:
    all_ = merged(of_starts)
    return Latency(
        count=all_.count,
        mean_s=all_.mean_s,
        min_s=all_.min_s,
        p50_s=all_.percentile(50),
        p95_s=all_.percentile(95),
        p99_s=all_.percentile(99),
        p999_s=all_.percentile(99.9),
        max_s=all_.max_s,
    )
