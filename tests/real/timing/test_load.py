"""Prepared statements, rates, thousands of connections, and lost ones, on a real server."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from shootout._engine import Engine, LoadError
from shootout.inputs import workload
from shootout.measure import dataset
from shootout.measure.dataset import Template
from shootout.measure.managed import connect
from shootout.model.plan import Dataset, Load
from shootout.model.workload import Thread
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance
from shootout.servers.sources.trees import Tree
from tests.support.engine.loads import SCHEMA, after, an_engine
from tests.support.measure.servers import loaded
from tests.support.runs import a_tree, until
from tests.unit.inputs.test_workload import a_step, compiled

# Not 5.7: on a busy machine it sometimes never ends the threads of killed sessions.
NAME = "mysql-8.0.12"

OPTIONS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "1",  # commits survive a crash
    "skip-log-bin": "",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
    "max-connections": "5000",
}
DATASET = Dataset(tables=2, rows=1_000, seed=3)
TIMEOUT_S = 30.0
DEADLOCK, ENDED, LOST, NO_SOCKET = 1213, 4031, 2013, 2002


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tree, Template]:
    tree = a_tree(NAME)
    return tree, dataset.template(tree, OPTIONS, [DATASET], tmp_path_factory.mktemp("cache"))


@contextmanager
def started(template: tuple[Tree, Template], home: Path) -> Iterator[Instance]:
    tree, loaded = template
    loaded.copy_to(home)
    with instances.start(tree, home, OPTIONS) as running:
        yield running


@pytest.fixture(scope="module")
def shared(template: tuple[Tree, Template], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with started(template, tmp_path_factory.mktemp("shared") / "instance") as running:
        yield running


@pytest.fixture
def instance(shared: Instance) -> Instance:
    """The shared server, without connections of earlier tests."""
    until(lambda: shared.status()["Threads_connected"] == 1)
    return shared


@pytest.fixture
def mortal(template: tuple[Tree, Template], tmp_path: Path) -> Iterator[Instance]:
    """A server for one test, which may kill it."""
    with started(template, tmp_path / "instance") as running:
        yield running


def program(name: str, **changes: object) -> bytes:
    """A workload's program with some fields changed."""
    compiled = msgspec.json.encode(workload.compile_program(name, workload.load(name), DATASET))
    return json.dumps(json.loads(compiled) | changes).encode()


# --- prepared statements ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oltp_point_select", "oltp_read_only", "oltp_read_write"])
def test_prepared_statements_are_executed_and_counted(name: str, instance: Instance) -> None:
    engine = an_engine(program(name, prepared=True), instance, connections=4, workers=2)
    before = instance.status()
    taken = engine.slice(0, 0.0, 0.5, TIMEOUT_S)
    after_ = instance.status()
    assert taken.completed > 0
    assert set(taken.errors) <= {DEADLOCK}
    executed = after_["Com_stmt_execute"] - before["Com_stmt_execute"]
    begun = after_["Com_begin"] - before["Com_begin"]  # 5.7 takes BEGIN as text only
    assert executed + begun == taken.reads + taken.writes + taken.other
    assert after_["Com_stmt_prepare"] == before["Com_stmt_prepare"]
    assert after_["Com_select"] - before["Com_select"] == taken.reads


# --- rates -----------------------------------------------------------------------------------------


def test_a_stopped_second_shows_in_the_percentiles_of_a_rate(instance: Instance) -> None:
    pace = {"type": "open", "rate": 500, "poisson": False}
    engine = an_engine(program("oltp_point_select", pace=pace), instance, connections=8)
    engine.slice(0, 0.0, 0.3, TIMEOUT_S)

    def stop() -> None:
        os.kill(instance.pid, signal.SIGSTOP)
        time.sleep(1.0)
        os.kill(instance.pid, signal.SIGCONT)

    with after(1.0, stop):
        taken = engine.slice(0, 0.0, 4.0, TIMEOUT_S)
    assert taken.completed == pytest.approx(2000, abs=2)  # no arrival is dropped
    # A quarter of the arrivals fell into the second, evenly: a tenth of all waited 0.6 s or more.
    assert taken.latencies.percentile(90) == pytest.approx(0.6, abs=0.2)
    assert taken.latencies.max_s == pytest.approx(1.0, abs=0.25)


