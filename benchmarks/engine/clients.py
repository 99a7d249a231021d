"""The engine and sysbench as two clients of one server, each with connections and like tables of its own."""

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

from benchmarks.engine.values import Turn
from shootout._engine import Engine
from shootout.errors import MeasureError
from shootout.inputs import workload
from shootout.measure import managed
from shootout.measure.dataset import SCHEMAS
from shootout.model.plan import Dataset
from shootout.model.program import Program
from shootout.runner import machine
from shootout.servers.instances import Instance

LEAD_S = 0.3  # after a client (re)starts, before anything is counted
START_TIMEOUT_S = 180.0
SLICE_TIMEOUT_S = 60.0
SETTLE_S = 2.0
SCHEMA = "sysbench"
# Both clients' connections, and every statement that they prepare, at once.
LIMITS = {"max_connections": 10_000, "max_prepared_stmt_count": 1_048_576, "table_open_cache": 60_000}


@dataclass
class Load:
    """What both clients do."""

    workload: str
    protocol: str
    connections: int
    dataset: Dataset
    program: Program = field(init=False)

    def __post_init__(self) -> None:
        self.program = workload.compile_program(self.workload, workload.load(self.workload), self.dataset)

    @property
    def statements(self) -> int:
        """Of one transaction; those of its kinds must have equally many."""
        (count,) = {
            sum(step.repeat * len(step.statements) for step in each.steps) + 2 * each.begin
            for each in self.program.transactions
        }
        return count

    @property
    def uniform(self) -> bool:
        """Writers of sysbench's usual few hot rows wait for each other and for deadlocks, not for the server:
        with a thousand of them luck alone would tell the clients apart.
        """
        return self.program.writes

    def encoded(self) -> bytes:
        """For the engine."""
        program = msgspec.to_builtins(self.program) | {"prepared": self.protocol == "prepared"}
        return msgspec.json.encode(program | ({"distribution": {"type": "uniform"}} if self.uniform else {}))


def prepare(instance: Instance, dataset: Dataset) -> str:
    """Make room for many connections, and a copy of the tables for sysbench: what it holds when it is stopped
    (row locks, open transactions) must not be in the engine's way. Returns its password.
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
    """Let sysbench log in; returns its password."""
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
        """One slice. All of its connections begin at once: it needs a latency to get out of step.

        The slice outlasts what is counted; where reading the counters took longer than it leaves, once more.
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
    """A sysbench that is stopped while it is not its turn."""

    def __init__(self, process: subprocess.Popen[bytes], load: Load, instance: Instance) -> None:
        self.pid = process.pid
        self._process, self._load, self._instance = process, load, instance

    def turn(self, seconds: float, latency_s: float) -> Turn:
        """Let it run for a while. Its connections go on wherever they were, so they are out of step."""
        self._process.send_signal(signal.SIGCONT)
        time.sleep(LEAD_S)
        turn = _counted(self._instance, self._load, self.pid, seconds)
        self.rest()
        return turn

    def rest(self) -> None:
        """Stop it, and wait until the server has done what it was sent, or waits for locks itself."""
        self._process.send_signal(signal.SIGSTOP)
        deadline, before = time.monotonic() + SETTLE_S, float("inf")
        while time.monotonic() < deadline and (now := status(self._instance, "Threads_running")) > 1:
            if now >= before:
                break
            before = now
            time.sleep(0.05)


@contextmanager
def sysbench(load: Load, instance: Instance, password: str) -> Iterator[Sysbench]:
    """A sysbench that runs, all of its connections open, scheduled as it always is; then at rest."""
    command = [
        *arguments(load.workload, instance, password, load.dataset),
        f"--threads={load.connections}",
        "--time=0",
        f"--rand-type={'uniform' if load.uniform else 'special'}",
        f"--db-ps-mode={'auto' if load.protocol == 'prepared' else 'disable'}",
        "--mysql-ignore-errors=1213,1205,1062,1020",
        "run",
    ]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            deadline = time.monotonic() + START_TIMEOUT_S
            began = float("inf")
            while True:
                if process.poll() is not None or time.monotonic() > deadline:
                    said.seek(0)
                    raise MeasureError(f"sysbench did not start:\n{said.read().decode()[-1000:]}")
                if _connected(instance) >= load.connections:
                    count = status(instance, "Questions")
                    began = min(began, count)
                    if count > began + 100:  # far more than what we ask
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
    """What every sysbench is told."""
    return [
        *("chrt", "--other", "0"),  # the system's own scheduling, which `machine.hold` takes from its client
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
    """One of the server's counters."""
    ((_, value),) = instance.query(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return float(value)


def _counted(instance: Instance, load: Load, pid: int, seconds: float) -> Turn:
    """The server's count of statements over a while, and the client's CPU clock over the same.

    Statements of retried transactions count, too: whole ones would be too few where they take long.
    """
    marks = []
    for wait_s in (0.0, seconds):
        time.sleep(wait_s)
        marks.append((status(instance, "Questions"), time.monotonic(), machine.process_cpu_s(pid)))
    statements, elapsed_s, cpu_s = (after - before for before, after in zip(*marks, strict=True))
    transactions = max(statements - 1, 1) / load.statements  # one was ours
    return Turn(tps=transactions / elapsed_s, client_cpu_s=cpu_s / transactions)


def _connected(instance: Instance) -> int:
    """How many connections sysbench has."""
    ((count,),) = instance.query(
        f"SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{SCHEMA}'"
    )
    return int(count)


def wait_until_alone(instance: Instance) -> None:
    """Return once the server has noticed that all clients are gone."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while status(instance, "Threads_connected") > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
