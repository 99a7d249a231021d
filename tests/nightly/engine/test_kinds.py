"""The catalogue of statements: complete, each kind of a name of its own, and no two of them similar."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec
import pymysql

from shootout.document import journal
from shootout.measure import managed
from shootout.measure.hooks import Hooks
from shootout.measure.statements import logged
from shootout.model.program import Program
from shootout.model.value import Protocol
from shootout.servers.processes.instances import Instance
from tests.support.engine.statements import WORKLOADS, Seen, compiled_kinds, plan
from tests.support.runs import BASE, SHOOTOUT, Lab, document_in, until

pytest_plugins = ["tests.support.runs", "tests.support.engine.statements"]


def test_a_run_tells_what_a_server_lacks_and_connects_for_each_transaction(lab: Lab, tmp_path: Path) -> None:
    written = ["statements_with", "statements_connect"]
    command = ["run", f"--profile={lab.once}", f"--workloads={','.join(written)}", "--threads=2"]
    for protocol in get_args(Protocol):
        out = tmp_path / protocol
        done = lab.run(SHOOTOUT, *command, f"--set=load.protocol={protocol}", f"--out={out}")
        assert done.returncode in (0, 1), done.stdout + done.stderr
        assert f"its base, {BASE}, lacks " in done.stdout
        run = journal.read(document_in(out))
        ((cell, reason),) = [(failure.cell, failure.reason) for failure in run.failures]
        assert (cell.server, cell.workload) == (BASE, written[0])
        assert "You have an error in your SQL syntax" in reason
        connecting = [start for start in run.starts if start.block.startswith(written[1])]
        assert connecting
        for samples in (samples for start in connecting for samples in start.samples):
            assert min(samples.transactions) > 0


COUNTED = ("Handler_", "Sort_", "Created_tmp", "Select_", "Bytes_sent")
_PLANNED = re.compile(r"SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH")
_CALLED = re.compile(r"(?<=COLLATE )\w+|[A-Z][A-Z_]+|[-+*/%]")  # clauses, functions, operators, collations


def test_no_two_kinds_are_similar(server: Instance) -> None:
    kinds = []
    for name in WORKLOADS:
        bound, programs = compiled_kinds(name)
        hooks = Hooks(server, bound.workload, bound.dataset)
        hooks.set_up(1)
        with closing(server.connect(database=hooks.schema, autocommit=False)) as connection:
            for kind, program in programs.items():
                statements = sent(server, hooks.schema, program)
                kinds.append(seen(connection, kind, statements, connects=program.connects))
    similar = [
        (one.name, other.name) for one, other in itertools.combinations(kinds, 2) if one.resembles(other)
    ]
    assert similar == []


def sent(server: Instance, schema: str, program: Program) -> list[str]:
    """The statements that the engine sends for one transaction."""
    before = int(server.status()["Threads_connected"])
    engines = [managed.engine(program, schema, server, 1)]
    number = managed.connect(engines[0], server, schema, 1)
    statements = list(logged(server, lambda: engines[0].count(number, 1, 60.0)))
    engines.clear()
    until(lambda: int(server.status()["Threads_connected"]) <= before)  # it holds locks
    return statements


def seen(
    connection: pymysql.Connection[pymysql.cursors.Cursor],
    name: str,
    statements: list[str],
    *,
    connects: bool,
) -> Seen:
    """Plan and counts of a kind, whose changes are rolled back."""
    shapes: list[object] = [connects]
    counts: Counter[str] = Counter()
    with connection.cursor() as cursor:
        for sql in statements:
            if _PLANNED.match(sql):
                shapes.append(plan(cursor, sql))
            shapes.append(_CALLED.findall(re.sub(r"'[^']*'", "", sql)))
            before = counters(cursor)
            cursor.execute(sql)
            cursor.fetchall()
            counts.update(counters(cursor) - before)
    connection.rollback()
    return Seen(name, msgspec.json.encode(shapes).decode(), counts)


def counters(cursor: pymysql.cursors.Cursor) -> Counter[str]:
    cursor.execute("SHOW SESSION STATUS")
    return Counter({name: int(value) for name, value in cursor.fetchall() if name.startswith(COUNTED)})
