"""The words for plans and variables that differ between two servers."""

from __future__ import annotations

from shootout import figures
from shootout.analysis import plan_changes
from shootout.analysis.plan_changes import PlanChange
from shootout.answer import Detail
from shootout.model.execution_plan import ExecutionPlan, PlanStep
from shootout.numbers import number
from shootout.settings.differences import VariableDifference


def plan(change: PlanChange) -> str:
    """How a statement was executed, and how it is now."""
    said = (f"the {of.server} says: {text}" for of in (change.base, change.head) for text in of.warnings)
    return "; ".join(
        [f"{change.kind}: {access(change.base)} → {access(change.head)}", *rows_read(change), *said]
    )


def side_by_side(change: PlanChange, base: str, head: str, title: str) -> Detail:
    """The plans of a statement on two servers, and the warnings of each."""
    both = ((base, change.base), (head, change.head))
    return Detail(
        title,
        tuple((label, plan.text or plan.error) for label, plan in both),
        tuple(f"{label} says: {text}" for label, plan in both for text in plan.warnings),
        change.base.sql,
    )


def rows_read(change: PlanChange) -> tuple[str, ...]:
    """The rows that one execution reads on base and head, if known."""
    counts = [plan_changes.rows_read(plan) for plan in (change.base, change.head)]
    known = [number(count, 0) for count in counts if count is not None]
    return (f"rows read: {' → '.join(known)}",) if len(known) == len(counts) else ()


def variable_value(variable: VariableDifference, text: str | None) -> str:
    """A variable's value on one server; of a list, what the other server's lacks."""
    if text is None:
        return "absent"
    lists = [set((value or "").split(",")) for value in (variable.base, variable.head)]
    if common := set.intersection(*lists) - {""}:
        return ",".join(["…", *(item for item in text.split(",") if item not in common)])
    return figures.setting(text, variable.name) or "empty"


def access(plan: ExecutionPlan) -> str:
    """How a plan comes to its rows."""
    return ", ".join(map(_step, plan.steps)) or "another plan"


def _step(step: PlanStep) -> str:
    key = f" by {step.key}" if step.key else ""
    return f"{step.access or 'no'} access to {step.table}{key}" if step.table else "no table"
