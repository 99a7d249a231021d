"""Every server of the catalogue, from its first start to its end.

SHOOTOUT_TEST_TREES=DIR:DIR adds trees that are not in the catalogue.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pymysql
import pytest
from msgspec import structs

from shootout import steps
from shootout._engine import Engine
from shootout.document import journal
from shootout.inputs import workload
from shootout.inputs.options import Selection
from shootout.measure import campaign, dataset, managed, rounds
from shootout.measure.dataset import SCHEMAS, Template
from shootout.model.plan import Dataset, Load
from shootout.model.run import REOPENED
from shootout.model.value import Protocol
from shootout.servers.processes import children, instances
from shootout.servers.processes.accounts import LOAD_USER
from shootout.servers.sources import installations, reference
from shootout.servers.sources.trees import Tree
from shootout.servers.version import is_mysql_since
from tests.support.catalogued import SERVERS
from tests.support.runs import gone, until

# One for every way to initialise and to be run.
PROFILES = ("quick", "engines", "flavours", "history", "scaling", "shootout")  # of every settings profile one
TREES = [f"path:{each}" for each in os.environ.get("SHOOTOUT_TEST_TREES", "").split(":") if each]
SBTEST, TPCC = Dataset(tables=2, rows=5_007, seed=5), Dataset(kind="tpcc")
OWN_ACCOUNTS = {  # that versions make for themselves: nobody can log in with them
    ("mariadb.sys", "localhost"),
    ("mysql.infoschema", "localhost"),
    ("mysql.session", "localhost"),
    ("mysql.sys", "localhost"),
}
LISTENING = "0A"
UNCLEAN = re.compile(r"(?i)not shut ?down normally|crash recovery|apply batch|recovering after a crash")
SLICE_S, TIMEOUT_S = 0.5, 30.0
ROUNDS = 40
CHECKSUM = pytest.StashKey[str]()


@dataclass(frozen=True)
class Server:
    """A server, and a template of its with both datasets."""

    installation: Tree
    options: dict[str, str]
    template: Template


def options(installation: Tree) -> dict[str, str]:
    """Little files, and a fixed character set."""
    chosen = {"innodb-buffer-pool-size": "128M", "innodb-flush-log-at-trx-commit": "2", "skip-log-bin": ""}
    if is_mysql_since(installation.family, installation.version, (8, 0, 30)):
        chosen["innodb-redo-log-capacity"] = "64M"
    else:
        chosen["innodb-log-file-size"] = "32M"
    return chosen


@pytest.fixture(scope="module", params=(*SERVERS, *TREES))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Server:
    installation = installations.find(reference.parse(request.param))
    assert isinstance(installation, Tree)
    chosen = options(installation)
    cache = tmp_path_factory.mktemp("cache")
    return Server(installation, chosen, dataset.template(installation, chosen, [SBTEST, TPCC], cache))


@pytest.fixture(scope="module")
def home(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An instance directory with the datasets in it."""
    directory = tmp_path_factory.mktemp("home") / "i"
    server.template.copy_to(directory)
    return directory


def drive(instance: instances.Instance, name: str, tables: Dataset, protocol: Protocol = "text") -> None:
    """Load the server for a moment."""
    program = workload.compile_program(name, workload.load(name), tables, Load(protocol=protocol))
    engine = Engine(msgspec.json.encode(program), 1, 1)
    managed.connect(engine, instance, SCHEMAS[tables.kind], 4)
    taken = engine.slice(0, 0.0, SLICE_S, TIMEOUT_S)
    assert taken.completed > 0
    assert taken.writes > 0


def assert_counted(instance: instances.Instance) -> None:
    """Counters of the server's work never go back, not even in a server at rest."""
    until(lambda: instance.status()["Threads_connected"] == 1)  # one that just leaves may count twice
    before = instance.status()
    time.sleep(SLICE_S)
    after = instance.status()
    assert {name for name in before if managed.is_counted(name) and after[name] < before[name]} == set()


