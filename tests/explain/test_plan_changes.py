"""Plans compared, without a server; tests/explain/test_plans.py has those of a real one."""

from __future__ import annotations

import pytest

from shootout.explain import plan_changes
from shootout.explain.values import PlanStep, StatementPlan


def a_plan(server: str, *tables: str) -> StatementPlan:
    steps = (
        PlanStep(select="SIMPLE", table=table, access="ALL", key="", key_length="", ref="", extra=())
        for table in tables
    )
    return StatementPlan(start=1, server=server, kind="k", sql="", steps=tuple(steps), text="", handlers={})


@pytest.mark.parametrize(
    ("base", "head", "changed"),
    [
        (["sbtest1"], ["sbtest7"], False),  # the number is drawn
        (["t1", "t2"], ["t2", "t1"], True),  # another join order
        (["t1", "t2"], ["t1", "t2"], False),
        (["t1", "u1", "t1"], ["t2", "u2", "t2"], False),
    ],
)
def test_numbers_of_tables_count_where_they_alone_tell_tables_apart(
    base: list[str], head: list[str], changed: bool
) -> None:
    (found,) = plan_changes.compared([a_plan("base", *base), a_plan("head", *head)], "base", "head")
    assert found.changed is changed
