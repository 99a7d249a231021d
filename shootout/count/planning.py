"""How servers plan the statements that were counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import structs

from shootout.analysis import plan_changes
from shootout.errors import MeasureError
from shootout.measure import execution_plans
from shootout.model.execution_plan import ExecutionPlan
from shootout.servers.processes.instances import Instance


def planned(
    instance: Instance,
    server: str,
    schema: str,
    statements: Mapping[tuple[str, str], str],
    *,
    prepared: Mapping[tuple[str, str], execution_plans.Prepared],
    session: Sequence[str],
) -> dict[str, tuple[ExecutionPlan, ...]]:
    """Collect plans of statements by workload and kind; of those that differ only in estimates, one.

    All are asked for together: statistics are redrawn for a whole schema. None if the server is gone: what
    it has counted is whole without them.
    """
    asked = {str(number): key for number, key in enumerate(statements)}
    named = {number: statements[key] for number, key in asked.items()}
    distinct: defaultdict[str, dict[object, ExecutionPlan]] = defaultdict(dict)
    try:
        for plan in execution_plans.planned(
            instance, schema, named, start=1, server=server, session=session,
            prepared={number: prepared[key] for number, key in asked.items() if key in prepared},
        ):  # fmt: skip
            workload, kind = asked[plan.kind]
            distinct[workload].setdefault((kind, plan_changes.shape(plan)), structs.replace(plan, kind=kind))
    except MeasureError:
        return {}
    return {workload: tuple(every.values()) for workload, every in distinct.items()}
