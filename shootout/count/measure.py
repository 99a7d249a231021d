"""Counts what servers execute for each kind of statement, under Callgrind: equal statements, one connection.

Every kind runs for a while before anything is counted: servers build hash indexes. Each start draws other
values: it is a replication. A repetition has the same statements on every server. A consistent read keeps
purging out of it.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import product, takewhile, zip_longest
from pathlib import Path

import msgspec
import pymysql

from shootout import __version__, figures
from shootout.analysis import function_names
from shootout.count import callgrind
from shootout.count.bench import ONCE, PASSES, ROUNDS_IN_HASTE, START, Bench, Key, Pace, Session
from shootout.count.callgrind import Dump, Functions
from shootout.count.documents import COUNTS
from shootout.count.units import Unit, kinds_of, repetition, units
from shootout.count.values import JOINT, LEFT_OUT, CountDocument, CountedFunctions, CountedKind
from shootout.coverage import documents as maps
from shootout.coverage.documents import Executed
from shootout.document import journal
from shootout.errors import InputError, MeasureError, Skip, without_values
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.workplace import workplace
from shootout.model.run import Observe, Progress
from shootout.servers.sources.trees import Tree

AUTOCOMMIT_SINCE = (5, 5, 0)  # as a global variable, which opens the engine's transactions
_plain = cache(function_names.counted)

STARTS_MIN = 2  # that the budget never refuses: an interval needs two
FIRST_KIND = 0.25  # of a budget, that one execution of the first kind may take, whatever its share
DEAR = 0.1  # of a start's time; a kind that takes more is executed once
CHUNK = 6  # kinds that are counted and kept together
NAMED_MIN = 0.001  # functions with a smaller share of a kind's instructions are left out


def check(plan: Plan) -> str:
    """Valgrind's version. Raises InputError if it, or a server that can run under it, is missing."""
    for planned in plan.servers.values():
        callgrind.require_program(planned.reference)
    return callgrind.version()


def measure(
    plan: Plan,
    results: Path,
    observe: Observe,
    *,
    before: CountDocument | None = None,
    own: Collection[str] | None = None,
    kept: Callable[[Path], None] = lambda path: None,
    only: Collection[Key] = (),
) -> Path:
    """Count the plan's workloads on its servers; returns the document's file, kept after a few kinds each.

    `before`: a count to continue, if it asked the same. `own`: hold the budget, with the kinds of these
    workloads, as written, first; None: count all. `only`: the kinds to count, and those that these need.
    Call this from the main thread. Raises InputError and MeasureError; a server that fails is a result.
    """
    valgrind = check(plan)
    started, began_s = datetime.now(UTC), time.monotonic()
    if before is not None and is_asked_again(plan, before):
        plan = dataclasses.replace(plan, seed=before.seed)
    else:
        before = None
    every = {name: units(name, bound) for name, bound in plan.workloads.items()}
    chosen = {name: _chosen(counted, only) for name, counted in every.items()}
    first = None if own is None else {name for name, bound in plan.workloads.items() if bound.written in own}
    sent = _ordered(chosen, first)
    progress = _pace(plan, sent, observe)
    run, known = journal.new_run(started) if before is None else before.run, before

    def keep() -> Path:
        nonlocal known
        known = msgspec.structs.replace(
            _profiled(_document(plan, valgrind, every, benches, known), benches),
            run=run,
            started=before.started if before else started.isoformat(timespec="seconds"),
            elapsed_s=round(time.monotonic() - began_s + ((before and before.elapsed_s) or 0.0), 3),
        )
        path = COUNTS.write(results, run, known)
        kept(path)
        return path

    with workplace(run, plan.data) as (directory, held):
        servers = []
        for label in plan.servers:
            observe(Progress(stage="prepare", detail=label))
            servers.append(ManagedServer.find(plan, label, None, held))
        if any(unit.open for unit in sent):
            _require_open_transactions(servers)
        benches = [
            Bench(plan, sent, server, directory / str(number), quick=own is not None).load(held)
            for number, server in enumerate(servers)
        ]
        if before is not None:
            for bench in benches:
                _restore(bench, before)
        progress.begin()
        loaded = [bench for bench in benches if bench.template is not None]
        ends_s = None if own is None else began_s + plan.profile.sampling.budget_s
        _Counting(plan, sent, loaded, progress, ends_s, keep).all_starts()
    path = keep()

    def skip(reason: str) -> None:
        observe(Progress(stage="note", detail=f"left out: {reason}"))

    executed = [each for bench in benches for each in _executed(bench)]
    maps.keep(results, run, COUNTS.read(path).started, executed, skip)
    return path


