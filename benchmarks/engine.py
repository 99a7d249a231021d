"""The load engine against sysbench, interleaved on one server: `make bench-engine`.

Rows, statements, connections and CPUs are equal.

Prints throughput and client CPU per transaction, and the ratios ours / sysbench's with 95 % intervals over
pairs of neighbouring turns; then memory, loading, and which targets are met. Both clients are
counted alike: transactions by the server's counter, CPU by the kernel. Their connections stay open; sysbench
is stopped (SIGSTOP) between its turns. Writes everything, each turn included, to reports/engine.json. Takes
40 minutes, on an otherwise idle machine.
"""

# needs: mvn sysbench

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from lab.engine import clients, process
from lab.engine.clients import Load, Ours, Sysbench
from lab.engine.targets import point_rows, targets
from lab.engine.values import Loading, Memory, Point, Report, Turn, loading
from shootout import steps
from shootout.inputs.options import Selection
from shootout.measure import dataset
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import ManagedServer
from shootout.model.plan import Dataset
from shootout.numbers import number
from shootout.paths import REPORTS, ROOT
from shootout.runner import machine
from shootout.runner.host import Host
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance

SERVER = "mysql-5.7.22"
WORKLOADS = ("oltp_point_select", "oltp_read_only", "oltp_read_write")  # writers last: they change the tables
PROTOCOLS = ("text", "prepared")
CONNECTIONS = (1, 4, 16, 64, 256, 1024, 4096)
COSTS = ("memory", "loading")
PAIRS_MIN = 6  # of turns at each point, however long transactions are
READING_S = 0.0006  # per connection: reading the server's counters waits behind the load
LATENCY_MAX_S = 2.0  # up to which turns are prolonged
ROWS = 1_000_000
MEMORY_OF = "oltp_read_write"  # has the most statements to hold
FILE = REPORTS / "engine.json"


def main() -> None:
    given = options()
    console = Console(width=150, highlight=False)
    made = steps.plan(Selection.read(servers=SERVER, workloads=",".join(WORKLOADS), threads="1"))
    managed_server = ManagedServer.find(made, SERVER)
    (tables,) = made.loaded
    cpus = Host().cpus
    place = machine.placement(cpus, "shared")  # on fewer CPUs the server alone would limit throughput
    report = Report(
        server=SERVER,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        runner=machine.inspect(FILE.parent).cpu + f", {len(cpus)} CPUs",
    )
    with ExitStack() as held:
        home = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="shootout-")))
        instance = held.enter_context(managed_server.start(managed_server.load(held), home, place.servers))
        password = clients.prepare(instance, tables)
        for workload in given.workloads:
            for protocol in given.protocols:
                for connections in given.connections:
                    load = Load(workload, protocol, connections, tables)
                    client, servers = place.cpus(connections, writes=load.program.writes)
                    machine.place(instance.pid, servers)
                    with machine.hold(client, batch=connections > 1):
                        point = compared(load, instance, password, given)
                    report = save(report, points=(*report.points, point))
                    console.print(point_rows((point,)))
        machine.place(instance.pid, place.servers)
        if "memory" in given.costs:
            for protocol in given.protocols:
                for connections in (1024, 4096):
                    with machine.hold(place.client):
                        measured = memory_of(instance, password, protocol, connections, tables)
                    report = save(report, memory=(*report.memory, measured))
    if "loading" in given.costs:
        report = save(report, loading=load_rows(managed_server, ROWS, 3, place.servers))
    show(report, console)


def save(report: Report, **measured: Any) -> Report:
    """Add a measurement and write the report at once, so that a later fault loses nothing."""
    report = msgspec.structs.replace(report, **measured)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    return report


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def names(text: str) -> tuple[str, ...]:
        return tuple(text.split(",")) if text else ()

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(map(int, names(text)))

    parser.add_argument("--workloads", type=names, default=WORKLOADS, help="sysbench's; '' for none")
    parser.add_argument("--protocols", type=names, default=PROTOCOLS)
    parser.add_argument("--connections", type=numbers, default=CONNECTIONS)
    parser.add_argument("--costs", type=names, default=COSTS, help=f"of {','.join(COSTS)}; '' for none")
    parser.add_argument("--turns", type=int, default=24, help="turns of each client at each point, at most")
    parser.add_argument("--seconds", type=float, default=0.6, help="counted seconds of a turn, at least")
    parser.add_argument("--point-seconds", type=float, default=60.0, help=f"or {PAIRS_MIN} pairs")
    return parser.parse_args()


def compared(load: Load, instance: Instance, password: str, given: argparse.Namespace) -> Point:
    """Pairs of neighbouring turns, in random order. Long transactions prolong turns."""
    clients.wait_until_alone(instance)
    ours = Ours(load, instance)
    with clients.sysbench(load, instance, password) as sysbench:
        sides: tuple[Ours | Sysbench, ...] = (ours, sysbench)
        warm = [side.turn(given.seconds, 0.0) for side in sides]
        latency_s = min(load.connections / max(turn.tps for turn in warm), LATENCY_MAX_S)
        seconds = max(given.seconds, latency_s, READING_S * load.connections)
        pairs: list[tuple[Turn, Turn]] = []
        began = time.monotonic()
        while len(pairs) < given.turns and (
            len(pairs) < PAIRS_MIN or time.monotonic() - began < given.point_seconds
        ):
            turns = {side: side.turn(seconds, latency_s) for side in random.sample(sides, 2)}
            pairs.append((turns[ours], turns[sysbench]))
    return Point.from_pairs(load.workload, load.protocol, load.connections, pairs)


def memory_of(instance: Instance, password: str, protocol: str, connections: int, tables: Dataset) -> Memory:
    """Measure each client in its own process: all connections open, one second of load."""
    load = Load(MEMORY_OF, protocol, connections, tables)
    login = instance.login
    client = [
        *(sys.executable, "-m", process.__name__, login.address, login.user, login.password),
        *(SCHEMAS["sbtest"], str(connections)),
    ]
    ours = subprocess.run(client, cwd=ROOT, input=load.encoded(), stdout=subprocess.PIPE, check=True)
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
            prepare = [*clients.arguments(MEMORY_OF, instance, password, table), "prepare"]

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


def _timed(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def show(report: Report, console: Console) -> None:
    console.print(f"\n{report.server}, {report.runner}; ratios are ours over sysbench's\n")
    if report.points:
        console.print(point_rows(report.points))
    for each in report.memory:
        sizes = " MB, sysbench ".join(f"{size / 1e6:.0f}" for size in (each.ours_bytes, each.sysbench_bytes))
        console.print(f"memory, {each.protocol}, {each.connections} connections: {sizes}")
    if loading := report.loading:
        ours, theirs = (loading.rows * len(s) / sum(s) for s in (loading.ours_s, loading.sysbench_s))
        console.print(f"loading, rows/s: {number(ours)}, sysbench {number(theirs)}")
    console.print()
    for target in targets(report):
        console.print(f"{'met    ' if target.met else 'NOT MET'}  {target.name}: {target.found}")


if __name__ == "__main__":
    main()
