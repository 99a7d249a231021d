"""The words for plans and variables that differ between two servers."""

from __future__ import annotations

from collections.abc import Sequence

from shootout import figures
from shootout.analysis import plan_changes
from shootout.answer import Detail
from shootout.model.execution_plan import ExecutionPlan, PlanChange, PlanStep
from shootout.numbers import number
from shootout.settings.differences import VariableDifference

STEPS_MAX = 4  # of a plan in a sentence
ITEMS_MAX = 4  # of a list


def plan(change: PlanChange) -> str:
    """Describe how a statement was executed, and how it is now."""
    said = (f"the {of.server} says: {text}" for of in (change.base, change.head) for text in of.warnings)
    return "; ".join([f"{change.kind}: {ways(change)}", *rows_read(change), *said])


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
    items = [(value or "").split(",") for value in (variable.base, variable.head)]
    if variable.base == variable.head or not {*items[0]} & {*items[1]} - {""}:
        return figures.setting(text, variable.name) or "empty"
    theirs, own = items if text == variable.head else reversed(items)
    more = [item for item in own if item not in theirs]
    return listed(more) if more else f"without {listed([item for item in theirs if item not in own])}"


def variable_change(variable: VariableDifference) -> str:
    """Say how a variable differs; of a list to which one server only adds, what it adds."""
    base, head = ((value or "").split(",") for value in (variable.base, variable.head))
    if {*base} < {*head}:
        return f"also {listed([item for item in head if item not in base])}"
    if {*head} < {*base}:
        return f"no longer {listed([item for item in base if item not in head])}"
    return " → ".join(variable_value(variable, text) for text in (variable.base, variable.head))


def listed(items: Sequence[str]) -> str:
    """The first items of a list, and how many more there are."""
    more = len(items) - ITEMS_MAX
    return ", ".join(items[:ITEMS_MAX]) + (f" and {more} more" if more > 0 else "")


def ways(change: PlanChange) -> str:
    """Say how a statement came to its rows and does now, `ref on word → full scan`, where that differs."""
    base, head = change.base.steps, change.head.steps
    theirs, own = ({step.table: _way(step) for step in steps} for steps in (base, head))
    if theirs.keys() != own.keys() or not len(theirs) == len(base) == len(head):
        both = theirs.items() & own.items()
        changed = [[step for step in steps if (step.table, _way(step)) not in both] for steps in (base, head)]
        return " → ".join(map(_listed, changed if all(changed) else (base, head)))
    if differ := [table for table in own if theirs[table] != own[table]]:
        told = (f"{table}: {theirs[table]} → {own[table]}" for table in differ)
        return ", ".join(told).removeprefix(f"{differ[0]}: " if len(own) == 1 else "")
    if [*theirs] != [*own]:
        return f"tables in the order {', '.join(theirs)} → {', '.join(own)}"
    extras = [{extra for step in steps for extra in step.extra} for steps in (base, head)]
    lost, won = (", ".join(sorted(one - other)) for one, other in (extras, extras[::-1]))
    return f"{lost or 'plain'} → {won or 'plain'}" if lost or won else "another plan"


def access(plan: ExecutionPlan) -> str:
    """Say how a plan comes to its rows."""
    return _listed(plan.steps)


def _listed(steps: Sequence[PlanStep]) -> str:
    named = [": ".join(filter(None, (step.table, _way(step)))) for step in steps]
    return ", ".join([*named[:STEPS_MAX], *(["…"] if len(named) > STEPS_MAX else [])]) or "another plan"


def _way(step: PlanStep) -> str:
    known = {"ALL": "full scan", "index": f"full scan of {step.key}", "": "no table"}
    return known.get(step.access) or (f"{step.access} on {step.key}" if step.key else step.access)
