"""Counts what servers execute for each kind of statement, under Callgrind: equal statements, one connection.

A kind of statement is counted alone, by a program that sends nothing else. If the workload sends it inside of
a transaction, it is counted inside of an open one. Every kind runs for a while before anything is counted:
servers build hash indexes, and Callgrind is faster then. Each start draws other values: it is a replication.
A repetition has the same statements on every server. A consistent read keeps purging out of it.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Self

import msgspec
import pymysql

from shootout import __version__
from shootout._engine import Engine, LoadError
from shootout.document import journal
from shootout.errors import InputError, MeasureError, without_values
from shootout.measure import columns, managed, statements
from shootout.measure.dataset import Template, schema_of
from shootout.measure.hooks import Hooks
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.rounds import reason
from shootout.measure.workplace import workplace
from shootout.model.program import ProgramColumn
from shootout.model.run import Observe, Progress, ServerRecord
from shootout.model.statement_plan import StatementPlan
from shootout.servers import instances
from shootout.servers.instances import Instance
from shootout.servers.native import Tree
from shootout.work import callgrind, planning
from shootout.work.callgrind import Counter, Dump
from shootout.work.documents import COUNTS
from shootout.work.units import Unit, kinds_of, units
from shootout.work.values import WorkCount, WorkDocument, WorkFailure, WorkFunctions, WorkKind

PRIMING = 10  # repetitions of each kind before Callgrind begins to count
WARM_UP = 3  # repetitions of each kind after that, for what another kind left
REPETITIONS = 5
# With it on before anything is written, purging removes nothing. Otherwise it depends on Valgrind's scheduler
# whether an index still has the row that a statement comes upon: 19 to 70 % between starts, instead of 0.3 %.
READ_VIEW = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
)
AUTOCOMMIT_SINCE = (5, 5, 0)  # as a global variable, which opens the engine's transactions
ANSWER_TIMEOUT_S = 120.0
# What servers say of a statement that they do not know, or not in this form.
LACKING = frozenset(
    (
        1064,  # syntax
        *(1115, 1128, 1193, 1273, 1286, 1305),  # character set, function, variable, collation, engine
        *(1178, 1214, 1235, 1295, 1582),  # by the engine, FULLTEXT, not yet, prepared, with so many arguments
        *(1800, 1801, 1845, 1846),  # an ALTER's algorithm or lock
        4161,  # type, on MariaDB
    )
)
CLOSING_S = 60.0  # for a connection's rollback
NAMED_MIN = 0.001  # functions with a smaller share of a kind's instructions are left out


class Watcher:
    """What looks at the servers while they are counted, and may change what they execute."""

    def starting(self, server: str, tree: Tree, home: Path) -> Tree:
        """What is started in place of a server's program, which already runs under Callgrind."""
        return tree

    def sending(self, server: str, unit: Unit, home: Path) -> None:
        """A server is about to get the statements of a kind."""


@dataclass
class ServerCounts:
    """What one server gave."""

    record: ServerRecord
    counts: list[WorkCount] = field(default_factory=list)
    last: dict[tuple[str, str], Dump] = field(default_factory=dict)  # by workload and kind
    failures: list[WorkFailure] = field(default_factory=list)
    plans: dict[str, tuple[StatementPlan, ...]] = field(default_factory=dict)  # by workload


def check(plan: Plan) -> str:
    """Valgrind's version. Raises InputError if it, or a server that can run under it, is missing."""
    for planned in plan.servers.values():
        callgrind.require_program(planned.reference)
    return callgrind.version()


