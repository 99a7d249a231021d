from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import results, statements
from shootout.model.plan import Dataset
from shootout.model.run import OTHER_ROWS, REMARK, Warning
from tests.support.plans import planned
from tests.support.runs import HEAD

pytest_plugins = ["tests.support.runs"]


def test_a_statement_is_of_the_kind_with_most_of_its_text() -> None:
    found = workload.load("oltp_read_only")
    program = workload.compile_program("oltp_read_only", found, Dataset(tables=1, rows=100))
    ranges = "SELECT {} FROM sbtest1 WHERE id BETWEEN 5 AND 104"
    ordered = [
        ranges.format("c"),
        ranges.format("c") + " ORDER BY c",
        ranges.format("DISTINCT c") + " ORDER BY c",
    ]
    kinds = [kind for kind, _ in statements.each_kind(program, iter(["COMMIT", *ordered]))]
    assert kinds == ["simple_range", "order_range", "distinct_range"]


def test_a_long_statement_that_almost_fits_is_told_at_once() -> None:
    values = ", ".join("7" for _ in range(40 * 100))
    texts = ("INSERT INTO t VALUES (", *[", "] * (40 * 100 - 1), ")")
    assert statements._fits(texts, f"INSERT INTO t VALUES ({values})")
    assert statements._fits(
        texts, f"INSERT INTO t VALUES ({values}, ', ')"
    )  # a value has what stands between them
    assert not statements._fits(texts, f"INSERT INTO t VALUES ({values}) AS new")
    assert not statements._fits(texts, f"INSERT INTO t VALUES ({values[3:]})")


def test_each_parameter_has_a_value() -> None:
    for sql, fits in (("a xy b", True), ("a x b", False), ("a xy c", False), ("a xy b ", False)):
        assert statements._fits(("a ", "", " b"), sql) == fits
    assert statements._fits(("a",), "a")
    assert not statements._fits(("a",), "a b")
    assert not statements._fits(("(", ")"), "()")


def test_rows_are_compared_in_any_order_and_inexact_numbers_to_six_digits() -> None:
    rounded = results._rounded
    assert rounded(0.1 + 0.2) == rounded(0.3)
    assert rounded(0.30001) != rounded(0.3)
    assert rounded(Decimal("1.500")) == rounded(Decimal("1.5"))
    assert (rounded("a"), rounded(b"a"), rounded(None), rounded(7)) == ("a", b"a", None, 7)


def test_other_rows_and_errors_are_told_with_the_first_example() -> None:
    one: results.Answer = Counter([(1,)])
    two: results.Answer = Counter([(1,), (2,)])
    answers = {("w", "k"): [one, one, two], ("w", "same"): [one]}
    others = {("w", "k"): [one, two, "error 1064"], ("w", "same"): [one]}
    (found,) = results.differences("a", "b", answers, others)
    assert found == (
        "b",
        "w, statement `k`: b returns other rows than a in 2 of 3 executions; in the first, 2 rows instead of "
        "1 row",
    )


@pytest.mark.parametrize("answers", [{}, {("w", "k"): []}, {("w", "k"): ["error 1146"]}])
def test_without_any_rows_nothing_was_compared(answers: results.Answers) -> None:
    with pytest.raises(MeasureError, match="no statement returns rows on a; there is nothing to compare"):
        [*results.differences("a", "b", answers, answers)]


def test_what_was_said_of_servers_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "compared", lambda plan, observe: ((HEAD, "other rows"),))
    before = Warning(code=REMARK, text="said before")
    plan, said = results.checked(replace(planned(), told={HEAD: (before,)}), lambda progress: None)
    assert [warning.code for warning in plan.told[HEAD]] == [REMARK, OTHER_ROWS]
    assert said == ["other rows"]
