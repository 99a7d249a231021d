"""What docs/method.md rests on, measured again: how long a cold start lasts, where client and server run.

Needs two CPUs. A few minutes; run nothing beside it.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from shootout import app
from shootout._engine import Engine
from shootout.inputs.options import Selection
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import ManagedServer, connect
from shootout.report import wording
from shootout.runner import machine
from shootout.runner.host import Host
from shootout.servers.instances import Instance

PLACEMENTS = {  # client, server
    "CPU 0 / CPU 1": ((0,), (1,)),
    "both on CPU 1": ((1,), (1,)),
    "CPU 0 / CPUs 0 and 1": ((0,), (0, 1)),
    "nothing pinned": ((0, 1), (0, 1)),
}


@dataclass(frozen=True)
class Bench:
    """Servers that run, all connections open."""

    engine: Engine
    instances: Sequence[Instance]

    def slice(self, server: int, window_s: float) -> tuple[float, float]:
        """Throughput, and the server's CPU seconds for each transaction."""
        before_s = machine.process_cpu_s(self.instances[server].pid)
        taken = self.engine.slice(server, 0.02, window_s, 60)
        used_s = machine.process_cpu_s(self.instances[server].pid) - before_s
        return max(taken.transactions, 0.5) / window_s, used_s / max(taken.completed, 1)


def main() -> None:
    console = Console(width=120)
    for workload in ("oltp_point_select", "oltp_read_write"):
        console.print(cold_start(workload, threads=8, seconds=8.0))
    for threads in (1, 8):
        console.print(placements("oltp_point_select", threads, repeats=6))


def cold_start(workload: str, threads: int, seconds: float) -> Table:
    """Each half second's mean over slices of 50 ms, from the first one after the pages were read."""
    labels = ("mysql-5.7.22", "mysql-8.0.12")
    halves: list[list[list[tuple[float, float]]]] = [[[] for _ in range(int(2 * seconds))] for _ in labels]
    with running(labels, workload, threads) as bench:
        began_s = time.monotonic()
        while (elapsed_s := time.monotonic() - began_s) < seconds:
            for server in random.sample(range(2), 2):
                halves[server][int(2 * elapsed_s)].append(bench.slice(server, 0.05))
    columns = [f"{label}, {unit}" for label in labels for unit in ("tps", "CPU µs")]
    table = Table("seconds", *columns, title=f"cold start: {workload}, {threads} threads", box=None)
    for half in range(int(2 * seconds)):
        means = [np.mean(halves[server][half], axis=0) for server in range(2)]
        figures = [wording.number(float(f)) for tps, cpu_s in means for f in (tps, cpu_s * 1e6)]
        table.add_row(f"{half / 2:.1f}", *figures)
    return table


def placements(workload: str, threads: int, repeats: int) -> Table:
    """One server against itself in slices of 100 ms, placements in turns; spread: of a round's log-ratio."""
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in PLACEMENTS}
    with running(("mysql-8.0.12", "mysql-8.0.12"), workload, threads) as bench:
        for server in range(2):
            bench.slice(server, 1.5)
        for name in (
            name for _ in range(repeats) for name in random.sample(list(PLACEMENTS), len(PLACEMENTS))
        ):
            client, servers = PLACEMENTS[name]
            for instance in bench.instances:
                machine.place(instance.pid, servers)
            with machine.hold(client):
                bench.slice(0, 0.1), bench.slice(1, 0.1)
                for _ in range(10):
                    tps = {server: bench.slice(server, 0.1)[0] for server in random.sample(range(2), 2)}
                    rounds[name].append((tps[0], math.log(tps[1] / tps[0])))
    table = Table("client / server", "tps", "spread", title=f"{workload}, {threads} threads", box=None)
    for name, found in rounds.items():
        tps_of, ratios = zip(*found, strict=True)
        quartiles = np.percentile(ratios, [25, 75])
        spread = (quartiles[1] - quartiles[0]) / 1.349  # of a normal distribution: its standard deviation
        table.add_row(name, wording.number(float(np.median(tps_of))), f"{spread * 100:.1f} %")
    return table


@contextmanager
def running(labels: Sequence[str], workload: str, threads: int) -> Iterator[Bench]:
    """The servers, freshly started from the quick profile's data."""
    made = app.plan(Selection.read(servers=",".join(labels), workloads=workload, threads=str(threads)))
    engine = Engine(msgspec.json.encode(made.programs[workload]), 1)
    with ExitStack() as held:
        home = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="shootout-")))
        place = machine.placement(Host().by_core({0, 1}))
        instances: list[Instance] = []
        for label in made.servers:
            managed_server = ManagedServer.find(made, label)
            instance = managed_server.start(managed_server.load(), home / str(len(instances)), place.servers)
            held.callback(instance.kill)
            instances.append(instance)
        for instance in instances:
            connect(engine, instance, SCHEMAS["sbtest"], threads)
        with machine.hold(place.client):
            yield Bench(engine, instances)


if __name__ == "__main__":
    main()
