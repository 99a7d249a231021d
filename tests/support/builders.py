"""Realistic model values for tests: mysql-5.7.22 against mysql-8.0.12, as the quick profile measures them."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from shootout._engine import Histogram
from shootout.analysis.thresholds import RULE
from shootout.document.journal import FORMAT
from shootout.model.plan import Block, Cell, Dataset, Metric, Policy, Profile
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
    CellFigures,
    Comparison,
    Interval,
    Latency,
    MetricVerdict,
    Verdict,
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


def a_latency(histogram: Histogram) -> Latency:
    p50, p95, p99, p999 = (histogram.percentile(percent) for percent in (50, 95, 99, 99.9))
    return Latency(
        count=histogram.count, mean_s=histogram.mean_s, min_s=histogram.min_s, max_s=histogram.max_s,
        p50_s=p50, p95_s=p95, p99_s=p99, p999_s=p999,
    )  # fmt: skip


def figures(samples: Sequence[Samples], left_out: tuple[int, ...] = ()) -> CellFigures:
    """Make a cell's figures over these starts, with a plain t interval."""
    means = [sum(s.transactions) / sum(s.window_s) for s in samples]
    total = sum(sum(s.completed) for s in samples)

    def latency(texts: Iterable[str]) -> Latency:
        merged = Histogram()
        for text in texts:
            merged.add(Histogram.decode(text))
        return a_latency(merged)

    return CellFigures(
        tps=an_interval(means),
        latency=latency(s.latencies for s in samples),
        server_cpu_s=sum(sum(s.server_cpu_s or ()) for s in samples) / total,
        client_cpu_s=sum(sum(s.client_cpu_s) for s in samples) / total,
        reads=sum(s.reads for s in samples) / total,
        writes=sum(s.writes for s in samples) / total,
        other=sum(s.other for s in samples) / total,
        errors={code: sum(s.errors.get(code, 0) for s in samples) for code in samples[0].errors},
        counters={name: sum(s.counters[name] for s in samples) / total for name in samples[0].counters},
        starts=len(samples),
        rounds=sum(len(s.transactions) for s in samples),
        statements={kind: latency(s.statements[kind] for s in samples) for kind in samples[0].statements},
        left_out=left_out,
    )


def an_interval(values: Sequence[float]) -> Interval:
    mean = statistics.fmean(values)
    half = 2.776 * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return Interval(estimate=mean, low=mean - half, high=mean + half)


def _measured(ratio: Interval, starts: int) -> str:
    change, low, high = (100 * (end - 1) for end in (ratio.estimate, ratio.low, ratio.high))
    return f"{change:+.1f} %, 95 % interval {low:+.1f} to {high:+.1f} %, in {starts} starts"


def a_cell_comparison(document: RunDocument, cell: Cell, base: Cell, policy: Policy) -> CellComparison:
    """A cell judged by a rule simple enough for a builder; the real one is compare.py's."""
    block = next(block for block in document.header.blocks if cell in block.cells)

    def samples_of(which: Cell) -> list[Samples]:
        return [
            s for r in document.starts if r.block == block.key for s in r.samples if s.server == which.server
        ]

    here, there = samples_of(cell), samples_of(base)
    failed = any(failure.cell == cell for failure in document.failures)
    per_start = tuple(
        sum(a.transactions) / sum(b.transactions)
        for a, b in zip(here, there, strict=False)
        if cell != base and a.steady and b.steady and not failed
    )
    ratio = an_interval(per_start) if per_start and not failed else None
    unsteady = {
        number
        for number, both in enumerate(zip(here, there, strict=False), 1)
        if not all(s.steady for s in both)
    }

    def used(every: list[Samples]) -> tuple[list[Samples], tuple[int, ...]]:
        """The samples of the starts in which both were steady, and the other starts."""
        return [s for number, s in enumerate(every, 1) if number not in unsteady], tuple(sorted(unsteady))

    warnings: list[Warning] = []
    if any(not s.steady for s in here):
        warnings.append(
            Warning(code="unsteady", text="Start 3 was still drifting (−4.1 %) when its warm-up ended.")
        )
    if here and cell != base:
        records = {server.label: server for server in document.header.servers}
        warnings += [
            Warning(code=w.code, text=f"{label}: {w.text}")
            for label in (cell.server, base.server)
            for w in records[label].warnings
        ]
    if failed:
        verdict, reason = Verdict.FAILED, ERROR_LOG.splitlines()[0]
    elif cell == base:
        verdict, reason = Verdict.UNJUDGED, "the base"
    elif ratio is None:
        verdict, reason = Verdict.UNJUDGED, "nothing to compare with: the base was not measured beside it"
    elif ratio.high < 1 and ratio.estimate < 1 - policy.margin:
        verdict, reason = Verdict.REGRESSED, _measured(ratio, len(per_start))
    elif ratio.low > 1 and ratio.estimate > 1 + policy.margin:
        verdict, reason = Verdict.IMPROVED, _measured(ratio, len(per_start))
    elif 1 - policy.margin < ratio.low and ratio.high < 1 + policy.margin:
        verdict, reason = (
            Verdict.EQUIVALENT,
            f"{_measured(ratio, len(per_start))}, all within the margin of 2 %",
        )
    else:
        verdict = Verdict.INCONCLUSIVE
        reason = f"{_measured(ratio, len(per_start))}: neither beyond zero nor within the margin of 2 %"
    return CellComparison(
        cell=cell,
        base=base,
        verdict=verdict,
        figures=figures(*used(here)) if here else None,
        base_figures=figures(*used(there)) if there and cell != base else None,
        ratio=ratio,
        p_value=None if ratio is None else min(1.0, 10 ** (-abs(1 - ratio.estimate) * 60)),
        per_start=per_start,
        reason=reason,
        warnings=tuple(warnings),
    )  # fmt: skip


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
    return a_result(document)[1] if document is None else _compared(document)


def _compared(document: RunDocument) -> Comparison:
    policy = document.header.profile.policy
    cells = tuple(
        a_cell_comparison(document, cell, block.cells[0], policy)
        for block in document.header.blocks
        for cell in block.cells
    )
    return Comparison(
        rule=RULE,
        header=document.header,
        end=document.end,
        policy=policy,
        cells=cells,
    )


def a_result(document: RunDocument | None = None) -> tuple[RunDocument, Comparison]:
    """Make the site's input: a document and what is concluded from it."""
    return _usual() if document is None else (document, _compared(document))


@cache
def _usual() -> tuple[RunDocument, Comparison]:
    document = a_run()
    return document, _compared(document)
