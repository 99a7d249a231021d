"""Realistic model values for tests: mysql-5.7.22 against mysql-8.0.12, as the quick profile measures them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from shootout._engine import Histogram
from shootout.analysis import compare
from shootout.document.journal import FORMAT
from shootout.model.plan import Block, Dataset, Metric, Profile
from shootout.model.run import (
    ABSENT,
    EndRecord,
    FailureRecord,
    Placement,
    RunDocument,
    RunHeader,
    Runner,
    Samples,
    ServerRecord,
    SettingRecord,
    StartRecord,
    Warning,
    WorkloadRecord,
)
from shootout.model.verdict import (
    CellComparison,
    Comparison,
    Interval,
    MetricVerdict,
)
from shootout.model.workload import Special

BASE, HEAD = "mysql-5.7.22", "mysql-8.0.12"
WORKLOADS = ("oltp_point_select", "oltp_read_only", "oltp_read_write")
THREADS = (1, 8, 32)
STARTS, ROUNDS = 5, 15

# Throughput of the base in transactions per second, and the head's ratio to it.
TPS = {
    ("oltp_point_select", 1): (18_900.0, 0.759),
    ("oltp_point_select", 8): (42_300.0, 0.871),
    ("oltp_point_select", 32): (40_100.0, 0.918),
    ("oltp_read_only", 1): (1_020.0, 0.806),
    ("oltp_read_only", 8): (2_140.0, 0.902),
    ("oltp_read_only", 32): (2_060.0, 0.984),
    ("oltp_read_write", 1): (612.0, 0.823),
    ("oltp_read_write", 8): (1_310.0, 0.999),
    ("oltp_read_write", 32): (1_240.0, 0.94),
}
KINDS = {
    "oltp_point_select": {"point_select": 1.0},
    "oltp_read_only": {
        "begin": 0.02, "point_select": 0.04, "simple_range": 0.07, "sum_range": 0.06, "order_range": 0.09,
        "distinct_range": 0.1, "commit": 0.02,
    },
    "oltp_read_write": {
        "begin": 0.02, "point_select": 0.04, "simple_range": 0.07, "sum_range": 0.06, "order_range": 0.09,
        "distinct_range": 0.1, "index_update": 0.05, "non_index_update": 0.04, "delete": 0.04, "insert": 0.04,
        "commit": 0.03,
    },
}  # fmt: skip
EFFECTS = {"oltp_point_select": (1, 0, 0), "oltp_read_only": (14, 0, 2), "oltp_read_write": (14, 4, 2)}
COUNTERS = {  # per transaction on the base, and the head's ratio
    "Bytes_received": (402.0, 1.0),
    "Bytes_sent": (10_840.0, 1.012),
    "Handler_read_key": (14.0, 1.0),
    "Handler_read_next": (390.0, 1.0),
    "Innodb_buffer_pool_read_requests": (91.4, 1.38),
    "Innodb_buffer_pool_reads": (0.00021, 2.4),
    "Innodb_data_fsyncs": (0.0112, 1.9),
    "Innodb_data_written": (512.0, 1.46),
    "Innodb_os_log_written": (118.0, 1.22),
    "Innodb_rows_read": (403.0, 1.0),
    "Innodb_row_lock_waits": (0.0004, 0.9),
    "Qcache_not_cached": (14.0, 0.0),
    "Table_locks_immediate": (14.2, 0.31),
    "context_switches": (28.4, 1.17),
    "write_bytes": (604.0, 1.5),
}
ERROR_LOG = """mysql-8.0.12 (pid 4711) died during round 3 of start 2; the end of its error log:
2026-11-20T03:12:44.118021Z 0 [Note] InnoDB: Log capacity exceeded, flushing
2026-11-20T03:12:45.002177Z 0 [ERROR] [MY-012592] InnoDB: Operating system error number 28.
2026-11-20T03:12:45.002199Z 0 [ERROR] [MY-012596] InnoDB: Error number 28 means 'No space left on device'
2026-11-20T03:12:45.002207Z 0 [ERROR] [MY-012267] InnoDB: Could not set the size of 'ibtmp1'
03:12:45 UTC - mysqld got signal 6 ;"""


def a_runner(**changes: object) -> Runner:
    values: dict[str, object] = {
        "fingerprint": "5e7c0f2a91d4",
        "cpu": "AMD EPYC 7763 64-Core Processor",
        "cpus": 2,
        "memory_bytes": 8_326_975_488,
        "kernel": "6.1.0-28-amd64",
        "system": "Debian GNU/Linux 12 (bookworm)",
        "virtual": "kvm",
        "filesystem": "ext4",
        "disk": "ssd",
        "placement": Placement(client=(0,), servers=(1,), single=1),
        "warnings": (
            Warning(
                code="shared-machine",
                text="4.2 % of CPU time was stolen by other guests while measuring.",
            ),
        ),
    }
    return Runner(**(values | changes))  # type: ignore[arg-type]


def a_server(label: str = BASE, **changes: object) -> ServerRecord:
    new = label.startswith("mysql-8")

    def setting(
        name: str, requested: str | None, effective: str | None, *variables: str, **changes: Any
    ) -> SettingRecord:
        values: dict[str, Any] = {"differs": False, "variables": variables or (name,)} | changes
        return SettingRecord(name=name, requested=requested, effective=effective, **values)

    lacking = "no query cache since 8.0.3; it is empty in this load"
    values: dict[str, object] = {
        "label": label,
        "reference": label,
        "family": "mysql",
        "version": label.removeprefix("mysql-"),
        "comment": "MySQL Community Server - GPL" if new else "MySQL Community Server (GPL)",
        "build": "9b1f4c77d0e2" * 5 + "9b1f" if new else "40aa8d13ce95" * 5 + "40aa",
        "settings_name": "in-memory",
        "settings": (
            setting("buffer_pool_bytes", "536870912", "536870912", "innodb_buffer_pool_size"),
            setting(
                "redo_capacity_bytes", "268435456", "268435456",
                "innodb_log_file_size", "innodb_log_files_in_group",
            ),
            setting("flush_log_at_trx_commit", "2", "2", "innodb_flush_log_at_trx_commit"),
            setting("flush_method", "O_DIRECT", "O_DIRECT", "innodb_flush_method"),
            setting("adaptive_hash_index", "OFF", "OFF", "innodb_adaptive_hash_index"),
            setting("binary_log", "OFF", "OFF", "log_bin"),
            setting("max_connections", "1024", "214" if new else "1024", differs=new),
            setting("performance_schema", "OFF", "OFF"),
            setting(
                "query_cache_bytes", "1048576", None if new else "1048576",
                *(() if new else ("query_cache_type", "query_cache_size")),
                **({"variables": (), "lacking": True, "note": lacking} if new else {}),
            ),
            setting("isolation", None, "REPEATABLE-READ", "transaction_isolation" if new else "tx_isolation"),
            setting("character_set", None, "utf8mb4" if new else "latin1", "character_set_server"),
            setting("default_storage_engine", None, "InnoDB"),
        ),
        "checksum": "8d1c7e02b64f9a35",
        "load_s": None if new else 21.4,
        "warnings": (
            (
                Warning(
                    code="settings-differ",
                    text="max_connections: requested 1024, the server has 214.",
                ),
                Warning(
                    code="settings-lacking",
                    text="query_cache_type and query_cache_size: requested 1048576, which this version lacks "
                    f"({lacking}).",
                ),
            )
            if new
            else ()
        ),
    }  # fmt: skip
    return ServerRecord(**(values | changes))  # type: ignore[arg-type]


def a_block(workload: str = WORKLOADS[0], threads: int = 1, servers: Sequence[str] = (BASE, HEAD)) -> Block:
    return Block(workload=workload, dataset=Dataset().key, threads=threads, servers=tuple(servers))


def a_header(
    servers: Sequence[str] = (BASE, HEAD),
    workloads: Sequence[str] = WORKLOADS,
    threads: Sequence[int] = THREADS,
    **changes: object,
) -> RunHeader:
    values: dict[str, object] = {
        "format": FORMAT,
        "run": "20261120T024100Z-7f3a",
        "started": "2026-11-20T02:41:00+00:00",
        "shootout": "0.1.0",
        "seed": 20261120,
        "profile_name": "quick",
        "profile": Profile(
            description="Two servers, three workloads, in six minutes",
            workloads=tuple(workloads),
            threads=tuple(threads),
            servers=tuple(servers),
        ),
        "runner": a_runner(),
        "servers": tuple(a_server(label) for label in servers),
        "blocks": tuple(a_block(workload, count, servers) for workload in workloads for count in threads),
    }
    return RunHeader(**(values | changes))  # type: ignore[arg-type]


def a_record(name: str, **changes: object) -> WorkloadRecord:
    values: dict[str, object] = {
        "name": name, "written": name, "protocol": "text", "options": {}, "distribution": Special(),
    }  # fmt: skip
    return WorkloadRecord(**(values | changes))  # type: ignore[arg-type]


def a_histogram(median_s: float, dice: random.Random, spread: float = 0.22, count: int = 600) -> Histogram:
    histogram = Histogram()
    for _ in range(count):
        tail = 6 * dice.random() if dice.random() < 0.01 else 1.0
        histogram.record(round(median_s * math.exp(dice.gauss(0, spread)) * max(tail, 1) * 1e9))
    return histogram


def a_samples(
    server: str = BASE,
    *,
    workload: str = WORKLOADS[0],
    threads: int = 1,
    tps: float = 18_900.0,
    counters: Mapping[str, float] | None = None,
    rounds: int = ROUNDS,
    noise: float = 0.02,
    steady: bool = True,
    errors: Mapping[str, int] | None = None,
    dice: random.Random | None = None,
) -> Samples:
    dice = dice or random.Random(1)
    window_s = 0.1
    transactions = tuple(tps * window_s * math.exp(dice.gauss(0, noise)) for _ in range(rounds))
    completed = tuple(round(value * 1.2) for value in transactions)
    total = sum(completed)
    median_s = threads / tps * 0.95
    reads, writes, other = EFFECTS.get(workload, (1, 0, 0))
    each = COUNTERS if counters is None else {name: (value, 1.0) for name, value in counters.items()}
    new = server != BASE
    return Samples(
        server=server,
        steady=steady,
        warmup_rounds=dice.randint(14, 22),
        drift=dice.gauss(0, 0.003) if steady else -0.041,
        transactions=transactions,
        window_s=(window_s,) * rounds,
        server_cpu_s=tuple(0.118 * min(threads, 1) * math.exp(dice.gauss(0, 0.02)) for _ in range(rounds)),
        client_cpu_s=tuple(count * 6.1e-6 for count in completed),
        completed=completed,
        latencies=a_histogram(median_s, dice).encode(),
        statements={
            kind: a_histogram(median_s * share, dice, count=120).encode()
            for kind, share in KINDS.get(workload, {"query": 1.0}).items()
        },
        reads=reads * total,
        writes=writes * total,
        other=other * total,
        errors=dict(errors or {}),
        counters={name: value * (ratio if new else 1) * total for name, (value, ratio) in each.items()},
    )


def a_start(block: Block, start: int, samples: Sequence[Samples]) -> StartRecord:
    dice = random.Random(f"{block.key} {start}")
    order = tuple(
        tuple(dice.sample(range(len(samples)), len(samples))) for _ in range(len(samples[0].transactions))
    )
    return StartRecord(block=block.key, start=start, order=order, samples=tuple(samples))


def a_run(header: RunHeader | None = None, *, interrupted: bool = False, failing: bool = True) -> RunDocument:
    """Every cell measured but one: the head dies in its last block, in the second start."""
    header = header or a_header()
    starts, failures = _of_blocks(header.blocks, header.seed, failing)
    end = EndRecord(finished="2026-11-20T02:46:31+00:00", elapsed_s=331.0, interrupted=interrupted)
    return RunDocument(header=header, starts=starts, failures=failures, end=end)


@cache  # most tests want the same run, which takes 0.1 s
def _of_blocks(
    blocks: tuple[Block, ...], seed: int, failing: bool
) -> tuple[tuple[StartRecord, ...], tuple[FailureRecord, ...]]:
    starts: list[StartRecord] = []
    failures: list[FailureRecord] = []
    for block in blocks:
        dies = failing and block == blocks[-1] and len(block.servers) > 1
        base_tps, ratio = TPS.get((block.workload, block.threads), (1_000.0, 0.9))
        dice = random.Random(f"{seed} {block.key}")
        spread = 0.03 if block.key == "oltp_read_only-t32" else 0.006  # between starts: one cell is too noisy
        for start in range(1, 2 if dies else STARTS + 1):
            samples = [
                a_samples(
                    server,
                    workload=block.workload,
                    threads=block.threads,
                    tps=base_tps * ratio**number * math.exp(dice.gauss(0, spread)),
                    steady=not (block.threads == 32 and "point" in block.workload and start == 3 and number),
                    errors={"1213": 3 + number, "1062": 1} if "write" in block.workload else None,
                    dice=dice,
                )
                for number, server in enumerate(block.servers)
            ]  # fmt: skip
            starts.append(a_start(block, start, samples))
        if dies:
            failures.append(FailureRecord(cell=block.cell(block.servers[1]), start=2, reason=ERROR_LOG))
    return tuple(starts), tuple(failures)


def without(document: RunDocument, label: str) -> RunDocument:
    """The document of a run in which that server was optional, and not available."""
    absent = a_server(
        label, family="", version="", comment="", build="", settings=(), checksum="", load_s=None,
        warnings=(Warning(code=ABSENT, text=f"not available here: there is no tree at {label}"),),
    )  # fmt: skip
    servers = tuple(absent if server.label == label else server for server in document.header.servers)
    starts = tuple(
        replace(start, samples=tuple(each for each in start.samples if each.server != label))
        for start in document.starts
    )
    return replace(document, header=replace(document.header, servers=servers), starts=starts)


def decided_by(
    cell: CellComparison, metric: Metric, ratio: float, confirmed: bool | None = None
) -> CellComparison:
    """The same cell, judged by that metric alone."""
    judged = MetricVerdict(
        metric=metric, verdict=cell.verdict, p_value=0.001, margin=0.1, spread=0.01, floor=None,
        ratio=Interval(estimate=ratio, low=ratio - 0.02, high=ratio + 0.02), detectable=None,
        confirmed=confirmed,
    )  # fmt: skip
    return replace(cell, judged=(judged,))


def a_comparison(document: RunDocument | None = None) -> Comparison:
    return a_result(document)[1]


def a_result(document: RunDocument | None = None) -> tuple[RunDocument, Comparison]:
    """Make the site's input: a document and what is concluded from it."""
    return _usual() if document is None else (document, compare.compare(document))


@cache
def _usual() -> tuple[RunDocument, Comparison]:
    document = a_run()
    return document, compare.compare(document)
