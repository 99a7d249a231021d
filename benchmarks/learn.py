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
from shootout.learn.measure import LearnedWorkload, learn
from shootout.measure import dataset
from shootout.measure.managed import connect
from shootout.model.plan import DatasetSize
from shootout.servers.processes import instances
from shootout.servers.sources import installations, reference

SERVERS = ("mysql-5.7.22", "mysql-8.0.33", "mysql-9.7", "mariadb-11.8")
WORKLOADS = ("oltp_read_write", "tpcc")
SIZE = DatasetSize(tables=4, rows=10_000)
CONNECTIONS = 4
TIMEOUT_S = 60.0
OPTIONS = {"innodb-flush-log-at-trx-commit": "2", "character-set-server": "utf8mb4"}


def learned(server: str, name: str, seconds: float, folder: Path) -> LearnedWorkload:
    """Send the workload, and learn it back."""
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
            engine = Engine(msgspec.json.encode(compiled), 1)
            connect(engine, instance, schema, CONNECTIONS)
            engine.slice(0, 0.0, seconds, TIMEOUT_S)
            instance.query("SET GLOBAL slow_query_log = 0")
            return learn(
                dump, [log], folder / "out", reference.parse(server),
                keep=False, observe=lambda step: None,
            )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default=",".join(SERVERS))
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--seconds", type=float, default=8.0)
    args = parser.parse_args(arguments)
    print("| server | workload | kinds | sent as often, with as many rows |\n|---|---|---|---|")
    for server in args.servers.split(","):
        for name in args.workloads.split(","):
            with tempfile.TemporaryDirectory() as folder:
                found = learned(server, name, args.seconds, Path(folder)).fidelity
                kinds, score = len(found.statements), f"{100 * found.score:.1f} %"
                print(f"| {server} | {name} | {kinds} | {score} |", flush=True)


if __name__ == "__main__":
    main()