# --- thousands of connections ----------------------------------------------------------------------


def test_thousands_of_connections(instance: Instance) -> None:
    engine = an_engine(program("oltp_point_select"), instance, connections=4096)
    assert instance.status()["Threads_connected"] == 4097
    taken = engine.slice(0, 0.0, 1.0, TIMEOUT_S)
    assert taken.completed > 4096
    assert not taken.errors


def test_over_tcp_a_greeting_may_come_with_the_connection(instance: Instance) -> None:
    """It nearly always does when hundreds of connections are opened at once."""
    login = instance.login
    engine = Engine(program("oltp_point_select"), 1)
    connect(engine, instance, SCHEMA, 1)  # from here on the server knows the password's digest
    for _ in range(3):
        address = f"127.0.0.1:{instance.port}"
        server = engine.connect(address, login.user, login.password, SCHEMA, 300, TIMEOUT_S)
        assert engine.slice(server, 0.01, 0.2, TIMEOUT_S).completed > 0


# --- losses ----------------------------------------------------------------------------------------


def test_sessions_ended_for_idleness_come_back(tmp_path: Path) -> None:
    # Before 8.0.24 a server says nothing when it ends them.
    with loaded("mysql-9.7", tmp_path, OPTIONS, DATASET) as instance:
        instance.query("SET GLOBAL wait_timeout = 1")
        engine = Engine(program("oltp_point_select", reconnect=True), 1)
        connect(engine, instance, SCHEMA, 4)
        until(lambda: instance.status()["Threads_connected"] == 1)
        taken = engine.slice(0, 0.0, 0.5, TIMEOUT_S)
    assert taken.errors == {ENDED: 4}
    assert taken.completed > 0


def test_a_restart_under_load_is_counted_and_loses_no_count(
    template: tuple[Tree, Template], mortal: Instance
) -> None:
    (tree, _), instance = template, mortal
    instance.query(f"CREATE TABLE {SCHEMA}.t (id INT PRIMARY KEY, v INT NOT NULL)")
    instance.query(f"INSERT INTO {SCHEMA}.t VALUES (1, 0), (2, 0), (3, 0), (4, 0)")
    count_up = a_step("UPDATE t SET v = v + 1 WHERE id = {thread}")
    engine = Engine(
        msgspec.json.encode(compiled(count_up, load=Load(reconnect=True), parameters={"thread": Thread()})), 1
    )
    connect(engine, instance, SCHEMA, 4)
    again: list[subprocess.Popen[bytes]] = []

    def restart() -> None:
        os.kill(instance.pid, signal.SIGKILL)
        until(lambda: not instance.alive())  # a zombie counts as owner of the socket
        time.sleep(0.5)
        command = [tree.name, f"--defaults-file={instance.directory / 'my.cnf'}"]
        again.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    completed = lost = unreachable = 0
    try:
        with after(0.5, restart):
            deadline = time.monotonic() + TIMEOUT_S
            while time.monotonic() < deadline:
                is_back = bool(again)
                taken = engine.slice(0, 0.0, 0.25, TIMEOUT_S)
                completed += taken.completed
                lost += taken.errors.get(LOST, 0)
                unreachable += taken.errors.get(NO_SOCKET, 0)
                assert set(taken.errors) <= {LOST, NO_SOCKET, 1053}
                if is_back and taken.completed:
                    break
        assert lost >= 4  # one more where the dying server took a new connection
        assert unreachable > 0
        with instance.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT SUM(v) FROM {SCHEMA}.t")
            (row,) = cursor.fetchall()
        # Transactions in flight at the crash may or may not have committed.
        assert completed <= row[0] <= completed + lost
    finally:
        for process in again:
            process.kill()
            process.wait()


def test_without_the_policy_a_loss_ends_the_load(mortal: Instance) -> None:
    engine = an_engine(program("oltp_read_only"), mortal, connections=2)
    kill = partial(os.kill, mortal.pid, signal.SIGKILL)
    with after(0.2, kill), pytest.raises(LoadError, match="connection"):
        engine.slice(0, 0.0, 2.0, TIMEOUT_S)
