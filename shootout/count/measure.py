"""Counts what servers execute for each kind of statement, under Callgrind: equal statements, one connection.

A kind of statement is counted alone, by a program that sends nothing else. If the workload sends it inside of
a transaction, it is counted inside of an open one. Every kind runs for a while before anything is counted:
servers build hash indexes, and Callgrind is faster then. Each start draws other values: it is a replication.
A repetition has the same statements on every server. A consistent read keeps purging out of it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
import pymysql

from shootout import __version__
from shootout.analysis import function_names
from shootout.count import callgrind
from shootout.count.bench import ONCE, PASSES, Bench, Key, Session, Watcher
from shootout.count.callgrind import Dump, Functions
from shootout.count.documents import COUNTS
from shootout.count.pace import START, Pace
from shootout.count.units import Unit, kinds_of, repetition, units
from shootout.count.values import CountDocument, CountedFunctions, CountedKind
from shootout.coverage import documents as maps
from shootout.coverage.documents import Executed
from shootout.document import journal
from shootout.errors import InputError, MeasureError, without_values
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.workplace import workplace
from shootout.model.run import Observe, Progress
from shootout.servers.sources.trees import Tree

AUTOCOMMIT_SINCE = (5, 5, 0)  # as a global variable, which opens the engine's transactions
_plain = cache(function_names.counted)

STARTS_MIN = 2  # that the budget never refuses: an interval needs two
NAMED_MIN = 0.001  # functions with a smaller share of a kind's instructions are left out


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
    sent = sorted((unit for counted in every.values() for unit in counted), key=lambda unit: unit.leaves)
    progress = _pace(plan, sent, observe)
    with workplace(journal.new_run(started), plan.place.data) as (directory, held):
        servers = [*_servers(plan, held, observe)]
        if any(unit.open for unit in sent):
            _require_open_transactions(servers)
        benches = [
            Bench(plan, sent, server, directory / str(number), watcher or Watcher()).load(held)
            for number, server in enumerate(servers)
        ]
        progress.begin()
        _all_starts([bench for bench in benches if bench.template is not None], plan, progress)
    document = _document(plan, started, valgrind, every, benches)
    elapsed_s = round(time.monotonic() - began_s, 3)
    document = msgspec.structs.replace(document, elapsed_s=elapsed_s)
    path = COUNTS.write(results, document.run, document)

    def skip(reason: str) -> None:
        observe(Progress(stage="note", detail=f"left out: {reason}"))

    executed = [each for bench in benches for each in _executed(bench)]
    maps.keep(results, document.run, document.started, executed, skip)
    return path


def _pace(plan: Plan, sent: Sequence[Unit], observe: Observe) -> Pace:
    starts = plan.profile.sampling.starts_min
    said = f"{len(sent)} kinds in {starts} starts of {', '.join(plan.servers)}"
    observe(Progress(stage="note", detail=said))
    once = len(sent) * PASSES + START
    return Pace(observe, len(plan.servers) * (starts * once + ONCE * len(sent)))


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
                "counted alone, nor those that write beside others"
            )


def _all_starts(benches: Sequence[Bench], plan: Plan, progress: Pace) -> None:
    """Count as many starts as are planned, or as fit into the budget."""
    sampling, began_s = plan.profile.sampling, time.monotonic()
    for start in range(1, sampling.starts_min + 1):
        for together in _batches(benches, len(os.sched_getaffinity(0))):
            names = ", ".join(bench.server.label for bench in together)
            progress.show(Progress(stage="start", detail=names, start=start))
            _one_start(together, benches, start, progress)
        next_s = (time.monotonic() - began_s) * (start + 1) / start
        if STARTS_MIN <= start < sampling.starts_min and next_s > sampling.budget_s:
            said = f"another start would exceed the budget: counted in {start} of {sampling.starts_min}"
            progress.observe(Progress(stage="note", detail=said))
            return


def _batches(benches: Sequence[Bench], size: int) -> Iterator[Sequence[Bench]]:
    """Batch as many servers as there are CPUs: Valgrind runs one thread of each."""
    for first in range(0, len(benches), size):
        yield benches[first : first + size]


def _one_start(together: Sequence[Bench], benches: Sequence[Bench], start: int, progress: Pace) -> None:
    """Start servers at once, and count on them at the same time: nothing here depends on the clock."""
    with ThreadPoolExecutor(max_workers=len(together)) as pool, ExitStack() as held:
        sessions = []
        for bench in together:
            try:
                instance = bench.begin()
                held.callback(instance.kill)  # no shutdown: its data directory is discarded
                sessions.append(Session(bench, instance, start, progress))
            except MeasureError as error:
                bench.fail(error)

        def all_do(work: Callable[[Session], None]) -> None:
            # An interruption kills the servers, which ends the other threads.
            for done in [pool.submit(_attempt, work, session) for session in sessions]:
                done.result()

        all_do(lambda session: session.open(held))
        if start == 1:
            all_do(Session.try_each)
        costs = _costs(benches)
        all_do(lambda session: session.count(costs))
        if start == 1:
            all_do(Session.plan)
    for bench in together:
        shutil.rmtree(bench.home, ignore_errors=True)


def _attempt(work: Callable[[Session], None], session: Session) -> None:
    """Do something with a server that has not failed; if it fails now, it is over."""
    if not session.over:
        try:
            work(session)
        except MeasureError as error:
            session.end(error)
        except pymysql.Error as error:
            said = f"{without_values(str(error))}{session.instance.post_mortem()}"
            session.end(MeasureError(said))


def _costs(benches: Sequence[Bench]) -> dict[Key, int]:
    """Take the cost of an execution of each kind from the first server that knows it."""
    return {key: cost for bench in reversed(benches) for key, cost in bench.counted.costs.items()}


# --- what is counted ------------------------------------------------------------------------------


def _document(
    plan: Plan,
    started: datetime,
    valgrind: str,
    every: Mapping[str, Sequence[Unit]],
    benches: Sequence[Bench],
) -> CountDocument:
    costs = _costs(benches)
    repetitions = {
        unit.key: repetition(unit, costs.get(unit.key)) for counted in every.values() for unit in counted
    }
    kinds = {
        (kind.workload, kind.name): msgspec.structs.replace(
            kind, units=repetitions.get((kind.workload, kind.name), kind.units)
        )
        for counted in every.values()
        for kind in kinds_of(counted)
    }
    names: dict[str, int] = {}
    profiles = []
    for bench in benches:
        for key, dump in bench.counted.last.items():
            functions = dump.functions()
            profiles.append(_functions(bench.server.label, kinds[key], dump, functions, names))
            bench.counted.shares[key] = _shares(functions, dump.instructions)
            bench.counted.beside |= {*map(_plain, dump.beside())}
    return CountDocument(
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


def _executed(bench: Bench) -> Iterator[Executed]:
    """Yield what a server executed; nothing if it was not counted."""
    counted, program = bench.counted, bench.server.program
    if counted.shares and isinstance(program, Tree):
        yield Executed(counted.record, program.files.mysqld, counted.shares, counted.beside)


def _shares(functions: Functions, instructions: int) -> dict[str, float]:
    """Shares by plain name; clones and overloads of a function call one another."""
    shares: dict[str, float] = {}
    for name, cost in functions.inclusive.items():
        shares[_plain(name)] = max(shares.get(_plain(name), 0.0), cost / instructions)
    return shares


def _functions(
    server: str, kind: CountedKind, dump: Dump, functions: Functions, names: dict[str, int]
) -> CountedFunctions:
    kept = [
        name
        for name, cost in sorted(functions.inclusive.items(), key=lambda item: -item[1])
        if cost >= NAMED_MIN * dump.instructions
    ]
    return CountedFunctions(
        server=server,
        workload=kind.workload,
        kind=kind.name,
        names=tuple(names.setdefault(name, len(names)) for name in kept),
        exclusive=tuple(round(functions.exclusive.get(name, 0) / kind.units, 1) for name in kept),
        inclusive=tuple(round(functions.inclusive[name] / kind.units, 1) for name in kept),
        allocations=round(functions.allocations / kind.units, 2),
        system_calls=round(dump.system_calls / kind.units, 2),
    )
