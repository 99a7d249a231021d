"""Execution plans compared: statements that base and head execute in different ways."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from shootout.model.execution_plan import ExecutionPlan, PlanChange, PlanStep
from shootout.model.plan import Cell, block_key
from shootout.model.run import RunDocument

Shape = tuple[PlanStep, ...] | str

# Some versions call the table that a statement changes by the statement's name.
_CHANGING = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_ENDS = ("begin", "commit", "rollback")  # kinds without a plan
# The plan is the same: only some versions say it, or say it of other access.
_SAID_BY_SOME = ("Using where", "Backward index scan")
_NUMBERS = re.compile(r"\s*\((?:cost|rows|actual)[^)]*\)|[0-9]+(?:\.[0-9]+)?|'[^']*'")


def rows_read(plan: ExecutionPlan) -> float | None:
    """Count the rows that one execution asked a storage engine for; None: it was not executed."""
    counts = [count for name, count in plan.handlers.items() if name.startswith("Handler_read_")]
    return sum(counts) if plan.handlers else None


def shape(plan: ExecutionPlan) -> Shape:
    """Return the decisions in a plan, without estimates and drawn values.

    Tables lose their numbers, which are drawn, too; unless these alone tell two of the plan's tables apart.
    """
    if not plan.steps:
        return _NUMBERS.sub("", plan.text)
    tables = {step.table: step.table.rstrip("0123456789") for step in plan.steps}
    alike = Counter(tables.values())
    steps = (
        PlanStep(
            select="SIMPLE" if step.select in _CHANGING else step.select,
            table=tables[step.table] if alike[tables[step.table]] == 1 else step.table,
            access=step.access, key=step.key, key_length=step.key_length if step.access == "range" else "",
            ref=step.ref, extra=tuple(extra for extra in step.extra if extra not in _SAID_BY_SOME),
        )
        for step in plan.steps
    )  # fmt: skip
    return tuple(steps)


def compared(plans: Iterable[ExecutionPlan], base: str, head: str) -> list[PlanChange]:
    """Compare every kind of statement that both servers planned; changed ones first."""
    by_kind: dict[str, dict[str, list[ExecutionPlan]]] = {}
    for plan in plans:
        if plan.steps or plan.text:
            by_kind.setdefault(plan.kind, {}).setdefault(plan.server, []).append(plan)
    changes = []
    for kind, of_server in by_kind.items():
        if base in of_server and head in of_server:
            theirs, own = ({shape(plan) for plan in of_server[server]} for server in (base, head))
            changes.append(
                PlanChange(
                    kind=kind,
                    base=of_server[base][0],
                    head=of_server[head][0],
                    changed=not theirs & own,
                    unsteady=len(theirs) > 1 or len(own) > 1,
                )
            )
    return sorted(changes, key=lambda change: not change.changed)


def kept(document: RunDocument, cell: Cell, base: Cell, kinds: Sequence[str] = ()) -> tuple[PlanChange, ...]:
    """Find kept plans that differ from the base's, or of which the head alone warns; `kinds` come first."""
    block = block_key(cell.workload, cell.threads)
    plans = [plan for start in document.starts if start.block == block for plan in start.plans]
    found = [
        change
        for change in compared(plans, base.server, cell.server)
        if change.changed or {*change.head.warnings} - {*change.base.warnings}
    ]
    places = {kind: place for place, kind in enumerate(kinds)}
    return tuple(sorted(found, key=lambda change: places.get(change.kind, len(places))))


def not_compared(
    plans: Sequence[ExecutionPlan], base: str, head: str, document: RunDocument
) -> Iterator[str]:
    """Name kinds of statement that were sent, but that a server has not planned, and its reason."""
    sent = (kind for start in document.starts for samples in start.samples for kind in samples.statements)
    planned = {(plan.kind, plan.server) for plan in plans if plan.steps or plan.text}
    errors = {(plan.kind, plan.server): plan.error for plan in plans if plan.error}
    if not planned:
        return
    for kind in dict.fromkeys(sent):
        missing = [server for server in (base, head) if (kind, server) not in planned]
        if missing and kind not in _ENDS:
            reasons = (errors.get((kind, server), "") for server in missing)
            yield f"{kind}: {next(filter(None, reasons), 'it was not seen in the log')}"