def measure(plan: Plan, results: Path, observe: Observe, watcher: Watcher | None = None) -> Path:
    """Count the plan's workloads on its servers; returns the document's file.

    Call this from the main thread. Raises InputError and MeasureError; a server that fails is a result.
    """
    valgrind = check(plan)
    started, began_s = datetime.now(UTC), time.monotonic()
    every = {name: units(name, bound) for name, bound in plan.workloads.items()}
    with workplace(journal.new_run(started), plan.place.data) as (directory, held):
        servers = [*_servers(plan, held, observe)]
        if any(unit.open for of_workload in every.values() for unit in of_workload):
            _require_open_transactions(servers)
        benches = [
            _Bench(plan, every, server, directory / str(number), watcher or Watcher()).load(held)
            for number, server in enumerate(servers)
        ]
        loaded = [bench for bench in benches if bench.template is not None]
        for start in range(1, plan.profile.sampling.starts_min + 1):
            for together in _batches(loaded, len(os.sched_getaffinity(0))):
                names = ", ".join(bench.server.label for bench in together)
                observe(Progress(stage="start", detail=names, start=start))
                _one_start(together, start, observe)
    document = _document(plan, started, valgrind, every, benches)
    elapsed_s = round(time.monotonic() - began_s, 3)
    document = msgspec.structs.replace(document, elapsed_s=elapsed_s)
    return COUNTS.write(results, document.run, document)


def _servers(plan: Plan, held: ExitStack, observe: Observe) -> Iterator[ManagedServer]:
    for label in plan.servers:
        observe(Progress(stage="prepare", detail=label))
        yield ManagedServer.find(plan, label, None, held)


def _require_open_transactions(servers: Sequence[ManagedServer]) -> None:
    """Raise InputError for a server that cannot count a statement inside an open transaction."""
    for server in servers:
        if server.program.version < AUTOCOMMIT_SINCE:
            raise InputError(
                f"{server.reference.text}: before MySQL 5.5, statements between BEGIN and COMMIT cannot be "
                "counted alone; --option skip_trx=1 sends sysbench's without"
            )


