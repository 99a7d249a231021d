"""Tables of the measurements, and which targets they meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.table import Table

from lab.engine.values import Point, Report, mean
from shootout.model.verdict import Interval
from shootout.numbers import number

MANY = 16  # connections from which on one wake-up brings several replies
CROWD = 256
MEMORY_BYTES = 150_000_000
CONNECTIONS_MOST = 4096


@dataclass(frozen=True)
class Target:
    name: str
    met: bool
    found: str


def targets(report: Report) -> Iterator[Target]:
    """The targets with measurements, each with its worst case."""
    few = [point for point in report.points if point.connections < MANY]
    many = [point for point in report.points if point.connections >= MANY]
    crowd = [point for point in report.points if point.connections >= CROWD]
    for name, points, most in (
        (f"client CPU ≤ 0.5 × sysbench's from {MANY} connections", many, 0.5),
        ("client CPU ≤ 0.8 × sysbench's below", few, 0.8),
    ):
        if points:
            worst = max(points, key=lambda point: point.client_cpu.estimate)
            yield Target(name, worst.client_cpu.estimate <= most, _worst(worst, worst.client_cpu))
    if report.points:
        worst = min(report.points, key=lambda point: point.throughput.low)
        name = "throughput at least sysbench's (interval not below 0.98)"
        yield Target(name, worst.throughput.low >= 0.98, _worst(worst, worst.throughput))
    if crowd:
        worst = min(crowd, key=lambda point: point.throughput.estimate)
        name = f"throughput ≥ 1.2 × sysbench's from {CROWD} connections"
        yield Target(name, worst.throughput.estimate >= 1.2, _worst(worst, worst.throughput))
    grown = _growth(report.points)
    if grown:
        (workload, protocol), ratio = max(grown.items(), key=lambda item: item[1])
        name = f"client CPU grows ≤ 1.3 × from {MANY} to {CONNECTIONS_MOST} connections"
        yield Target(name, ratio <= 1.3, f"{ratio:.2f} ({workload}, {protocol})")
    for memory in report.memory:
        if memory.connections == CONNECTIONS_MOST:
            name = f"memory ≤ 150 MB at {CONNECTIONS_MOST} connections, {memory.protocol}"
            yield Target(name, memory.ours_bytes <= MEMORY_BYTES, f"{memory.ours_bytes / 1e6:.0f} MB")
    if report.loading is not None:
        faster = report.loading.ratio
        yield Target("loading ≥ 3 × sysbench's rows/s", faster.estimate >= 3, _interval(faster))


def point_rows(points: tuple[Point, ...]) -> Table:
    """Every point."""
    table = Table(
        "workload", "protocol", "connections", "tps", "sysbench", "ratio", "client µs", "sysbench", "ratio",
        "pairs", box=None,
    )  # fmt: skip
    for column in table.columns[2:]:
        column.justify = "right"
    for point in points:
        table.add_row(
            point.workload, point.protocol, str(point.connections), *_figures(point), str(len(point.ours))
        )  # fmt: skip
    return table


def _figures(point: Point) -> Iterator[str]:
    for field, scale, ratio in (("tps", 1.0, point.throughput), ("client_cpu_s", 1e6, point.client_cpu)):
        yield from (number(scale * mean(turns, field)) for turns in (point.ours, point.sysbench))
        yield _interval(ratio)


def _growth(points: tuple[Point, ...]) -> dict[tuple[str, str], float]:
    """Our client's CPU per transaction with the most connections, relative to `MANY`."""
    cpu = {(p.workload, p.protocol, p.connections): mean(p.ours, "client_cpu_s") for p in points}
    return {
        (workload, protocol): most_s / cpu[workload, protocol, MANY]
        for (workload, protocol, connections), most_s in cpu.items()
        if connections == CONNECTIONS_MOST and (workload, protocol, MANY) in cpu
    }


def _worst(point: Point, ratio: Interval) -> str:
    return f"{_interval(ratio)} ({point.workload}, {point.protocol}, {point.connections})"


def _interval(ratio: Interval) -> str:
    return f"{ratio.estimate:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"
