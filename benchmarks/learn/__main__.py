"""Figures of learned workloads in docs/results.md: `make bench-learn`.

Each built-in workload runs with the slow log on, is learned from the log and a dump of the rows that it began
with, and is compared with the log.
"""

# needs: mvn

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from lab import dumps
from shootout._engine import Engine
from shootout.inputs import workload
from shootout.learn.measure import WORKLOAD, LearnedWorkload, learn
from shootout.measure import columns, dataset
from shootout.measure.managed import connect
from shootout.model.plan import DatasetSize
from shootout.model.program import Program
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance
from shootout.servers.sources import installations, reference

SERVERS = ("mysql-5.7.22", "mysql-8.0.33", "mysql-9.7", "mariadb-11.8")
WORKLOADS = ("oltp_read_write", "tpcc")
SIZE = DatasetSize(tables=4, rows=10_000)
COLUMNS = (
    *("server", "workload", "statements", "largest difference of a share, points"),
    *("rows examined within 5 %", "others", "score", "client CPU, of the model's"),
)
CONNECTIONS = 4
TIMEOUT_S = 60.0
RARE = 0.001  # share of statements below which rows are not compared: there are too few
ROUNDS = 6  # of alternating slices, for the client's CPU
OPTIONS = {"innodb-flush-log-at-trx-commit": "2", "character-set-server": "utf8mb4"}


def sent(instance: Instance, program: Program, schema: str, seconds: float) -> float:
    """Load the server; returns the client's CPU seconds per transaction."""
    engine = Engine(msgspec.json.encode(program), 1)
    connect(engine, instance, schema, CONNECTIONS)
    taken = engine.slice(0, 0.0, seconds, TIMEOUT_S)
    return taken.client_cpu_s / taken.completed


def learned(server: str, name: str, seconds: float, folder: Path) -> tuple[LearnedWorkload, float]:
    """Learn the workload back; return the CPU of a learned transaction over that of its model, too."""
    log, dump, home = folder / "slow.log", folder / "dump.sql", folder / "home"
    with ExitStack() as held:
        program = installations.find(reference.parse(server), held)
        instances.initialise(program, home, OPTIONS)
        chosen = workload.load(name)
        tables = workload.dataset_of(chosen, SIZE, name)
        compiled = workload.compile_program(name, chosen, tables)
        with instances.start(program, home, OPTIONS) as instance:
            dataset.load(instance, tables)
            schema = dataset.schema_of(instance, tables)
            dumps.write(instance, schema, dump)
            for setting in ("long_query_time = 0", f"slow_query_log_file = '{log}'", "slow_query_log = 1"):
                instance.query(f"SET GLOBAL {setting}")
            sent(instance, compiled, schema, seconds)
            instance.query("SET GLOBAL slow_query_log = 0")
            outcome = learn(
                dump, [log], folder / "out", reference.parse(server),
                keep=False, observe=lambda step: None,
            )  # fmt: skip
            file = str(folder / "out" / WORKLOAD)
            own = workload.load(file)
            loaded = workload.dataset_of(own, SIZE, file)
            dataset.load(instance, loaded)
            where = dataset.schema_of(instance, loaded)
            again = columns.filled(workload.compile_program("learned", own, loaded), where, instance)
            costs: list[tuple[float, float]] = []
            for _ in range(ROUNDS):
                fresh = columns.continued(again, where, instance)
                costs.append((sent(instance, compiled, schema, 0.5), sent(instance, fresh, where, 0.5)))
    return outcome, sorted(other / one for one, other in costs)[ROUNDS // 2]


def row(server: str, name: str, outcome: LearnedWorkload, cost: float) -> str:
    """A line of the table."""
    pairs = outcome.fidelity.statements
    share = max(abs(pair.share - pair.sent_share) for pair in pairs)
    compared = [
        (pair.name, pair.examined, pair.sent_examined)
        for pair in pairs
        if pair.share >= RARE and pair.examined and pair.sent_examined is not None
    ]
    off = [(what, then, now) for what, then, now in compared if abs(now / then - 1) > 0.05]
    names = ", ".join(f"{what} {then:.1f} to {now:.1f}" for what, then, now in off)
    cells = (
        server,
        name,
        str(len(pairs)),
        f"{100 * share:.2f}",
        f"{len(compared) - len(off)} of {len(compared)}",
        names or "none",
        f"{100 * outcome.fidelity.score:.1f} %",
        f"{cost:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default=",".join(SERVERS))
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--seconds", type=float, default=8.0)
    args = parser.parse_args(arguments)
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for server in args.servers.split(","):
        for name in args.workloads.split(","):
            with tempfile.TemporaryDirectory() as folder:
                outcome, cost = learned(server, name, args.seconds, Path(folder))
                print(row(server, name, outcome, cost), flush=True)


if __name__ == "__main__":
    main()
