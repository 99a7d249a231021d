"""The engine and sysbench as clients of one server, each with its own connections and equal tables."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from lab.engine.values import Turn
from shootout._engine import Engine
from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import managed
from shootout.measure.dataset import SCHEMAS
from shootout.model.plan import Dataset
from shootout.model.program import Program
from shootout.runner import machine
from shootout.servers.processes.instances import Instance

LEAD_S = 0.3  # from a client's (re)start to the first count
START_TIMEOUT_S = 180.0
SLICE_TIMEOUT_S = 60.0
SETTLE_S = 2.0
SCHEMA = "sysbench"
# Enough for both clients' connections and prepared statements at once.
LIMITS = {"max_connections": 10_000, "max_prepared_stmt_count": 1_048_576, "table_open_cache": 60_000}


@dataclass
class Load:
    """The load that both clients make."""

    workload: str
    protocol: str
    connections: int
    dataset: Dataset
    program: Program = field(init=False)

    def __post_init__(self) -> None:
        self.program = workload.compile_program(self.workload, workload.load(self.workload), self.dataset)

    @property
    def statements(self) -> int:
        """Statements of a transaction; the same number in every transaction of the mix."""
        (count,) = {
            sum(step.repeat * len(step.statements) for step in each.steps) + 2 * each.begin
            for each in self.program.transactions
        }
        return count

    @property
    def uniform(self) -> bool:
        """Whether rows are drawn uniformly: a thousand writers of sysbench's few hot rows would wait for each
        other and for deadlocks, and chance alone would decide between the clients.
        """
        return self.program.writes

    def encoded(self) -> bytes:
        """The program for the engine."""
        program = msgspec.to_builtins(self.program) | {"prepared": self.protocol == "prepared"}
        return msgspec.json.encode(program | ({"distribution": {"type": "uniform"}} if self.uniform else {}))


def prepare(instance: Instance, dataset: Dataset) -> str:
    """Raise the server's limits and copy the tables for sysbench, whose row locks and open transactions must
    not block the engine while it is stopped. Returns sysbench's password.
    """
    for name, value in LIMITS.items():
        instance.query(f"SET GLOBAL {name} = {value}")
    instance.query(f"CREATE DATABASE {SCHEMA}")
    for number in range(1, dataset.tables + 1):
        instance.query(f"CREATE TABLE {SCHEMA}.sbtest{number} LIKE {SCHEMAS['sbtest']}.sbtest{number}")
        instance.query(
            f"INSERT INTO {SCHEMA}.sbtest{number} SELECT * FROM {SCHEMAS['sbtest']}.sbtest{number}"
        )
    return account(instance)


def account(instance: Instance) -> str:
    """Create sysbench's account; return its password."""
    password = secrets.token_hex(8)
    instance.query(f"CREATE USER {SCHEMA}@localhost IDENTIFIED BY '{password}'")
    instance.query(f"GRANT ALL ON {SCHEMA}.* TO {SCHEMA}@localhost")
    return password


class Ours:
    """The engine in this process."""

    def __init__(self, load: Load, instance: Instance) -> None:
        self._load, self._instance = load, instance
        self._engine = Engine(load.encoded(), 1)
        self._server = managed.connect(self._engine, instance, SCHEMAS["sbtest"], load.connections)
        self._margin_s = 0.05

    def turn(self, seconds: float, latency_s: float) -> Turn:
        """Run one slice. All connections begin at once and need one latency to fall out of step.

        The slice outlasts the count; if reading the counters took longer than that, the turn is repeated.
        """
        lead_s = LEAD_S + latency_s
        with ThreadPoolExecutor(1) as other:
            while True:
                ends = time.monotonic() + lead_s + seconds + self._margin_s
                counting = other.submit(self._count, lead_s, seconds)
                self._engine.slice(self._server, lead_s, seconds + self._margin_s, SLICE_TIMEOUT_S)
                turn, ended = counting.result()
                if ended < ends:
                    return turn
                self._margin_s *= 2

    def _count(self, lead_s: float, seconds: float) -> tuple[Turn, float]:
        time.sleep(lead_s)
        return _counted(self._instance, self._load, os.getpid(), seconds), time.monotonic()


class Sysbench:
    """A running sysbench, stopped between its turns."""

    def __init__(self, process: subprocess.Popen[bytes], load: Load, instance: Instance) -> None:
        self.pid = process.pid
        self._process, self._load, self._instance = process, load, instance

    def turn(self, seconds: float, latency_s: float) -> Turn:
        """Let it run. Its connections continue where they were, so they are out of step."""
        self._process.send_signal(signal.SIGCONT)
        time.sleep(LEAD_S)
        turn = _counted(self._instance, self._load, self.pid, seconds)
        self.rest()
        return turn

    def rest(self) -> None:
        """Stop it, and wait until the server has finished its statements or only waits for locks."""
        self._process.send_signal(signal.SIGSTOP)
        deadline, before = time.monotonic() + SETTLE_S, float("inf")
        while time.monotonic() < deadline and (now := status(self._instance, "Threads_running")) > 1:
            if now >= before:
                break
            before = now
            time.sleep(0.05)


@contextmanager
def sysbench(load: Load, instance: Instance, password: str) -> Iterator[Sysbench]:
    """Start a sysbench with all connections open, under the system's normal scheduling, stopped."""
    command = [
        *arguments(load.workload, instance, password, load.dataset),
        f"--threads={load.connections}",
        "--time=0",
        f"--rand-type={'uniform' if load.uniform else 'special'}",
        f"--db-ps-mode={'auto' if load.protocol == 'prepared' else 'disable'}",
        "--mysql-ignore-errors=1213,1205,1062,1020",
        "run",
    ]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + START_TIMEOUT_S
            began = float("inf")
            while True:
                if process.poll() is not None or time.monotonic() > deadline:
                    output.seek(0)
                    raise MeasureError(f"sysbench did not start:\n{output.read().decode()[-1000:]}")
                if _connected(instance) >= load.connections:
                    count = status(instance, "Questions")
                    began = min(began, count)
                    if count > began + 100:  # far more than our own queries
                        break
                time.sleep(0.05)
            running = Sysbench(process, load, instance)
            time.sleep(LEAD_S)
            running.rest()
            yield running
        finally:
            process.kill()
            process.wait()


def arguments(workload: str, instance: Instance, password: str, dataset: Dataset) -> list[str]:
    """The arguments of every sysbench command."""
    return [
        *("chrt", "--other", "0"),  # normal scheduling instead of `machine.hold`'s
        "sysbench",
        workload,
        f"--mysql-socket={instance.socket}",
        f"--mysql-user={SCHEMA}",
        f"--mysql-password={password}",
        f"--mysql-db={SCHEMA}",
        f"--tables={dataset.tables}",
        f"--table-size={dataset.rows}",
    ]


def status(instance: Instance, name: str) -> float:
    """Read one of the server's counters."""
    ((_, value),) = instance.query(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return float(value)


def _counted(instance: Instance, load: Load, pid: int, seconds: float) -> Turn:
    """The server's count of statements and the client's CPU clock over the same time.

    Counts statements, retried ones too: there would be too few whole transactions if they take long.
    """
    marks = []
    for wait_s in (0.0, seconds):
        time.sleep(wait_s)
        marks.append((status(instance, "Questions"), time.monotonic(), machine.process_cpu_s(pid)))
    statements, elapsed_s, cpu_s = (after - before for before, after in zip(*marks, strict=True))
    transactions = max(statements - 1, 1) / load.statements  # one was ours
    return Turn(tps=transactions / elapsed_s, client_cpu_s=cpu_s / transactions)


def _connected(instance: Instance) -> int:
    """Count sysbench's connections."""
    ((count,),) = instance.query(
        f"SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{SCHEMA}'"
    )
    return int(count)


def wait_until_alone(instance: Instance) -> None:
    """Wait until the server has noticed that all clients are gone."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while status(instance, "Threads_connected") > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
