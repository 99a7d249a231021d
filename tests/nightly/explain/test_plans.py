"""Plans of a real server: changes that people meet are found, and re-sampled statistics are no change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from shootout.analysis import plan_changes
from shootout.errors import MeasureError
from shootout.measure import execution_plans, statements
from shootout.model.execution_plan import ExecutionPlan, PlanChange
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import fresh
from tests.support.runs import HEAD

pytest_plugins = ["tests.support.runs"]

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with fresh(HEAD, tmp_path_factory.mktemp("planned") / "instance", OPTIONS) as running:
        for sql in TABLES:
            running.query(sql)
        yield running


def planned(server: Instance, sent: Mapping[str, str], label: str) -> list[ExecutionPlan]:
    return list(execution_plans.planned(server, SCHEMA, sent, start=1, server=label))


def changes(found: list[ExecutionPlan]) -> list[PlanChange]:
    return [each for each in plan_changes.compared(found, "base", "head") if each.changed]


@pytest.mark.parametrize("name", CASES)
def test_a_changed_plan_is_found(name: str, server: Instance) -> None:
    case = CASES[name]
    before = planned(server, {name: case.sql}, "base")
    try:
        for sql in case.change:
            server.query(sql)
        after = planned(server, {name: case.sql}, "head")
    finally:
        for sql in case.undo:
            server.query(sql)
    assert not [each.error for each in before + after if each.error]
    assert [each.kind for each in changes(before + after)] == [name], (before[0].steps, after[0].steps)
    assert changes(before + planned(server, {name: case.sql}, "head")) == []


def test_statistics_that_change_a_plan_are_noted(server: Instance) -> None:
    sql = {"join": "SELECT COUNT(v) FROM small JOIN big ON big.id = small.big_id WHERE c > ''"}
    before = planned(server, sql, "base")
    server.query(
        "UPDATE mysql.innodb_table_stats SET n_rows = 3, clustered_index_size = 1 WHERE table_name = 'big'"
    )
    server.query(f"FLUSH TABLE {BIG}")
    (found,) = plan_changes.compared(before + planned(server, sql, "head"), "base", "head")
    assert found.unsteady
    assert not found.changed


def test_a_hundred_samples_of_statistics_are_no_change(server: Instance) -> None:
    sent = {name: case.sql for name, case in CASES.items()}
    found: dict[str, list[ExecutionPlan]] = {"base": [], "head": []}
    for _ in range(100 // (execution_plans.DRAWS - 1) + 1):
        for label in found:
            found[label] += planned(server, sent, label)
    assert len(found["head"]) >= 100 * len(CASES)
    for base, head in zip(*(_by_call(each) for each in found.values()), strict=True):
        assert changes(base + head) == []


def _by_call(found: list[ExecutionPlan]) -> list[list[ExecutionPlan]]:
    size = execution_plans.DRAWS * len(CASES)
    return [found[at : at + size] for at in range(0, len(found), size)]


def test_a_prepared_statement_has_its_own_plan(server: Instance) -> None:
    case = CASES["an index dropped"]
    (text,) = planned(server, {"k": case.sql}, "base")[:1]
    own = {"k": (case.sql.replace("77", "?"), ("77",))}
    before = server.status()
    found = list(
        execution_plans.planned(server, SCHEMA, {"k": case.sql}, start=1, server="base", prepared=own)
    )
    after = server.status()
    asked = int(after["Com_execute_sql"]) - int(before["Com_execute_sql"])
    assert asked == execution_plans.DRAWS + 1  # FORMAT=JSON, too
    assert [(each.steps, each.error) for each in found] == [(text.steps, "")] * execution_plans.DRAWS
    assert (found[0].text != "", found[0].sql) == (True, text.sql)


def test_what_the_server_warns_of_stands_beside_the_plan(server: Instance) -> None:
    case = CASES["a list too long for the range optimizer"]
    assert planned(server, {"list": case.sql}, "base")[0].warnings == ()
    try:
        for sql in case.change:
            server.query(sql)
        (found, *_) = planned(server, {"list": case.sql}, "head")
    finally:
        for sql in case.undo:
            server.query(sql)
    (said,) = found.warnings
    assert "'range_optimizer_max_mem_size' exceeded" in said


def test_a_statement_that_cannot_be_explained_says_why(server: Instance) -> None:
    (found, *_) = planned(server, {"broken": "SELECT nothing FROM big"}, "base")
    assert "nothing" in found.error
    assert plan_changes.compared([found], "base", "base") == []


def test_no_literal_is_in_a_plan(server: Instance) -> None:
    words = [f"w{at}q" for at in range(1_000, 1_500)]
    sent = {
        word: f"SELECT k FROM big WHERE id IN ({at}, {at + 1}) OR k = {at} AND CONCAT(id) > '{word}'"
        for at, word in enumerate(words, 7_654_000)
    }
    for found in planned(server, sent, "base")[: len(sent)]:
        assert found.steps
        assert not [each for each in (found.kind, "7654") if each in f"{found.sql}{found.text}{found.error}"]


def test_nothing_is_written(server: Instance) -> None:
    before = server.query(f"SELECT COUNT(*), SUM(k) FROM {BIG}")
    (found, *_) = planned(server, {"update": "UPDATE big SET k = k + 1 WHERE id = 3"}, "base")
    assert found.handlers == {"Handler_read_key": 1.0, "Handler_update": 1.0}
    assert server.query(f"SELECT COUNT(*), SUM(k) FROM {BIG}") == before


def test_a_server_without_a_log_in_a_table_says_so(server: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "variables", dict)  # as before MySQL 5.1.6
    with pytest.raises(MeasureError, match=r"^8\.0\.12 cannot log statements to a table; MySQL can since"):
        statements.logged(server, pytest.fail)


def test_a_server_that_explains_in_trees_by_default_is_asked_for_rows(tmp_path: Path) -> None:
    options = {"explain_format": "TREE"}  # the default of MySQL 9.7
    with fresh("mysql-8.0.33", tmp_path / "instance", options) as running:
        (plan, *_) = execution_plans.planned(
            running, "mysql", {"user": "SELECT * FROM user"}, start=1, server="a"
        )
    assert [step.table for step in plan.steps] == ["user"]
    assert plan.error == ""
