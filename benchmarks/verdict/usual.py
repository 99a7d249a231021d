"""The usual ways to compare two servers, and slices, in equal times on the same running servers."""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.engine import clients
from benchmarks.running import TIMEOUT_S, Servers, servers
from shootout.analysis import stats
from shootout.errors import MeasureError
from shootout.measure.dataset import SCHEMAS
from shootout.model.value import Value
from shootout.runner import machine
from shootout.runner.host import Host
from shootout.servers.instances import Instance

RUN_S = 10.0  # a sysbench run, when two alternate
SLICE_S = 0.1


class Repeat(Value):
    """The log-ratio of two instances of one server by each way, in equal times."""

    once: float  # sysbench on one, then on the other
    in_turns: float  # sysbench runs of `RUN_S`, alternating
    slices: float


@dataclass
class Two:
    """Two instances of one server."""

    workload: str
    threads: int
    running: Servers
    passwords: Sequence[str]

    def sysbench(self, server: int, seconds: float) -> float:
        """Transactions per second as sysbench reports them, over the whole run."""
        (tables,) = self.running.plan.loaded
        instance = self.running.instances[server]
        command = clients.arguments(self.workload, instance, self.passwords[server], tables)
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
        """Sysbench on A, then on B."""
        return self._ratio(self.sysbench(server, seconds / 2) for server in range(2))

    def in_turns(self, seconds: float) -> float:
        """Whole sysbench runs, alternating."""
        pairs = [
            self._ratio(self.sysbench(server, RUN_S) for server in range(2))
            for _ in range(int(seconds / RUN_S / 2))
        ]
        return float(np.mean(pairs))

    def slices(self, seconds: float) -> float:
        """Slices of the engine."""
        place = machine.placement(Host().by_core(os.sched_getaffinity(0)))
        client, server_cpus = place.of(self.threads, writes=True)
        for instance in self.running.instances:
            machine.place(instance.pid, server_cpus)
        ends_s = time.monotonic() + seconds
        rounds = []
        with machine.hold(client, batch=True):
            while time.monotonic() < ends_s:
                tps = {s: self.running.slice(s, SLICE_S)[0] for s in random.sample(range(2), 2)}
                rounds.append(math.log(tps[1] / tps[0]))
        return stats.trimmed_mean(rounds, 0.1)

    @staticmethod
    def _ratio(rates: Iterator[float]) -> float:
        base, head = rates
        return math.log(head / base)


@contextmanager
def two(server: str, workload: str, threads: int) -> Iterator[Two]:
    """Both started from the same data, and warm."""
    cpus = machine.placement(Host().by_core(os.sched_getaffinity(0))).servers
    with servers([server, server], workload, threads, cpus) as running:
        both = Two(workload, threads, running, [_account(instance) for instance in running.instances])
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
    """The half-width of one result's 95 % interval, from the spread of all results."""
    return 1.96 * float(np.std(values, ddof=1))


def _account(instance: Instance) -> str:
    password = clients.account(instance)
    instance.query(f"GRANT ALL ON {SCHEMAS['sbtest']}.* TO {clients.SCHEMA}@localhost")
    return password
