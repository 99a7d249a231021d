"""What outlives a run: baselines, series of ratios, A/A results."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.plan import Cell, Load, Metric
from shootout.model.run import WorkloadRecord
from shootout.model.value import Threads, Value
from shootout.model.verdict import Acknowledgement, Verdict


class BaselineServer(Value):
    """What a server was when its baseline was accepted."""

    version: str
    build: str
    settings: dict[str, str]  # effective ones


class BaselineCell(Value):
    """A cell's throughput relative to the anchor's, which does not change when the machine does."""

    dataset: str  # Dataset.key
    server: str
    threads: Threads
    log_ratio: float  # mean over starts of ln(server / anchor)
    error: float  # standard error of that mean
    starts: Annotated[int, Meta(ge=2)]
    floor: float | None  # A/A noise floor at that time
    tps: float  # these two: for reading
    anchor_tps: float
    run: str


class Baseline(Value):
    """The bar for later runs of one workload on one runner: a file of fixtures/baselines/."""

    format: Literal[1]
    runner: str  # fingerprint
    anchor: str
    workload: WorkloadRecord
    load: Load
    servers: dict[str, BaselineServer]
    cells: tuple[BaselineCell, ...]
    machine: dict[str, str] = field(default_factory=dict)  # identity.facts; none: it was not kept yet
    digest: str = ""  # of the workload with its statements; "": it was not kept yet


class HistoryPoint(Value):
    """What one run says of a cell."""

    run: str
    started: str  # ISO, UTC
    ratio: float  # of throughput, server over anchor
    tps: float


class ChangePoint(Value):
    """Where a series changed its level."""

    last_good: str  # runs: the last one before it, and the first one of the new level
    first_bad: str
    before: float  # ratios: medians of both levels
    after: float
    confirmed: bool  # enough runs lie on the new level; else it is a suspicion


class SeriesKey(Value, order=True):
    """Identity of a cell's history: the ratios that one runner measured against one anchor."""

    runner: str  # fingerprint
    workload: str
    dataset: str  # Dataset.key
    server: str
    anchor: str
    threads: Threads

    @property
    def key(self) -> SeriesKey:
        """The key alone."""
        return SeriesKey(**{name: getattr(self, name) for name in SeriesKey.__struct_fields__})

    @property
    def cell(self) -> Cell:
        """The cell whose history it is."""
        return Cell(workload=self.workload, dataset=self.dataset, server=self.server, threads=self.threads)


class HistorySeries(SeriesKey):
    """A cell's ratio to the anchor over the runs of one runner."""

    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...]


class Regression(SeriesKey):
    """A cell's loss against the anchor that its history confirms and no later run has made up for."""

    last_good: str  # these three: runs
    first_bad: str
    newest: str
    before: float  # these two: ratios to the anchor, of the level that ended with `last_good`
    after: float  # and of the newest level
    changed: tuple[str, ...]  # what else is different in `first_bad`: builds, settings, work; for people
    repeat: str  # the command that measures it again
    acknowledged: Acknowledgement | None = None  # in the newest run


class LedgerEntry(Value):
    """What an A/A cell showed: a server beside a second instance of itself."""

    run: str
    workload: str
    dataset: str  # Dataset.key
    threads: Threads
    verdict: Verdict
    starts: Annotated[int, Meta(ge=2)]
    spreads: dict[Metric, float]  # standard deviations of the starts' log-ratios
    margin: float | None = None  # of throughput, that it was judged by; None: it was not kept yet
    runner: str = ""  # fingerprint, once it is read: the file says it
