"""Servers that cannot be counted, or no longer; how much is counted, and how much of it is done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

import pymysql
import pytest

from shootout.count import measure
from shootout.count.pace import Pace
from shootout.count.units import priming, repetition
from shootout.errors import InputError
from shootout.model.run import Progress
from tests.unit.count.test_units import units


def a_server(*version: int) -> Any:
    return SimpleNamespace(
        program=SimpleNamespace(version=version), reference=SimpleNamespace(text="path:/old")
    )


def test_a_server_whose_transactions_cannot_be_left_open_is_refused() -> None:
    measure._require_open_transactions([a_server(5, 5, 0), a_server(8, 0, 12)])
    with pytest.raises(InputError, match=r"^path:/old: before MySQL 5\.5, "):
        measure._require_open_transactions([a_server(8, 0, 12), a_server(5, 1, 73)])


def test_a_server_that_drops_our_own_connection_fails_alone() -> None:
    ended: list[str] = []
    session: Any = SimpleNamespace(
        over=False,
        instance=SimpleNamespace(post_mortem=lambda: "; it is dead"),
        end=lambda error: ended.append(str(error)),
    )

    def drop(_: object) -> NoReturn:
        raise pymysql.err.OperationalError(2013, "Lost connection")

    measure._attempt(drop, session)
    assert ended == ["(2013, 'Lost connection'); it is dead"]


@pytest.mark.parametrize(
    ("workload", "instructions", "often", "before"),
    [
        ("oltp_point_select", None, 50, 500),
        ("oltp_point_select", 0, 50, 2_500),
        ("oltp_point_select", 60_000, 50, 2_500),
        ("oltp_point_select", 61_000, 25, 2_459),
        ("oltp_point_select", 400_000, 5, 375),
        ("oltp_point_select", 10**7, 1, 15),
        ("oltp_point_select", 5 * 10**7, 1, 10),
        ("oltp_point_select", 10**9, 1, 1),
        ("oltp_insert", 100_000, 25, 1_500),
        ("oltp_insert", 5 * 10**6, 10, 100),
        ("oltp_insert", 3 * 10**7, 2, 16),
        ("oltp_insert", 10**9, 1, 1),
    ],
)
def test_a_repetition_has_fewer_of_what_takes_much(
    workload: str, instructions: int | None, often: int, before: int
) -> None:
    (unit,) = units(workload)
    assert (repetition(unit, instructions), priming(unit, instructions)) == (often, before)


def test_the_share_that_is_done_never_falls() -> None:
    now = [0.0]
    shown: list[Progress] = []
    pace = Pace(shown.append, 100, clock=lambda: now[0])
    step = Progress(stage="measure", detail="")
    pace.show(step)
    now[0] = 60.0  # loading
    pace.begin()
    shares = [0.0]
    for seconds in (1, 1, 30, 1, 1, 60, 1, 5):
        now[0] += seconds
        pace.done(10)
        pace.show(step)
        left_s = shown[-1].left_s
        assert left_s is not None
        shares.append(now[0] / (now[0] + left_s))
    assert shown[0].left_s is None
    assert shares == sorted(shares)
    pace.done(20)
    pace.show(step)
    assert shown[-1].left_s == 0.0


def test_to_hold_a_budget_the_first_workload_comes_first_and_writers_last() -> None:
    every = {name: units(name) for name in ("oltp_insert", "oltp_read_only", "oltp_delete")}
    held, whole = ([*measure._chunks(every, hold=hold)] for hold in (True, False))
    assert [unit.kind.workload for unit in held[0]] == ["oltp_insert"]
    assert held[-1][-1].kind.workload == "oltp_delete"
    assert max(map(len, held)) <= measure.CHUNK
    assert [len({unit.leaves for unit in chunk}) for chunk in whole] == [1, 1]
    assert {unit.key for chunk in held for unit in chunk} == {unit.key for chunk in whole for unit in chunk}


def test_only_wanted_kinds_are_counted_and_what_is_subtracted_from_them() -> None:
    counted = units("oltp_read_write")
    workload = "oltp_read_write"

    def chosen(*names: str) -> list[str]:
        found = measure._chosen(counted, [(workload, name) for name in names])
        return [unit.kind.name for unit in found]

    assert chosen() == [unit.kind.name for unit in counted]
    assert chosen("point_select") == ["point_select"]
    assert chosen("delete") == ["delete + insert"]  # as plans call it
    assert chosen("begin + commit") == ["index_update", "begin + commit"]


def test_dear_kinds_are_executed_once_or_left_out() -> None:
    """By what one execution took when it was tried; the first kind is worth more than its share."""
    (unit,) = units("oltp_point_select")
    for left_s, least_s, expected in (
        (60.0, 0.0, "whole"), (30.0, 0.0, "once"), (5.0, 0.0, "left out"), (5.0, 20.0, "once"),
    ):  # fmt: skip
        failed: list[str] = []
        counted = SimpleNamespace(seconds={unit.key: 10.0}, once=set())
        bench: Any = SimpleNamespace(
            counted=counted,
            fails=lambda *key: False,
            fail=lambda error, *key, failed=failed: failed.append(str(error)),
        )
        measure._shorten_dear([bench], [unit], left_s, least_s)
        found = "left out" if failed else "once" if counted.once else "whole"
        assert found == expected
        assert failed in (
            [],
            ["left out: it alone takes 0.3 minutes or more, and the budget has less for it"],
        )
