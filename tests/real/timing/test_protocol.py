"""The load engine on real servers: its counts match theirs, and it reports what it cannot do."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from shootout._engine import Engine, Histogram, LoadError, Slice
from shootout.inputs import workload
from shootout.measure import dataset
from shootout.measure.dataset import Template
from shootout.model.plan import Dataset
from shootout.model.workload import Integer, Parameter
from shootout.servers.processes.instances import Instance, start
from shootout.servers.sources.trees import Tree
from tests.support.engine.loads import SCHEMA, after, an_engine
from tests.support.runs import a_tree, until
from tests.unit.inputs.test_workload import a_step, a_workload

OPTIONS = {
    "innodb-log-file-size": "128M",  # a statement's text must fit into a tenth of the log
    "innodb-buffer-pool-size": "128M",
    "innodb-flush-log-at-trx-commit": "2",
    "skip-log-bin": "",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
    "max-allowed-packet": "64M",
}
NAMES = ("mysql-5.7.22", "mysql-8.0.12")
DATASET = Dataset(tables=1, rows=2_000, seed=3)
TIMEOUT_S = 30.0
SOON_S = 2.5  # on a busy machine; nearly all of it is slack
DUPLICATE, DEADLOCK = 1062, 1213
STATEMENTS = {  # of a transaction: reads, writes, others
    "oltp_point_select": (1, 0, 0),
    "oltp_read_only": (14, 0, 2),
    "oltp_read_write": (14, 4, 2),
}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Tree, Template]]:
    cache = tmp_path_factory.mktemp("cache")
    trees = {name: a_tree(name) for name in NAMES}
    return {name: (tree, dataset.template(tree, OPTIONS, [DATASET], cache)) for name, tree in trees.items()}


@pytest.fixture(scope="module")
def instances(
    templates: dict[str, tuple[Tree, Template]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Instance]]:
    with ExitStack() as running:
        started = {}
        for name, (tree, template) in templates.items():
            home = tmp_path_factory.mktemp(name) / "instance"
            template.copy_to(home)
            started[name] = running.enter_context(start(tree, home, OPTIONS))
        yield started


@pytest.fixture(params=NAMES)
def instance(request: pytest.FixtureRequest, instances: dict[str, Instance]) -> Instance:
    found = instances[request.param]
    wait_until_alone(found)
    return found


def shipped(name: str) -> bytes:
    return msgspec.json.encode(workload.compile_program(name, workload.load(name), DATASET))


def a_program(
    *statements: str, begin: bool = True, parameters: Mapping[str, Parameter] | None = None
) -> bytes:
    """One transaction of these statements, each in its own step, so that parameters are redrawn."""
    steps = (a_step(sql, name=f"s{number}") for number, sql in enumerate(statements))
    made = a_workload(*steps, parameters=dict(parameters or {}), skip_trx=int(not begin))
    return msgspec.json.encode(workload.compile_program("test", made, DATASET))


def one_slice(program: bytes, server: Instance, connections: int, window_s: float = 0.3) -> Slice:
    return an_engine(program, server, connections=connections).slice(0, 0.0, window_s, TIMEOUT_S)


def change(server: Instance, load: Callable[[], Slice]) -> tuple[Slice, dict[str, float]]:
    """A slice, and what the server counted during it; a client that leaves may count twice."""
    before = server.status()
    taken = load()
    counted = {name: now - before.get(name, 0) for name, now in server.status().items()}
    counted["Questions"] -= 1  # the second SHOW STATUS
    return taken, counted


def assert_true(taken: Slice, counted: Mapping[str, float]) -> None:
    """The slice's counts match the server's; refused transactions were sent again."""
    refused = sum(taken.errors.values())
    assert taken.reads == counted["Com_select"]
    assert taken.writes + refused == sum(counted[f"Com_{verb}"] for verb in ("update", "delete", "insert"))
    assert taken.other == sum(counted[f"Com_{verb}"] for verb in ("begin", "commit", "rollback"))
    assert refused == counted["Com_rollback"]
    assert taken.reads + taken.writes + taken.other + refused == counted["Questions"]


def assert_no_transaction_open(server: Instance) -> None:
    assert server.query("SELECT COUNT(*) FROM information_schema.innodb_trx") == ((0,),)


@contextmanager
def a_table(server: Instance, *statements: str) -> Iterator[None]:
    """Table `t`, created by these statements."""
    for statement in statements:
        server.query(statement)
    try:
        yield
    finally:
        server.query(f"DROP TABLE IF EXISTS {SCHEMA}.t")


def wait_until_alone(server: Instance) -> None:
    """Return once the server has noticed that all load connections to it are closed."""
    until(lambda: server.status()["Threads_connected"] == 1, SOON_S)


def failure(
    engine: Engine, server: int, window_s: float = 20.0, timeout_s: float = TIMEOUT_S
) -> tuple[int, str]:
    """The code and message, as the server has it, of the error that ends a slice."""
    try:  # pytest.raises would keep the engine, and its connections, in a cycle
        engine.slice(server, 0.0, window_s, timeout_s)
    except LoadError as error:
        number, code, words = error.args
        assert number == server
        return code, words.removeprefix("statement `s0`: ")
    pytest.fail("the slice came to its end")


# --- counts and times -----------------------------------------------------------------------------


def test_the_load_account_has_the_default_plugin(instance: Instance) -> None:
    plugins = {"5.7.22": "mysql_native_password", "8.0.12": "caching_sha2_password"}
    (row,) = instance.query("SELECT plugin FROM mysql.user WHERE user = 'shootout'")
    assert row == (plugins[instance.version],)


@pytest.mark.parametrize(("connections", "workers"), [(1, 1), (64, 1), (8, 3)])
@pytest.mark.parametrize("name", STATEMENTS)
def test_counts_are_the_servers(name: str, connections: int, workers: int, instance: Instance) -> None:
    engine = an_engine(shipped(name), instance, connections=connections, workers=workers)
    taken, counted = change(instance, lambda: engine.slice(0, 0.05, 0.2, TIMEOUT_S))
    assert_true(taken, counted)
    assert taken.completed > 0
    _, writes, other = STATEMENTS[name]
    if other:
        assert taken.completed == counted["Com_commit"]
        assert taken.completed <= counted["Com_begin"] <= taken.completed + sum(taken.errors.values())
    if connections == 1 or not writes:
        assert taken.errors == {}
        assert (taken.reads, taken.writes, taken.other) == tuple(
            taken.completed * count for count in STATEMENTS[name]
        )
        assert counted["Com_update"] == taken.completed * writes / 2
        assert counted["Com_delete"] == counted["Com_insert"] == taken.completed * writes / 4
    assert_no_transaction_open(instance)


def test_transactions_are_the_completed_ones_but_for_the_edge(instance: Instance) -> None:
    connections = 8
    engine = an_engine(shipped("oltp_read_only"), instance, connections=connections)
    for _ in range(4):
        taken = engine.slice(0, 0.0, 0.25, TIMEOUT_S)
        assert taken.window_s == 0.25
        # Each connection has at most one that ended after the window, and it counts in part.
        assert taken.completed - connections < taken.transactions <= taken.completed
        assert taken.completed - connections <= taken.latencies.count <= taken.completed
    ramped = engine.slice(0, 0.2, 0.2, TIMEOUT_S)
    assert 0 < ramped.transactions < ramped.completed * 0.9
    assert abs(ramped.latencies.count - ramped.transactions) <= connections


def test_latencies_fill_the_window(instance: Instance) -> None:
    """In a closed loop every connection is always in a transaction, so latencies add up to the window.

    Transactions cut by the window's end are missing; if the machine stalls just then, they are the longest.
    """
    connections = 16
    available_s = connections * 0.6
    short_s = []
    for _ in range(4):
        taken = one_slice(shipped("oltp_read_write"), instance, connections, window_s=0.6)
        latencies = taken.latencies
        spent_s = latencies.mean_s * latencies.count
        assert spent_s <= available_s * 1.002 + 1e-3
        short_s.append(available_s - spent_s - connections * latencies.max_s)
        percentiles = [latencies.percentile(p) for p in (0, 25, 50, 75, 95, 99, 99.9, 100)]
        assert percentiles == sorted(percentiles)
        assert 0 < latencies.min_s <= percentiles[2] <= latencies.max_s == percentiles[-1]
        assert taken.client_cpu_s > 0
    assert min(short_s) <= available_s * 0.002 + 1e-3, short_s


def test_each_kind_has_its_latencies(instance: Instance) -> None:
    program = workload.compile_program("oltp_read_write", workload.load("oltp_read_write"), DATASET)
    taken = one_slice(shipped("oltp_read_write"), instance, 1, window_s=0.5)
    statements = dict(zip([kind.name for kind in program.kinds], taken.statements, strict=True))
    assert set(statements) == {
        *("point_select", "simple_range", "sum_range", "order_range", "distinct_range"),
        *("index_update", "non_index_update", "delete", "insert", "begin", "commit"),
    }
    completed = taken.latencies.count
    for name, one in statements.items():
        each = 10 if name == "point_select" else 1
        assert each * completed <= one.count <= each * (completed + 1)  # one is cut by the edge
    assert statements["begin"].percentile(50) < statements["distinct_range"].percentile(50)
    together_s = sum(one.mean_s * one.count for one in statements.values())
    spent_s = taken.latencies.mean_s * taken.latencies.count
    assert spent_s * 0.998 <= together_s <= 0.5 * 1.002 + 1e-3
    assert Histogram.decode(taken.latencies.encode()).buckets() == taken.latencies.buckets()


def test_connections_stay_open_and_servers_take_turns(instances: dict[str, Instance]) -> None:
    servers = [instances[name] for name in NAMES]
    for server in servers:
        wait_until_alone(server)
    engine = an_engine(shipped("oltp_point_select"), *servers, connections=8)
    names = ("Connections", "Threads_connected", "Aborted_clients")
    before = [server.status() for server in servers]
    sent = [0, 0]
    for number in (0, 1, 1, 0, 0, 1, 0, 1):
        sent[number] += engine.slice(number, 0.01, 0.04, TIMEOUT_S).reads
    for server, earlier, reads in zip(servers, before, sent, strict=True):
        now = server.status()
        assert {name: now[name] - earlier[name] for name in names} == dict.fromkeys(names, 0)
        assert now["Com_select"] - earlier["Com_select"] == reads > 0


def test_other_threads_run_during_a_slice(instance: Instance) -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    engine = an_engine(shipped("oltp_point_select"), instance, connections=4)
    thread.start()
    try:
        before = ticks
        engine.slice(0, 0.0, 0.5, TIMEOUT_S)
        assert ticks - before > 50
    finally:
        stop.set()
        thread.join()


# --- what is refused and tried again --------------------------------------------------------------


def test_deadlocks_are_rolled_back_and_tried_again(instance: Instance) -> None:
    rows, connections = 6, 16
    update = f"UPDATE {SCHEMA}.t SET v = v + 1 WHERE id = "
    program = a_program(*(update + "{row}" for _ in range(3)), parameters={"row": Integer(min=1, max=rows)})
    with a_table(
        instance,
        f"CREATE TABLE {SCHEMA}.t (id INT PRIMARY KEY, v INT NOT NULL)",
        f"INSERT INTO {SCHEMA}.t VALUES " + ", ".join(f"({row}, 0)" for row in range(1, rows + 1)),
    ):
        engine = an_engine(program, instance, connections=connections, workers=2)
        completed = 0
        for _ in range(3):
            taken, counted = change(instance, lambda: engine.slice(0, 0.0, 0.3, TIMEOUT_S))
            assert_true(taken, counted)
            assert set(taken.errors) == {DEADLOCK}
            assert taken.errors[DEADLOCK] > 0
            assert taken.completed == counted["Com_commit"] > 0
            completed += taken.completed
            assert_no_transaction_open(instance)
        assert instance.query(f"SELECT SUM(v) FROM {SCHEMA}.t") == ((3 * completed,),)


# --- what ends a slice ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "prepare", "restore", "expected"),
    [
        (
            f"SELECT v FROM {SCHEMA}.t",
            f"DROP TABLE {SCHEMA}.t",
            f"CREATE TABLE {SCHEMA}.t (v INT)",
            (1146, f"Table '{SCHEMA}.t' doesn't exist"),
        ),
        (
            f"UPDATE {SCHEMA}.t SET v = 1",
            "SET GLOBAL super_read_only = 1",
            "SET GLOBAL super_read_only = 0, GLOBAL read_only = 0",
            (
                1290,
                "The MySQL server is running with the --super-read-only option "
                "so it cannot execute this statement",
            ),
        ),
    ],
    ids=["missing table", "read only"],
)
def test_any_other_error_ends_that_server_only(
    sql: str, prepare: str, restore: str, expected: tuple[int, str], instances: dict[str, Instance]
) -> None:
    failing, working = (instances[name] for name in NAMES)
    table = f"CREATE TABLE {SCHEMA}.t (v INT)"
    with a_table(failing, table), a_table(working, table):
        engine = an_engine(a_program(sql), failing, working, connections=4, workers=2)
        failing.query(prepare)
        try:
            assert failure(engine, 0) == expected
        finally:
            failing.query(restore)
        assert failure(engine, 0) == expected
        assert engine.slice(1, 0.0, 0.05, TIMEOUT_S).completed > 0
        # Its connections are closed, and with them their transactions.
        wait_until_alone(failing)
        assert_no_transaction_open(failing)


def test_a_syntax_error_is_told_in_the_servers_words(instance: Instance) -> None:
    engine = an_engine(a_program("SELECT 1 FORM dual"), instance, connections=1)
    code, words = failure(engine, 0)
    assert code == 1064
    assert words.startswith("You have an error in your SQL syntax;")
    assert words.endswith("near 'dual' at line 1")


def test_a_killed_server_ends_its_slice(
    templates: dict[str, tuple[Tree, Template]], instances: dict[str, Instance], tmp_path: Path
) -> None:
    tree, template = templates[NAMES[0]]
    template.copy_to(tmp_path / "instance")
    other = instances[NAMES[1]]
    with start(tree, tmp_path / "instance", OPTIONS) as dying:
        engine = an_engine(shipped("oltp_read_write"), dying, other, connections=16, workers=2)
        with after(0.3, lambda: os.kill(dying.pid, signal.SIGKILL)) as ago_s:
            code, words = failure(engine, 0)
            assert ago_s() < SOON_S
        assert (code, words) in [
            (0, "the server closed the connection"),
            (0, "lost the connection: Connection reset by peer (os error 104)"),
        ]
        assert engine.slice(1, 0.0, 0.05, TIMEOUT_S).completed > 0


@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupt_ends_a_slice(workers: int, instances: dict[str, Instance]) -> None:
    login = instances[NAMES[0]].login
    arguments = (login.address, login.user, login.password, SCHEMA, 6, TIMEOUT_S)
    code = (
        "from shootout._engine import Engine, LoadError\n"
        f"engine = Engine({shipped('oltp_point_select')!r}, 1, {workers})\n"
        f"engine.connect(*{arguments})\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    engine.slice(0, 0.0, 20.0, 30.0)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
        "try:\n"
        "    engine.slice(0, 0.0, 20.0, 30.0)\n"
        "except LoadError as error:\n"
        "    print(error.args)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert child.stdout.read() == "interrupted\n(0, 0, 'a slice was interrupted')\n"
        assert child.wait() == 0
        assert time.monotonic() - began < SOON_S


def test_rows_look_like_sysbenchs(instance: Instance) -> None:
    (found,) = instance.query(
        "SELECT MIN(k), MAX(k), MIN(CONCAT_WS('-', c, pad) REGEXP '^([0-9]{11}-){14}[0-9]{11}$') "
        f"FROM {SCHEMA}.sbtest1"
    )
    assert 1 <= found[0] < found[1] <= DATASET.rows
    assert found[2] == 1
