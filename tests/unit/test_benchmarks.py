"""Targets of `make bench-engine`, builds of `make bench-site`."""

from __future__ import annotations

import pytest

from lab.engine.clients import Load
from lab.engine.targets import targets
from lab.engine.values import Memory, Point, Report, Turn, loading
from shootout.model.plan import Dataset


def a_point(connections: int, *, tps: float = 1.3, cpu: float = 0.4, cpu_s: float = 1e-5) -> Point:
    """Given ratios ours / sysbench's, with noise that both share."""

    def turn(tps: float, cpu_s: float) -> Turn:
        return Turn(tps=tps, client_cpu_s=cpu_s)

    noises = (0.9, 1.0, 1.1, 1.2)
    pairs = [(turn(tps * 1000 * n, cpu_s * n), turn(1000 * n, cpu_s / cpu * n)) for n in noises]
    return Point.from_pairs("oltp_point_select", "text", connections, pairs)


def verdicts(*points: Point, **measured: object) -> dict[str, bool]:
    report = Report(server="s", started="", runner="", points=points, **measured)  # type: ignore[arg-type]
    return {target.name: target.met for target in targets(report)}


def test_ratios_are_taken_within_pairs() -> None:
    point = a_point(16, tps=1.1, cpu=0.5)
    for ratio, expected in ((point.throughput, 1.1), (point.client_cpu, 0.5)):
        assert (ratio.low, ratio.estimate, ratio.high) == pytest.approx((expected,) * 3)


@pytest.mark.parametrize(
    ("point", "missed"),
    [
        (a_point(1, cpu=0.9), "client CPU ≤ 0.8 × sysbench's below"),
        (a_point(16, cpu=0.6), "client CPU ≤ 0.5 × sysbench's from 16 connections"),
        (a_point(64, tps=0.97), "throughput at least sysbench's (interval not below 0.98)"),
        (a_point(256, tps=1.1), "throughput ≥ 1.2 × sysbench's from 256 connections"),
        (a_point(4096, cpu_s=2e-5), "client CPU grows ≤ 1.3 × from 16 to 4096 connections"),
    ],
)
def test_the_worst_point_decides(point: Point, missed: str) -> None:
    met = verdicts(a_point(16), point, a_point(4))
    assert [name for name, fine in met.items() if not fine] == [missed]


def test_memory_and_loading_have_their_own_targets() -> None:
    memory = Memory(protocol="text", connections=4096, ours_bytes=151_000_000, sysbench_bytes=1)
    met = verdicts(memory=(memory,), loading=loading(1000, [1.0, 1.0], [2.9, 2.9]))
    assert list(met.values()) == [False, False]


@pytest.mark.parametrize(
    ("workload", "count"), [("oltp_point_select", 1), ("oltp_read_only", 16), ("oltp_read_write", 20)]
)
def test_statements_of_a_transaction(workload: str, count: int) -> None:
    assert Load(workload, "text", 1, Dataset()).statements == count
