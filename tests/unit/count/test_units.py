"""The units of a workload that are counted."""

from __future__ import annotations

import pytest

from shootout.count import units as count_units
from shootout.count.units import Unit, kinds_of
from shootout.count.values import COMMIT, FRAME, MIX, TRANSACTION
from shootout.inputs import workload
from shootout.measure.plan import BoundWorkload
from shootout.model.plan import DatasetSize


def units(name: str, **options: int) -> tuple[Unit, ...]:
    loaded = workload.with_options(workload.load(name), options, None)
    dataset = workload.dataset_of(loaded, DatasetSize(tables=1, rows=10_000), name)
    program = workload.compile_program(name, loaded, dataset)
    return count_units.units(name, BoundWorkload(loaded, name, dataset, program))


def names(found: tuple[Unit, ...]) -> list[str]:
    return [unit.kind.name for unit in found]


def test_each_step_of_a_transaction_is_a_kind() -> None:
    found = units("oltp_read_write")
    ranges = ["simple_range", "sum_range", "order_range", "distinct_range"]
    updates = ["index_update", "non_index_update", "delete + insert"]
    assert names(found) == ["point_select", *ranges, *updates, FRAME, TRANSACTION]
    assert found[0].kind.per_transaction == 10
    assert [unit.open for unit in found] == [True] * 8 + [False] * 2
    assert found[-2].kind.less == {"index_update": 1.0}
    assert found[-1].kind.units == 10


def test_a_kind_runs_nothing_else() -> None:
    for unit in units("oltp_read_write")[:8]:
        (transaction,) = unit.program.transactions
        (step,) = transaction.steps
        assert (transaction.begin, step.repeat) == (False, 1)


def test_a_transaction_of_one_statement_is_counted_once() -> None:
    (unit,) = units("oltp_point_select")
    assert (unit.kind.name, unit.open) == ("point_select", False)


def test_without_begin_what_writes_is_rolled_back_and_a_commit_is_a_kind() -> None:
    found = units("oltp_read_write", skip_trx=1)
    assert names(found)[5:] == ["index_update", "non_index_update", "delete + insert", COMMIT]
    assert [unit.open for unit in found] == [False] * 5 + [True] * 3 + [False]
    assert (found[-1].kind.less, found[-1].kind.per_transaction) == ({"index_update": 1.0}, 4)
    assert [kind.name for kind in kinds_of(found)[-2:]] == [COMMIT, MIX]


@pytest.mark.parametrize(
    ("name", "leave"), [("oltp_read_write", [FRAME, TRANSACTION]), ("oltp_insert", ["insert"])]
)
def test_what_commits_leaves_other_rows(name: str, leave: list[str]) -> None:
    assert [unit.kind.name for unit in units(name) if unit.leaves] == leave


def test_a_transaction_that_reads_has_no_frame_to_count() -> None:
    assert names(units("oltp_read_only"))[-2:] == ["distinct_range", TRANSACTION]


def test_the_kinds_of_a_transaction_are_summed() -> None:
    kinds = kinds_of(units("oltp_read_write"))
    assert [kind.name for kind in kinds[-3:]] == [FRAME, MIX, TRANSACTION]
    assert kinds[-2].sums == {kind.name: 10 if kind.name == "point_select" else 1 for kind in kinds[:-2]}
    assert [kind.name for kind in kinds_of(units("oltp_point_select"))] == ["point_select"]


def test_entangled_transactions_are_counted_whole() -> None:
    found = units("tpcc")
    assert len(found) == 9
    assert all(name.startswith(TRANSACTION) for name in names(found))
    assert sum(unit.kind.per_transaction for unit in found[:-1]) == pytest.approx(1)


@pytest.mark.parametrize("name", sorted(path.stem for path in workload.FOLDER.glob("*.toml")))
def test_every_shipped_workload_has_kinds(name: str) -> None:
    found = units(name)
    assert len(set(names(found))) == len(found)
    assert all(unit.kind.units >= 10 for unit in found)
