"""Counts with chosen counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from shootout.count.values import (
    FRAME,
    MIX,
    TRANSACTION,
    CountDocument,
    CountedFunctions,
    CountedKind,
    CountFailure,
    KindCount,
)
from shootout.model.execution_plan import ExecutionPlan, PlanStep
from shootout.model.plan import DatasetSize
from shootout.model.run import ServerRecord, WorkloadRecord
from shootout.model.workload import Special

UNITS = 100
KINDS = (
    CountedKind(workload="w", name="select", per_transaction=10, units=UNITS),
    CountedKind(workload="w", name="update", per_transaction=1, units=UNITS),
    CountedKind(workload="w", name=FRAME, per_transaction=1, units=UNITS, less={"update": 1.0}),
    CountedKind(
        workload="w", name=MIX, per_transaction=1, units=1, sums={"select": 10.0, "update": 1.0, FRAME: 1.0}
    ),
    CountedKind(workload="w", name=TRANSACTION, per_transaction=1, units=UNITS),
)

PerUnit = Mapping[str, Sequence[int]]  # by kind, for each start


def server(label: str) -> ServerRecord:
    return ServerRecord(
        label=label, reference=label, family="mysql", version="8.0.33", comment="", build="b",
        settings_name="in-memory", settings=(), checksum="c", load_s=1.0,
    )  # fmt: skip


def document(
    counts: Mapping[str, PerUnit],
    failures: Sequence[CountFailure] = (),
    run: str = "20261124T100000Z-000001",
    workload: str = "w",
) -> CountDocument:
    """Counts for each server, the base first."""
    return CountDocument(
        format=2, run=run, started="2026-11-24T10:00:00+00:00", version="0", valgrind="valgrind-3.19.0",
        seed=1, confidence=0.95, bar=0.005, settings="in-memory", options={"innodb-use-native-aio": "0"},
        datasets=(DatasetSize(tables=1, rows=10_000).of_kind("sbtest"),),
        workloads=(
            WorkloadRecord(
                name=workload, written=workload, protocol="text", options={}, distribution=Special()
            ),
        ),
        digests={workload: "d"}, servers=tuple(map(server, counts)), starts=3,
        kinds=tuple(structs.replace(kind, workload=workload) for kind in KINDS),
        counts=tuple(
            KindCount(
                server=label, workload=workload, kind=kind, start=start,
                instructions=(UNITS * each, UNITS * each, UNITS * each + 3),
            )
            for label, by_kind in counts.items()
            for kind, values in by_kind.items()
            for start, each in enumerate(values, 1)
        ),
        functions=("do_command", "memcpy [libc.so.6]"),
        profiles=tuple(
            CountedFunctions(
                server=label, workload=workload, kind="select", names=(0, 1), exclusive=(60.0, 40.0),
                inclusive=(100.0, 40.0), allocations=2.5, system_calls=4.0,
            )
            for label in counts
        ),
        failures=tuple(failures),
    )  # fmt: skip


BASE: PerUnit = {
    "select": (1000, 1001, 1000), "update": (2000, 2004, 1998), FRAME: (5000, 5000, 5001),
    TRANSACTION: (9000, 9001, 8999),
}  # fmt: skip


def times(factor: float, of: PerUnit = BASE) -> dict[str, list[int]]:
    """The same counts, all larger by a factor."""
    return {kind: [round(each * factor) for each in values] for kind, values in of.items()}


VERSIONS = {
    "new": ("mysql", "8.0.33"), "maria": ("mariadb", "11.8.1-MariaDB"), "middle": ("mysql", "5.7.22"),
    "old": ("mysql", "5.6.24"),
}  # fmt: skip


def by_version(run: str = "20261124T100000Z-000001") -> CountDocument:
    """Four servers, not in the order of their versions, that need 3, 1, 2 and 1 times as many."""
    of_server = {label: times(factor) for label, factor in zip(VERSIONS, (3.0, 1.0, 2.0, 1.0), strict=True)}
    servers = (
        structs.replace(server(label), family=family, version=version)
        for label, (family, version) in VERSIONS.items()
    )
    plans = tuple(a_plan(label, key) for label, key in zip(VERSIONS, ("k", "k", "k", "PRIMARY"), strict=True))
    return structs.replace(document(of_server, run=run), servers=tuple(servers), plans={"w": plans})


def a_plan(label: str, key: str) -> ExecutionPlan:
    step = PlanStep(select="SIMPLE", table="t", access="ref", key=key, key_length="4", ref="const", extra=())
    return ExecutionPlan(start=1, server=label, kind="select", sql="", steps=(step,), text="")
