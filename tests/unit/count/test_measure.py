"""Servers that cannot be counted, or no longer; how much is counted, and how much of it is done."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pymysql
import pytest

from shootout import cli
from shootout.count import measure
from shootout.count.bench import Pace
from shootout.count.documents import COUNTS
from shootout.count.units import priming, repetition
from shootout.errors import InputError
from shootout.model.run import Progress
from tests.support.count import builders as counts
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


def test_to_hold_a_budget_own_kinds_come_first_and_others_take_turns() -> None:
    names = ("oltp_read_only", "oltp_insert", "oltp_point_select", "oltp_delete")
    every = {name: units(name) for name in names}
    held, whole = (measure._ordered(every, first) for first in ({"oltp_insert"}, None))
    assert [unit.kind.workload for unit in held[:4]] == [names[1], names[0], names[2], names[0]]
    for order in (held, whole):
        assert order[-1].kind.workload == "oltp_delete"
        assert {unit.key for unit in order} == {unit.key for counted in every.values() for unit in counted}
    assert [unit.leaves for unit in whole] == sorted(unit.leaves for unit in whole)


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


def counting(*names: str, **seconds: float) -> tuple[Any, list[str]]:
    """Make the counting of these workloads, and the reasons of the kinds that it leaves out."""
    sent = [unit for name in names for unit in units(name)]
    failed: list[str] = []
    bench = SimpleNamespace(
        counted=SimpleNamespace(seconds={unit.key: seconds.get("once", 0.0) for unit in sent}, once=set()),
        fails=lambda *key: False,
        fail=lambda error, *key: failed.append(str(error)),
    )
    plan: Any = SimpleNamespace(profile=SimpleNamespace(sampling=SimpleNamespace(budget_s=80.0)))
    return measure._Counting(plan, sent, [bench], Pace(print, 1), None, lambda: None), failed  # type: ignore[list-item]


def test_dear_kinds_are_executed_once_or_left_out() -> None:
    """By what one execution took when it was tried; the first kind is worth more than its share."""
    for left_s, fair_s, once_s, expected in (
        (60.0, 60.0, 10.0, "whole"), (60.0, 6.0, 10.0, "once"), (30.0, 60.0, 10.0, "once"),
        (5.0, 60.0, 10.0, "once"), (5.0, 60.0, 21.0, "left out"),
    ):  # fmt: skip
        found, failed = counting("oltp_point_select", once=once_s)
        found._shorten_dear(found.units, left_s, fair_s)
        (bench,) = found.benches
        assert ("left out" if failed else "once" if bench.counted.once else "whole") == expected
        assert failed in (
            [],
            ["left out: it alone takes 0.7 minutes or more, and the budget has less for it"],
        )


def test_a_start_counts_as_many_kinds_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One first, then what fits at the pace until then, a few at a time."""
    found, failed = counting("oltp_read_only")
    monkeypatch.setattr("time.monotonic", lambda: 10.0)
    assert len(measure._next(found.units, 0, 10.0, 5.0)) == 1  # the first, whatever the time
    assert [len(measure._next(found.units, 2, 8.0, ends_s)) for ends_s in (9.0, 10.5, 13.0, 99.0)] == [
        0, 0, 3, 4,
    ]  # fmt: skip
    assert len(measure._next(found.units, 0, 10.0, None)) == len(found.units)
    found._leave_out(found.units[4:], "why")
    assert failed == ["left out: why"] * (len(found.units) - 4)


def test_plans_are_kept_before_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that is cut short in a later start has them when it is resumed."""
    done: list[str] = []

    class Noted:
        over = False

        def __init__(self, bench: object, instance: object, start: int, progress: object) -> None:
            self.start = start

        def open(self, held: object) -> None:
            pass

        def try_each(self, units: object) -> None:
            pass

        def count(self, units: object, costs: object) -> None:
            done.append("count")

        def plan(self) -> None:
            done.append("plan")

    found, _ = counting("oltp_point_select")
    (bench,) = found.benches
    bench.begin, bench.home, bench.counted.costs = lambda start: SimpleNamespace(kill=print), tmp_path, {}
    monkeypatch.setattr(measure, "Session", Noted)
    found = dataclasses.replace(found, keep=lambda: done.append("keep"))
    for start in (1, 2):
        found._count(found.units, (start,), [bench], None)
    assert done == ["count", "keep", "plan", "keep", "count", "keep"]


def test_only_a_count_of_the_same_question_goes_on(tmp_path: Path) -> None:
    """The newest with equal statements, tables, settings and servers continues."""
    document = counts.document({"mysql-5.7.22": counts.BASE})
    (server,) = document.servers
    plan: Any = SimpleNamespace(
        digests=document.digests, loaded=document.datasets, given={},
        profile=SimpleNamespace(settings=document.settings),
        servers={server.label: SimpleNamespace(reference=SimpleNamespace(text=server.reference))},
    )  # fmt: skip
    COUNTS.write(tmp_path, document.run, document)
    assert measure.to_continue(plan, tmp_path, print) == document
    change: dict[str, Any]
    for change in ({"loaded": ()}, {"digests": {}}, {"given": {"--seed": "7"}}, {"servers": {}}):
        with pytest.raises(InputError, match="no count of these statements and servers to continue"):
            measure.to_continue(SimpleNamespace(**vars(plan) | change), tmp_path, print)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--base mysql-8.0.12 --head dsn:mysql://u@localhost", "only a program on this machine"),
        ("--base mysql-8.0.12", "expected --base REF and --head REF"),
        ("", "expected --base REF and --head REF"),
        ("--base mysql-8.0.12 --head nonsense", "nonsense"),
        ("--base mysql-8.0.12 --head mysql-8.0.33 --resume", "to continue"),
    ],
)
def test_bad_input_is_one_message(
    given: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["count", *given.split(), "--out", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []
