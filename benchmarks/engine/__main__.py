"""The load engine against sysbench, interleaved on one server: `make bench-engine`.

Rows, statements, connections and CPUs are equal.

Prints throughput and client CPU per transaction, and the ratios ours / sysbench's with 95 % intervals over
pairs of neighbouring turns; then memory, loading, restoring, and which targets are met. Both clients are
counted alike: transactions by the server's counter, CPU by the kernel. Their connections stay open; sysbench
is stopped (SIGSTOP) between its turns. Writes everything, each turn included, to reports/engine.json. Takes
40 minutes, on an otherwise idle machine.
"""

# needs: mvn sysbench

from __future__ import annotations

import argparse
import random
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from benchmarks.engine import costs
from lab.engine import clients
from lab.engine.clients import Load, Ours, Sysbench
from lab.engine.targets import memory_rows, other_lines, point_rows, targets
from lab.engine.values import Point, Report, Turn
from shootout import steps
from shootout.inputs.options import Selection
from shootout.measure.managed import ManagedServer
from shootout.paths import REPORTS
from shootout.runner import machine
from shootout.runner.host import Host
from shootout.servers.processes.instances import Instance

SERVER = "mysql-5.7.22"
WORKLOADS = ("oltp_point_select", "oltp_read_only", "oltp_read_write")  # writers last: they change the tables
PROTOCOLS = ("text", "prepared")
CONNECTIONS = (1, 4, 16, 64, 256, 1024, 4096)
COSTS = ("memory", "loading", "restore", "cursor")
PAIRS_MIN = 6  # of turns at each point, however long transactions are
READING_S = 0.0006  # per connection: reading the server's counters waits behind the load
LATENCY_MAX_S = 2.0  # up to which turns are prolonged
ROWS = 1_000_000
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
                        memory = costs.memory(instance, password, protocol, connections, tables)
                    report = save(report, memory=(*report.memory, memory))
        if "cursor" in given.costs:
            client, servers = place.cpus(1, writes=False)
            machine.place(instance.pid, servers)
            with machine.hold(client, batch=False):
                report = save(report, cursor=costs.cursor(instance, tables, 3.0))
    if "loading" in given.costs:
        report = save(report, loading=costs.load_rows(managed_server, ROWS, 3, place.servers))
    if "restore" in given.costs:
        report = save(report, restore=costs.restore(managed_server, ROWS, 5, place.servers))
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
    parser.add_argument(
        "--point-seconds",
        type=float,
        default=60.0,
        help=f"per point, or {PAIRS_MIN} pairs",
    )
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


def show(report: Report, console: Console) -> None:
    console.print(f"\n{report.server}, {report.runner}; ratios are ours over sysbench's\n")
    if report.points:
        console.print(point_rows(report.points))
    if report.memory:
        console.print(memory_rows(report.memory))
    for line in other_lines(report):
        console.print(line)
    console.print()
    for target in targets(report):
        console.print(f"{'met    ' if target.met else 'NOT MET'}  {target.name}: {target.found}")


if __name__ == "__main__":
    main()