def to_continue(plan: Plan, results: Path, skip: Skip) -> CountDocument:
    """Find the newest count of a plan's statements and servers. Raises InputError without one."""
    for document in COUNTS.newest_first(results, skip):
        if is_asked_again(plan, document):
            return document
    raise InputError(f"{results}: no count of these statements and servers to continue")


def is_asked_again(plan: Plan, before: CountDocument) -> bool:
    """Whether an earlier count has the plan's statements, tables and servers."""
    asked = [(label, server.reference.text) for label, server in plan.servers.items()]
    return (
        (before.digests, before.datasets) == (plan.digests, plan.loaded)
        and before.settings == plan.profile.settings
        and [(each.label, each.reference) for each in before.servers] == asked
        and before.seed == int(plan.given.get("--seed", before.seed))
    )


def _ordered(every: Mapping[str, Sequence[Unit]], first: Collection[str] | None) -> list[Unit]:
    """List kinds in the order in which they are counted: what leaves other rows comes last.

    `first`: workloads whose kinds come before those of all others, which take turns; None: no turns.
    """
    own = [unit for name, counted in every.items() if first is None or name in first for unit in counted]
    others = [] if first is None else [counted for name, counted in every.items() if name not in first]
    turns = [unit for turn in zip_longest(*others) for unit in turn if unit is not None]
    return [*sorted(own, key=lambda unit: unit.leaves), *sorted(turns, key=lambda unit: unit.leaves)]


def _chosen(counted: Sequence[Unit], only: Collection[Key]) -> Sequence[Unit]:
    parts = {
        unit.key: {(unit.kind.workload, name) for name in (unit.kind.name, *unit.kind.name.split(JOINT))}
        for unit in counted
    }
    wanted = {key for key, names in parts.items() if not only or names & {*only}}
    wanted |= {
        (unit.kind.workload, name) for unit in counted if unit.key in wanted for name in unit.kind.less
    }
    return [unit for unit in counted if unit.key in wanted]


