"""CPUs of servers, and the end of one that dies."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure.bench import Bench
from shootout.measure.dataset import Loaded
from shootout.measure.participants import Participant
from shootout.model.plan import Cell, Dataset
from shootout.model.program import Numbers, ProgramColumn
from shootout.runner import machine
from tests.support import builders

pytest_plugins = ["tests.support.runs"]
BLOCK = builders.a_block("oltp_read_write", 8)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_a_server_starts_on_every_cpu_that_a_block_may_give_it(count: int) -> None:
    placement = machine.placement(range(count))
    blocks = [placement.cpus(threads, writes=writes) for threads in (1, 8) for writes in (False, True)]
    assert {*placement.starting} == {cpu for _, cpus in blocks for cpu in cpus}


class Failures:
    """A recorder that notes failures only."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def fail(self, cell: Cell, start: int, reason: str) -> None:
        self.found[cell.server] = reason


class Table:
    """A running server's table, or a server that is gone."""

    suffix = ""

    def __init__(self, last: int | None) -> None:
        self.last = last

    def query(self, sql: str, timeout_s: float | None = None) -> tuple[tuple[int]]:
        if self.last is None:
            raise MeasureError("it is gone")
        return ((self.last,),)


def asked(
    column: ProgramColumn, folder: Path, **last: int | None
) -> tuple[Bench, dict[Participant, Table], Failures]:
    """A bench whose program has this column, and servers with these last numbers; None: it is gone."""
    program = workload.compile_program("oltp_point_select", workload.load("oltp_point_select"), Dataset())
    bound = SimpleNamespace(program=structs.replace(program, columns=(column,)), dataset=Dataset())
    plan, failures = SimpleNamespace(workloads={BLOCK.workload: bound}), Failures()
    servers = {
        Participant(label, cast(Any, None), Loaded(checksum="", load_s=None), folder): Table(number)
        for label, number in last.items()
    }
    return Bench(cast(Any, plan), builders.a_runner(), cast(Any, failures)), servers, failures


def test_a_server_that_cannot_tell_its_last_number_fails_alone(tmp_path: Path) -> None:
    column = ProgramColumn(name="t.id", fresh=True, values=Numbers(min=1, max=4), next=5)
    bench, instances, failures = asked(column, tmp_path, a=4, gone=None, b=9)
    found, telling = bench._with_values(BLOCK, cast(Any, instances), 1)
    assert [each.next for each in found.columns] == [10]
    assert [each.label for each in telling] == ["a", "b"]
    assert failures.found == {"gone": "it is gone"}


def test_a_block_whose_columns_nobody_can_tell_fails(tmp_path: Path) -> None:
    bench, instances, failures = asked(ProgramColumn(name="t.id"), tmp_path, a=None, b=None)
    found = bench.measure(BLOCK, 1, cast(Any, instances), random.Random(1), lambda *_: None)
    assert found is None
    assert failures.found == {"a": "it is gone", "b": "it is gone"}
