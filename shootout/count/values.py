"""Counts: how many instructions servers execute for each kind of statement, counted under Callgrind."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from msgspec import Meta, field

from shootout.model.execution_plan import ExecutionPlan
from shootout.model.plan import Dataset
from shootout.model.run import ServerRecord, WorkloadRecord
from shootout.model.value import Positive, Quantity, Share, Start, Value
from shootout.model.verdict import Interval, Verdict

TRANSACTION = "transaction"  # the kind that is a workload's whole transaction
FRAME = "begin + commit"  # the kind that is what a transaction's statements stand between
COMMIT = "commit"  # the kind that is what a statement takes to commit by itself
MIX = "sum of kinds"  # the kind that is a transaction put together from the others, as often as it has them
JOINT = " + "  # between statements that are counted as one kind, because they need each other


class CountedKind(Value):
    """Something that is counted on its own: a kind of statement, or a whole transaction."""

    workload: str
    name: str
    per_transaction: Quantity  # how often a transaction does it; 0: on average, it is not known
    units: Positive  # how often a repetition does it
    less: dict[str, Quantity] = field(default_factory=dict)  # other kinds in each unit, to be subtracted
    sums: dict[str, Quantity] = field(default_factory=dict)  # other kinds, if it is nothing but their sum


class KindCount(Value):
    """The instructions that one server executed for one kind after one start."""

    server: str  # label
    workload: str
    kind: str
    start: Start
    # By repetition, of all its units. Repetitions of equal number have equal statements on all servers.
    instructions: Annotated[tuple[Positive, ...], Meta(min_length=1)]


class CountedFunctions(Value):
    """The functions that one server executed for one kind, in its last start; per unit."""

    server: str
    workload: str
    kind: str
    names: tuple[int, ...]  # indexes of `CountDocument.functions`
    exclusive: tuple[Quantity, ...]  # instructions
    inclusive: tuple[Quantity, ...]  # with what they call
    allocations: Quantity  # calls of malloc, calloc, realloc and the like
    system_calls: Quantity


class CountFailure(Value):
    """Why a server has no counts: of a kind, of a workload, or at all."""

    server: str
    workload: str  # empty: all of them
    reason: str
    kind: str = ""  # empty: all of the workload's
    lacks: bool = False  # the server does not know the statement


LEFT_OUT = "left out: "  # how the reasons of kinds begin for which the budget has no time


def is_left_out(failure: CountFailure) -> bool:
    """Whether the budget had no time for a kind."""
    return failure.reason.startswith(LEFT_OUT)


class CountDocument(Value):
    """Everything that one `shootout count` counted."""

    format: Literal[2]
    run: str
    started: str  # ISO 8601, UTC
    version: str  # of shootout
    valgrind: str
    seed: int
    confidence: Share
    bar: Share  # the smallest change worth a verdict
    settings: str  # profile of settings
    options: dict[str, str]  # my.cnf options under which every server was counted
    datasets: tuple[Dataset, ...]
    workloads: tuple[WorkloadRecord, ...]
    digests: dict[str, str]  # of the workloads with their statements
    servers: tuple[ServerRecord, ...]  # the base first
    starts: Start  # that were planned
    kinds: tuple[CountedKind, ...]
    counts: tuple[KindCount, ...]
    functions: tuple[str, ...]
    profiles: tuple[CountedFunctions, ...]
    failures: tuple[CountFailure, ...] = ()
    elapsed_s: Quantity | None = None  # for everything; None: joined, or not recorded
    plans: dict[str, tuple[ExecutionPlan, ...]] = field(default_factory=dict)  # by workload

    @property
    def once(self) -> tuple[tuple[str, str], ...]:
        """The kinds that were executed once in each start, to hold a budget."""
        most: dict[tuple[str, str], int] = {}
        for count in self.counts:
            key = count.workload, count.kind
            most[key] = max(most.get(key, 0), len(count.instructions))
        return tuple(key for key, repetitions in most.items() if repetitions == 1)


class CountFigure(Value):
    """Instructions for each unit on one server."""

    mean: float  # over starts
    starts: int


class CountChange(Value):
    """A kind on one server, compared with the base."""

    workload: str
    kind: str
    server: str
    base: CountFigure | None
    head: CountFigure | None
    ratio: Interval | None  # head / base
    spread: float | None  # standard deviation of the starts' log-ratios, at least what repetitions give
    verdict: Verdict
    reason: str = ""  # of a failed or unjudged one
    lacks: bool = False  # the server, or the base, does not know the statement


class CountComparison(Value):
    """A document, judged."""

    document: CountDocument
    base: str  # its label
    changes: tuple[CountChange, ...]  # the base's own are unjudged


class CountPoint(Value):
    """The count of a kind on a server in one document."""

    run: str
    started: str  # ISO 8601, UTC
    commit: str  # that the server was built from; "": not known
    instructions: float  # for each unit
    step: float | None  # relative to the document before; None: the first


class CountSeries(Value):
    """A kind on one server over time: equal statements, tables and settings."""

    workload: str
    kind: str
    server: str
    bar: float  # smaller steps are not worth a mention
    points: tuple[CountPoint, ...]  # the oldest first

    @property
    def steps(self) -> tuple[CountPoint, ...]:
        """The points that differ from those before by the bar or more."""
        return tuple(
            point for point in self.points if point.step and abs(math.log(point.step)) >= math.log1p(self.bar)
        )
