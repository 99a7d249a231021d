"""Plans of a real server: changes that people meet are found, and re-sampled statistics are no change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from shootout.analysis import plan_changes
from shootout.analysis.plan_changes import PlanChange
from shootout.measure import plans
from shootout.model.explanation import StatementPlan
from shootout.servers import instances
from shootout.servers.instances import Instance
from tests.runs import HEAD, a_tree

pytest_plugins = ["tests.runs"]
pytestmark = pytest.mark.real

SCHEMA = "planned"
OPTIONS = {"innodb-buffer-pool-size": "64M", "innodb-log-file-size": "16M", "performance-schema": "OFF"}
BIG = f"{SCHEMA}.big"
DIGITS = " UNION ALL ".join(f"SELECT {digit} AS d" for digit in range(10))
TABLES = (
    f"CREATE DATABASE {SCHEMA}",
    f"CREATE TABLE {BIG} (id INT PRIMARY KEY, k INT, j INT, c CHAR(60), KEY k (k), KEY j (j))",
    f"CREATE TABLE {SCHEMA}.small (id INT PRIMARY KEY, big_id INT, v INT, KEY big_id (big_id))",
    f"INSERT INTO {BIG} SELECT id, id % 500, id % 700, 'x'"
    " FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS id"
    f" FROM ({DIGITS}) a, ({DIGITS}) b, ({DIGITS}) c, ({DIGITS}) e) numbers",
    f"INSERT INTO {SCHEMA}.small SELECT id, id * 7, id % 20 FROM {BIG} WHERE id < 200",
)
LONG_LIST = ", ".join(map(str, range(0, 400, 2)))


@dataclass(frozen=True)
class Case:
    """A statement, and what changes its plan."""

    sql: str
    change: str
    undo: str


def switched(sql: str, switch: str, value: str = "off") -> Case:
    back = "on" if value == "off" else "off"
    return Case(
        sql,
        f"SET GLOBAL optimizer_switch='{switch}={value}'",
        f"SET GLOBAL optimizer_switch='{switch}={back}'",
    )


CASES = {
    "an index dropped": Case(
        "SELECT c FROM big WHERE k = 77",
        f"ALTER TABLE {BIG} DROP INDEX k",
        f"ALTER TABLE {BIG} ADD INDEX k (k)",
    ),
    "an index invisible": Case(
        "SELECT c FROM big WHERE j = 77",
        f"ALTER TABLE {BIG} ALTER INDEX j INVISIBLE",
        f"ALTER TABLE {BIG} ALTER INDEX j VISIBLE",
    ),
    "a covering index": Case(
        "SELECT c FROM big WHERE k = 78",
        f"ALTER TABLE {BIG} ADD INDEX kc (k, c)",
        f"ALTER TABLE {BIG} DROP INDEX kc",
    ),
    "a list too long for the range optimizer": Case(
        f"SELECT c FROM big WHERE id IN ({LONG_LIST})",
        "SET GLOBAL range_optimizer_max_mem_size = 1000",
        "SET GLOBAL range_optimizer_max_mem_size = DEFAULT",
    ),
    "index condition pushdown": switched(
        "SELECT c FROM big WHERE k BETWEEN 5 AND 9 AND k % 2 = 1", "index_condition_pushdown"
    ),
    "multi-range read": switched("SELECT c FROM big WHERE j BETWEEN 5 AND 9", "mrr_cost_based"),
    "index merge": switched("SELECT c FROM big WHERE k = 5 OR j = 6", "index_merge"),
    "derived merge": switched("SELECT * FROM (SELECT id, v FROM small) d WHERE v = 3", "derived_merge"),
    "semijoin": switched("SELECT c FROM big WHERE id IN (SELECT big_id FROM small)", "semijoin"),
    "materialization": switched("SELECT c FROM big WHERE k NOT IN (SELECT v FROM small)", "materialization"),
    "join buffers": switched("SELECT COUNT(*) FROM small a JOIN small b ON a.v = b.v", "block_nested_loop"),
    "clustered order of an index": switched(
        "SELECT id FROM big WHERE k = 5 AND id BETWEEN 5 AND 900", "use_index_extensions"
    ),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    tree, home = a_tree(HEAD), tmp_path_factory.mktemp("planned") / "instance"
    instances.initialise(tree, home, OPTIONS)
    with instances.start(tree, home, OPTIONS) as running:
        for sql in TABLES:
            running.query(sql)
        yield running


def explained(server: Instance, statements: Mapping[str, str], label: str) -> list[StatementPlan]:
    return list(plans.explained(server, SCHEMA, statements, start=1, server=label))


def changes(found: list[StatementPlan]) -> list[PlanChange]:
    return [each for each in plan_changes.compared(found, "base", "head") if each.changed]


@pytest.mark.parametrize("name", CASES)
def test_a_changed_plan_is_found(name: str, server: Instance) -> None:
    case = CASES[name]
    before = explained(server, {name: case.sql}, "base")
    server.query(case.change)
    try:
        after = explained(server, {name: case.sql}, "head")
    finally:
        server.query(case.undo)
    assert not [each.error for each in before + after if each.error]
    assert [each.kind for each in changes(before + after)] == [name], (before[0].steps, after[0].steps)
    assert changes(before + explained(server, {name: case.sql}, "head")) == []


def test_statistics_that_change_a_plan_are_noted(server: Instance) -> None:
    sql = {"join": "SELECT COUNT(v) FROM small JOIN big ON big.id = small.big_id WHERE c > ''"}
    before = explained(server, sql, "base")
    server.query(
        "UPDATE mysql.innodb_table_stats SET n_rows = 3, clustered_index_size = 1 WHERE table_name = 'big'"
    )
    server.query(f"FLUSH TABLE {BIG}")
    (found,) = plan_changes.compared(before + explained(server, sql, "head"), "base", "head")
    assert found.unsteady
    assert not found.changed


def test_a_hundred_samples_of_statistics_are_no_change(server: Instance) -> None:
    statements = {name: case.sql for name, case in CASES.items()}
    found: dict[str, list[StatementPlan]] = {"base": [], "head": []}
    for _ in range(100 // (plans.DRAWS - 1) + 1):
        for label in found:
            found[label] += explained(server, statements, label)
    assert len(found["head"]) >= 100 * len(CASES)
    for base, head in zip(*(_by_call(each) for each in found.values()), strict=True):
        assert changes(base + head) == []


def _by_call(found: list[StatementPlan]) -> list[list[StatementPlan]]:
    size = plans.DRAWS * len(CASES)
    return [found[at : at + size] for at in range(0, len(found), size)]


def test_a_statement_that_cannot_be_explained_says_why(server: Instance) -> None:
    (found, *_) = explained(server, {"broken": "SELECT nothing FROM big"}, "base")
    assert "nothing" in found.error
    assert plan_changes.compared([found], "base", "base") == []


def test_nothing_is_written(server: Instance) -> None:
    before = server.query(f"SELECT COUNT(*), SUM(k) FROM {BIG}")
    (found, *_) = explained(server, {"update": "UPDATE big SET k = k + 1 WHERE id = 3"}, "base")
    assert found.handlers == {"Handler_read_key": 1.0, "Handler_update": 1.0}
    assert server.query(f"SELECT COUNT(*), SUM(k) FROM {BIG}") == before
