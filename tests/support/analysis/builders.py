"""Runs made up for tests of the analysis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import structs

from shootout._engine import Histogram
from shootout.analysis import compare
from shootout.analysis.thresholds import RULE
from shootout.model.history import LedgerEntry
from shootout.model.plan import Block, Policy, Profile
from shootout.model.run import (
    EndRecord,
    FailureRecord,
    Placement,
    RunDocument,
    Samples,
    ServerRecord,
    StartRecord,
    Warning,
)
from shootout.model.verdict import CellComparison, Verdict
from tests.support import builders

READS = Block(workload="reads", dataset="d", threads=4, servers=("a", "b"))
WRITES = Block(workload="writes", dataset="d", threads=4, servers=("a", "b"))
AN_END = EndRecord(finished="", elapsed_s=1.0, interrupted=False)
# Five starts whose effects (in percent) have mean 0 and standard deviation 0.5: half an interval is 0.62.
CLOSE = (-0.6, -0.3, 0.0, 0.3, 0.6)
# The same with a standard deviation of 5.
APART = (-6.0, -3.0, 0.0, 3.0, 6.0)


def a_histogram(latencies_s: Sequence[float]) -> Histogram:
    histogram = Histogram()
    for latency_s in latencies_s:
        histogram.record(round(latency_s * 1e9))
    return histogram


def histogram(*milliseconds: float) -> str:
    return a_histogram([latency / 1000 for latency in milliseconds]).encode()


MILLISECONDS = histogram(1, 2, 3, 4)


def a_sample(server: str = "a", tps: Sequence[float] = (1000.0,) * 10, **fields: object) -> Samples:
    """Slices of 0.1 s, of which 20 % more was run than counted, at 0.5 ms of server CPU each transaction."""
    values: dict[str, object] = {
        "server": server,
        "steady": True,
        "warmup_rounds": 8,
        "drift": 0.0,
        "transactions": tuple(0.1 * x for x in tps),
        "window_s": (0.1,) * len(tps),
        "completed": tuple(round(0.12 * x) for x in tps),
        "server_cpu_s": tuple(0.06 * x / 1000 for x in tps),
        "client_cpu_s": tuple(0.012 * x / 1000 for x in tps),
        "latencies": MILLISECONDS,
        "statements": {},
        "reads": round(sum(0.12 * x for x in tps)) * 14,
        "writes": 0,
        "other": round(sum(0.12 * x for x in tps)) * 2,
        "errors": {},
        "counters": {},
    }
    return Samples(**(values | fields))  # type: ignore[arg-type]


def a_start(number: int, *samples: Samples, block: Block = READS) -> StartRecord:
    return StartRecord(block=block.key, start=number, order=(), samples=samples)


def starts_of(
    change_percent: float, effects: Sequence[float] = CLOSE, block: Block = READS, **head: object
) -> list[StartRecord]:
    """`b` is so much faster than `a` on the log scale, and each start adds its own effect."""
    rng = np.random.default_rng(1)
    starts = []
    for number, effect in enumerate(effects, 1):
        machine = rng.normal(0, 0.1, 10)  # what both servers see in a round
        ratio = math.exp((change_percent + effect) / 100)
        a = a_sample("a", [float(x) for x in 1000 * np.exp(machine)])
        b = a_sample("b", [float(x) for x in ratio * 1000 * np.exp(machine)], **head)
        starts.append(a_start(number, a, b, block=block))
    return starts


def a_server(label: str, *warnings: Warning, **changes: object) -> ServerRecord:
    values: dict[str, object] = {"version": "8.0.12", "build": "0" * 64, "settings": (), "warnings": warnings}
    return builders.a_server(label, **(values | changes))


def a_document(
    starts: Sequence[StartRecord],
    *failures: FailureRecord,
    blocks: Sequence[Block] = (READS,),
    end: EndRecord | None = AN_END,
    servers: Sequence[ServerRecord] = (),
    client: tuple[int, ...] = (0,),
) -> RunDocument:
    """Its policy is the default: verdicts count though no A/A cell is known."""
    labels = dict.fromkeys(label for block in blocks for label in block.servers)
    place = Placement(client=client, servers=(1,), single=1)
    header = builders.a_header(
        run="r",
        started="",
        seed=1,
        profile=Profile(description="", workloads=("reads",), threads=(4,)),
        runner=builders.a_runner(fingerprint="f", placement=place, warnings=()),
        blocks=tuple(blocks),
    )
    header = structs.replace(header, servers=tuple(servers) or tuple(map(a_server, labels)))
    return RunDocument(header=header, starts=tuple(starts), failures=failures, end=end)


def with_header(document: RunDocument, **changes: object) -> RunDocument:
    return structs.replace(document, header=structs.replace(document.header, **changes))


def with_profile(document: RunDocument, **changes: object) -> RunDocument:
    return with_header(document, profile=structs.replace(document.header.profile, **changes))


def with_samples(
    starts: Sequence[StartRecord], change: Callable[[Samples], Mapping[str, object]]
) -> list[StartRecord]:
    """The same with the fields of all samples that `change` names."""
    return [
        structs.replace(
            start, samples=tuple(structs.replace(samples, **change(samples)) for samples in start.samples)
        )
        for start in starts
    ]


def a_failure(server: str, block: Block = READS, reason: str = "it died: [ERROR] no memory") -> FailureRecord:
    return FailureRecord(cell=block.cell(server), start=1, reason=reason)


def head_of(document: RunDocument, policy: Policy | None = None) -> CellComparison:
    _, head = compare.compare(document, policy).cells
    assert head.cell.server == "b"
    return head


def codes(cell: CellComparison) -> list[str]:
    return [warning.code for warning in cell.warnings]


def made_unsteady(starts: Sequence[StartRecord], server: str, *numbers: int) -> list[StartRecord]:
    """The same with one server's samples marked in the starts at those places."""
    marked = with_samples(starts, lambda samples: {"steady": samples.server != server})
    return [marked[place] if place in numbers else start for place, start in enumerate(starts)]


def confirming(starts: Sequence[StartRecord]) -> list[StartRecord]:
    """The same as fresh starts after the five that showed something."""
    return [structs.replace(each, start=each.start + 5, confirming=True) for each in starts]


def with_aa_controls(
    starts: Sequence[StartRecord], change_percent: float, effects: Sequence[float] = CLOSE
) -> list[StartRecord]:
    """A second instance of `a` in each start, so much faster."""
    aa_controls = [each.samples[1] for each in starts_of(change_percent, effects)]
    return [
        structs.replace(each, aa_control=structs.replace(aa_control, server="a"))
        for each, aa_control in zip(starts, aa_controls, strict=True)
    ]


def an_entry(spread: float = 0.01, **fields: object) -> LedgerEntry:
    values: dict[str, object] = {
        "run": f"before {spread}",
        "workload": "reads",
        "format": 2,
        "dataset": "d",
        "settings": "in-memory",
        "threads": 4,
        "verdict": Verdict.EQUIVALENT,
        "starts": 5,
        "spreads": {"throughput": spread},
        "rule": RULE,
        "comparisons": 1,
        "confidence": 0.95,
        "confirm_starts": 2,
    }
    return LedgerEntry(**(values | fields))  # type: ignore[arg-type]
