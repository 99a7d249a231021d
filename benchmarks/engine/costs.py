"""Other costs: memory, loading, restoring, and a plain cursor for comparison."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec

from lab.engine import clients, process
from lab.engine.clients import Load
from lab.engine.values import Loading, Memory, Restore, Turn, loading
from shootout.measure import dataset
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import ManagedServer
from shootout.model.plan import Dataset
from shootout.paths import ROOT
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance

WORKLOAD = "oltp_read_write"  # has the most statements to hold


def memory(instance: Instance, password: str, protocol: str, connections: int, tables: Dataset) -> Memory:
    """Measure each client in its own process: all connections open, one second of load."""
    load = Load(WORKLOAD, protocol, connections, tables)
    login = instance.login
    job = process.Job(
        program=load.encoded(),
        address=login.address,
        user=login.user,
        password=login.password,
        schema=SCHEMAS["sbtest"],
        connections=connections,
    )
    client = [sys.executable, "-m", process.__name__]
    ours = subprocess.run(
        client, cwd=ROOT, input=msgspec.json.encode(job), stdout=subprocess.PIPE, check=True
    )
    with clients.sysbench(load, instance, password) as running:
        running.turn(1.0, 0.0)
        theirs = process.most_memory(running.pid)
    return Memory(
        protocol=protocol, connections=connections, ours_bytes=int(ours.stdout), sysbench_bytes=theirs
    )


def load_rows(managed_server: ManagedServer, rows: int, turns: int, cpus: Sequence[int]) -> Loading:
    """Load one table on one server, by the engine and by `sysbench prepare`, in pairs of random order."""
    table = Dataset(tables=1, rows=rows)
    with tempfile.TemporaryDirectory(prefix="shootout-") as home:
        instances.initialise(managed_server.program, Path(home), managed_server.compiled.options)
        options = {**managed_server.compiled.options, **dataset.LOADING}
        with instances.start(managed_server.program, Path(home), options, cpus=cpus) as instance:
            password = clients.account(instance)
            prepare = [*clients.arguments(WORKLOAD, instance, password, table), "prepare"]

            def ours() -> None:
                dataset.load(instance, table)

            def theirs() -> None:
                instance.query(f"CREATE DATABASE {clients.SCHEMA}")
                subprocess.run(prepare, stdout=subprocess.DEVNULL, check=True)

            seconds: dict[Callable[[], None], list[float]] = {ours: [], theirs: []}
            for _ in range(turns):
                for side in random.sample([ours, theirs], 2):
                    seconds[side].append(_timed(side))
                    schema = SCHEMAS["sbtest"] if side is ours else clients.SCHEMA
                    instance.query(f"DROP DATABASE {schema}")
    return loading(rows, seconds[ours], seconds[theirs])


def restore(managed_server: ManagedServer, rows: int, times: int, cpus: Sequence[int]) -> Restore:
    """Time from the cached data to a server that answers, repeatedly."""
    with ExitStack() as held:
        template = replace(managed_server, datasets=(Dataset(tables=1, rows=rows),)).load(held)
        seconds = []
        for _ in range(times):
            with tempfile.TemporaryDirectory(prefix="shootout-") as home:
                began = time.monotonic()
                template.copy_to(Path(home))
                with instances.start(
                    managed_server.program, Path(home), managed_server.compiled.options, cpus=cpus
                ):
                    seconds.append(time.monotonic() - began)
    return Restore(rows=rows, seconds=tuple(seconds))


def cursor(instance: Instance, tables: Dataset, seconds: float) -> Turn:
    """Point selects in a plain Python loop, without the engine."""
    pick = random.Random(1)
    with instance.connect(database=SCHEMAS["sbtest"]) as connection, connection.cursor() as each:
        count, began, cpu_before_s = 0, time.monotonic(), time.process_time()
        while time.monotonic() < began + seconds:
            table, row = pick.randint(1, tables.tables), pick.randint(1, tables.rows)
            each.execute(f"SELECT c FROM sbtest{table} WHERE id=%s", (row,))
            each.fetchall()
            count += 1
        elapsed_s, cpu_s = time.monotonic() - began, time.process_time() - cpu_before_s
    return Turn(tps=count / elapsed_s, client_cpu_s=cpu_s / count)


def _timed(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
