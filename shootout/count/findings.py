"""Findings beside counts: other plans, calls that grow by half or more, functions that execute more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class _Kind:
    """A kind on a head: its change, functions on base and head, and the plans that are known."""

    change: CountChange
    profiles: Sequence[CountedFunctions]  # both, or none
    plans: Sequence[PlanChange]


def findings(comparison: CountComparison) -> dict[Key, tuple[str, ...]]:
    """Say what heads do otherwise than the base, for each kind that has a finding."""
    explaining = functions(comparison)
    told = {
        key: (*_calls(kind), *_other_plans(kind), *_more(kind, explaining.get(key, ())), *_spread(kind))
        for key, kind in _kinds(comparison)
    }
    return {key: texts for key, texts in told.items() if texts}


def functions(comparison: CountComparison) -> dict[Key, tuple[PartCount, ...]]:
    """Find the functions behind more instructions, of each kind whose plan is not another one."""
    return {
        key: explained_by(comparison.document, kind.change, kind.profiles)[:FUNCTIONS_MAX]
        for key, kind in _kinds(comparison)
        if kind.change.verdict is Verdict.REGRESSED and kind.profiles
        if not any(plan.changed for plan in kind.plans)
    }


def _kinds(comparison: CountComparison) -> Iterator[tuple[Key, _Kind]]:
    document, base = comparison.document, comparison.base
    profiles = {(each.workload, each.kind, each.server): each for each in document.profiles}
    plans = {
        (workload, plan.kind, server): plan
        for workload, every in document.plans.items()
        for server in {change.server for change in comparison.changes} - {base}
        for plan in plan_changes.compared(every, base, server)
    }
    for each in comparison.changes:
        if each.server != base and each.kind not in (FRAME, MIX):
            pair = [profiles.get((each.workload, each.kind, server)) for server in (base, each.server)]
            known = [profile for profile in pair if profile is not None]
            keys = ((each.workload, kind, each.server) for kind in each.kind.split(JOINT))
            of_kind = [plans[key] for key in keys if key in plans]
            yield (
                (each.workload, each.kind, each.server),
                _Kind(each, known if len(known) == len(pair) else (), of_kind),
            )


def _other_plans(kind: _Kind) -> Iterator[str]:
    for found in kind.plans:
        if found.changed:
            of = "" if found.kind == kind.change.kind else f" of {found.kind}"
            yield f"plan{of}: {differing.ways(found)}"


def _calls(kind: _Kind) -> Iterator[str]:
    for what in ("system_calls", "allocations"):
        both = [getattr(profile, what) for profile in kind.profiles]
        if both and both[1] >= GROWTH_MIN * both[0] and both[1] - both[0] >= CALLS_MIN:
            yield f"{what.replace('_', ' ')} {number(both[0], 0)} → {number(both[1], 0)}"


def _more(kind: _Kind, explaining: Sequence[PartCount]) -> Iterator[str]:
    if explaining:
        all_known = len(kind.plans) == len(kind.change.kind.split(JOINT))
        named = ", ".join(f"{figures.rounded(count.difference)} in {count.name}" for count in explaining)
        yield f"{'with the same plan, ' * all_known}instructions {named}"


def _spread(kind: _Kind) -> Iterator[str]:
    """Say why starts differ: an allocation's cost depends on the heap that a start has built up."""
    most = max((each.allocations for each in kind.profiles), default=0.0)
    if kind.change.verdict is Verdict.INCONCLUSIVE and most >= ALLOCATIONS_MANY:
        yield f"starts differ because {number(most, 0)} allocations cost more or less, by where memory lies"
