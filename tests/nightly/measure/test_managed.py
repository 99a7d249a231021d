"""Managed servers: their records, their restarts, and the limits that refuse connections."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lab import preload
from shootout import steps
from shootout._engine import Engine
from shootout.analysis import metrics
from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.inputs.options import Selection
from shootout.measure import dataset, managed
from shootout.measure.managed import ManagedServer, connect
from shootout.measure.rounds import measure_block
from shootout.model.plan import Load, Sampling
from shootout.model.program import Program
from shootout.model.run import Samples
from shootout.servers.processes.instances import Instance
from tests.support.measure.servers import fresh
from tests.support.runs import BASE, HEAD, Lab

pytest_plugins = ["tests.support.runs"]
SCHEMA = dataset.SCHEMAS["sbtest"]


@pytest.fixture(scope="module")
def managed_server(lab: Lab) -> Iterator[ManagedServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(lab.folder))
        yield ManagedServer.find(steps.plan(Selection.read(profile=str(lab.profile))), HEAD)


@pytest.fixture
def instance(managed_server: ManagedServer, tmp_path: Path) -> Iterator[Instance]:
    with managed_server.start(managed_server.load(), tmp_path / "instance", (0,)) as started:
        yield started


def program(managed_server: ManagedServer, name: str, load: Load = workload.CLOSED_LOOP) -> Program:
    return workload.compile_program(name, workload.load(name), managed_server.datasets[0], load)


def test_each_start_has_the_rows_of_a_fresh_load(managed_server: ManagedServer, tmp_path: Path) -> None:
    template = managed_server.load()
    for start in ("1", "2"):
        with managed_server.start(template, tmp_path / start, (0,)) as instance:
            assert dataset.verify_all(instance, managed_server.datasets) == template.checksum
            instance.query(f"DELETE FROM {SCHEMA}.sbtest1")


@pytest.mark.parametrize(
    ("handling", "stops"), [("pool-of-threads", False), ("one-thread-per-connection", True)]
)
def test_a_server_with_a_thread_pool_is_never_stopped(handling: str, stops: bool, tmp_path: Path) -> None:
    with fresh("mariadb-10.11", tmp_path / "i", started={"thread-handling": handling}) as server:
        assert (managed.handle("pool", server).stop is not None) == stops


@pytest.mark.parametrize("name", [BASE, HEAD, "mariadb-10.11"])
def test_a_slower_server_counts_the_same_work_for_each_transaction(
    name: str, lab: Lab, tmp_path: Path
) -> None:
    """The suite's own queries fall to fewer transactions there, and must not count."""
    size = preload.tree(tmp_path / "tree", name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(lab.folder))
        plan = steps.plan(Selection.read(profile=str(lab.profile), servers=f"path:{tmp_path / 'tree'}"))
        server = ManagedServer.find(plan, next(iter(plan.servers)))
        with server.start(server.load(), tmp_path / "instance", (0,)) as instance:
            of_point, of_insert = (
                [measured(server, kind, instance, size, share) for share in (0.0, 0.05, 0.3)]
                for kind in ("oltp_point_select", "oltp_insert")
            )
    for base, *heads in (of_point, of_insert):
        for head in heads:
            found = {each.name: each for each in metrics.compare(base, head, 0.0, 0.95)}
            work = [found[name] for name in ("rows_read", "buffer_pool_reads", "lock_waits") if name in found]
            assert [(each.name, each.base, each.head) for each in work] == (
                [("rows_read", 1.0, 1.0)] if base is of_point[0] else []  # inserts read nothing
            )
            assert all(each.difference.low <= 0 <= each.difference.high for each in work)
            for start, samples in head.items():
                assert of_statements(samples) == pytest.approx(of_statements(base[start]), rel=5e-4)


def measured(
    server: ManagedServer, kind: str, instance: Instance, size: preload.Size, share: float
) -> dict[int, Samples]:
    """Two measurements; each command takes longer by `share` of 0.1 ms, a transaction's latency."""
    size.write(preload.pairs(share * 1e-4, size.file.parent))
    engine = Engine(msgspec.json.encode(program(server, kind)), 1)
    connect(engine, instance, SCHEMA, 1)
    records = [
        measure_block(
            "block",
            start,
            [managed.handle("s", instance)],
            program=program(server, kind),
            driver=engine,
            sampling=Sampling(slice_s=0.02, ramp_s=0.005, measure_s=0.2, warmup_max_s=1.0),
            load=workload.CLOSED_LOOP,
            generator=random.Random(1),
            on_round=lambda stage, round_, rounds: None,
        ).record
        for start in (1, 2)
    ]
    return {record.start: record.samples[0] for record in records if record is not None}


def of_statements(samples: Samples) -> dict[str, float]:
    """The counters of statements' work, for each transaction."""
    names = ("Created_", "Handler_", "Innodb_rows_", "Rows_", "Select_", "Sort_", "Table_")
    total = sum(samples.completed)
    return {name: grown / total for name, grown in samples.counters.items() if name.startswith(names)}


def test_too_many_prepared_statements_are_reported(managed_server: ManagedServer, instance: Instance) -> None:
    instance.query("SET GLOBAL max_prepared_stmt_count = 10")
    prepared = program(managed_server, "oltp_read_write", Load(protocol="prepared"))
    engine = Engine(msgspec.json.encode(prepared), 1)
    with pytest.raises(MeasureError, match=r"0 of 4 .*\(1461\).*max_prepared_stmt_count = 10"):
        connect(engine, instance, SCHEMA, 4)


def test_too_many_connections_are_reported_with_the_limit(
    managed_server: ManagedServer, instance: Instance
) -> None:
    instance.query("SET GLOBAL max_connections = 10")
    files = len(list(Path("/proc/self/fd").iterdir()))
    engine = Engine(msgspec.json.encode(program(managed_server, "oltp_point_select")), 1)
    message = r"^\d+ of 200 connections opened: Too many connections \(1040\)"
    with pytest.raises(MeasureError, match=message) as caught:
        connect(engine, instance, SCHEMA, 200)
    assert str(caught.value).endswith("; the limit is the server's max_connections = 10")
    assert len(list(Path("/proc/self/fd").iterdir())) <= files + 1  # the control connection
    connect(engine, instance, SCHEMA, 5)


def test_a_limit_of_open_files_is_reported(managed_server: ManagedServer, instance: Instance) -> None:
    login = (instance.login.address, instance.login.user, instance.login.password)
    encoded = msgspec.json.encode(program(managed_server, "oltp_point_select"))
    code = f"""
from types import SimpleNamespace
from shootout.measure import managed
from shootout._engine import Engine
from shootout.servers.processes import children
from shootout.servers.running import Login
children.OPEN_FILES = 40  # far fewer than the 50 connections that the server allows
server = SimpleNamespace(login=Login(*{login!r}), post_mortem=lambda: "")
try:
    managed.connect(Engine({encoded!r}, 1), server, {SCHEMA!r}, 200)
except Exception as error:
    print(error)
"""
    python = [sys.executable, "-c", code]
    done = subprocess.run(python, capture_output=True, text=True, check=False, timeout=60)
    assert " of 200 connections opened: " in done.stdout, done
    assert done.stdout.endswith("; the limit is this process's 40 open files (ulimit -n)\n")