@dataclass
class _Bench:
    """A server, and what has been counted on it."""

    plan: Plan
    units: Mapping[str, Sequence[Unit]]
    server: ManagedServer
    home: Path
    watcher: Watcher
    template: Template | None = field(init=False, default=None)  # None: it could not be loaded
    counted: ServerCounts = field(init=False)
    values: dict[str, tuple[ProgramColumn, ...]] = field(init=False, default_factory=dict)  # by workload

    def __post_init__(self) -> None:
        self.counted = ServerCounts(self.server.record())

    def load(self, held: ExitStack) -> Self:
        """Load the datasets, or record why that failed."""
        try:
            self.template = self.server.load(held)
            self.counted.record = self.server.record(self.template)
        except MeasureError as error:
            self.fail(error)
        return self

    def begin(self) -> Instance:
        """Start the server under Callgrind, without waiting for it. Raises MeasureError."""
        assert self.template is not None
        self.template.copy_to(self.home)
        tree = callgrind.under(self.server.program, self.home)
        return instances.begin(
            self.watcher.starting(self.server.label, tree, self.home),
            self.home,
            {**self.server.compiled.options, **callgrind.OPTIONS},
            start_timeout_s=callgrind.START_TIMEOUT_S,
        )

    def fail(self, error: Exception, workload: str = "", kind: str = "") -> None:
        """Record why the server has no counts: of a kind, of a workload, or at all."""
        self.counted.failures.append(
            WorkFailure(
                server=self.server.label,
                workload=workload,
                kind=kind,
                reason=str(error),
                lacks=_code(error) in LACKING,
            )
        )

    def _fails(self, workload: str, kind: str) -> bool:
        failed = {(failure.workload, failure.kind) for failure in self.counted.failures}
        return not failed.isdisjoint(((workload, kind), (workload, "")))

    def count(self, instance: Instance, start: int, observe: Observe) -> None:
        """Count every kind after one start. Raises MeasureError and pymysql.Error."""
        counter = Counter(instance.pid, self.home)
        if start == 1:
            self.counted.record = self.server.record(self.template, instance)
        with closing(instance.connect()) as reader, reader.cursor() as cursor:
            for statement in READ_VIEW:
                cursor.execute(statement)
            self._each_workload(instance, observe, "warming up", partial(self._prime, instance, start))
            counter.begin()
            self._each_workload(instance, observe, "counting", partial(self._count, instance, counter, start))
        if start == 1:  # after the counts: plans are drawn from new statistics
            self._plan(instance, observe)

    def _plan(self, instance: Instance, observe: Observe) -> None:
        """Ask how the server plans what was counted; one that logs no statements is not asked."""
        sent: defaultdict[str, dict[str, str]] = defaultdict(dict)

        def capture(schema: str, unit: Unit) -> None:
            with suppress(MeasureError), self._connected(instance, schema, unit, "plans") as send:
                sent[unit.kind.workload] |= statements.captured(instance, unit.program, lambda: send(1))

        self._each_workload(instance, observe, "explaining", capture)
        for name, captured in sent.items():
            schema = schema_of(instance, self.plan.workloads[name].dataset)
            self.counted.plans[name] = planning.planned(instance, self.server.label, schema, captured)

    def _each_workload(
        self, instance: Instance, observe: Observe, what: str, work: Callable[[str, Unit], None]
    ) -> None:
        """Do something to every kind that has not failed. A server that has died says why once."""
        for name, every in self.units.items():
            if not instance.alive() or self._fails(name, ""):
                continue
            observe(Progress(stage="prepare", detail=f"{self.server.label}: {what} {name}"))
            bound = self.plan.workloads[name]
            hooks = Hooks(instance, bound.workload, bound.dataset)
            try:
                hooks.set_up(1)
            except MeasureError as error:
                self.fail(error, name)
                continue
            for unit in every:
                if instance.alive() and not self._fails(name, unit.kind.name):
                    try:
                        work(hooks.schema, unit)
                    except MeasureError as error:
                        self.fail(error, name, unit.kind.name)

    def _prime(self, instance: Instance, start: int, schema: str, unit: Unit) -> None:
        with self._connected(instance, schema, unit, f"{start}/priming") as repeat:
            repeat(PRIMING * unit.kind.units)

    @contextmanager
    def _connected(
        self, instance: Instance, schema: str, unit: Unit, seed: str
    ) -> Iterator[Callable[[int], None]]:
        """Yields what runs a number of the unit on a new connection."""
        named = f"{self.plan.seed}/{seed}/{unit.kind.workload}/{unit.kind.name}"
        drawn = random.Random(named).getrandbits(64)
        read = self.values.get(unit.kind.workload)  # the same after each start, for all kinds
        if read is None:
            read = self.values[unit.kind.workload] = columns.filled(unit.program, schema, instance).columns
        program = msgspec.structs.replace(unit.program, columns=read)
        engines = [managed.engine(program, schema, instance, drawn)]
        before = _connections(instance)
        self.watcher.sending(self.server.label, unit, self.home)
        if unit.open:
            instance.query("SET GLOBAL autocommit = 0")
        try:
            number = managed.connect(engines[0], instance, schema, 1)
        finally:
            if unit.open:
                instance.query("SET GLOBAL autocommit = 1")
        try:
            yield lambda count: _send(engines[0], number, instance, count)
        finally:
            engines.clear()  # closes the connection
            _wait_for_rollback(instance, before)

    def _count(self, instance: Instance, counter: Counter, start: int, schema: str, unit: Unit) -> None:
        with self._connected(instance, schema, unit, str(start)) as send:
            send(WARM_UP * unit.kind.units)
            counter.dump()
            dumps = []
            for _ in range(REPETITIONS):
                send(unit.kind.units)
                dumps.append(counter.dump())
        self.counted.last[unit.kind.workload, unit.kind.name] = dumps[-1]
        self.counted.counts.append(
            WorkCount(
                server=self.server.label,
                workload=unit.kind.workload,
                kind=unit.kind.name,
                start=start,
                instructions=tuple(dump.instructions for dump in dumps),
            )
        )


def _batches(benches: Sequence[_Bench], size: int) -> Iterator[Sequence[_Bench]]:
    """As many servers at a time as there are CPUs: Valgrind runs one thread of each."""
    for first in range(0, len(benches), size):
        yield benches[first : first + size]


def _one_start(benches: Sequence[_Bench], start: int, observe: Observe) -> None:
    """Start servers at once, and count on them at the same time: nothing here depends on the clock."""
    with ThreadPoolExecutor(max_workers=len(benches)) as pool, ExitStack() as held:
        running = []
        for bench in benches:
            try:
                instance = bench.begin()
                held.callback(instance.kill)  # no shutdown: its data directory is discarded
                counting = pool.submit(_wait_and_count, bench, instance, start, observe)
                running.append(counting)
            except MeasureError as error:
                bench.fail(error)
        for counting in running:
            counting.result()  # an interruption kills the servers, which ends the other threads
    for bench in benches:
        shutil.rmtree(bench.home, ignore_errors=True)


