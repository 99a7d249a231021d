"""A bug report's SQL as a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.errors import InputError
from shootout.inputs import workload
from shootout.model.plan import DatasetSize

REPORT = """\
-- A function for each row
DROP DATABASE IF EXISTS test; CREATE DATABASE test;
USE test;
SET @total := 0;
SET GLOBAL max_connections = 100;
CREATE TABLE t (id INT PRIMARY KEY, doc JSON);
INSERT INTO t SELECT n, '{"a": {}}' FROM seq WHERE n <= 100;
DELIMITER //
CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC NO SQL BEGIN RETURN a; END//
DELIMITER ;
SELECT * FROM t INTO OUTFILE '{files}/t.txt';

-- Measure
SELECT SUM(f(id)) FROM t\\G
/* the same; inline */ select SUM(id) FROM t;
DELETE FROM t WHERE id < 0
"""


def test_a_report_is_a_workload_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "report.sql"
    file.write_text(REPORT.replace("\\\\", "\\"), "utf-8")
    loaded = workload.load(str(file))
    dataset = workload.dataset_of(loaded, DatasetSize(), str(file))
    program = workload.compile_program("report", loaded, dataset)
    assert (workload.name_from(str(file)), loaded.title) == ("report", "A function for each row")
    assert workload.setup(loaded, dataset, threads=2) == (
        "SET @total := 0",
        "SET GLOBAL max_connections = 100",
        "CREATE TABLE t (id INT PRIMARY KEY, doc JSON)",
        """INSERT INTO t SELECT n, '{"a": {}}' FROM seq WHERE n <= 100""",
        "CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC NO SQL BEGIN RETURN a; END",
        f"SELECT * FROM t INTO OUTFILE '{dataset.files}/t.txt'",
    )
    assert program.session == ("SET @total := 0",)
    (transaction,) = program.transactions
    sent = [statement for step in transaction.steps for statement in step.statements]
    assert [(program.kinds[each.kind].name, each.pieces) for each in sent] == [
        ("select_1", ("SELECT SUM(f(id)) FROM t",)),
        ("select_2", ("select SUM(id) FROM t",)),
        ("delete", ("DELETE FROM t WHERE id < 0",)),
    ]
    assert not transaction.begin
    assert workload.reads_numbers(loaded)
    assert workload.uses_files(loaded)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;", "no line `-- measure`"),
        ("SELECT 1;\n-- measure\n  -- nothing\n", "no statement below the line `-- measure`"),
        ("\xff", "not UTF-8 text"),
    ],
)
def test_a_file_that_is_no_report_says_what_one_looks_like(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "report.sql"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=expected):
        workload.load(str(file))
