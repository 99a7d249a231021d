"""What an analysis concludes from a run."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal, Self

from msgspec import Meta, field

from shootout.model.plan import Cell, Metric, Policy
from shootout.model.published import Claim
from shootout.model.run import EndRecord, RunHeader, Warning
from shootout.model.value import Threads, Value


class Verdict(StrEnum):
    """What can be said of a cell against its base."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"
    UNJUDGED = "unjudged"


class Interval(Value):
    """An estimate and the interval it lies in, at the policy's confidence."""

    estimate: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Self:
        """A value without uncertainty."""
        return cls(estimate=value, low=value, high=value)


class Latency(Value):
    """Latencies of a cell, of its transactions or of one kind of statement, in seconds."""

    count: int  # in the windows
    mean_s: float
    min_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    p999_s: float
    max_s: float


class CellFigures(Value):
    """A cell's absolute figures, for reading; verdicts come from ratios only."""

    tps: Interval  # over starts; a single start gives low = high = estimate
    latency: Latency
    server_cpu_s: float | None  # these five: each transaction; None: not visible
    client_cpu_s: float
    reads: float
    writes: float
    other: float
    errors: dict[str, int]
    counters: dict[str, float]  # each transaction
    starts: int
    rounds: int
    statements: dict[str, Latency] = field(default_factory=dict)  # by kind


class MetricComparison(Value):
    """A figure of each transaction (metrics.METRICS), beside its base's."""

    name: str
    base: float  # these two: means over starts, in the metric's unit
    head: float
    difference: Interval  # head less base
    ratio: Interval | None  # head over base; None: one of them is 0 in some start
    p_value: float  # of no difference, after Holm over the cell's figures


class StatementTime(Value):
    """How much of a mean transaction passes in one kind of statement."""

    kind: str
    base_s: float
    head_s: float
    difference_s: Interval


class Cause(Value):
    """What a cell's change may come from."""

    kind: Literal["statement", "work"]
    name: str  # of a kind of statement, or of a metric (metrics.METRICS)
    base: float  # these two: of each transaction, in seconds or the metric's unit
    head: float
    difference: Interval  # head less base
    # What the difference adds to a transaction's time, as a share of the base's; of work about (causes.py).
    share: float


class Acknowledgement(Value):
    """A regression that is known and accepted. Names are patterns with `*` and `?`."""

    workload: str
    server: str
    at_most: Annotated[float, Meta(gt=0)]  # by how much it may be worse, as a share of the base
    expires: date  # the last day on which it holds
    owner: Annotated[str, Meta(min_length=1)]
    reason: Annotated[str, Meta(min_length=1)]
    threads: Threads | None = None  # None: any
    metric: Metric = "throughput"


class MetricVerdict(Value):
    """A metric that a verdict is about, held against its bar."""

    metric: Metric
    verdict: Verdict
    ratio: Interval  # head over base, over all starts
    p_value: float  # of no difference, after Holm over all cells and metrics that are judged
    margin: float
    spread: float  # standard deviation of one start's logarithm
    floor: float | None  # A/A noise floor, a logarithm: what no change may look like; None: not known
    # The smallest change for the worse that four of five such runs would have flagged, a share of the base.
    detectable: float | None
    confirmed: bool | None  # it held again after fresh starts; None: there were none, or nothing to confirm


class CellComparison(Value):
    """A cell, its base, and what can be said. `ratio` is throughput over the base's throughput."""

    cell: Cell
    base: Cell
    verdict: Verdict
    figures: CellFigures | None  # None: nothing was measured
    ratio: Interval | None  # None: nothing to compare with, or the base itself
    p_value: float | None  # of no difference, after Holm over the comparison's cells
    per_start: tuple[float, ...]  # each start's own ratio
    reason: str  # one sentence: why this verdict
    warnings: tuple[Warning, ...]
    judged: tuple[MetricVerdict, ...] = ()  # what the verdict is about, the metric that decided it first
    metrics: tuple[MetricComparison, ...] = ()
    statements: tuple[StatementTime, ...] = ()  # where a transaction's time goes, the largest change first
    # Of a regression or an improvement; else what changed without a verdict on throughput. The largest first.
    causes: tuple[Cause, ...] = ()
    acknowledged: Acknowledgement | None = None  # its regression is known, and fails nothing


class ScalingLaw(Value):
    """The universal scalability law that a server's throughputs follow (scaling.py)."""

    workload: str
    dataset: str
    server: str
    one: float  # λ: of one thread, transactions/s
    contention: float  # σ
    coherency: float  # κ
    peak_threads: float | None  # None: it has none
    peak_tps: float | None


class CurveComparison(Value):
    """A workload's scaling curve on a server beside its base's, as ratios of throughput."""

    workload: str
    dataset: str
    server: str
    base: str
    threads: tuple[int, ...]
    level: Interval  # over all threads
    tilt: Interval  # the ratio at the most threads over that at the fewest, on the line through all of them
    p_value: float  # of neither, after Holm over the run's curves


class FalseAlarms(Value):
    """How often A/A cells were called regressed or improved."""

    alarms: int
    cells: int
    share: Interval  # Wilson's


class Comparison(Value):
    """A run document judged: what pages, tables and exit codes are made from."""

    header: RunHeader
    end: EndRecord | None
    policy: Policy
    cells: tuple[CellComparison, ...]  # block by block, the base's cell first in each
    curves: tuple[CurveComparison, ...] = ()
    laws: tuple[ScalingLaw, ...] = ()  # of the curves that have enough cells for one
    aa_controls: tuple[CellComparison, ...] = ()  # A/A cells, judged like the others and hidden among them
    false_alarms: FalseAlarms | None = None  # of this runner, this run included; None: no A/A cell yet


class Outcome(StrEnum):
    """What can be said of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCONCLUSIVE = "cannot be told"


class Contrast(Value):
    """A ratio of throughputs beside the bounds that a claim sets it."""

    what: str  # over what
    ratio: Interval
    low: float | None
    high: float | None
    outcome: Outcome


class ClaimResult(Value):
    """A published claim, tested on a run."""

    claim: Claim
    outcome: Outcome
    contrasts: tuple[Contrast, ...]
    reason: str  # why, or for which servers, it was not tested; may be empty
    # Of the test on the published throughputs, which have no intervals.
    published_outcome: Outcome = field(name="in_their_figures")
