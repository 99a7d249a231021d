"""Servers that already run: they are measured, and left as they were."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from shootout import steps
from shootout._engine import Engine
from shootout.document import journal
from shootout.inputs import workload
from shootout.inputs.options import Selection
from shootout.measure import dataset
from shootout.measure.external import ExternalServer
from shootout.measure.managed import connect
from shootout.model.plan import Dataset
from shootout.model.run import RunDocument, ServerRecord
from shootout.model.workload import Result, Step, WorkloadStatement
from shootout.servers.external import dsn
from shootout.servers.external.external import MARK, External
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import fresh
from tests.support.runs import BASE, HEAD, PYTEST, SHOOTOUT, Lab, document_in
from tests.unit.inputs.test_workload import a_workload

pytest_plugins = ["tests.support.runs"]

SECRET = "s3cret,@:/?%é'"
GRANT = "GRANT ALL ON `shootout%`.* TO"
OPTIONS = {
    "innodb-log-file-size": "16M",
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "0",
    "local-infile": "0",
    "log-bin": "binlog",
    "server-id": "1",
    "require-secure-transport": "OFF",
}
POINT = ("--workloads", "oltp_point_select", "--threads", "1")
SMALL = Dataset(tables=3, rows=1_001, seed=7)


@pytest.fixture(scope="module")
def started(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Instance]]:
    """Strict servers that the suite does not manage, with an account of minimal privileges."""
    with ExitStack() as running:
        servers = {}
        for name in (BASE, HEAD):
            home = tmp_path_factory.mktemp(name) / "instance"
            server = running.enter_context(fresh(name, home, OPTIONS))
            password = SECRET.replace("'", "''")
            for host in ("localhost", "127.0.0.1"):
                plugin = " WITH mysql_native_password" if name == BASE else " WITH caching_sha2_password"
                server.query(f"CREATE USER guest@'{host}' IDENTIFIED{plugin} BY '{password}'")
                server.query(f"{GRANT} guest@'{host}'")
            servers[name] = server
        yield servers


@pytest.fixture
def server(started: dict[str, Instance]) -> Iterator[Instance]:
    """The first of them; checks that nothing is left there."""
    before = state(started[BASE])
    yield started[BASE]
    assert state(started[BASE]) == before


def state(server: Instance) -> dict[str, Any]:
    """Read what a run must leave as it was; `gtid_executed` counts transactions, so it changes."""
    variables = server.variables()
    return {
        "variables": {name: value for name, value in variables.items() if "gtid" not in name},
        "schemas": server.query("SHOW DATABASES"),
        "users": server.query("SELECT * FROM mysql.user ORDER BY user, host"),
        "grants": server.query("SELECT * FROM mysql.db ORDER BY user, db, host"),
        "cpus": os.sched_getaffinity(server.pid),
    }


def a_run(lab: Lab, out: Path, *options: str) -> list[str]:
    return [SHOOTOUT, "run", "--profile", str(lab.once), "--out", str(out), *options]


def measured(lab: Lab, out: Path, *options: str) -> tuple[RunDocument, str]:
    """Run to the end; its document, and what it printed."""
    done = lab.run(*a_run(lab, out, *options))
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return journal.read(document_in(out)), done.stdout


def by_socket(server: Instance, *, password: str = SECRET) -> str:
    path = quote(str(server.socket), safe="/")
    return f"dsn:mysql://guest:{quote(password, safe='')}@localhost?unix_socket={path}"


def by_tcp(server: Instance) -> str:
    return f"dsn:mysql://guest:{quote(SECRET, safe='')}@127.0.0.1:{server.port}"


def connected(text: str) -> External:
    written = dsn.parse(text.removeprefix("dsn:"))
    assert written.password is not None
    external = External(written.dsn, written.password)
    external.identify()
    return external


def command_lines(pid: int) -> list[str]:
    """The command lines of a process and its descendants, as process lists show them."""
    found = [Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += command_lines(int(child))
    return found


def all_files(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def codes(server: ServerRecord) -> set[str]:
    return {warning.code for warning in server.warnings}


# --- whole runs -----------------------------------------------------------------------------------


def test_no_output_has_the_password(lab: Lab, server: Instance, tmp_path: Path) -> None:
    servers = f"{by_socket(server)},{by_tcp(server)}"
    command = a_run(lab, tmp_path / "a", "--servers", servers, *POINT, "--json")
    outputs = [lab.run(*command)]
    outputs.append(lab.run(*a_run(lab, tmp_path / "b", "--servers", servers.replace("mysql:", "mysq:"))))
    outputs.append(lab.run(*a_run(lab, tmp_path / "b", "--server", servers)))
    wrong = by_socket(server, password="s3cret but wrong")
    outputs.append(lab.run(*a_run(lab, tmp_path / "b", "--servers", wrong)))
    assert [done.returncode for done in outputs[1:]] == [2, 2, 2]
    assert outputs[0].returncode in (0, 1), outputs[0].stderr
    assert "Access denied for user 'guest'" in outputs[3].stderr
    profile = tmp_path / "own.toml"
    text = lab.once.read_text()
    start, end = text.index("servers = ["), text.index("]") + 1
    profile.write_text(text.replace(text[start:end], f'servers = ["{by_tcp(server)}"]'))
    json = tmp_path / "benchmark.json"
    more = [
        *(f"--benchmark-json={json}", f"--profile={profile}", f"--out={tmp_path / 'c'}"),
        *("--workloads=oltp_point_select", "--threads=1", "-v", f"--junitxml={tmp_path / 'junit.xml'}"),
    ]
    outputs.append(lab.run(*PYTEST, "suites", *more))
    assert outputs[-1].returncode == 0, outputs[-1].stdout
    profile.unlink()
    for done in outputs:
        assert "s3cret" not in done.stdout + done.stderr
    assert b"s3cret" not in all_files(tmp_path)
    assert b"guest@127.0.0.1" in all_files(tmp_path / "c")


def test_no_process_shows_the_password(lab: Lab, server: Instance, tmp_path: Path) -> None:
    text = by_socket(server).replace(f":{quote(SECRET, safe='')}@", "@")
    command = [
        "env",
        f"MYSQL_PWD={SECRET}",
        *a_run(lab, tmp_path / "out", "--servers", f"{text},{BASE}", *POINT),
    ]
    # env's own arguments are gone once it has exec'd the suite
    with lab.running(*command, folder=tmp_path) as run:
        run.said("start 1: oltp_point_select-t1")
        listed = command_lines(run.process.pid)
        assert run.ended() in (0, 1), run.err.read_text()
    assert any("shootout" in line for line in listed)
    assert any("mysqld" in line for line in listed)
    assert not any("s3cret" in line for line in listed)


def test_two_servers_that_run(lab: Lab, started: dict[str, Instance], tmp_path: Path) -> None:
    states = {name: state(server) for name, server in started.items()}
    servers = f"{by_tcp(started[BASE])},{by_tcp(started[HEAD])}"
    started[HEAD].query("FLUSH PRIVILEGES")  # forgets cached logins, so that passwords are proven again
    options = ("--workloads", "oltp_update_index", "--threads", "1")
    found, _ = measured(lab, tmp_path, "--servers", servers, *options)
    assert [each.version for each in found.header.servers] == ["5.7.22-log", "8.0.12"]
    assert found.failures == ()
    assert {name: state(server) for name, server in started.items()} == states


def test_variables_are_held_against_a_profile(lab: Lab, server: Instance, tmp_path: Path) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text('[settings]\nbuffer_pool_bytes = "128M"\nflush_log_at_trx_commit = 0\n')
    found, _ = measured(lab, tmp_path / "out", "--servers", f"{by_socket(server)}@{settings}", *POINT)
    (visited,) = found.header.servers
    differing = [(each.name, each.requested, each.effective) for each in visited.settings if each.differs]
    assert differing == [("buffer_pool_bytes", "134217728", "67108864")]
    assert "settings-differ" in codes(visited)
    assert visited.label.endswith("@mine.toml")


# --- what else may be there -----------------------------------------------------------------------


@pytest.mark.parametrize("marked", [False, True])
def test_a_schema_of_others_is_not_touched(lab: Lab, server: Instance, tmp_path: Path, marked: bool) -> None:
    server.query("CREATE DATABASE shootout")
    try:
        server.query("CREATE TABLE shootout.precious SELECT 1 AS a")
        if marked:  # by somebody else
            server.query(f"CREATE TABLE shootout.{MARK} (token INT, creator TEXT)")
            server.query(f"INSERT INTO shootout.{MARK} VALUES (1, 'me')")
        done = lab.run(*a_run(lab, tmp_path, "--servers", by_socket(server), *POINT))
        assert done.returncode == 2
        assert "schema shootout exists, and shootout did not create it" in done.stderr
        assert server.query("SELECT a FROM shootout.precious") == ((1,),)
    finally:
        server.query("DROP DATABASE shootout")


def test_a_run_that_is_stopped_leaves_nothing(lab: Lab, server: Instance, tmp_path: Path) -> None:
    command = a_run(lab, tmp_path / "out", "--servers", by_tcp(server), *POINT)
    with lab.running(*command, folder=tmp_path) as run:
        run.said("start 1: oltp_point_select-t1")
        os.kill(run.process.pid, signal.SIGINT)
        assert run.ended() == 130


def test_a_server_that_goes_away_fails_its_cells(lab: Lab, tmp_path: Path) -> None:
    with fresh(BASE, tmp_path / "instance", OPTIONS) as server:
        server.query(f"CREATE USER guest@localhost IDENTIFIED BY '{SECRET.replace(chr(39), chr(39) * 2)}'")
        server.query(f"{GRANT} guest@localhost")
        options = ("--profile", str(lab.profile), "--servers", f"{BASE},{by_socket(server)}", *POINT)
        with lab.running(*a_run(lab, tmp_path / "out", *options), folder=tmp_path) as run:
            run.said("start 2: oltp_point_select-t1")
            server.kill()
            assert run.ended() == 3, run.err.read_text()
    found = journal.read(document_in(tmp_path / "out"))
    assert found.failures, run.out.read_text()
    assert {failure.cell.server for failure in found.failures} == {f"{BASE} (dsn)"}
    assert all("mysqld.sock" in failure.reason for failure in found.failures)
    assert "s3cret" not in run.err.read_text() + run.out.read_text()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("mysql://guest:s3cret@127.0.0.1:1", "127.0.0.1:1: error 2003: Can't connect"),
        ("mysql://guest:s3cret@?unix_socket=/no/such.sock", "/no/such.sock: error 2002"),
    ],
)
def test_an_unreachable_server_is_reported(lab: Lab, tmp_path: Path, where: str, expected: str) -> None:
    done = lab.run(*a_run(lab, tmp_path, "--servers", f"dsn:{where}", *POINT))
    assert done.returncode == 2
    assert expected in done.stderr
    assert "s3cret" not in done.stderr
    assert not any(tmp_path.rglob("*.jsonl"))


# --- connections --------------------------------------------------------------------------------------


def test_packets_are_as_small_as_the_server_wants_them(server: Instance) -> None:
    server.query("SET GLOBAL max_allowed_packet = 1024")
    server.hang_up()
    try:
        with connected(by_tcp(server)) as external:
            dataset.load(external, SMALL)
            assert dataset.verify(external, SMALL) != ""
            dataset.unload(external, SMALL)
    finally:
        server.query("SET GLOBAL max_allowed_packet = 4194304")
        server.hang_up()


def test_each_start_begins_on_the_rows_of_a_fresh_load(lab: Lab, server: Instance) -> None:
    asked = Selection.read(profile=str(lab.profile), servers=by_socket(server), workloads="oltp_delete")
    made = steps.plan(asked)
    (label,) = made.servers

    def tables() -> set[Any]:
        """Each table's id: a new table gets a new one."""
        found = server.query(
            "SELECT name, table_id FROM information_schema.innodb_sys_tables WHERE name LIKE 'shootout/%'"
        )
        return set(found)

    with ExitStack() as held:
        external_server = ExternalServer.find(made, label, held, [])
        loaded = external_server.load(held)
        fresh = tables()
        assert len(fresh) == 3  # two tables and the mark
        for _ in range(2):
            with external_server.start(loaded, Path(), ()) as external:
                assert tables() == fresh
                external.query("SELECT COUNT(*) FROM shootout.sbtest1")
        with external_server.start(loaded, Path(), ()) as external:
            external.query("DELETE FROM shootout.sbtest2 WHERE id = 7")
        with external_server.start(loaded, Path(), ()) as external:
            again = tables()
            assert not again & fresh
            assert external.query("SELECT COUNT(*) FROM shootout.sbtest2") == ((500,),)
            external.query("CREATE TABLE shootout.more (a INT)")
        with external_server.start(loaded, Path(), ()):
            assert len(tables()) == 3
            assert not tables() & again
        assert external_server.record(loaded).checksum == dataset.verify_all(
            external_server.server, external_server.datasets
        )


@pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES"])
def test_texts_read_from_rows_are_quoted_as_the_server_reads_them(server: Instance, mode: str) -> None:
    words = ["it's", "back\\slash", "\\", "'\\''", "nul\0", "%\\_"]
    statements = (
        WorkloadStatement(name="read", sql="SELECT word FROM words ORDER BY RAND() LIMIT 1", into=("word",)),
        WorkloadStatement(name="write", sql="INSERT INTO copies VALUES ({word})"),
    )
    made = a_workload(Step(statements=statements), dataset="own", parameters={"word": Result()})
    program = msgspec.json.encode(workload.compile_program("test", made, Dataset(kind="own")))
    before = server.query("SELECT @@GLOBAL.sql_mode")[0][0]
    server.query("CREATE DATABASE shootout_own")
    server.query("CREATE TABLE shootout_own.words (word VARBINARY(20))")
    server.query("CREATE TABLE shootout_own.copies LIKE shootout_own.words")
    for word in words:
        server.query(f"INSERT INTO shootout_own.words VALUES (x'{word.encode().hex()}')")
    server.query(f"SET GLOBAL sql_mode = '{mode}'")
    try:
        with connected(by_socket(server)) as external:
            engine = Engine(program, 1)
            engine.slice(connect(engine, external, "shootout_own", 1), 0.01, 0.3, 10.0)
        found = {row[0] for row in server.query("SELECT DISTINCT word FROM shootout_own.copies")}
        assert found == set(words)
    finally:
        server.query(f"SET GLOBAL sql_mode = '{before}'")
        server.query("DROP DATABASE shootout_own")
