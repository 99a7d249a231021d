"""Changes that people meet and that change a plan: a statement for each, and what changes it."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "planned"
OPTIONS = {"innodb-buffer-pool-size": "64M", "innodb-log-file-size": "16M", "performance-schema": "OFF"}
BIG = f"{SCHEMA}.big"
_DIGITS = " UNION ALL ".join(f"SELECT {digit} AS d" for digit in range(10))
TABLES = (
    f"CREATE DATABASE {SCHEMA}",
    f"CREATE TABLE {BIG} (id INT PRIMARY KEY, k INT, j INT, c CHAR(60), KEY k (k), KEY j (j))",
    f"CREATE TABLE {SCHEMA}.small (id INT PRIMARY KEY, big_id INT, v INT, KEY big_id (big_id))",
    f"CREATE TABLE {SCHEMA}.sparse (id INT PRIMARY KEY, r INT, g INT, f INT, KEY r (r), KEY g (g))",
    f"INSERT INTO {BIG} SELECT id, id % 500, id % 700, 'x'"
    " FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS id"
    f" FROM ({_DIGITS}) a, ({_DIGITS}) b, ({_DIGITS}) c, ({_DIGITS}) e) numbers",
    f"INSERT INTO {SCHEMA}.small SELECT id, id * 7, id % 20 FROM {BIG} WHERE id < 200",
    f"INSERT INTO {SCHEMA}.sparse SELECT id, IF(id < 100, id, NULL), id % 500, 0 FROM {BIG}",
    f"ALTER TABLE {BIG} FORCE",  # as large as after a change that is undone
    f"CREATE VIEW {SCHEMA}.seen AS SELECT k, j, c FROM {BIG}",
)
# Since 8.0 a plan depends on how much of a table is in memory, where a workload would have brought it.
WARM = tuple(
    f"SELECT SUM({column}) FROM {SCHEMA}.{table}"
    for table, column in (("big", "LENGTH(c)"), ("sparse", "f"), ("small", "v"))
)
_PADS = [f"pad{number}" for number in range(6)]
_ADDED = ", ".join(f"ADD COLUMN {pad} CHAR(250) NOT NULL DEFAULT 'x'" for pad in _PADS)
_REMOVED = ", ".join(f"DROP COLUMN {pad}" for pad in _PADS)
_LONG_LIST = ", ".join(map(str, range(0, 400, 2)))


@dataclass(frozen=True)
class Case:
    """A statement, what changes its plan, and what undoes that; each may be several statements."""

    sql: str
    change: tuple[str, ...]
    undo: tuple[str, ...]
    since: tuple[int, ...] = (5, 7)  # version of MySQL that knows it


def _switched(sql: str, switch: str, value: str = "off") -> Case:
    back = "on" if value == "off" else "off"
    return Case(
        sql,
        (f"SET GLOBAL optimizer_switch='{switch}={value}'",),
        (f"SET GLOBAL optimizer_switch='{switch}={back}'",),
    )


CASES = {
    "an index dropped": Case(
        "SELECT c FROM big WHERE k = 77",
        (f"ALTER TABLE {BIG} DROP INDEX k",),
        (f"ALTER TABLE {BIG} ADD INDEX k (k)",),
    ),
    "an index invisible": Case(
        "SELECT c FROM big WHERE j = 77",
        (f"ALTER TABLE {BIG} ALTER INDEX j INVISIBLE",),
        (f"ALTER TABLE {BIG} ALTER INDEX j VISIBLE",),
        since=(8, 0),
    ),
    "a covering index": Case(
        "SELECT c FROM big WHERE k = 78",
        (f"ALTER TABLE {BIG} ADD INDEX kc (k, c)",),
        (f"ALTER TABLE {BIG} DROP INDEX kc",),
    ),
    "an index forced by a view": Case(
        "SELECT c FROM seen WHERE k = 5 AND j BETWEEN 5 AND 100",
        (f"ALTER VIEW {SCHEMA}.seen AS SELECT k, j, c FROM {BIG} FORCE INDEX (j)",),
        (f"ALTER VIEW {SCHEMA}.seen AS SELECT k, j, c FROM {BIG}",),
    ),
    "a list too long for the range optimizer": Case(
        f"SELECT c FROM big WHERE id IN ({_LONG_LIST})",
        ("SET GLOBAL range_optimizer_max_mem_size = 1000",),
        ("SET GLOBAL range_optimizer_max_mem_size = DEFAULT",),
    ),
    "statistics without NULLs": Case(
        "SELECT COUNT(f) FROM small JOIN sparse ON sparse.r = small.v AND sparse.g = small.id",
        ("SET GLOBAL innodb_stats_method = 'nulls_ignored'", f"ANALYZE TABLE {SCHEMA}.sparse"),
        ("SET GLOBAL innodb_stats_method = 'nulls_equal'", f"ANALYZE TABLE {SCHEMA}.sparse"),
    ),
    "a histogram": Case(
        "SELECT COUNT(*) FROM big JOIN sparse ON sparse.id = big.id"
        " WHERE f = 1 AND c BETWEEN 'x' AND 'z' AND c > 'a'",
        (f"ANALYZE TABLE {SCHEMA}.sparse UPDATE HISTOGRAM ON f",),
        (f"ANALYZE TABLE {SCHEMA}.sparse DROP HISTOGRAM ON f",),
        since=(8, 0),
    ),
    "larger rows": Case(
        "SELECT c FROM big WHERE k BETWEEN 100 AND 190",
        (f"ALTER TABLE {BIG} {_ADDED}", f"ALTER TABLE {BIG} FORCE"),
        (f"ALTER TABLE {BIG} {_REMOVED}", f"ALTER TABLE {BIG} FORCE"),
    ),
    "index condition pushdown": _switched(
        "SELECT c FROM big WHERE k BETWEEN 5 AND 9 AND k % 2 = 1", "index_condition_pushdown"
    ),
    "multi-range read": _switched("SELECT c FROM big WHERE j BETWEEN 5 AND 9", "mrr_cost_based"),
    "index merge": _switched("SELECT c FROM big WHERE k = 5 OR j = 6", "index_merge"),
    "derived merge": _switched("SELECT * FROM (SELECT id, v FROM small) d WHERE v = 3", "derived_merge"),
    "semijoin": _switched("SELECT c FROM big WHERE id IN (SELECT big_id FROM small)", "semijoin"),
    "materialization": _switched("SELECT c FROM big WHERE k NOT IN (SELECT v FROM small)", "materialization"),
    "join buffers": _switched("SELECT COUNT(*) FROM small a JOIN small b ON a.v = b.v", "block_nested_loop"),
    "clustered order of an index": _switched(
        "SELECT id FROM big WHERE k = 5 AND id BETWEEN 5 AND 900", "use_index_extensions"
    ),
}


def cases_for(version: tuple[int, ...]) -> dict[str, Case]:
    """Choose the cases that a version of MySQL knows."""
    return {name: case for name, case in CASES.items() if version >= case.since}
