"""The load engine beside sysbench: one server, the same tables, statements, connections and CPUs, in turns.

Prints throughput and the client's CPU per transaction, and the ratio ours / sysbench's with its interval over
the pairs of turns. Each turn is counted after its first half second, so neither side's start is in it; the
server's own statement counter says how many transactions sysbench made, as sysbench only tells at its end.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from shootout import machine, plan, stats, wording
from shootout._engine import Engine
from shootout.contender import Contender
from shootout.dataset import SCHEMAS
from shootout.model import Interval
from shootout.servers.native import Instance

SERVER = "mysql-5.7.22"
STATEMENTS = {"oltp_point_select": 1, "oltp_read_only": 16, "oltp_read_write": 20}  # of a transaction
LEAD_S = 0.5
CONFIDENCE, TRIM = 0.95, 0.1


@dataclass(frozen=True)
class Turn:
    tps: float
    client_cpu_s: float  # each transaction


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--turns", type=int, default=14, help="of each side and workload")
    parser.add_argument("--seconds", type=float, default=1.5, help="counted in each turn")
    given = parser.parse_args()
    table = Table(
        "workload", "protocol", "tps", "sysbench", "ratio", "client µs", "sysbench", "ratio", box=None
    )
    for workload in STATEMENTS:
        pairs = compared(workload, given.threads, given.turns, given.seconds)
        ours, theirs = zip(*pairs, strict=True)
        row = [workload, "text"]
        for scale, field in ((1.0, "tps"), (1e6, "client_cpu_s")):
            of = [[scale * getattr(turn, field) for turn in side] for side in (ours, theirs)]
            logs = [math.log(a / b) for a, b in zip(*of, strict=True)]
            effect = stats.rounds_effect(logs, TRIM, CONFIDENCE)
            ratio = Interval(
                estimate=math.exp(effect.estimate), low=math.exp(effect.low), high=math.exp(effect.high)
            )
            row += [wording.number(stats.trimmed_mean(side, TRIM)) for side in of]
            row.append(f"{ratio.estimate:.3f} ({ratio.low:.3f} to {ratio.high:.3f})")
        table.add_row(*row)
    console = Console(width=120)
    console.print(
        f"{given.threads} connections, {SERVER}, {given.turns} turns of {given.seconds} s each",
        highlight=False,
    )
    console.print(table)


def compared(workload: str, threads: int, turns: int, seconds: float) -> list[tuple[Turn, Turn]]:
    """Pairs of neighbouring turns, ours and sysbench's, in random order within each."""
    made = plan.make(plan.Selection(servers=SERVER, workloads=workload, threads=str(threads)))
    program, tables = made.programs[workload], made.datasets[workload]
    contender = Contender.find(made, SERVER)
    client, servers = machine.placement(machine.by_core(os.sched_getaffinity(0))).of(
        threads, writes=program.writes
    )
    with (
        tempfile.TemporaryDirectory(prefix="shootout-") as home,
        contender.start(contender.load(), Path(home), servers) as instance,
        machine.hold(client),
    ):
        engine = Engine(msgspec.json.encode(program), 1)
        engine.connect(instance.open(threads, SCHEMAS["sbtest"]))
        password = secrets.token_hex(8)
        user = "sysbench@localhost"
        instance.query(f"CREATE USER {user} IDENTIFIED BY '{password}'")
        instance.query(f"GRANT ALL ON {SCHEMAS['sbtest']}.* TO {user}")
        command = ["sysbench", workload, f"--mysql-socket={instance.socket}", "--mysql-user=sysbench"]
        command += [
            f"--mysql-password={password}",
            f"--mysql-db={SCHEMAS['sbtest']}",
            f"--threads={threads}",
        ]
        command += [
            f"--tables={tables.tables}",
            f"--table-size={tables.rows}",
            "--time=0",
            "--db-ps-mode=disable",
        ]
        command += ["--mysql-ignore-errors=1213,1205,1062", "run"]

        def ours() -> Turn:
            taken = engine.slice(0, LEAD_S, seconds, 60)
            return Turn(taken.transactions / taken.window_s, taken.client_cpu_s / taken.completed)

        def theirs() -> Turn:
            return sysbench(command, instance, STATEMENTS[workload], seconds)

        sides: list[Callable[[], Turn]] = [ours, theirs]
        for warm in sides:
            warm()
        pairs = []
        for _ in range(turns):
            turn = {side: side() for side in random.sample(sides, 2)}
            pairs.append((turn[ours], turn[theirs]))
    return pairs


def sysbench(command: list[str], instance: Instance, statements: int, seconds: float) -> Turn:
    """Let sysbench run on its own, and look at the middle of it."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        time.sleep(LEAD_S)
        before, began, cpu_before_s = (
            questions(instance),
            time.monotonic(),
            machine.process_cpu_s(process.pid),
        )
        time.sleep(seconds)
        after, ended, cpu_after_s = questions(instance), time.monotonic(), machine.process_cpu_s(process.pid)
        process.send_signal(signal.SIGKILL)
    transactions = (after - before - 1) / statements  # one question was ours
    return Turn(transactions / (ended - began), (cpu_after_s - cpu_before_s) / transactions)


def questions(instance: Instance) -> float:
    ((_, count),) = instance.query("SHOW GLOBAL STATUS LIKE 'Questions'")
    return float(count)


if __name__ == "__main__":
    main()
