"""The usual ways of comparing two servers beside ours, in equal times on the same running servers."""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.engine import clients
from shootout import app
from shootout._engine import Engine
from shootout.analysis import stats
from shootout.errors import MeasureError
from shootout.inputs.options import Selection
from shootout.measure import plan
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import ManagedServer, connect
from shootout.model.value import Value
from shootout.runner import machine
from shootout.runner.host import Host
from shootout.servers.instances import Instance

RUN_S = 10.0  # of sysbench, where two are taken in turns
RAMP_S, SLICE_S, TIMEOUT_S = 0.02, 0.1, 60.0  # of our slices


class Repeat(Value):
    """What each way gave for the logarithm of the ratio of two instances of one server, in equal times."""

    once: float  # sysbench on the one, then on the other
    in_turns: float  # sysbench on the one and the other, by `RUN_S`
    slices: float


@dataclass
class Two:
    """Two instances of one server, and what loads them."""

    workload: str
    threads: int
    instances: Sequence[Instance]
    passwords: Sequence[str]
    engine: Engine
    made: plan.Plan

    def sysbench(self, server: int, seconds: float) -> float:
        """Transactions a second, as sysbench says; the first second is not asked for, nor left out."""
        (tables,) = self.made.loaded
        command = clients.arguments(self.workload, self.instances[server], self.passwords[server], tables)
        command[command.index(f"--mysql-db={clients.SCHEMA}")] = f"--mysql-db={SCHEMAS['sbtest']}"
        command += [f"--threads={self.threads}", f"--time={seconds:.0f}", "--mysql-ignore-errors=all", "run"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + TIMEOUT_S, check=False
        )
        found = re.search(r"transactions: +\d+ +\(([\d.]+) per sec", done.stdout)
        if found is None:
            raise MeasureError(f"sysbench: {done.stdout[-500:]}{done.stderr[-500:]}")
        return float(found[1])

    def once(self, seconds: float) -> float:
        """The usual way."""
        return self._ratio(self.sysbench(server, seconds / 2) for server in range(2))

    def in_turns(self, seconds: float) -> float:
        """Whole runs in turns."""
        pairs = [
            self._ratio(self.sysbench(server, RUN_S) for server in range(2))
            for _ in range(int(seconds / RUN_S / 2))
        ]
        return float(np.mean(pairs))

    def slices(self, seconds: float) -> float:
        """Ours."""
        client, servers = machine.placement(Host().by_core(os.sched_getaffinity(0))).of(
            self.threads, writes=True
        )
        for instance in self.instances:
            machine.place(instance.pid, servers)
        ends_s = time.monotonic() + seconds
        rounds = []
        with machine.hold(client, batch=True):
            while time.monotonic() < ends_s:
                tps = {server: self._slice(server) for server in random.sample(range(2), 2)}
                rounds.append(math.log(tps[1] / tps[0]))
        return stats.trimmed_mean(rounds, 0.1)

    def _slice(self, server: int) -> float:
        taken = self.engine.slice(server, RAMP_S, SLICE_S, TIMEOUT_S)
        return max(taken.transactions, 0.5) / taken.window_s

    @staticmethod
    def _ratio(rates: Iterator[float]) -> float:
        base, head = rates
        return math.log(head / base)


@contextmanager
def two(server: str, workload: str, threads: int) -> Iterator[Two]:
    """Both started from the same data, and warm."""
    made = app.plan(Selection.read(servers=f"{server},{server}", workloads=workload, threads=str(threads)))
    engine = Engine(msgspec.json.encode(made.programs[workload]), 1)
    with ExitStack() as held:
        home = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="shootout-")))
        cpus = machine.placement(Host().by_core(os.sched_getaffinity(0))).servers
        instances: list[Instance] = []
        passwords = []
        for label in made.servers:
            managed_server = ManagedServer.find(made, label)
            instance = managed_server.start(managed_server.load(), home / str(len(instances)), cpus)
            held.callback(instance.kill)
            connect(engine, instance, SCHEMAS["sbtest"], threads)
            passwords.append(_account(instance))
            instances.append(instance)
        both = Two(workload, threads, instances, passwords, engine, made)
        both.slices(10.0)
        yield both


def repeat(both: Two, seconds: float, generator: random.Random) -> Repeat:
    """Every way once, in random order."""
    ways: list[tuple[str, Callable[[float], float]]] = [
        ("once", both.once),
        ("in_turns", both.in_turns),
        ("slices", both.slices),
    ]
    generator.shuffle(ways)
    return Repeat(**{name: way(seconds) for name, way in ways})


def half_width(values: Sequence[float]) -> float:
    """Of a 95 % interval around one such result: how far results of one way differ from each other."""
    return 1.96 * float(np.std(values, ddof=1))


def _account(instance: Instance) -> str:
    password = clients.account(instance)
    instance.query(f"GRANT ALL ON {SCHEMAS['sbtest']}.* TO {clients.SCHEMA}@localhost")
    return password
