"""Two measurements behind docs/method.md, cold starts and CPU placement: `make bench-method`.

Needs two otherwise idle CPUs for a few minutes.
"""

# needs: mvn

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

from shootout import numbers, steps
from shootout._engine import Engine, Slice
from shootout.inputs.options import Selection
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import ManagedServer, connect
from shootout.runner import machine
from shootout.runner.host import Host
from shootout.servers.processes.instances import Instance

RAMP_S, TIMEOUT_S = 0.02, 60.0
PLACEMENTS = {  # client, server
    "CPU 0 / CPU 1": ((0,), (1,)),
    "both on CPU 1": ((1,), (1,)),
    "CPU 0 / CPUs 0 and 1": ((0,), (0, 1)),
    "nothing pinned": ((0, 1), (0, 1)),
}


@dataclass(frozen=True)
class Servers:
    engine: Engine
    instances: Sequence[Instance]

    def slice(self, server: int, window_s: float) -> tuple[float, Slice]:
        """Throughput of one slice, and the slice."""
        measured = self.engine.slice(server, RAMP_S, window_s, TIMEOUT_S)
        return max(measured.transactions, 0.5) / window_s, measured


@contextmanager
def servers(labels: Sequence[str], workload: str, threads: int, cpus: Sequence[int]) -> Iterator[Servers]:
    """Freshly started servers with the quick profile's data, on `cpus`."""
    plan = steps.plan(Selection.read(servers=",".join(labels), workloads=workload, threads=str(threads)))
    engine = Engine(msgspec.json.encode(plan.workloads[workload].program), 1)
    instances: list[Instance] = []
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="shootout-")))
        for label in plan.servers:
            server = ManagedServer.find(plan, label)
            instances.append(server.start(server.load(), folder / str(len(instances)), cpus))
            cleanup.callback(instances[-1].kill)
        for instance in instances:
            connect(engine, instance, SCHEMAS["sbtest"], threads)
        yield Servers(engine, instances)


def tps_and_cpu(running: Servers, server: int, window_s: float) -> tuple[float, float]:
    """Throughput of one slice, and the server's CPU seconds per transaction."""
    pid = running.instances[server].pid
    before_s = machine.process_cpu_s(pid)
    tps, measured = running.slice(server, window_s)
    return tps, (machine.process_cpu_s(pid) - before_s) / max(measured.completed, 1)


def main() -> None:
    console = Console(width=120)
    for workload in ("oltp_point_select", "oltp_read_write"):
        console.print(cold_start(workload, threads=8, seconds=8.0))
    for threads in (1, 8):
        console.print(placements("oltp_point_select", threads, repeats=6))


def cold_start(workload: str, threads: int, seconds: float) -> Table:
    """Measure the mean over the 50 ms slices of each half second after the start."""
    labels = ("mysql-5.7.22", "mysql-8.0.12")
    place = machine.placement(Host().by_core({0, 1}))
    halves: list[list[list[tuple[float, float]]]] = [[[] for _ in range(int(2 * seconds))] for _ in labels]
    with servers(labels, workload, threads, place.servers) as running, machine.hold(place.client):
        began_s = time.monotonic()
        while (elapsed_s := time.monotonic() - began_s) < seconds:
            for server in random.sample(range(2), 2):
                halves[server][int(2 * elapsed_s)].append(tps_and_cpu(running, server, 0.05))
    columns = [f"{label}, {unit}" for label in labels for unit in ("tps", "CPU µs")]
    table = Table("seconds", *columns, title=f"cold start: {workload}, {threads} threads", box=None)
    for half in range(int(2 * seconds)):
        means = [np.mean(halves[server][half], axis=0) for server in range(2)]
        figures = [numbers.number(float(f)) for tps, cpu_s in means for f in (tps, cpu_s * 1e6)]
        table.add_row(f"{half / 2:.1f}", *figures)
    return table


def placements(workload: str, threads: int, repeats: int) -> Table:
    """Measure the spread of a round's log-ratio: one server twice, 100 ms slices, interleaved placements."""
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in PLACEMENTS}
    labels = ("mysql-8.0.12", "mysql-8.0.12")
    place = machine.placement(Host().by_core({0, 1}))
    order = [name for _ in range(repeats) for name in random.sample(list(PLACEMENTS), len(PLACEMENTS))]
    with servers(labels, workload, threads, place.servers) as running, machine.hold(place.client):
        for server in range(2):
            running.slice(server, 1.5)
        for name in order:
            client, server_cpus = PLACEMENTS[name]
            for instance in running.instances:
                machine.place(instance.pid, server_cpus)
            with machine.hold(client):
                for server in range(2):
                    running.slice(server, 0.1)
                for _ in range(10):
                    tps = {server: running.slice(server, 0.1)[0] for server in random.sample(range(2), 2)}
                    rounds[name].append((tps[0], math.log(tps[1] / tps[0])))
    table = Table("client / server", "tps", "spread", title=f"{workload}, {threads} threads", box=None)
    for name, found in rounds.items():
        tps_of, ratios = zip(*found, strict=True)
        quartiles = np.percentile(ratios, [25, 75])
        spread = (quartiles[1] - quartiles[0]) / 1.349  # standard deviation of a normal distribution
        table.add_row(name, numbers.number(float(np.median(tps_of))), f"{spread * 100:.1f} %")
    return table


if __name__ == "__main__":
    main()