def listening(pid: int) -> set[str]:
    """The TCP addresses at which a process listens, as the kernel writes them."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            kind, _, number = str(descriptor.readlink()).partition(":")
            if kind == "socket":
                sockets.add(number.strip("[]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in sockets:
                found.add(fields[1])
    return found


def test_rows_are_as_they_were_generated(server: Server, request: pytest.FixtureRequest) -> None:
    known = request.session.stash.setdefault(CHECKSUM, server.template.checksum)
    assert server.template.checksum == known


def test_it_runs_from_a_copy_of_its_template(server: Server, home: Path) -> None:
    with instances.start(server.installation, home, server.options) as instance:
        assert re.match(rf"{'.'.join(map(str, server.installation.version))}(\D|$)", instance.version)
        assert listening(instance.pid) == {f"0100007F:{instance.port:04X}"}
        for tables in (SBTEST, TPCC):
            dataset.verify(instance, tables)
            dataset.warm(instance, tables)
        for protocol in ("text", "prepared"):
            drive(instance, "oltp_read_write", SBTEST, protocol)
        drive(instance, "tpcc", TPCC)
        assert_counted(instance)
    assert instance._process.poll() == 0
    assert not instance.socket.exists()
    before = (home / "error.log").stat().st_size
    with instances.start(server.installation, home, server.options):
        pass
    assert UNCLEAN.search((home / "error.log").read_text(errors="replace")[before:]) is None


def test_idle_connections_outlive_stops(server: Server, home: Path) -> None:
    """MySQL 5.5 closes a connection whose read is interrupted ten times, unless told otherwise."""
    with instances.start(server.installation, home, server.options) as instance:
        instance.status()
        program = workload.compile_program("w", workload.load("oltp_read_only"), SBTEST, Load())
        engine = Engine(msgspec.json.encode(program), 1, 1)
        managed.connect(engine, instance, SCHEMAS["sbtest"], 4)
        for _ in range(ROUNDS):
            children.pause(instance.pid, True)
            children.pause(instance.pid, False)
            time.sleep(0.002)  # for reads to be interrupted
        taken = engine.slice(0, 0.0, SLICE_S, TIMEOUT_S)
        assert (taken.completed > 0, taken.errors) == (True, {})
        assert instance.status()
        assert instance.reopened == 0


def test_nobody_gets_in_without_a_password(server: Server, home: Path) -> None:
    with instances.start(server.installation, home, server.options) as instance:
        accounts = set(instance.query("SELECT User, Host FROM mysql.user"))
        assert accounts - OWN_ACCOUNTS == {("root", "localhost"), (LOAD_USER, "localhost")}
        for user in ("root", LOAD_USER, "", "nobody"):
            with pytest.raises(pymysql.MySQLError, match="Access denied"):
                instance.connect(user=user, password="")
        schemas = {name for (name,) in instance.query("SHOW DATABASES")}
        assert "test" not in schemas


def test_every_storage_engine_holds_the_rows(server: Server, tmp_path: Path) -> None:
    engines = ["MyISAM"]
    plugins = server.installation.files.plugins
    if server.installation.family == "mariadb":
        engines.append("Aria")
    if plugins and (plugins / "ha_rocksdb.so").exists():
        engines.append("RocksDB")
    for engine in engines:
        tables = msgspec.structs.replace(SBTEST, engine=engine)
        chosen = dataset.with_engines(server.options, server.installation.family, [tables])
        made = dataset.template(server.installation, chosen, [tables], tmp_path / "cache")
        made.copy_to(tmp_path / engine)
        with instances.start(server.installation, tmp_path / engine, chosen) as instance:
            dataset.verify(instance, tables)
            dataset.warm(instance, tables)
            drive(instance, "oltp_read_write", tables)


def test_it_dies_with_its_parent_and_recovers(server: Server, home: Path) -> None:
    script = f"""
import time
from pathlib import Path
from shootout.servers.processes import instances
from shootout.servers.sources.trees import Tree
tree = Tree.inspect(Path({str(server.installation.files.top)!r}))
instance = instances.start(tree, Path({str(home)!r}), {server.options!r})
print(instance.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    until(lambda: gone(process))
    with instances.start(server.installation, home, server.options) as instance:
        assert instance.query(f"SELECT COUNT(*) FROM {SCHEMAS['sbtest']}.sbtest2") == ((SBTEST.rows,),)


@pytest.mark.parametrize("threads", [1, 32])
@pytest.mark.parametrize("profile", PROFILES)
def test_all_keep_their_connections_side_by_side(
    profile: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is stopped and resumed every round where the workload writes."""
    servers = [*SERVERS, *TREES]
    asked = Selection.read(
        profile=profile,
        servers=",".join(servers),
        workloads="oltp_read_only,oltp_read_write",
        threads=str(threads),
        set=["dataset.rows=10000"],
    )
    made = steps.plan(asked)
    monkeypatch.setattr(rounds, "ROUNDS_MIN", ROUNDS)  # however long slices become on a busy machine
    sampling = structs.replace(
        made.profile.sampling,
        starts_min=1,
        starts_max=1,
        slice_s=0.02,
        measure_s=0.02,
        budget_s=3600.0,
    )
    policy = structs.replace(made.profile.policy, confirm_starts=0)  # versions differ
    made = replace(made, profile=structs.replace(made.profile, sampling=sampling, policy=policy))
    document = journal.read(campaign.measure(made, tmp_path, lambda progress: None))
    assert document.failures == ()
    samples = [each for start in document.starts for each in start.samples]
    assert [each.server for each in samples if len(each.window_s) < ROUNDS] == []
    assert len(samples) == 2 * len(servers)
    assert {each.server: each.counters[REOPENED] for each in samples if each.counters[REOPENED]} == {}
