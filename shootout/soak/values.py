"""Soaks: servers under load for long, second by second, and what became of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.plan import Dataset, Load
from shootout.model.run import Runner, ServerRecord, WorkloadRecord
from shootout.model.value import Count, Quantity, Share, Threads, Value
from shootout.model.verdict import Interval, Verdict

Moment = Annotated[float, Meta(ge=0, le=1e6)]  # seconds since a load began; twelve days
Gauge = Literal["memory", "disk", "dirty_pages", "checkpoint_age", "history_list", "others"]
FindingKind = Literal["level", "slope", "step", "stalls", "dips", "memory"]
Measure = Literal["memory", "disk", "write_amplification", "fsyncs", "start", "shutdown"]


class SoakHeader(Value, tag="soak", tag_field="record"):
    """The first line of a soak's document: everything decided before a server starts."""

    format: Literal[2]
    soak: str  # unique, sorts by time
    started: str  # ISO, UTC
    shootout: str  # version
    duration_s: Moment  # of the load on each server
    turn_s: Moment  # of load on one server, while the others are stopped; 0: one after the other, no turns
    profile_name: str
    given: dict[str, str]  # options that override the profile, as written
    seed: int
    settings: str  # profile of settings
    confidence: Share
    workload: WorkloadRecord
    dataset: Dataset
    threads: Threads
    load: Load
    runner: Runner
    servers: tuple[str, ...]  # labels, the base first


class SoakServer(Value, tag="server", tag_field="record"):
    """A server whose load begins."""

    server: ServerRecord
    start_s: Quantity  # from the start of its process to its first answer


class SoakSlice(Value, tag="slice", tag_field="record"):
    """About a second of load on one server, and what its gauges showed meanwhile."""

    server: str
    begins_s: Moment  # since its load began, without the turns of others
    lasts_s: Moment  # until the next slice begins
    window_s: Moment  # the load's part; in the rest, transactions that were under way end
    transactions: Quantity  # in the window
    completed: Count  # transactions in all of it
    p50_s: Quantity  # percentiles of latencies
    p95_s: Quantity
    p99_s: Quantity
    errors: Count = 0  # transactions rolled back and retried
    gauges: dict[Gauge, Quantity] = field(default_factory=dict)  # those read since the last slice


class SoakEnd(Value, tag="end", tag_field="record"):
    """A server's footprint at the end of its soak."""

    server: str
    footprint: dict[Measure, Quantity]  # what is visible of it: bytes, ratios, seconds


class SoakFailure(Value, tag="failure", tag_field="record"):
    """Why a server's soak ended early, or did not begin."""

    server: str
    reason: str


class SoakDocument(Value):
    """A whole document: JSON lines on disk, one record each."""

    header: SoakHeader
    servers: tuple[SoakServer, ...]
    slices: tuple[SoakSlice, ...]
    ends: tuple[SoakEnd, ...]
    failures: tuple[SoakFailure, ...]


class Finding(Value):
    """One property of a long load on two servers; intervals hold for all findings of a head together."""

    kind: FindingKind
    base: Interval | None  # None: nothing found, or not visible
    head: Interval | None
    difference: Interval | None  # head - base; of level, slope and step the head relative to the base
    bar: float  # smaller differences are not worth a verdict
    verdict: Verdict
    note: str = ""


class FootprintChange(Value):
    """One measure of what servers took, by one soak each: no interval."""

    measure: Measure
    base: float
    head: float
    changed: bool  # by more than its margin


class SoakComparison(Value):
    """A head beside the base."""

    base: str
    head: str
    findings: tuple[Finding, ...]
    footprint: tuple[FootprintChange, ...]
    levels: dict[str, tuple[Interval, ...]]  # speed at the beginning and at the end, by server
    detectable: float | None = None  # the loss, from midway on, that would have been found in four of five
    others: dict[str, float] = field(default_factory=dict)  # CPUs that other processes used, by server
    reason: str = ""  # why findings are missing or incomplete


class SoakResult(Value):
    """A soak, judged; a single server has findings of its own, with no difference."""

    document: SoakDocument
    comparisons: tuple[SoakComparison, ...]
