"""Published comparisons: their figures, and the claims that a run can test."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.value import Name, Positive, Share, Threads, Value


class PublishedPeak(Value):
    """The highest throughput of a workload, and at how many threads."""

    tps: Annotated[float, Meta(gt=0)]
    threads: Threads


class PublishedReport(Value):
    """What sysbench prints at the end of a run."""

    tps: Annotated[float, Meta(gt=0)]
    requests_per_s: float  # reads and writes
    other_per_s: float
    reads: float  # these four: statements in the whole run
    writes: float
    other: float
    total: float
    latency_ms: tuple[float, float, float, float]  # fastest, mean, slowest, 95 %


class PublishedServer(Value):
    """A server of a published comparison, with what was measured of it there."""

    name: str  # as published
    server: str  # which of the profile's it is
    released: str = ""
    # Transactions/s in the comparison's workload at each of its thread counts: "error" as published, "none"
    # where nothing was.
    tps: tuple[Annotated[float, Meta(gt=0)] | Literal["error", "none"], ...] = ()
    peaks: dict[Name, PublishedPeak] = field(default_factory=dict)  # by workload
    report: PublishedReport | None = None


# One number of threads; two: the mean of all from one to the other; none: the one with the highest figure.
ThreadsOfSpot = Annotated[tuple[Threads, ...], Meta(max_length=2)]


class Spot(Value):
    """Where a throughput stands in a comparison."""

    server: str  # as published
    threads: ThreadsOfSpot = ()
    workload: Name | None = None  # None: the comparison's


class Claim(Value, kw_only=True):  # said again for mypy
    """What a publication says of its figures; `text` in a sentence."""

    name: Name
    text: str


class RatioClaim(Claim, tag="ratio"):
    """One throughput over another one lies between bounds."""

    head: Spot
    base: Spot
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
    """Each server is slower than the one before it."""

    threads: Threads
    servers: tuple[str, ...]
    workload: Name | None = None


class TopClaim(Claim, tag="top"):
    """One server is faster than each of the others."""

    server: str
    others: tuple[str, ...]
    threads: ThreadsOfSpot = ()
    workload: Name | None = None


class PeakClaim(Claim, tag="peak"):
    """Throughput is highest at a number of threads near that of CPUs."""

    servers: tuple[str, ...]
    low: float  # in CPUs
    high: float
    workload: Name | None = None


class OpenClaim(Claim, tag="open"):
    """One that no run can tell."""

    reason: str


class Published(Value):
    """A published comparison: where it comes from, its figures, and what it claims."""

    title: str
    hardware: str
    load: str  # how it was made, in a sentence
    # Of its table: a row for each server, for each number of threads, for each server with its peaks, or for
    # each line of sysbench's report.
    shape: Literal["servers", "threads", "peaks", "report"]
    workload: Name
    threads: tuple[Threads, ...]
    reference: str  # the server that ratios are relative to
    servers: Annotated[tuple[PublishedServer, ...], Meta(min_length=1)]
    claims: tuple[RatioClaim | WithinClaim | OrderClaim | TopClaim | PeakClaim | OpenClaim, ...]
    year: int | None = None  # these two: None where it is not known
    cpus: Positive | None = None
    notes: tuple[str, ...] = ()  # what a reader should know of the figures
