"""What an explanation goes without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from shootout.measure import explain


def test_before_mysql_5_1_6_there_are_variables_and_no_plans() -> None:
    variables = {"version": "5.0.96"}
    old: Any = SimpleNamespace(ours=True, version="5.0.96", variables=lambda: variables)
    planned: Any = SimpleNamespace(workloads={"w": SimpleNamespace(program=None)})
    watcher = explain._Watcher(planned, cast(Any, None))
    watcher._ask(1, cast(Any, SimpleNamespace(workload="w")), cast(Any, None), {explain.BASE: old})
    assert (watcher.variables, watcher.plans) == ({explain.BASE: variables}, [])
