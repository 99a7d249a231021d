"""Findings beside counts."""

from __future__ import annotations

from msgspec import structs

from shootout.count import judge
from shootout.count.answer import answer
from shootout.count.findings import findings
from shootout.count.values import CountComparison, CountedFunctions
from shootout.numbers import SPACE
from tests.support.count.builders import BASE, document, times
from tests.unit.report.test_evidence import a_plan, a_step


def compared(system_calls: float, allocations: float, access: str) -> CountComparison:
    """A head whose counts are the base's, with so many calls for each select, and such a plan of it."""
    calls = {"base": (17.0, 10.0), "head": (system_calls, allocations)}
    profiles = tuple(
        CountedFunctions(
            server=server, workload="w", kind="select", names=(), exclusive=(), inclusive=(),
            system_calls=called, allocations=allocated,
        )
        for server, (called, allocated) in calls.items()
    )  # fmt: skip
    plans = tuple(
        structs.replace(a_plan(a_step("t", how, key)), server=server, kind="select")
        for server, how, key in (("base", "ref", "k"), ("head", access, "" if access == "ALL" else "k"))
    )
    counted = document({"base": BASE, "head": times(1.0)})
    return judge.compare(structs.replace(counted, profiles=profiles, plans={"w": plans}))


def test_calls_that_grow_by_half_and_other_plans_are_findings() -> None:
    found = compared(4017.0, 12.0, "ALL")
    told = (f"system calls 17 → 4{SPACE}017", "plan: ref on k → full scan")
    assert findings(found) == {("w", "select", "head"): told}
    assert f"w, select: {'; '.join(told)}" in [line for each in answer(found).topics for line in each.lines]


def test_the_same_plan_and_a_few_more_calls_are_none() -> None:
    assert findings(compared(18.0, 14.9, "ref")) == {}
    assert findings(compared(17.0, 15.0, "ref")) == {("w", "select", "head"): ("allocations 10 → 15",)}
