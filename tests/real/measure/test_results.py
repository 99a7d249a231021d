from __future__ import annotations

from pathlib import Path

from shootout.document import journal
from shootout.model.run import OTHER_ROWS
from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab, document_in

pytest_plugins = ["tests.support.runs"]
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


def test_a_statement_that_returns_other_rows_is_named(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "rows.toml"
    file.write_text(WORKLOAD)
    done = lab.run(
        *(SHOOTOUT, "run", "--check-results", "--profile", str(lab.once), "--servers", f"{BASE},{HEAD}"),
        *("--workloads", str(file), "--threads", "1", "--out", str(tmp_path / "out")),
    )
    header = journal.read(document_in(tmp_path / "out")).header
    assert not header.same_rows
    (page,) = (tmp_path / "out" / "site" / "runs").glob("*/index.html")
    for text in (done.stdout, page.read_text("utf-8").replace("&#39;", "'")):
        assert "every server returns the base's rows" not in text
    assert lab.left() == ([], [])
    assert done.returncode == 3, done.stderr
    (warning,) = header.servers[1].warnings
    assert warning.code == OTHER_ROWS
    (named,) = [line for line in done.stderr.splitlines() if "other rows" in line]
    assert f"rows, statement `version`: {HEAD} returns other rows than {BASE} in 20 of 20 executions" in named
    assert named.endswith("1 row with other values")
