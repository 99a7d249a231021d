"""What an explanation goes without."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from shootout.errors import InputError
from shootout.measure import explain
from tests import builders


def test_before_mysql_5_1_6_there_are_variables_and_no_plans() -> None:
    variables = {"version": "5.0.96"}
    old: Any = SimpleNamespace(ours=True, version="5.0.96", variables=lambda: variables)
    planned: Any = SimpleNamespace(workloads={"w": SimpleNamespace(program=None)})
    watcher = explain._Watcher(planned, cast(Any, None))
    watcher._ask(1, cast(Any, SimpleNamespace(workload="w")), cast(Any, None), {explain.BASE: old})
    assert (watcher.variables, watcher.plans) == ({explain.BASE: variables}, [])


@pytest.mark.parametrize("changed", ["digest", "dump"])
def test_another_workload_or_dump_is_refused(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = builders.a_run()
    cell = next(
        cell for block in document.header.blocks for cell in block.cells if cell.server == builders.HEAD
    )
    header = structs.replace(document.header, workloads=(builders.a_record(cell.workload),))
    digest = "other" if changed == "digest" else document.header.digests.get(cell.workload)
    key = "dump-other" if changed == "dump" else cell.dataset
    bound = SimpleNamespace(dataset=SimpleNamespace(key=key))
    planned = SimpleNamespace(digests={cell.workload: digest}, workloads={cell.workload: bound})
    monkeypatch.setattr(explain, "bind", lambda *_: planned)
    question = explain.Question(structs.replace(document, header=header), cell, Path())
    with pytest.raises(InputError, match=r"has changed since run .*; measure it again"):
        explain.plan(question, 60.0, {})
