from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from shootout.document import journal
from shootout.inputs import workload
from shootout.measure import results, statements
from shootout.model.plan import Dataset
from shootout.model.run import OTHER_ROWS, REMARK, Warning
from tests.plans import planned
from tests.runs import BASE, HEAD, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.runs"]

WORKLOAD = """
title = "Rows"
description = "The same on every server, but for one statement."
dataset = "own"
setup = ["CREATE TABLE t (id INT PRIMARY KEY, x DOUBLE)", "INSERT INTO t VALUES (1, 0.1), (2, 0.2), (3, 0.3)"]
[parameters]
id = { type = "integer", min = 1, max = 3 }
[[transactions]]
skip_trx = 1
[[transactions.steps]]
statements = [
    { name = "same", sql = "SELECT id, x * 3 FROM t WHERE id <= {id} ORDER BY id DESC" },
    { name = "version", sql = "SELECT VERSION(), {id}" },
    { name = "written", sql = "UPDATE t SET x = x + 1 WHERE id = {id}" },
]
"""


OTHER = '{ name = "version", sql = "SELECT VERSION(), {id}" },'


@pytest.mark.real
@pytest.mark.parametrize("same", [True, False])
def test_a_statement_that_returns_other_rows_is_named(same: bool, lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "rows.toml"
    file.write_text(WORKLOAD.replace(OTHER, "") if same else WORKLOAD)
    done = lab.run(
        *(SHOOTOUT, "run", "--check-results", "--profile", str(lab.once), "--servers", f"{BASE},{HEAD}"),
        *("--workloads", str(file), "--threads", "1", "--out", str(tmp_path / "out")),
    )
    header = journal.read(document_in(tmp_path / "out")).header
    assert header.same_rows is same
    (page,) = (tmp_path / "out" / "site" / "runs").glob("*/index.html")
    for text in (done.stdout, page.read_text("utf-8").replace("&#39;", "'")):
        assert ("every server returns the base's rows" in text) is same
    assert lab.left() == ([], [])
    if same:
        assert done.returncode in (0, 1), done.stderr
        return
    assert done.returncode == 3, done.stderr
    (warning,) = header.servers[1].warnings
    assert warning.code == OTHER_ROWS
    (named,) = [line for line in done.stderr.splitlines() if "other rows" in line]
    assert f"rows, statement `version`: {HEAD} returns other rows than {BASE} in 20 of 20 executions" in named
    assert named.endswith("1 row with other values")


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
    assert str(found) == (
        "w, statement `k`: b returns other rows than a in 2 of 3 executions; in the first, 2 rows instead of "
        "1 row"
    )


HALF = """
title = "Half"
description = "MySQL 8.0 lacks half of the rows."
dataset = "own"
setup = [
    "CREATE TABLE t (id INT PRIMARY KEY, x INT)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    "DELETE FROM t WHERE id > 4 /*!80000 OR id > 2 */",
]
[parameters]
id = { type = "integer", min = 1, max = 4 }
[[transactions]]
skip_trx = 1
[[transactions.steps]]
statements = [
    { name = "row", sql = "SELECT x FROM t WHERE id = {id}" },
    { name = "server", sql = "SHOW VARIABLES LIKE 'innodb%'" },
]
"""


@pytest.mark.real
def test_a_head_that_lacks_rows_has_no_verdict(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "half.toml"
    file.write_text(HALF)
    done = lab.run(
        *(SHOOTOUT, "run", "--profile", str(lab.profile), "--servers", f"{BASE},{HEAD}"),
        *("--workloads", str(file), "--threads", "1", "--out", str(tmp_path / "out")),
    )
    assert done.returncode == 3, done.stderr
    said = rf"it returns other rows than {re.escape(BASE)}: `row` returns or changes 0\.[45]"  # half of them
    assert re.search(said, done.stdout), done.stdout
    assert "rows per execution instead of 1\n" in done.stdout  # SHOW depends on the version


def test_what_was_said_of_servers_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results.RowDifference("w", "k", HEAD, BASE, 1, 2, "3")
    monkeypatch.setattr(results, "compared", lambda plan, observe: (found,))
    before = Warning(code=REMARK, text="said before")
    plan, said = results.checked(replace(planned(), told={HEAD: (before,)}), lambda progress: None)
    assert [warning.code for warning in plan.told[HEAD]] == [REMARK, OTHER_ROWS]
    assert said == [str(found)]
