from __future__ import annotations

import re
from pathlib import Path

from tests.support.runs import BASE, HEAD, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]


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
