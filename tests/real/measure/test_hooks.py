"""A workload's setup and checks on a real server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import msgspec
import pytest

from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import dataset
from shootout.measure.dataset import SCHEMAS
from shootout.measure.hooks import Hooks
from shootout.model.plan import NUMBERS, Dataset, DatasetSize
from shootout.model.workload import Check
from shootout.servers import running
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import loaded
from tests.support.still import standing_still
from tests.unit.inputs.test_workload import a_step, a_workload

OPTIONS = {"innodb-log-file-size": "16M", "skip-log-bin": ""}
OWN = DatasetSize(engine="MyISAM").of_kind("own")
SBTEST = DatasetSize(tables=1, rows=10).of_kind("sbtest")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with loaded("mysql-5.7.22", tmp_path_factory.mktemp("server"), OPTIONS, SBTEST) as instance:
        yield instance


def the_hooks(server: Instance, *setup: str, checks: tuple[str, ...] = (), tables: Dataset = OWN) -> Hooks:
    named = tuple(Check(name=f"check{number}", sql=sql) for number, sql in enumerate(checks))
    return Hooks(server, a_workload(a_step("DO 1"), dataset=tables.kind, setup=setup, checks=named), tables)


def test_a_schema_of_its_own_is_empty_before(server: Instance) -> None:
    hooks = the_hooks(server, "CREATE TABLE t{thread} (a INT)", "INSERT INTO t1 VALUES (1)")
    for _ in range(2):  # the second time, too
        hooks.set_up(threads=2)
        tables = server.query(
            "SELECT table_name, engine, table_rows FROM information_schema.tables "
            f"WHERE table_schema = '{SCHEMAS['own']}' ORDER BY 1"
        )
        assert tables == (("t1", "MyISAM", 1), ("t2", "MyISAM", 0))


def test_own_workloads_share_numbers_and_nothing_else(server: Instance) -> None:
    dataset.load(server, msgspec.structs.replace(OWN, digest=NUMBERS))
    for name in ("one", "two"):
        made = a_workload(
            a_step("SELECT b FROM t"),
            dataset="own",
            setup=(f"CREATE TABLE t SELECT n AS {name} FROM seq WHERE n > 999990",),
        )
        Hooks(server, made, workload.dataset_of(made, DatasetSize(), f"{name}.toml")).set_up(threads=1)
    tables = server.query(
        "SELECT column_name, COUNT(DISTINCT table_schema) FROM information_schema.columns "
        f"WHERE table_schema LIKE '{SCHEMAS['own']}%' AND table_name = 't' "
        "AND column_name IN ('one', 'two') GROUP BY 1"
    )
    assert sorted(tables) == [("one", 1), ("two", 1)]


def test_a_setup_says_what_the_server_warns_of_without_values(server: Instance) -> None:
    hooks = the_hooks(
        server,
        "DROP TABLE IF EXISTS nowhere",
        "CREATE TABLE t (a INT)",
        "INSERT IGNORE INTO t (a) VALUES ('secret')",
    )
    assert hooks.set_up(threads=1) == ("Incorrect integer value: '…' for column 'a' at row 1",)


def test_other_datasets_are_added_to(server: Instance) -> None:
    the_hooks(server, "CREATE TABLE more SELECT * FROM sbtest1", tables=SBTEST).set_up(threads=1)
    assert server.query("SELECT COUNT(*) FROM shootout.more") == ((10,),)


def test_a_setup_that_fails_says_where(server: Instance) -> None:
    hooks = the_hooks(server, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1, 2)")
    with pytest.raises(MeasureError, match=r"^setup: INSERT INTO t VALUES \(1, 2\): .*Column count"):
        hooks.set_up(threads=1)


def test_a_check_that_gives_a_row_shows_it(server: Instance) -> None:
    checks = ("SELECT a FROM t WHERE a > 2", "SELECT a, a * 2 AS twice FROM t ORDER BY a", "SELECT 1")
    hooks = the_hooks(server, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1), (2)", checks=checks)
    hooks.set_up(threads=1)
    expected = "check check1: expected no row, found a = 1, twice = 2"
    with pytest.raises(MeasureError, match=f"^{re.escape(expected)}$"):
        hooks.check()
    server.query(f"DELETE FROM {SCHEMAS['own']}.t")
    with pytest.raises(MeasureError, match=r"^check check2: expected no row, found 1 = 1$"):
        hooks.check()


def test_checks_that_hold_are_silent(server: Instance) -> None:
    hooks = the_hooks(server, "CREATE TABLE t (a INT)", checks=("SELECT a FROM t", "SELECT 1 FROM t"))
    hooks.set_up(threads=1)
    hooks.check()


def test_a_check_that_cannot_be_asked_says_why(server: Instance) -> None:
    hooks = the_hooks(server, checks=("SELECT * FROM nowhere",))
    hooks.set_up(threads=1)
    with pytest.raises(MeasureError, match=r"^check check0: .*nowhere' doesn't exist"):
        hooks.check()


def test_a_server_that_stands_still_holds_nobody_up(
    server: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped server, or one that waits for a lost disk, accepts connections and never answers."""
    monkeypatch.setattr(running, "QUERY_TIMEOUT_S", 0.5)
    hooks = the_hooks(server, "CREATE TABLE t (a INT)", checks=("SELECT a FROM t",))
    hooks.set_up(threads=1)
    with standing_still(server.pid):
        began_s = time.monotonic()
        with pytest.raises(MeasureError, match="timed out"):
            hooks.set_up(threads=1)
        with pytest.raises(MeasureError, match="timed out"):
            hooks.check()
        with pytest.raises(MeasureError, match=r"SELECT 1: .*timed out"):
            server.query("SELECT 1", 0.5)
        assert time.monotonic() - began_s < 10
    assert server.query("SELECT 1") == ((1,),)
