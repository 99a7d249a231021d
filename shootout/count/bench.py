"""One server under Callgrind: its kinds of statements are tried, warmed up and counted after each start."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Self

import msgspec

from shootout._engine import Engine, LoadError
from shootout.analysis import plan_changes
from shootout.count import callgrind
from shootout.count.callgrind import Dump, Process
from shootout.count.units import INSTRUCTIONS, Unit, priming, repetition
from shootout.count.values import CountFailure, KindCount
from shootout.errors import MeasureError, without_values
from shootout.measure import columns, execution_plans, managed, refusals, statements
from shootout.measure.dataset import Template, schema_of
from shootout.measure.hooks import Hooks
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.rounds import reason
from shootout.model.execution_plan import ExecutionPlan
from shootout.model.program import ProgramColumn
from shootout.model.run import Observe, Progress, ServerRecord
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance

EXPENSIVE = (
    5 * INSTRUCTIONS
)  # from here on, the first execution says what one takes: a repetition has the fewest
ROUNDS = (2, 5)  # repetitions while Callgrind counts: not counted, for what another kind left, and counted
ROUNDS_OF_EXPENSIVE = (1, 3)
ROUNDS_IN_HASTE = (1, 2)  # to hold a budget
# With it on before anything is written, purging removes nothing. Otherwise it depends on Valgrind's scheduler
# whether an index still has the row that a statement finds: 19 to 70 % between starts, instead of 0.3 %.
READ_VIEW = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
)
ANSWER_TIMEOUT_S = 120.0
START = 10.0  # what a start takes, in kinds that are warmed up or counted
PASSES = 2  # over all kinds in each start: priming and counting
ONCE = 2  # in the first one: trying, and asking for plans
CLOSING_S = 300.0  # for a connection's rollback

Key = tuple[str, str]  # workload and kind
Send = Callable[[int], None]  # executes a kind so often
Show = Callable[..., None]  # a round, and how many there are


@dataclass
class Pace:
    """Shows progress with an estimate of the time left, from several threads. The share done never falls."""

    observe: Observe
    total: float  # in what `done` adds up to
    clock: Callable[[], float] = time.monotonic
    _sum: float = 0.0
    _shown: float = 0.0  # share of the time
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._created_s = self._began_s = self.clock()

    def begin(self) -> None:
        """Note that the servers are loaded: what follows has one pace."""
        self._began_s = self.clock()

    def done(self, amount: float = 1.0) -> None:
        """Note that so much more is done."""
        with self._lock:
            self._sum += amount

    def show(self, progress: Progress) -> None:
        """Show what is being done."""
        with self._lock:
            self.observe(msgspec.structs.replace(progress, left_s=self._left_s()))

    def _left_s(self) -> float | None:
        share = min(self._sum / self.total, 1.0)
        if not share:
            return None
        now_s = self.clock()
        elapsed_s = now_s - self._created_s
        left_s = (now_s - self._began_s) * (1 - share) / share
        if self._shown:
            left_s = min(left_s, elapsed_s * (1 - self._shown) / self._shown)
        self._shown = elapsed_s / (elapsed_s + left_s) if elapsed_s else 0.0
        return left_s


@dataclass
class ServerCounts:
    """The counts of one server."""

    record: ServerRecord
    counts: list[KindCount] = field(default_factory=list)
    last: dict[Key, Dump] = field(default_factory=dict)
    shares: dict[Key, dict[str, float]] = field(default_factory=dict)  # of functions, by plain name
    beside: set[str] = field(default_factory=set)  # functions of other threads
    failures: list[CountFailure] = field(default_factory=list)
    costs: dict[Key, int] = field(default_factory=dict)  # instructions of one execution, about
    seconds: dict[Key, float] = field(default_factory=dict)  # of the first execution, if it is expensive
    plans: dict[str, tuple[ExecutionPlan, ...]] = field(default_factory=dict)  # by workload
    once: set[Key] = field(default_factory=set)  # kinds that are executed once in each start


@dataclass
class Bench:
    """A server, and what has been counted on it."""

    plan: Plan
    units: Sequence[Unit]  # in the order in which they are sent
    server: ManagedServer
    home: Path  # of its starts
    quick: bool = False  # fewer repetitions, to hold a budget
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

    def begin(self, start: int) -> Instance:
        """Start the server under Callgrind, without waiting for it. Raises MeasureError."""
        assert self.template is not None
        home = self.home / str(start)
        self.template.copy_to(home)
        tree, options = callgrind.under(self.server.program, home), self.server.compiled.options
        return instances.begin(
            tree, home, {**options, **callgrind.OPTIONS}, start_timeout_s=callgrind.START_TIMEOUT_S
        )

    def fail(self, error: Exception, workload: str = "", kind: str = "") -> None:
        """Record why the server has no counts: of a kind, of a workload, or at all."""
        self.counted.failures.append(
            CountFailure(
                server=self.server.label,
                workload=workload,
                kind=kind,
                reason=str(error),
                lacks=workload in self.plan.workloads
                and self.plan.workloads[workload].workload.may_lack
                and refusals.code(error) in refusals.LACKING,
            )
        )

    def fails(self, workload: str, kind: str = "") -> bool:
        """Whether the server has refused a kind, or its whole workload."""
        failed = {(failure.workload, failure.kind) for failure in self.counted.failures}
        return not failed.isdisjoint(((workload, kind), (workload, "")))

    def has(self, workload: str, kind: str, start: int) -> bool:
        """Whether it has counted a kind in a start."""
        key = workload, kind, start
        return any((count.workload, count.kind, count.start) == key for count in self.counted.counts)


@dataclass
class Session:
    """A server after one start. Methods raise MeasureError and pymysql.Error."""

    bench: Bench
    instance: Instance
    start: int
    pace: Pace
    over: bool = field(init=False, default=False)
    asked: bool = field(init=False, default=False)  # queries of our own are not dumped yet

    def end(self, error: Exception) -> None:
        """Record why the server has no more counts of this start."""
        self.over = True
        self.bench.fail(error)

    @property
    def _counter(self) -> Process:
        home, program = self.bench.home / str(self.start), self.bench.server.program
        return Process(self.instance.pid, home, callgrind.restless(program))

    def open(self, held: ExitStack) -> None:
        """Wait until the server is ready, keep it from purging, and set its workloads up."""
        bench = self.bench
        self.instance.wait_until_ready()
        if self.start == 1:
            bench.counted.record = bench.server.record(bench.template, self.instance)
        reader = held.enter_context(closing(self.instance.connect()))
        with reader.cursor() as cursor:
            for statement in READ_VIEW:
                cursor.execute(statement)
        for name, bound in bench.plan.workloads.items():
            if not bench.fails(name):
                try:
                    Hooks(self.instance, bound.workload, bound.dataset).set_up(1)
                except MeasureError as error:
                    bench.fail(error, name)
        self.pace.done(START)

    def try_each(self, units: Sequence[Unit]) -> None:
        """Find out what an execution of each kind takes; on every server, so that all keep the same rows."""
        tried = [unit for unit in self._open(units) if unit.scaled]
        self._instrumented(self._try, tried, "tried", "warm-up", 1)

    def count(self, units: Sequence[Unit], costs: Mapping[Key, int]) -> None:
        """Count kinds, as often as what an execution takes allows."""
        units, quick = self._open(units), self.bench.quick
        self._each(
            lambda unit, _: self._prime(unit, priming(unit, costs.get(unit.key), quick=quick)),
            units, "warm-up", 2,
        )  # fmt: skip
        count = partial(self._count, costs)
        self._instrumented(count, units, str(self.start), "measure", 3)

    def _open(self, units: Sequence[Unit]) -> Sequence[Unit]:
        return [unit for unit in units if not self.bench.has(*unit.key, self.start)]

    def _instrumented(
        self,
        measured: Callable[[Unit, Send, Show], None],
        units: Sequence[Unit],
        seed: str,
        stage: str,
        number: int,
    ) -> None:
        """Do something to kinds while Callgrind counts; connections are opened before, which is faster."""
        bench = self.bench
        with ExitStack() as held:
            opened: dict[Key, tuple[ExitStack, Send]] = {}
            for unit in units:
                if not bench.fails(*unit.key):
                    own = held.enter_context(ExitStack())
                    try:
                        opened[unit.key] = own, own.enter_context(self._connected(unit, seed))
                    except MeasureError as error:
                        bench.fail(error, *unit.key)

            def measure(unit: Unit, show: Show) -> None:
                own, send = opened[unit.key]
                try:
                    measured(unit, send, show)
                finally:
                    if unit.locks:
                        own.close()

            self._counter.begin()
            self._each(measure, units, stage, number)
            self._counter.end()

    def plan(self) -> None:
        """Ask how the server plans each statement, after the counts: plans are drawn from new statistics."""
        sent: defaultdict[str, dict[Key, str]] = defaultdict(dict)  # by schema
        prepared: dict[Key, execution_plans.Prepared] = {}
        session: dict[str, tuple[str, ...]] = {}  # by schema

        def capture(unit: Unit, _: object) -> None:
            workload, _kind = unit.key
            schema = schema_of(self.instance, self.bench.plan.workloads[workload].dataset)
            with suppress(MeasureError), self._connected(unit, "plans") as send:
                captured = statements.captured(self.instance, unit.program, lambda: send(1))
                sent[schema] |= {(workload, kind): sql for kind, sql in captured.items()}
                of_kinds = statements.prepared(unit.program, captured)
                prepared.update({(workload, kind): each for kind, each in of_kinds.items()})
                session[schema] = unit.program.session

        self._each(capture, self.bench.units, "plans", 1)
        found: defaultdict[str, dict[object, ExecutionPlan]] = defaultdict(dict)  # by workload
        with suppress(MeasureError):  # a server that is gone has no plans: what it has counted is whole
            for schema, captured in sent.items():  # together: statistics are drawn anew for a whole schema
                asked = {str(number): key for number, key in enumerate(captured)}
                for plan in execution_plans.planned(
                    self.instance, schema, {number: captured[key] for number, key in asked.items()},
                    start=1, server=self.bench.server.label, session=session[schema],
                    prepared={number: prepared[key] for number, key in asked.items() if key in prepared},
                ):  # fmt: skip
                    workload, kind = asked[plan.kind]
                    shape = kind, plan_changes.shape(plan)  # several may differ in estimates only
                    found[workload].setdefault(shape, msgspec.structs.replace(plan, kind=kind))
        self.bench.counted.plans |= {workload: tuple(plans.values()) for workload, plans in found.items()}

    def _each(
        self,
        measured: Callable[[Unit, Show], None],
        units: Sequence[Unit],
        stage: str,
        number: int,
    ) -> None:
        bench = self.bench
        for unit in units:
            workload, kind = unit.key
            progress = Progress(
                stage=stage, detail="", block=f"{bench.server.label}: {workload}, {kind}",
                block_number=bench.units.index(unit) + 1, blocks=len(bench.units), start=self.start,
            )  # fmt: skip

            def show(round_: int, rounds: int = 0, progress: Progress = progress) -> None:
                self.pace.show(msgspec.structs.replace(progress, round=round_, rounds=rounds))

            if self.instance.alive() and not bench.fails(workload, kind):
                show(number)
                try:
                    measured(unit, show)
                except MeasureError as error:
                    bench.fail(error, workload, kind)
            self.pace.done()

    def _try(self, unit: Unit, send: Send, _: object) -> None:
        def taken() -> int:
            send(1)
            return self._counter.dump().instructions

        if self.asked:
            self._counter.dump()
            self.asked = False
        began_s = time.monotonic()
        cost = taken()
        if cost < EXPENSIVE:  # the first one reads pages, too
            cost = taken()
        else:
            self.bench.counted.seconds[unit.key] = time.monotonic() - began_s
        self.bench.counted.costs[unit.key] = cost

    def _prime(self, unit: Unit, executions: int) -> None:
        if unit.key in self.bench.counted.once:
            if self.start == 1:  # it was tried, which read its pages
                return
            executions = 1
        with self._connected(unit, f"{self.start}/priming") as send:
            send(executions)

    def _count(self, costs: Mapping[Key, int], unit: Unit, send: Send, show: Show) -> None:
        counter, counted, cost = self._counter, self.bench.counted, costs.get(unit.key)
        executions = repetition(unit, cost)
        warm_up, repetitions = ROUNDS if cost is None or cost < EXPENSIVE else ROUNDS_OF_EXPENSIVE
        if self.bench.quick:
            warm_up, repetitions = ROUNDS_IN_HASTE
        if unit.key in counted.once:
            executions, warm_up, repetitions = 1, 0, 1
        if warm_up:
            send(warm_up * executions)
        counter.dump()
        dumps = []
        for number in range(1, repetitions + 1):
            show(number, repetitions)
            send(executions)
            dumps.append(counter.dump())
        counted.last[unit.key] = dumps[-1]
        counted.counts.append(
            KindCount(
                server=self.bench.server.label,
                workload=unit.kind.workload,
                kind=unit.kind.name,
                start=self.start,
                instructions=tuple(dump.instructions for dump in dumps),
            )
        )

    @contextmanager
    def _connected(self, unit: Unit, seed: str) -> Iterator[Send]:
        bench, instance = self.bench, self.instance
        bound = bench.plan.workloads[unit.kind.workload]
        schema = Hooks(instance, bound.workload, bound.dataset).schema
        drawn = random.Random(f"{bench.plan.seed}/{seed}/{'/'.join(unit.key)}").getrandbits(64)
        read = bench.values.get(unit.kind.workload)  # the same after each start, for all kinds
        if read is None:
            read = columns.filled(unit.program, schema, instance).columns
            bench.values[unit.kind.workload] = read
        program = msgspec.structs.replace(unit.program, columns=read)
        engines = [managed.engine(program, schema, instance, drawn)]
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
            number = _connections(instance) if unit.locks and instance.alive() else 0
            engines.clear()  # closes the connection
            _wait_for_rollback(instance, number)
            self.asked = self.asked or number > 0


def _send(engine: Engine, number: int, instance: Instance, count: int) -> None:
    try:
        completed, _, refused = engine.count(number, count, ANSWER_TIMEOUT_S)
    except LoadError as error:
        raise MeasureError(reason(error) + instance.post_mortem()) from None
    if completed != count:
        said = {f"{without_values(message)} ({code})": None for _, code, _, message in refused}
        raise MeasureError(
            f"{completed} of {count} transactions completed; the server refused the others: {', '.join(said)}"
        )


def _connections(instance: Instance) -> int:
    ((_, number),) = instance.query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
    return int(number)


def _wait_for_rollback(instance: Instance, before: int) -> None:
    ends_s = time.monotonic() + CLOSING_S
    while before and instance.alive() and _connections(instance) >= before and time.monotonic() < ends_s:
        time.sleep(0.05)
