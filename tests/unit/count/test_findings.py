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


def compared(system_calls: float, allocations: float, access: str, more: float = 1.0) -> CountComparison:
    """A head whose counts are the base's, or more, with so many calls for each select, and such a plan."""
    calls = {"base": (17.0, 10.0, 600.0), "head": (system_calls, allocations, 600.0 + 1_000 * (more - 1))}
    profiles = tuple(
        CountedFunctions(
            server=server, workload="w", kind="select", names=(0, 1), exclusive=(400.0, own),
            inclusive=(1_000.0, own),
            system_calls=called, allocations=allocated,
        )
        for server, (called, allocated, own) in calls.items()
    )  # fmt: skip
    plans = tuple(
        structs.replace(a_plan(a_step("t", how, key)), server=server, kind="select")
        for server, how, key in (("base", "ref", "k"), ("head", access, "" if access == "ALL" else "k"))
    )
    counted = document({"base": BASE, "head": times(more)})
    counted = structs.replace(counted, functions=("do_select", "row_search_mvcc"))
    return judge.compare(structs.replace(counted, profiles=profiles, plans={"w": plans}))


def test_calls_that_grow_by_half_and_other_plans_are_findings() -> None:
    found = compared(4017.0, 12.0, "ALL")
    told = (f"system calls 17 → 4{SPACE}017", "plan: ref on k → full scan")
    assert findings(found) == {("w", "select", "head"): told}
    assert f"w, select: {'; '.join(told)}" in [line for each in answer(found).topics for line in each.lines]


def test_more_instructions_with_the_same_plan_name_their_functions() -> None:
    """LIMIT 1500, 10 from 8.0.12 to 8.0.33: +24 %, and no function was named."""
    said = findings(compared(17.0, 10.0, "ref", 1.24))[("w", "select", "head")]
    assert said == ("with the same plan, instructions +240 in row_search_mvcc",)
    assert findings(compared(17.0, 10.0, "ALL", 1.24))[("w", "select", "head")] == (
        "plan: ref on k → full scan",
    )
    unplanned = compared(17.0, 10.0, "ref", 1.24)
    unplanned = structs.replace(unplanned, document=structs.replace(unplanned.document, plans={}))
    assert findings(unplanned)[("w", "select", "head")] == ("instructions +240 in row_search_mvcc",)


def test_the_same_plan_and_a_few_more_calls_are_none() -> None:
    assert findings(compared(18.0, 14.9, "ref")) == {}
    assert findings(compared(17.0, 15.0, "ref")) == {("w", "select", "head"): ("allocations 10 → 15",)}
