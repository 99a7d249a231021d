"""Findings beside counts: other plans, calls that grow by half or more, functions that execute more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shootout import figures
from shootout.analysis import plan_changes
from shootout.count.instructions import PartCount, explained_by
from shootout.count.values import FRAME, JOINT, MIX, CountChange, CountComparison, CountedFunctions
from shootout.model.execution_plan import PlanChange
from shootout.model.verdict import Verdict
from shootout.numbers import number
from shootout.report import differing

FUNCTIONS_MAX = 3  # of a statement
GROWTH_MIN = 1.5
CALLS_MIN = 1.0  # for each statement
ALLOCATIONS_MANY = 500.0  # for each statement: their cost varies by percents of all instructions

Key = tuple[str, str, str]  # workload, kind, server


def findings(comparison: CountComparison) -> dict[Key, tuple[str, ...]]:
    """Say what heads do otherwise than the base, for each kind that has a finding."""
    profiles = {(each.workload, each.kind, each.server): each for each in comparison.document.profiles}
    plans, explaining = _plans(comparison), functions(comparison)
    told = {}
    for change in comparison.changes:
        if change.server != comparison.base and change.kind not in (FRAME, MIX):
            key = change.workload, change.kind, change.server
            told[key] = (
                *_calls(comparison, change, profiles), *_other_plans(change, plans),
                *_more(change, explaining.get(key, ()), plans), *_spread(comparison, change, profiles),
            )  # fmt: skip
    return {key: texts for key, texts in told.items() if texts}


def functions(comparison: CountComparison) -> dict[Key, tuple[PartCount, ...]]:
    """Find the functions behind more instructions, of each kind whose plan is not another one."""
    document, plans = comparison.document, _plans(comparison)
    profiles = {(each.workload, each.kind, each.server): each for each in document.profiles}
    explaining = {}
    for change in comparison.changes:
        base, head = (
            profiles.get((change.workload, change.kind, server))
            for server in (comparison.base, change.server)
        )
        same = not any(plan.changed for plan in _planned(change, plans))
        if change.verdict is Verdict.REGRESSED and base and head and same and change.kind not in (FRAME, MIX):
            found = explained_by(document, change, (base, head))[:FUNCTIONS_MAX]
            explaining[change.workload, change.kind, change.server] = found
    return explaining


def _planned(change: CountChange, plans: Mapping[Key, PlanChange]) -> list[PlanChange]:
    keys = ((change.workload, kind, change.server) for kind in change.kind.split(JOINT))
    return [plans[key] for key in keys if key in plans]


def _plans(comparison: CountComparison) -> dict[Key, PlanChange]:
    servers = dict.fromkeys(change.server for change in comparison.changes)
    return {
        (workload, change.kind, server): change
        for workload, plans in comparison.document.plans.items()
        for server in servers
        if server != comparison.base
        for change in plan_changes.compared(plans, comparison.base, server)
    }


def _other_plans(change: CountChange, plans: Mapping[Key, PlanChange]) -> Iterator[str]:
    for found in _planned(change, plans):
        if found.changed:
            yield f"plan{'' if found.kind == change.kind else f' of {found.kind}'}: {differing.ways(found)}"


def _calls(
    comparison: CountComparison, change: CountChange, profiles: Mapping[Key, CountedFunctions]
) -> Iterator[str]:
    base, head = (
        profiles.get((change.workload, change.kind, server)) for server in (comparison.base, change.server)
    )
    if base is None or head is None:
        return
    for what, before, after in (
        ("system calls", base.system_calls, head.system_calls),
        ("allocations", base.allocations, head.allocations),
    ):
        if after >= GROWTH_MIN * before and after - before >= CALLS_MIN:
            yield f"{what} {number(before, 0)} → {number(after, 0)}"


def _more(
    change: CountChange, explaining: Sequence[PartCount], plans: Mapping[Key, PlanChange]
) -> Iterator[str]:
    if explaining:
        all_known = len(_planned(change, plans)) == len(change.kind.split(JOINT))
        named = ", ".join(f"{figures.rounded(count.difference)} in {count.name}" for count in explaining)
        yield f"{'with the same plan, ' * all_known}instructions {named}"


def _spread(
    comparison: CountComparison, change: CountChange, profiles: Mapping[Key, CountedFunctions]
) -> Iterator[str]:
    """Say why starts differ: an allocation's cost depends on the heap that a start has built up."""
    pair = (
        profiles.get((change.workload, change.kind, server)) for server in (comparison.base, change.server)
    )
    most = max((each.allocations for each in pair if each), default=0.0)
    if change.verdict is Verdict.INCONCLUSIVE and most >= ALLOCATIONS_MANY:
        yield f"starts differ because {number(most, 0)} allocations cost more or less, by where memory lies"
