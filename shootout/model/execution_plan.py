"""How a server plans a statement: what its EXPLAIN says."""

from __future__ import annotations

from msgspec import field

from shootout.model.value import Difference, Start, Value


class PlanStep(Value):
    """One row of the traditional EXPLAIN, without its costs."""

    select: str  # SIMPLE, DERIVED, …
    table: str
    access: str  # ALL, index, range, ref, eq_ref, const, …
    key: str
    key_length: str
    ref: str
    extra: tuple[str, ...]  # sorted


class ExecutionPlan(Value):
    """How one server executes one statement."""

    start: Start
    server: str
    kind: str  # of statement, as the workload names it
    sql: str  # with placeholders
    steps: tuple[PlanStep, ...]
    text: str  # EXPLAIN as the server's most detailed format gives it, without literals
    handlers: dict[str, Difference] = field(default_factory=dict)  # handler counters of one execution
    error: str = ""  # why there is no plan
    warnings: tuple[str, ...] = ()  # the server's, without values


class PlanChange(Value):
    """A kind of statement with a plan of each server, of the same statement."""

    kind: str
    base: ExecutionPlan
    head: ExecutionPlan
    changed: bool  # the servers never had the same plan
    unsteady: bool  # a server had several plans
