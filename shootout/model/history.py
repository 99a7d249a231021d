"""Records that outlive a run: baselines, ratio histories, A/A results."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.plan import Cell, Load, Metric
from shootout.model.run import WorkloadRecord
from shootout.model.value import LOG_MAX, Count, Quantity, Share, Threads, Value
from shootout.model.verdict import Acknowledgement, Interval, Verdict

LogRatio = Annotated[float, Meta(ge=-LOG_MAX, le=LOG_MAX)]
Spread = Annotated[float, Meta(ge=0, le=LOG_MAX)]
Starts = Annotated[int, Meta(ge=2, le=1_000_000)]


class BaselineServer(Value):
    """A server as it was when its baseline was accepted."""

    version: str
    build: str
    settings: dict[str, str]  # effective values


class BaselineRun(Value):
    """A cell's throughput over the anchor's in one run: comparable even if the machine's speed changes."""

    run: str
    log_ratio: LogRatio  # mean over starts of ln(server / anchor)
    error: Spread  # standard error of that mean
    starts: Starts
    floor: Spread | None  # A/A noise floor at the time
    tps: Quantity  # this and the next: for human readers only
    anchor_tps: Quantity


class BaselineCell(Value):
    """A cell in the runs that were accepted."""

    dataset: str  # Dataset.key
    server: str
    threads: Threads
    runs: Annotated[tuple[BaselineRun, ...], Meta(min_length=1)]  # the newest last

    @property
    def log_ratio(self) -> float:
        """The mean over the runs."""
        return sum(run.log_ratio for run in self.runs) / len(self.runs)


class Baseline(Value):
    """The stored ratios of one workload on one runner: a file in fixtures/baselines/."""

    format: Literal[3]  # formats.BASELINE
    runner: str  # fingerprint
    anchor: str
    workload: WorkloadRecord
    load: Load
    servers: dict[str, BaselineServer]
    cells: tuple[BaselineCell, ...]
    machine: dict[str, str]  # compatibility.facts
    digest: str  # of the workload and its statements


class HistoryPoint(Value):
    """One run's result for a cell."""

    run: str
    started: str  # ISO, UTC
    ratio: float  # throughput, server / anchor
    low: float  # this and the next: the interval of `ratio`
    high: float
    tps: float
    commit: str = ""  # that the server was built from; empty: not known

    @property
    def interval(self) -> Interval:
        """The ratio with its interval."""
        return Interval(estimate=self.ratio, low=self.low, high=self.high)


class ChangePoint(Value):
    """A shift in the level of a series."""

    last_good: str  # last run before the shift
    first_bad: str  # first run at the new level
    before: float  # this and the next: median ratio of each level
    after: float
    confirmed: bool  # enough runs at the new level; otherwise the change is only suspected
    good_commit: str = ""  # of the server in the run `last_good`; this and the next: empty: not known
    bad_commit: str = ""

    @property
    def commits(self) -> str:
        """The range as git writes it; empty if both runs had the same commit, or none is known."""
        both = self.good_commit, self.bad_commit
        return "..".join(commit[:12] for commit in both) if all(both) and len({*both}) == 2 else ""


class SeriesKey(Value, order=True):
    """Identity of a cell's history: ratios to one anchor, on one runner, with equal settings."""

    runner: str  # fingerprint
    workload: str
    dataset: str  # Dataset.key
    server: str
    anchor: str
    threads: Threads
    # The server's, as asked for by run and reference, and of the anchor if it has others: `in-memory`,
    # `durable against in-memory`.
    settings: str

    @property
    def key(self) -> SeriesKey:
        """The key without a subclass's other fields."""
        return SeriesKey(**{name: getattr(self, name) for name in SeriesKey.__struct_fields__})

    @property
    def cell(self) -> Cell:
        """The cell."""
        return Cell(workload=self.workload, dataset=self.dataset, server=self.server, threads=self.threads)


class HistorySeries(SeriesKey):
    """A cell's ratio to the anchor over all runs on one runner."""

    points: tuple[HistoryPoint, ...]
    changes: tuple[ChangePoint, ...]


class Regression(SeriesKey):
    """A cell's loss against the anchor, confirmed by its history and not recovered since."""

    last_good: str  # run
    first_bad: str  # run
    newest: str  # run
    before: float  # ratio to the anchor of the level that ended with `last_good`
    after: float  # ratio to the anchor of the newest level
    changed: tuple[str, ...]  # what else changed in `first_bad` (builds, settings, costs), as sentences
    repeat: str  # the command that measures it again
    options: dict[str, str] = field(default_factory=dict)  # of that command, by flag
    conditions: tuple[str, ...] = ()  # those of `changed` that are not the server's: settings, kernel, anchor
    good_commit: str = ""  # of the server in `last_good`; this and the next two: empty: not known
    bad_commit: str = ""
    newest_commit: str = ""
    acknowledged: Acknowledgement | None = None  # at the time of the newest run

    @property
    def remaining(self) -> float:
        """The share that is left of the level before."""
        return self.after / self.before

    @property
    def issue(self) -> str:
        """Identifies its issue, which speaks of all its numbers of threads; stable across runs."""
        about = (self.runner, self.workload, self.dataset, self.server, self.anchor, self.settings)
        return hashlib.sha256("\0".join(about).encode()).hexdigest()[:16]


class LedgerEntry(Value):
    """The result of an A/A cell: a server compared with a second instance of itself."""

    format: Literal[2]  # formats.LEDGER
    run: str
    workload: str
    dataset: str  # Dataset.key
    threads: Threads
    verdict: Verdict
    starts: Starts
    spreads: dict[Metric, Spread]  # standard deviations of the starts' log-ratios
    estimates: dict[Metric, LogRatio] = field(default_factory=dict)  # error: spread / sqrt(starts)
    margin: Share | None = None  # the throughput margin applied; None: throughput was not judged
    rule: Count = 0  # of the verdict (thresholds.RULE); this and the next three: 0: not recorded
    comparisons: Count = 0  # that the verdict was corrected for
    confidence: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    confirm_starts: Count = 0  # that the policy wanted
    made: Count = 0  # starts of the run when it was judged: a run that continues has newer entries
    settings: str = ""  # of the run's profile; "": not recorded
    runner: str = ""  # fingerprint; stored once per file, filled in on reading
