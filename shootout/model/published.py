"""Published comparisons: their figures, and the claims that a run can test."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.value import Name, Positive, Share, Threads, Value


class PublishedPeak(Value):
    """A workload's highest throughput and its thread count."""

    tps: Annotated[float, Meta(gt=0)]
    threads: Threads


class PublishedReport(Value):
    """The summary that sysbench prints after a run."""

    tps: Annotated[float, Meta(gt=0)]
    requests_per_s: float  # reads and writes
    other_per_s: float
    reads: float  # this and the next three: statements in the whole run
    writes: float
    other: float
    total: float
    latency_ms: tuple[float, float, float, float]  # minimum, mean, maximum, p95


class PublishedServer(Value):
    """A server of a published comparison and its published figures."""

    name: str  # as published
    server: str  # the matching reference in the profile
    released: str = ""
    # Transactions/s in the comparison's workload, one value per thread count. "error": published as such;
    # "none": not published.
    tps: tuple[Annotated[float, Meta(gt=0)] | Literal["error", "none"], ...] = ()
    peaks: dict[Name, PublishedPeak] = field(default_factory=dict)  # by workload
    report: PublishedReport | None = None


# One thread count; two: the mean over all from the first to the second; none: the count at the peak.
DataPointThreads = Annotated[tuple[Threads, ...], Meta(max_length=2)]


class DataPoint(Value):
    """Identifies one throughput of a comparison."""

    server: str  # as published
    threads: DataPointThreads = ()
    workload: Name | None = None  # None: the comparison's


class Claim(Value, kw_only=True):  # repeated for mypy
    """A statement that a publication makes about its figures."""

    name: Name
    text: str  # the statement, one sentence


class RatioClaim(Claim, tag="ratio"):
    """The ratio of two throughputs lies between bounds."""

    head: DataPoint
    base: DataPoint
    low: float | None = None
    high: float | None = None
    factor: Annotated[float, Meta(gt=0)] | None = None  # as published


class WithinClaim(Claim, tag="within"):
    """All servers lie within a tolerance of their mean."""

    threads: Threads
    tolerance: Share
    servers: tuple[str, ...]
    workload: Name | None = None


class OrderClaim(Claim, tag="order"):
    """Each server is slower than its predecessor."""

    threads: Threads
    servers: tuple[str, ...]
    workload: Name | None = None


class TopClaim(Claim, tag="top"):
    """One server is faster than all the others."""

    server: str
    others: tuple[str, ...]
    threads: DataPointThreads = ()
    workload: Name | None = None


class PeakClaim(Claim, tag="peak"):
    """Throughput peaks at a thread count near the number of CPUs."""

    servers: tuple[str, ...]
    low: float  # threads per CPU
    high: float
    workload: Name | None = None


class OpenClaim(Claim, tag="open"):
    """A claim that no run can test."""

    reason: str


class Published(Value):
    """A published comparison: its source, its figures and its claims."""

    title: str
    hardware: str
    load: str  # how it was generated, one sentence
    # What a row of its table is: a server, a thread count, a server's peaks, or a line of sysbench's report.
    shape: Literal["servers", "threads", "peaks", "report"]
    workload: Name
    threads: tuple[Threads, ...]
    reference: str  # the server that ratios are relative to
    servers: Annotated[tuple[PublishedServer, ...], Meta(min_length=1)]
    claims: tuple[RatioClaim | WithinClaim | OrderClaim | TopClaim | PeakClaim | OpenClaim, ...]
    year: int | None = None  # None: unknown
    cpus: Positive | None = None  # None: unknown
    notes: tuple[str, ...] = ()  # what a reader should know about the figures
