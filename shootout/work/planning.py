"""How servers plan the statements that were counted."""

from __future__ import annotations

from collections.abc import Mapping

from shootout.analysis import plan_changes
from shootout.errors import MeasureError
from shootout.measure import plans
from shootout.model.statement_plan import StatementPlan
from shootout.servers.instances import Instance


def planned(
    instance: Instance, server: str, schema: str, statements: Mapping[str, str]
) -> tuple[StatementPlan, ...]:
    """The plans of statements by kind; of those that differ in nothing but estimates, one.

    None if the server is gone: what it has counted is whole without them.
    """
    distinct: dict[object, StatementPlan] = {}
    try:
        for plan in plans.planned(instance, schema, statements, start=1, server=server):
            distinct.setdefault((plan.kind, plan_changes.shape(plan)), plan)
    except MeasureError:
        return ()
    return tuple(distinct.values())
