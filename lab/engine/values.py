"""The values of reports/engine.json, which `make bench-engine` writes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shootout.analysis import stats
from shootout.model.value import Value
from shootout.model.verdict import Interval

CONFIDENCE, TRIM = 0.95, 0.1


class Turn(Value):
    """One client's load, counted by the server and the kernel."""

    tps: float
    client_cpu_s: float  # per transaction


class Point(Value):
    """Both clients in pairs of neighbouring turns; ratios are ours over sysbench's."""

    workload: str
    protocol: str
    connections: int
    ours: tuple[Turn, ...]
    sysbench: tuple[Turn, ...]  # the other turn of each pair
    throughput: Interval
    client_cpu: Interval

    @classmethod
    def from_pairs(
        cls, workload: str, protocol: str, connections: int, pairs: Sequence[tuple[Turn, Turn]]
    ) -> Point:
        """Needs at least one pair; a single pair's intervals are unbounded."""
        ours, sysbench = zip(*pairs, strict=True)
        return cls(
            workload=workload,
            protocol=protocol,
            connections=connections,
            ours=ours,
            sysbench=sysbench,
            throughput=_ratio([a.tps for a in ours], [b.tps for b in sysbench]),
            client_cpu=_ratio([a.client_cpu_s for a in ours], [b.client_cpu_s for b in sysbench]),
        )


class Memory(Value):
    """The peak memory of each client's process."""

    protocol: str
    connections: int
    ours_bytes: int
    sysbench_bytes: int


class Loading(Value):
    """Loading one empty table, its index included, in turns."""

    rows: int
    ours_s: tuple[float, ...]
    sysbench_s: tuple[float, ...]
    ratio: Interval  # of rows/s, ours over sysbench's


class Report(Value):
    """All measurements; those left out are empty."""

    server: str
    started: str  # ISO, UTC
    runner: str  # CPU model and count
    points: tuple[Point, ...] = ()
    memory: tuple[Memory, ...] = ()
    loading: Loading | None = None


def loading(rows: int, ours_s: Sequence[float], sysbench_s: Sequence[float]) -> Loading:
    return Loading(
        rows=rows, ours_s=tuple(ours_s), sysbench_s=tuple(sysbench_s), ratio=_ratio(sysbench_s, ours_s)
    )


def mean(turns: Sequence[Turn], field: str) -> float:
    """The trimmed mean of one field."""
    return stats.trimmed_mean([getattr(turn, field) for turn in turns], TRIM)


def _ratio(above: Sequence[float], below: Sequence[float]) -> Interval:
    """above / below over pairs, on a log scale."""
    logs = [math.log(a / b) for a, b in zip(above, below, strict=True)]
    effect = stats.rounds_effect(logs, TRIM, CONFIDENCE)
    low, high = (min(math.exp(min(end, 700.0)), 1e300) for end in (effect.low, effect.high))
    return Interval(estimate=math.exp(effect.estimate), low=low, high=high)
