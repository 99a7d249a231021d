"""Counts for capabilities that compare servers by another measure than time."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout.count.documents import COUNTS
from shootout.count.instrument import Callgrind
from shootout.count.values import MIX, TRANSACTION, CountFailure
from shootout.model.verdict import Verdict
from shootout.numbers import SPACE
from tests.support.count.builders import BASE, document, times


def test_the_sum_of_kinds_stands_for_the_workload(tmp_path: Path) -> None:
    gone = CountFailure(server="gone", workload="", reason="it crashed")
    made = structs.replace(document({"a": BASE, "b": times(1.1), "gone": {}}, [gone]), elapsed_s=7.0)
    COUNTS.write(tmp_path, "r2", made)
    COUNTS.write(tmp_path, "r1", document({"a": BASE, "c": BASE}))
    counted = Callgrind().counted(tmp_path, "a")
    assert [*counted] == ["r1.json", "r2.json"]
    second = counted["r2.json"]
    assert (second.failed, second.started) == ({"gone": "it crashed"}, {"a", "b"})
    assert (second.bar, second.seconds, counted["r1.json"].seconds) == (0.005, 7.0, 0.0)
    (count,) = second.counts.values()
    assert (count.verdict, count.server) == (Verdict.REGRESSED, "b")


def test_a_workload_that_is_no_sum_is_its_transaction(tmp_path: Path) -> None:
    made = document({"a": BASE, "b": {**BASE, TRANSACTION: times(1.1)[TRANSACTION]}})
    kinds = tuple(kind for kind in made.kinds if kind.name != MIX)
    COUNTS.write(tmp_path, "r", structs.replace(made, kinds=kinds))
    (counted,) = Callgrind().counted(tmp_path, "a").values()
    ratio = counted.counts["b"].ratio
    assert ratio
    assert ratio.estimate == pytest.approx(1.1, rel=1e-3)


def test_what_differs_is_named_by_statement_and_function(tmp_path: Path) -> None:
    made = document({"a": BASE, "b": {**BASE, "select": times(1.5)["select"]}})
    slower = structs.replace(made.profiles[1], exclusive=(560.0, 40.0), inclusive=(600.0, 40.0))
    COUNTS.write(tmp_path, "r", structs.replace(made, profiles=(made.profiles[0], slower)))
    (said,) = Callgrind().differences(tmp_path, "a", "b")
    assert said.startswith(f"select: 1{SPACE}501 instead of 1{SPACE}000, +50")
    assert said.endswith(": +500 in do_command")
    assert Callgrind().differences(tmp_path, "a", "gone") == ()
