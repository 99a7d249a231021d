"""Plans compared, without a server."""

from __future__ import annotations

import pytest

from shootout.analysis import plan_changes
from shootout.measure import execution_plans
from shootout.model.execution_plan import ExecutionPlan, PlanStep


def a_plan(server: str, *tables: str) -> ExecutionPlan:
    steps = (
        PlanStep(select="SIMPLE", table=table, access="ALL", key="", key_length="", ref="", extra=())
        for table in tables
    )
    return ExecutionPlan(start=1, server=server, kind="k", sql="", steps=tuple(steps), text="", handlers={})


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


def test_warnings_name_what_the_statement_and_its_plan_name_and_no_value() -> None:
    """Each once, without the note that has the statement as the optimizer understood it."""
    sql = "SELECT c FROM t WHERE k = 'secret' AND pad = 7"
    rows = [
        {"Code": 1739, "Message": "Cannot use ref access on index 'k_1' due to type conversion on field 'k'"},
        {"Code": 1292, "Message": "Truncated incorrect DOUBLE value: 'secret'"},
        {"Code": 1292, "Message": "Truncated incorrect DOUBLE value: 'secret'"},
        {"Code": 3170, "Message": "Memory capacity of 1 bytes for 'range_optimizer_max_mem_size' exceeded."},
        {"Code": 1003, "Message": "/* select#1 */ select `t`.`c` from `t` where (`k` = 'secret')"},
    ]
    assert list(execution_plans.warnings(rows, sql, ["k_1"])) == [
        rows[0]["Message"], "Truncated incorrect DOUBLE value: '…'", rows[3]["Message"],
    ]  # fmt: skip