def _wait_and_count(bench: _Bench, instance: Instance, start: int, observe: Observe) -> None:
    try:
        instance.wait_until_ready()
        bench.count(instance, start, observe)
    except MeasureError as error:
        bench.fail(error)
    except pymysql.Error as error:
        bench.fail(MeasureError(f"{without_values(str(error))}{instance.post_mortem()}"))


def _send(engine: Engine, number: int, instance: Instance, count: int) -> None:
    try:
        completed, _, refusals = engine.count(number, count, ANSWER_TIMEOUT_S)
    except LoadError as error:
        raise MeasureError(reason(error) + instance.post_mortem()) from None
    if completed != count:
        said = {f"{without_values(message)} ({code})": None for _, code, _, message in refusals}
        raise MeasureError(
            f"{completed} of {count} transactions completed; the server refused the others: {', '.join(said)}"
        )


def _code(error: BaseException) -> int:
    """What the server said, as a number; 0: nothing."""
    said = error.__cause__ or error.__context__
    if isinstance(said, LoadError):
        _, code, _ = said.args
        return int(code)
    return int(said.args[0]) if isinstance(said, pymysql.Error) else 0


def _connections(instance: Instance) -> int:
    return int(instance.status()["Threads_connected"])


def _wait_for_rollback(instance: Instance, before: int) -> None:
    """Until the connection that was closed is gone, and with it its locks."""
    ends_s = time.monotonic() + CLOSING_S
    while instance.alive() and _connections(instance) > before and time.monotonic() < ends_s:
        time.sleep(0.05)


# --- what is counted ------------------------------------------------------------------------------


def _document(
    plan: Plan,
    started: datetime,
    valgrind: str,
    every: Mapping[str, Sequence[Unit]],
    benches: Sequence[_Bench],
) -> WorkDocument:
    kinds = {(kind.workload, kind.name): kind for counted in every.values() for kind in kinds_of(counted)}
    names: dict[str, int] = {}
    profiles = [
        _functions(bench.server.label, kinds[key], dump, names)
        for bench in benches
        for key, dump in bench.counted.last.items()
    ]
    return WorkDocument(
        format=2,
        run=journal.new_run(started),
        started=started.isoformat(timespec="seconds"),
        version=__version__,
        valgrind=valgrind,
        seed=plan.seed,
        confidence=plan.profile.policy.confidence,
        bar=plan.profile.policy.margin,
        settings=plan.profile.settings,
        options=callgrind.OPTIONS,
        datasets=plan.loaded,
        workloads=plan.records,
        digests=plan.digests,
        servers=tuple(bench.counted.record for bench in benches),
        starts=plan.profile.sampling.starts_min,
        kinds=tuple(kinds.values()),
        counts=tuple(count for bench in benches for count in bench.counted.counts),
        functions=tuple(names),
        profiles=tuple(profiles),
        failures=tuple(failure for bench in benches for failure in bench.counted.failures),
        plans={
            name: tuple(plan for bench in benches for plan in bench.counted.plans.get(name, ()))
            for name in every
        },
    )


def _functions(server: str, kind: WorkKind, dump: Dump, names: dict[str, int]) -> WorkFunctions:
    functions = dump.functions()
    kept = [
        name
        for name, cost in sorted(functions.inclusive.items(), key=lambda item: -item[1])
        if cost >= NAMED_MIN * dump.instructions
    ]
    return WorkFunctions(
        server=server,
        workload=kind.workload,
        kind=kind.name,
        names=tuple(names.setdefault(name, len(names)) for name in kept),
        exclusive=tuple(round(functions.exclusive.get(name, 0) / kind.units, 1) for name in kept),
        inclusive=tuple(round(functions.inclusive[name] / kind.units, 1) for name in kept),
        allocations=round(functions.allocations / kind.units, 2),
        system_calls=round(dump.system_calls / kind.units, 2),
    )
