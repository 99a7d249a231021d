"""Compared with sysbench on a real server: the same statements, equally often, on each other's tables."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
import pytest

from shootout._engine import Engine
from shootout.inputs import workload
from shootout.measure.dataset import SCHEMAS
from shootout.measure.hooks import Hooks
from shootout.measure.managed import connect
from shootout.model.plan import DatasetSize, Load
from shootout.model.value import Protocol
from shootout.servers.processes.accounts import LOAD_USER
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import loaded
from tests.support.runs import until

OPTIONS = {
    "innodb-log-file-size": "64M",
    "innodb-flush-log-at-trx-commit": "0",
    "skip-log-bin": "",
    "character-set-server": "utf8mb4",
    "collation-server": "utf8mb4_general_ci",
    "performance-schema": "ON",
    "log-output": "TABLE",
    "general-log": "ON",
}
SCALE = DatasetSize(tables=2, rows=1_000)
SLICE_S, TIMEOUT_S = 0.05, 30.0
USER, PASSWORD = "sysbench", "sysbench"
# Named as sysbench names them, so that they can be given to both.
DIFFERENT = [
    ("oltp_read_only", {"point_selects": 3, "range_size": 7, "sum_ranges": 2}),
    ("oltp_read_write", {"skip_trx": 1, "index_updates": 3, "non_index_updates": 2}),
    ("oltp_write_only", {"skip_trx": 1, "delete_inserts": 2}),
    ("oltp_update_index", {"index_updates": 4}),
    ("oltp_update_non_index", {"non_index_updates": 4}),
    ("select_random_points", {"random_points": 3}),
    ("select_random_ranges", {"number_of_ranges": 2, "delta": 50}),
]
SHIPPED = sorted(path.stem for path in workload.FOLDER.glob("*.toml"))
OTHERS = ("bulk_insert", "tpcc", "statements_")
ALIKE = [*((name, {}) for name in SHIPPED if not name.startswith(OTHERS)), *DIFFERENT]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with loaded(
        "mysql-8.0.12", tmp_path_factory.mktemp("server"), OPTIONS, SCALE.of_kind("sbtest")
    ) as instance:
        # The plugin that sysbench's client knows on every distribution.
        instance.query(f"CREATE USER {USER}@localhost IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'")
        instance.query(f"GRANT ALL ON *.* TO {USER}@localhost")
        yield instance


def sysbench(server: Instance, schema: str, *arguments: str) -> None:
    command = ["sysbench", f"--mysql-socket={server.socket}", f"--mysql-user={USER}"]
    command += [f"--mysql-password={PASSWORD}", f"--mysql-db={schema}", "--threads=1", "--time=0"]
    command += [f"--tables={SCALE.tables}", f"--table-size={SCALE.rows}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def forget(server: Instance) -> None:
    server.query("TRUNCATE performance_schema.events_statements_summary_by_digest")
    server.query("TRUNCATE mysql.general_log")


def digests(server: Instance, schema: str) -> Counter[str]:
    """Count how often each statement digest was executed as text, whichever its table.

    The server counts a statement after answering it, so wait until all clients have disconnected.
    """
    until(lambda: server.status()["Threads_connected"] == 1)
    found: Counter[str] = Counter()
    for text, count in server.query(
        "SELECT DIGEST_TEXT, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest "
        f"WHERE SCHEMA_NAME = '{schema}'"
    ):
        found[re.sub(r"`sbtest\d`", "`sbtest`", text)] += count
    return found


def logged(server: Instance, user: str, *commands: str) -> list[str]:
    """List what a user sent with these commands, from the general log: executions with their values."""
    rows = server.query(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log "
        f"WHERE user_host LIKE '{user}[%' AND FIND_IN_SET(command_type, '{','.join(commands)}')"
    )
    return [text for (text,) in rows]


def forms(texts: list[str], *, tables_differ: bool = True) -> Counter[str]:
    """The texts without values, with normalised white space."""
    found: Counter[str] = Counter()
    for text in texts:
        form = re.sub(r"'[^']*'|\b\d+\b", "?", re.sub(r"\s+", " ", text.strip()))
        found[re.sub(r"sbtest\d", "sbtest", form) if tables_differ else form] += 1
    return found


def send(
    server: Instance, name: str, options: Mapping[str, int], protocol: Protocol, schema: str = ""
) -> int:
    """Load the server briefly with our engine; returns the number of transactions."""
    chosen = workload.with_options(workload.load(name), options, None)
    tables = workload.dataset_of(chosen, SCALE, name)
    program = workload.compile_program(name, chosen, tables, Load(protocol=protocol))
    engine = Engine(msgspec.json.encode(program), 1)
    connect(engine, server, schema or SCHEMAS[tables.kind], 1)
    taken = engine.slice(0, 0.0, SLICE_S, TIMEOUT_S)
    assert taken.errors == {}
    assert taken.completed > 0
    return taken.completed


@pytest.mark.parametrize(("name", "options"), ALIKE)
def test_the_text_protocol_has_the_same_statements(
    server: Instance, name: str, options: dict[str, int]
) -> None:
    forget(server)
    count = send(server, name, options, "text")
    ours = digests(server, SCHEMAS["sbtest"])
    assert ours
    forget(server)
    arguments = [f"--{option}={_spelled(option, value)}" for option, value in options.items()]
    sysbench(server, SCHEMAS["sbtest"], "--db-ps-mode=disable", f"--events={count}", *arguments, name, "run")
    assert ours == digests(server, SCHEMAS["sbtest"])


@pytest.mark.parametrize(("name", "options"), ALIKE)
def test_the_prepared_protocol_has_the_same_statements(
    server: Instance, name: str, options: dict[str, int]
) -> None:
    forget(server)
    count = send(server, name, options, "prepared")
    arguments = [f"--{option}={_spelled(option, value)}" for option, value in options.items()]
    sysbench(server, SCHEMAS["sbtest"], "--db-ps-mode=auto", f"--events={count}", *arguments, name, "run")
    ours, theirs = (logged(server, user, "Query", "Execute") for user in (LOAD_USER, USER))
    assert forms(ours) == forms(theirs)
    ours, theirs = (logged(server, user, "Prepare") for user in (LOAD_USER, USER))
    if name == "oltp_insert":  # sysbench's has no prepared form
        assert (len(ours), theirs) == (SCALE.tables, [])
    else:
        assert forms(ours, tables_differ=False) == forms(theirs, tables_differ=False)


def test_bulk_insert_writes_the_same_text_and_rows(server: Instance) -> None:
    schema, rows = SCHEMAS["own"], 500
    chosen = workload.with_options(workload.load("bulk_insert"), {"rows_per_insert": rows}, None)
    hooks = Hooks(server, chosen, SCALE.of_kind("own"))
    table = f"SELECT COUNT(*), MIN(id), MAX(id), SUM(id = k) FROM {schema}.sbtest1"

    hooks.set_up(threads=1)
    forget(server)
    count = send(server, "bulk_insert", {"rows_per_insert": rows}, "prepared")  # it keeps to text
    sent = logged(server, LOAD_USER, "Query")
    assert len(sent) == count
    assert server.query(table) == ((count * rows, 1, count * rows, count * rows),)

    hooks.set_up(threads=1)
    forget(server)
    sysbench(server, schema, f"--events={rows}", "bulk_insert", "run")
    assert logged(server, USER, "Query") == sent[:1]
    assert server.query(table) == ((rows, 1, rows, rows),)


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_our_engine_runs_on_tables_that_sysbench_made(server: Instance, protocol: Protocol) -> None:
    server.query("CREATE DATABASE theirs")
    try:
        sysbench(server, "theirs", "oltp_read_write", "prepare")
        send(server, "oltp_read_write", {}, protocol, "theirs")
        send(server, "select_random_points", {}, protocol, "theirs")
        count = server.query("SELECT COUNT(*) FROM theirs.sbtest1")
        assert count == ((SCALE.rows,),)  # each row that is deleted comes back
    finally:
        server.query("DROP DATABASE theirs")


def _spelled(option: str, value: int) -> str:
    """In sysbench's syntax, in which a switch is not a number."""
    return ("off", "on")[value] if option == "skip_trx" else str(value)
