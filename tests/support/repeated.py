"""Runs of the profiles that repeat published comparisons, as if they had been measured."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from functools import cache

from msgspec import structs

from shootout import steps
from shootout.analysis import compare
from shootout.inputs import workload
from shootout.inputs.options import Selection
from shootout.measure.managed import absent_record
from shootout.model.run import FailureRecord, RunDocument, Samples, StartRecord
from shootout.model.verdict import Comparison
from tests.support import builders

Tps = Callable[[str, str, int], float]  # of a server's label, a workload and a number of threads

ROUNDS = 6
NAMES = ("engines", "flavours", "history", "scaling", "shootout", "thread-pool")


def as_usual(label: str, workload: str, threads: int) -> float:
    """Two CPUs: throughput grows to four threads, and falls slowly after that."""
    slower = 1 - 0.03 * (sum(map(ord, label)) % 5)
    cheaper = 2.0 if "read_only" in workload else 1.0
    return 600 * slower * cheaper * math.sqrt(min(threads, 4)) / (1 + 0.0005 * threads)


def a_repetition(
    name: str,
    tps: Tps = as_usual,
    *,
    scale: str | None = "small",
    starts: int = 4,
    spread: float = 0.004,
    threads: str | None = None,
    failing: Iterable[str] = (),
    unsteady: Iterable[str] = (),
) -> RunDocument:
    """A run of the profile in which servers have these throughputs; `failing`, `unsteady`: labels."""
    scaled = None if scale is None else [f"scale={scale}"]
    made = steps.plan(Selection.read(profile=name, set=scaled, threads=threads, seed="1"))
    servers = tuple(
        absent_record(label, server.reference, made.profile.settings)
        if server.absent
        else builders.a_server(
            label,
            reference=server.reference.text,
            family=server.reference.target.partition("-")[0],
            settings_name=server.reference.settings or made.profile.settings,
        )
        for label, server in made.servers.items()
    )
    header = structs.replace(
        builders.a_header(
            profile_name=name, profile=made.profile, given=dict(made.given), blocks=made.blocks
        ),
        servers=servers,
        workloads=made.records,
    )
    dice = random.Random(name)
    present = [label for label in made.servers if label not in made.absent and label not in tuple(failing)]
    records: list[StartRecord] = []
    for block in made.blocks:
        for start in range(1, starts + 1):
            samples = [
                _samples(
                    label,
                    workload.without_protocol(block.workload),
                    tps(label, block.workload, block.threads) * math.exp(dice.gauss(0, spread)),
                    steady=label not in tuple(unsteady),
                )
                for label in present
            ]
            records.append(builders.a_start(block, start, samples))
    failures = tuple(
        FailureRecord(cell=block.cell(label), start=1, reason=builders.ERROR_LOG)
        for block in made.blocks
        for label in failing
    )
    return RunDocument(header=header, starts=tuple(records), failures=failures, end=None)


def _samples(label: str, name: str, tps: float, *, steady: bool) -> Samples:
    """A server's samples at that throughput; the latencies are always the same: they take time to make."""
    transactions = tuple(tps * each for each in _pattern(name).window_s)
    return structs.replace(_pattern(name), server=label, transactions=transactions, steady=steady)


@cache
def _pattern(name: str) -> Samples:
    return builders.a_samples(workload=name, tps=1000.0, rounds=ROUNDS)


def concluded(document: RunDocument) -> tuple[RunDocument, Comparison]:
    """Conclude a document: the site is built from both."""
    return document, compare.compare(document)
