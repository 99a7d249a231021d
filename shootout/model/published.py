"""Published comparisons: their figures, and the claims that a run can test."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.value import Name, Positive, Threads, Value

Tps = Annotated[float, Meta(gt=0)]  # transactions/s


class PublishedPeak(Value):
    """A workload's highest throughput and its thread count."""

    tps: Tps
    threads: Threads


class PublishedServer(Value):
    """A server of a published comparison and its published figures."""

    name: str  # as published
    server: str  # the matching reference in the profile
    # In the comparison's workload, one value per thread count. "error": published as such; "none": not
    # published.
    tps: tuple[Tps | Literal["error", "none"], ...] = ()
    peaks: dict[Name, PublishedPeak] = field(default_factory=dict)  # by workload


class DataPoint(Value):
    """Identifies one throughput of a comparison."""

    server: str  # as published
    # One thread count; two: the mean over all from the first to the second; none: the count at the peak.
    threads: Annotated[tuple[Threads, ...], Meta(max_length=2)] = ()
    workload: Name | None = None  # None: the comparison's

    @property
    def words(self) -> str:
        """The figure in words: `5.5 at 64 threads, oltp_read_only`."""
        workload = f", {self.workload}" if self.workload else ""
        return f"{self.server} at {threads_text(self.threads)}{workload}"


class Claim(Value):
    """A published statement: the ratio of two throughputs lies between bounds."""

    name: Name
    text: str  # the statement, one sentence
    head: DataPoint
    base: DataPoint
    low: float | None = None
    high: float | None = None

    @property
    def ratio_words(self) -> str:
        """The ratio's two sides, in words."""
        alike = (self.head.threads, self.head.workload) == (self.base.threads, self.base.workload)
        return f"{self.head.server if alike else self.head.words} over {self.base.words}"


class Published(Value):
    """A published comparison: its source, its figures and its claims."""

    title: str
    hardware: str
    load: str  # how it was generated, one sentence
    workload: Name
    threads: tuple[Threads, ...]
    reference: str  # the server that ratios are relative to
    servers: Annotated[tuple[PublishedServer, ...], Meta(min_length=1)]
    claims: tuple[Claim, ...]
    statements: tuple[str, ...] = ()  # other claims, which no run tests
    year: int | None = None  # None: unknown
    cpus: Positive | None = None  # None: unknown
    notes: tuple[str, ...] = ()  # what a reader should know about the figures

    def server(self, name: str) -> PublishedServer:
        """Find the server of that name. Raises StopIteration."""
        return next(server for server in self.servers if server.name == name)

    def figure(self, server: str, workload: str, threads: int | None) -> float | Literal["error"] | None:
        """Find a server's throughput at a thread count or, for None, its peak. None: not published."""
        published = self.server(server)
        if threads is None:
            return published.peaks[workload].tps if workload in published.peaks else None
        if workload != self.workload or threads not in self.threads or not published.tps:
            return None
        tps = published.tps[self.threads.index(threads)]
        return None if tps == "none" else tps


def threads_text(threads: tuple[int, ...]) -> str:
    """Put the thread counts of a DataPoint in words."""
    counts = " to ".join(map(str, threads))
    return f"{counts} thread{'' if threads == (1,) else 's'}" if threads else "its peak"
