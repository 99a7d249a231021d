"""The conclusions of an analysis: verdicts, figures and judged claims."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Literal, Self

from msgspec import Meta, field

from shootout.model.execution_plan import PlanChange
from shootout.model.plan import Cell, Metric, Policy
from shootout.model.published import Claim
from shootout.model.run import EndRecord, RunHeader, Warning
from shootout.model.value import Threads, Value


class Verdict(StrEnum):
    """The judgement of a cell against its base."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"
    UNJUDGED = "unjudged"


class Interval(Value):
    """An estimate and its interval, at the policy's confidence."""

    estimate: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero."""
        return self.low > 0 or self.high < 0

    @classmethod
    def exactly(cls, value: float) -> Self:
        """Make a value without uncertainty."""
        return cls(estimate=value, low=value, high=value)


class Latency(Value):
    """Latencies of a cell's transactions, or of one kind of statement, in seconds."""

    count: int  # in the windows
    mean_s: float
    min_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    p999_s: float
    max_s: float


class CellFigures(Value):
    """A cell's absolute figures, for display; verdicts come from ratios only."""

    tps: Interval  # over starts; a single start gives low = high = estimate
    latency: Latency
    server_cpu_s: float | None  # this and the next four: per transaction; None: not visible
    client_cpu_s: float
    reads: float
    writes: float
    other: float
    errors: dict[str, int]
    counters: dict[str, float]  # per transaction
    starts: int
    rounds: int
    statements: dict[str, Latency] = field(default_factory=dict)  # by kind
    left_out: tuple[int, ...] = ()  # starts of it that the verdict does not rest on


class MetricComparison(Value):
    """A metric per transaction (metrics.METRICS) on head and base."""

    name: str
    base: float  # this and the next: mean over starts, in the metric's unit
    head: float
    difference: Interval  # head - base
    ratio: Interval | None  # head / base; None: one of them is 0 in some start
    p_value: float  # null hypothesis: no difference; Hommel-adjusted over the cell's metrics


class StatementTime(Value):
    """The time that a mean transaction spends in one kind of statement."""

    kind: str
    base_s: float
    head_s: float
    difference_s: Interval


class Cause(Value):
    """A likely cause of a cell's change."""

    kind: Literal["statement", "work"]
    name: str  # kind of statement, or metric (metrics.METRICS)
    base: float  # this and the next: per transaction, in seconds or the metric's unit
    head: float
    difference: Interval  # head - base
    # Time added to a transaction, as a share of the base's; an estimate for costs (causes.py).
    share: float


class Acknowledgement(Value):
    """A known and accepted regression. Names are patterns with `*` and `?`."""

    workload: str
    server: str
    at_most: Annotated[float, Meta(gt=0)]  # the largest accepted loss, as a share of the base
    expires: date  # the last day of validity
    owner: Annotated[str, Meta(min_length=1)]
    reason: Annotated[str, Meta(min_length=1)]
    threads: Threads | None = None  # None: any
    metric: Metric = "throughput"


class MetricVerdict(Value):
    """A judged metric, compared with its bar."""

    metric: Metric
    verdict: Verdict
    ratio: Interval  # head / base, over all starts
    p_value: float  # null hypothesis: no difference; Hommel-adjusted over all judged cells and metrics
    margin: float
    spread: float  # standard deviation of log-ratios over starts
    floor: float | None  # A/A noise floor of the log-ratio; None: not known
    # The smallest loss that four out of five such runs would have flagged, as a share of the base.
    detectable: float | None
    confirmed: bool | None  # whether fresh starts count in it; None: there were none, or nothing to confirm


class CellComparison(Value):
    """A cell compared with its base. `ratio` is throughput, head / base."""

    cell: Cell
    base: Cell
    verdict: Verdict
    figures: CellFigures | None  # over the verdict's starts; None: nothing was measured
    ratio: Interval | None  # None: nothing to compare with, or the base itself
    p_value: float | None  # null hypothesis: no difference; Hommel-adjusted over the comparison's cells
    per_start: tuple[float, ...]  # ratio of each start
    reason: str  # one sentence: why this verdict
    warnings: tuple[Warning, ...]
    judged: tuple[MetricVerdict, ...] = ()  # the metric that decided the verdict comes first
    metrics: tuple[MetricComparison, ...] = ()
    statements: tuple[StatementTime, ...] = ()  # where a transaction's time goes; largest change first
    plans: tuple[PlanChange, ...] = ()  # that the run kept, and that differ
    # Causes of a regression or improvement, the largest first; without one, the costs that changed.
    causes: tuple[Cause, ...] = ()
    acknowledged: Acknowledgement | None = None  # if set, the regression fails nothing
    # An inconclusive cell's direction: its whole interval lies beyond the margin, without significance.
    leaning: Literal["slower", "faster"] | None = None
    base_figures: CellFigures | None = None  # the base's over the same starts; None: a base, or not measured


class CurveComparison(Value):
    """A workload's whole curve on a server compared with the base's, as throughput ratios."""

    workload: str
    dataset: str
    server: str
    base: str
    threads: tuple[int, ...]
    level: Interval  # over all threads
    tilt: Interval  # on the line fitted to all ratios: value at most threads / value at fewest
    p_value: float  # null hypothesis: no change in level or tilt; Hommel-adjusted over the run's curves


class FalseAlarms(Value):
    """How often A/A cells were judged regressed or improved, and so in how many gates any cell would be."""

    alarms: int
    cells: int
    comparisons: int  # of a gate
    share: Interval  # of gates


NO_ALARMS = FalseAlarms(alarms=0, cells=0, comparisons=1, share=Interval(estimate=0.0, low=0.0, high=1.0))


class Comparison(Value):
    """A judged run document: the source of pages, tables and exit codes."""

    header: RunHeader
    end: EndRecord | None
    policy: Policy
    cells: tuple[CellComparison, ...]  # by block, each block's base first
    curves: tuple[CurveComparison, ...] = ()
    aa_controls: tuple[CellComparison, ...] = ()  # A/A cells, measured and judged like the others
    false_alarms: FalseAlarms = NO_ALARMS  # of this runner, this run included
    rule: int = 0  # the number of the rule that judged it; 0: none did


class Outcome(StrEnum):
    """The judgement of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCONCLUSIVE = "cannot be told"


class ClaimResult(Value):
    """A published claim, tested on a run."""

    claim: Claim
    outcome: Outcome
    ratio: Interval | None  # measured
    reason: str  # why it was not tested; empty if it was
    published_ratio: Interval | None  # in the published figures: exact, as their spread is unknown
    published_outcome: Outcome  # of the test on that ratio