def _restore(bench: Bench, kept: CountDocument) -> None:
    counted, label = bench.counted, bench.server.label
    counted.counts = [count for count in kept.counts if count.server == label]
    counted.failures += [failure for failure in kept.failures if failure.server == label]
    sizes = {(kind.workload, kind.name): kind.units for kind in kept.kinds}
    counted.once = {*kept.once}
    for count in counted.counts:
        key = count.workload, count.kind
        counted.costs.setdefault(key, count.instructions[0] // sizes[key])
    counted.plans = {
        name: own
        for name, plans in kept.plans.items()
        if (own := tuple(plan for plan in plans if plan.server == label))
    }


def _pace(plan: Plan, sent: Sequence[Unit], observe: Observe) -> Pace:
    starts = plan.profile.sampling.starts_min
    said = f"{figures.counted(len(sent), 'kind')} in {starts} starts of {', '.join(plan.servers)}"
    observe(Progress(stage="note", detail=said))
    once = len(sent) * PASSES + START
    return Pace(observe, len(plan.servers) * (starts * once + ONCE * len(sent)))


def _require_open_transactions(servers: Sequence[ManagedServer]) -> None:
    for server in servers:
        if server.program.version < AUTOCOMMIT_SINCE:
            raise InputError(
                f"{server.reference.text}: before MySQL 5.5, statements between BEGIN and COMMIT cannot be "
                "counted alone, nor those that write beside others"
            )


@dataclass(frozen=True)
class _Counting:
    """The work of all starts."""

    plan: Plan
    units: Sequence[Unit]  # in the order in which they are counted
    benches: Sequence[Bench]
    progress: Pace
    ends_s: float | None  # of a budget that is held; None: all kinds count
    keep: Callable[[], object]

    def all_starts(self) -> None:
        """Count as many starts as are planned, or as fit into the budget.

        To hold a budget, the first two are made at once: all that is counted is whole whenever it ends.
        """
        sampling, began_s = self.plan.profile.sampling, time.monotonic()
        size = len(os.sched_getaffinity(0))  # Valgrind runs one thread of each server
        batches = [self.benches[first : first + size] for first in range(0, len(self.benches), size)]
        at_once = 1 if self.ends_s is None else min(STARTS_MIN, sampling.starts_min)
        ends_s = began_s + sampling.budget_s if self.ends_s is None else self.ends_s
        for last in range(at_once, sampling.starts_min + 1):
            starts = range(1, last + 1) if last == at_once else (last,)
            if not (open_ := self._open(starts)):
                continue
            start_s = time.monotonic()
            for number, together in enumerate(batches):
                names = ", ".join(bench.server.label for bench in together)
                self.progress.show(Progress(stage="start", detail=names, start=last))
                share_s = None
                if self.ends_s is not None and starts[0] == 1 and not number:
                    share_s = (ends_s - start_s) / len(batches)
                self._count(open_, starts, together, share_s)
            now_s = time.monotonic()
            if STARTS_MIN <= last < sampling.starts_min and 2 * now_s - start_s > ends_s:
                said = f"another start would exceed the budget: counted in {last} of {sampling.starts_min}"
                self.progress.observe(Progress(stage="note", detail=said))
                return

    def _open(self, starts: Sequence[int]) -> list[Unit]:
        return [
            unit
            for unit in self.units
            if any(
                not (bench.fails(*unit.key) or bench.has(*unit.key, start))
                for bench in self.benches
                for start in starts
            )
        ]

    def _count(
        self, units: Sequence[Unit], starts: Sequence[int], together: Sequence[Bench], share_s: float | None
    ) -> None:
        """Start servers at once, and count. `share_s`: what has no time is left out; None: all count."""
        ends_s = None if share_s is None else time.monotonic() + share_s
        with ThreadPoolExecutor(max_workers=len(together) * len(starts)) as pool, ExitStack() as held:
            sessions = []
            for start, bench in product(starts, together):
                try:
                    instance = bench.begin(start)
                    held.callback(instance.kill)  # no shutdown: its data directory is discarded
                    sessions.append(Session(bench, instance, start, self.progress))
                except MeasureError as error:
                    bench.fail(error)
            first = [session for session in sessions if session.start == 1]

            def all_do(work: Callable[[Session], None], which: Sequence[Session] = sessions) -> None:
                # An interruption kills the servers, which ends the other threads.
                for done in [pool.submit(_attempt, work, session) for session in which]:
                    done.result()

            all_do(lambda session: session.open(held))
            began_s, at = time.monotonic(), 0
            while kinds := _next(units, at, began_s, ends_s):
                at += len(kinds)
                all_do(partial(Session.try_each, units=kinds), first)
                if share_s is not None and ends_s is not None:
                    self._shorten_dear(kinds, ends_s - time.monotonic(), DEAR * share_s)
                all_do(partial(Session.count, units=kinds, costs=_costs(self.benches)))
                self.keep()
            self._leave_out(units[at:], "the budget has no time for it")
            all_do(Session.plan, first)
            if first:
                self.keep()  # no later start asks for plans
        for bench in together:
            shutil.rmtree(bench.home, ignore_errors=True)

    def _leave_out(self, kinds: Sequence[Unit], why: str) -> None:
        for bench in self.benches:
            for unit in kinds:
                if not bench.fails(*unit.key):
                    bench.fail(InputError(f"{LEFT_OUT}{why}"), *unit.key)

    def _shorten_dear(self, kinds: Sequence[Unit], left_s: float, fair_s: float) -> None:
        """Execute slow kinds once in each start, or leave out what takes longer than is left of this one."""
        executions = 1 + sum(ROUNDS_IN_HASTE)  # with the one before them
        for unit in kinds:
            once_s = max((bench.counted.seconds.get(unit.key, 0.0) for bench in self.benches), default=0.0)
            least_s = FIRST_KIND * self.plan.profile.sampling.budget_s if unit is self.units[0] else 0.0
            if once_s > max(left_s, least_s):
                minutes = STARTS_MIN * once_s / 60
                why = f"it alone takes {minutes:.1f} minutes or more, and the budget has less for it"
                self._leave_out([unit], why)
            elif once_s * executions > min(left_s, fair_s):
                for bench in self.benches:
                    bench.counted.once.add(unit.key)


def _next(units: Sequence[Unit], at: int, began_s: float, ends_s: float | None) -> Sequence[Unit]:
    """The kinds to count together after so many, as far as there is time at their pace until now."""
    alike = [*takewhile(lambda unit: unit.leaves is units[at].leaves, units[at:])]
    if ends_s is None:
        return alike[:CHUNK]
    now_s = time.monotonic()
    size = int(at * (ends_s - now_s) / (now_s - began_s)) if at else 1
    return alike[: max(0, min(size, CHUNK))]


def _attempt(work: Callable[[Session], None], session: Session) -> None:
    if not session.over:
        try:
            work(session)
        except MeasureError as error:
            session.end(error)
        except pymysql.Error as error:
            said = f"{without_values(str(error))}{session.instance.post_mortem()}"
            session.end(MeasureError(said))


def _costs(benches: Sequence[Bench]) -> dict[Key, int]:
    return {key: cost for bench in reversed(benches) for key, cost in bench.counted.costs.items()}


# --- what is counted ------------------------------------------------------------------------------


def _document(
    plan: Plan,
    valgrind: str,
    every: Mapping[str, Sequence[Unit]],
    benches: Sequence[Bench],
    before: CountDocument | None,
) -> CountDocument:
    costs = _costs(benches)
    once = {key for bench in benches for key in bench.counted.once}
    sizes = {
        unit.key: 1 if unit.key in once else repetition(unit, costs.get(unit.key))
        for counted in every.values()
        for unit in counted
    }
    kinds = (kind for counted in every.values() for kind in kinds_of(counted))
    return CountDocument(
        format=2, run="", started="", version=__version__, valgrind=valgrind, seed=plan.seed,
        confidence=plan.profile.policy.confidence, bar=plan.profile.policy.margin,
        settings=plan.profile.settings, options=callgrind.OPTIONS, datasets=plan.loaded,
        workloads=plan.records, digests=plan.digests, starts=plan.profile.sampling.starts_min,
        servers=tuple(bench.counted.record for bench in benches),
        kinds=tuple(
            msgspec.structs.replace(kind, units=sizes.get((kind.workload, kind.name), kind.units))
            for kind in kinds
        ),
        counts=tuple(
            count
            for bench in benches
            for count in sorted(bench.counted.counts, key=lambda count: count.start)
        ),
        functions=before.functions if before else (), profiles=before.profiles if before else (),
        failures=tuple(failure for bench in benches for failure in bench.counted.failures),
        plans={
            name: tuple(plan for bench in benches for plan in bench.counted.plans.get(name, ()))
            for name in every
        },
    )  # fmt: skip


def _profiled(document: CountDocument, benches: Sequence[Bench]) -> CountDocument:
    kinds = {(kind.workload, kind.name): kind for kind in document.kinds}
    names = {name: number for number, name in enumerate(document.functions)}
    profiles = {(each.server, each.workload, each.kind): each for each in document.profiles}
    for bench in benches:
        for key, dump in bench.counted.last.items():
            found = dump.functions()
            profiles[bench.server.label, *key] = _functions(
                bench.server.label, kinds[key], dump, found, names
            )
            shares: dict[
                str, float
            ] = {}  # by plain name: clones and overloads of a function call one another
            for name, cost in found.inclusive.items():
                shares[_plain(name)] = max(shares.get(_plain(name), 0.0), cost / dump.instructions)
            bench.counted.shares[key] = shares
            bench.counted.beside |= {*map(_plain, dump.beside())}
        bench.counted.last.clear()
    return msgspec.structs.replace(document, functions=tuple(names), profiles=tuple(profiles.values()))


def _executed(bench: Bench) -> Iterator[Executed]:
    counted, program = bench.counted, bench.server.program
    if counted.shares and isinstance(program, Tree):
        yield Executed(counted.record, program.files.mysqld, counted.shares, counted.beside)


def _functions(
    server: str, kind: CountedKind, dump: Dump, found: Functions, names: dict[str, int]
) -> CountedFunctions:
    kept = [
        name
        for name, cost in sorted(found.inclusive.items(), key=lambda item: -item[1])
        if cost >= NAMED_MIN * dump.instructions
    ]
    return CountedFunctions(
        server=server, workload=kind.workload, kind=kind.name,
        names=tuple(names.setdefault(name, len(names)) for name in kept),
        exclusive=tuple(round(found.exclusive.get(name, 0) / kind.units, 1) for name in kept),
        inclusive=tuple(round(found.inclusive[name] / kind.units, 1) for name in kept),
        allocations=round(found.allocations / kind.units, 2),
        system_calls=round(dump.system_calls / kind.units, 2),
    )  # fmt: skip
