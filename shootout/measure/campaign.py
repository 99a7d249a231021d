"""Blocks to samples: starts the servers again and again, and records what each start gave.

Restarts move results by percents, so there should be many of them, and one start serves all blocks.
Every start begins with a copy of the same loaded data directory.
"""

from __future__ import annotations

import math
import random
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import structs

from shootout import __version__
from shootout._engine import Engine
from shootout.analysis import budget, compare, verdicts
from shootout.document import journal, resume
from shootout.errors import InputError, MeasureError
from shootout.measure.dataset import Loaded
from shootout.measure.external import ExternalServer
from shootout.measure.hooks import Hooks
from shootout.measure.managed import ManagedServer, ServerUnderTest, absent_record, connect, handle
from shootout.measure.plan import Plan
from shootout.measure.rounds import measure_block
from shootout.measure.signals import interrupting
from shootout.model.plan import Block, Cell
from shootout.model.run import (
    EndRecord,
    FailureRecord,
    Progress,
    ResumeRecord,
    RunDocument,
    RunHeader,
    Runner,
    ServerRecord,
    StartRecord,
)
from shootout.paths import cache_folder
from shootout.runner import machine
from shootout.servers.leftovers import working_directory
from shootout.servers.running import Running

Observe = Callable[[Progress], None]

AA_CONTROL = ""  # the label of the A/A cell's second instance; no server has it
STARTS_JUDGED = 2  # starts that the budget never refuses: an interval needs two
LANES_MAX = 4  # engine threads; one drives some hundred thousand transactions a second


class Watcher(Protocol):
    """What looks at the servers of each block while they are measured."""

    def watching(
        self, start: int, block: Block, engine: Engine, instances: Mapping[str, Running]
    ) -> AbstractContextManager[Callable[[], None]]:
        """Surrounds one block of one start; its value is called before the first slice that counts.

        `instances` are in the order of the engine's servers.
        """

    def failed(self, server: str, reason: str) -> None:
        """A server failed; what this raises ends the run."""


def measure(plan: Plan, results: Path, observe: Observe, watcher: Watcher | None = None) -> Path:
    """Measure the plan's blocks; returns the run document, which gets each start as soon as it ends.

    With `resume`, the newest run in `results` continues if it was cut short; if it is over and was asked for
    the same, nothing is measured. Call this from the main thread: SIGTERM and SIGHUP end it as Ctrl-C does.
    Raises InputError for what the user must mend. A server that fails is a result, and the other cells go on.
    No exit leaves a server running or a document without results.
    """
    began_s = time.monotonic()
    path = None
    skip = partial(_say, observe, "left out: ")
    if plan.resume and (found := resume.find(results, plan.given.get("--shard"), skip)):
        path, before = found
        if resume.is_finished(before):
            if resume.is_same(before.header, structs.replace(before.header, **_asked(plan))):
                _say(observe, f"run {path.stem} is over: ", "without --resume a new one begins")
                return path
            path = None
    run = journal.new_run(datetime.now(UTC)) if path is None else path.stem
    with (
        interrupting(signal.SIGTERM, signal.SIGHUP),
        working_directory(cache_folder(), run, plan.data) as directory,
        ExitStack() as held,
    ):
        writer = journal.Writer(results, run, resumed=path is not None)
        runner = machine.inspect(directory, name=plan.profile.sampling.placement)
        campaign = _Campaign(plan, runner, run, directory, held, observe, watcher)
        written = campaign.journal = journal.Journal(writer, campaign.header)
        if path is not None:
            campaign.continue_(journal.read(path))
            written = campaign.journal = journal.Journal(writer, _resumed)
            _say(observe, "going on with ", run)
        interrupted = True
        try:
            campaign.prepare()
            campaign.measure()
            interrupted = False
        except InputError:
            written.discard()
            raise
        finally:
            elapsed_s = round(campaign.before_s + time.monotonic() - began_s, 3)
            written.end(EndRecord(finished=_now(), elapsed_s=elapsed_s, interrupted=interrupted))
    return writer.path


def _asked(plan: Plan) -> dict[str, Any]:
    """The fields of a run's header that the plan determines."""
    return {
        "shootout": __version__,
        "profile_name": plan.profile_name,
        "profile": plan.profile,
        "given": dict(plan.given),
        "workloads": plan.records,
        "blocks": plan.blocks,
        "digests": dict(plan.digests),
        "planned": plan.planned,
    }


def _resumed() -> ResumeRecord:
    return ResumeRecord(resumed=_now(), shootout=__version__)


def _say(observe: Observe, begin: str, words: str) -> None:
    observe(Progress(stage="resume", detail=begin + words))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class _Campaign:
    """A run in progress."""

    plan: Plan
    runner: Runner
    run: str
    directory: Path
    held: ExitStack  # locks on what the run uses of the cache
    observe: Observe
    watcher: Watcher | None
    journal: journal.Journal = field(init=False)
    started: str = field(default_factory=_now)
    ready: dict[str, tuple[ServerUnderTest[Any], Loaded]] = field(default_factory=dict)  # by label
    base_again: tuple[ManagedServer, Any] | None = None  # the base, for the A/A control
    records: dict[str, ServerRecord] = field(default_factory=dict)  # by label
    starts: dict[str, list[StartRecord]] = field(default_factory=dict)  # by block
    half_widths: dict[str, float] = field(default_factory=dict)  # by block, once it is known
    failures: list[FailureRecord] = field(default_factory=list)
    failed: set[Cell] = field(default_factory=set)
    ends_s: float = math.inf  # estimated end, on the monotonic clock
    began_s: float = 0.0  # when the budget began on that clock, without breaks
    continued: bool = False  # continues a run that was cut short
    recorded: list[StartRecord] = field(default_factory=list)  # recorded before the break, not learnt yet
    before_s: float = 0.0  # time spent before the break
    started_servers: set[str] = field(
        default_factory=set
    )  # labels of the servers that this process has started

    def continue_(self, before: RunDocument) -> None:
        """Continue a run that was cut short. Raises InputError if it is another run, or another runner's."""
        if "--seed" not in self.plan.given:
            self.plan = replace(self.plan, seed=before.header.seed)
        resume.require_same_run(before.header, self.header())
        self.continued = True
        self.started, self.runner = before.header.started, before.header.runner
        self.records = {record.label: record for record in before.header.servers}
        self.failures = list(before.failures)
        self.failed = {failure.cell for failure in before.failures}
        self.recorded = list(before.starts)
        self.before_s = before.end.elapsed_s if before.end else self._spent_s()

    def prepare(self) -> None:
        """Find, initialise and load every server; all must hold the same rows."""
        external_servers: list[ExternalServer] = []
        server: ServerUnderTest[Any]
        for index, (label, reference) in enumerate(self.plan.servers.items()):
            self.observe(Progress(stage="prepare", detail=label))
            if label in self.plan.absent:
                self.records[label] = absent_record(label, reference, self.plan.profile.settings)
                continue
            if reference.source == "dsn":
                server = ExternalServer.find(self.plan, label, self.held, external_servers)
                external_servers.append(server)
            else:
                port = None if self.plan.port is None else self.plan.port + index
                server = ManagedServer.find(
                    self.plan, label, port, self.held, partial(self._on_preparing, label)
                )
            self._record_server(server.record())
            try:
                loaded = server.load(self.held)
                self.ready[label] = server, loaded
                if label == self.base and isinstance(server, ManagedServer):
                    self.base_again = replace(server, port=None), loaded
            except MeasureError as error:
                self._fail_server(label, 0, str(error))  # before the first start

    def measure(self) -> None:
        """Start the servers until every block is precise enough or the budget is spent, at least twice.

        A run that continues repeats its newest start for the blocks that this start lacks.
        """
        self.began_s = time.monotonic() - self._spent_s()
        budget_s = self.plan.profile.sampling.budget_s
        confirming = self.plan.profile.policy.confirm_starts
        newest = max((record.start for record in self.recorded if not record.confirming), default=0)
        confirms = min((record.start for record in self.recorded if record.confirming), default=None)
        self._count(lambda record: record.start < newest)
        start = max(newest, 1)
        while confirms is None and (pending := self._pending()):
            elapsed_s = time.monotonic() - self.began_s
            if start > 1:
                mean_s = elapsed_s / (start - 1)
                kept_s = confirming * mean_s * len(self._changed()) / len(self.plan.blocks)
                if start > max(newest, STARTS_JUDGED):  # up to `newest` it completes an earlier start
                    pending = self._allowed(pending, budget_s - elapsed_s - kept_s, mean_s)
                if not pending:
                    break
            self.ends_s = time.monotonic() + self._left_s(elapsed_s, start - 1)
            self._one_start(start, pending)
            start += 1
        self._count(lambda record: not record.confirming)
        if changed := self._changed():
            first = confirms or max(start, newest + 1)
            elapsed_s, measured = time.monotonic() - self.began_s, max(start - 1, 1)
            share = len(changed) / len(self.plan.blocks)
            self.ends_s = time.monotonic() + confirming * share * elapsed_s / measured
            for number in range(first, first + confirming):
                self._one_start(number, changed, confirming=True)

    def header(self) -> RunHeader:
        """The run document's header; it is complete once every server has started."""
        return RunHeader(
            format=journal.FORMAT,
            run=self.run,
            started=self.started,
            seed=self.plan.seed,
            runner=self.runner,
            servers=tuple(self.records.values()),
            **_asked(self.plan),
        )

    # --- what to measure next ---------------------------------------------------------------------

    def _pending(self) -> list[Block]:
        """Blocks that need another start and still have a server to measure."""
        sampling = self.plan.profile.sampling
        pending = []
        for block in self.plan.blocks:
            starts = self.starts.get(block.key, [])
            steady = [start for start in starts if all(samples.steady for samples in start.samples)]
            wide = self.half_widths.get(block.key, math.inf) > sampling.half_width
            wanting = len(steady) < sampling.starts_min or wide
            if self._servers(block) and wanting and len(starts) < sampling.starts_max:
                pending.append(block)
        return pending

    def _allowed(self, pending: Sequence[Block], left_s: float, mean_s: float) -> list[Block]:
        """The blocks that get the next start: what is left of the budget goes where it narrows most."""
        sampling, confidence = self.plan.profile.sampling, self.plan.profile.policy.confidence
        starts = [start for of_block in self.starts.values() for start in of_block]
        made = max((start.start for start in starts), default=1)
        chosen = budget.next_start(
            [
                budget.progress(key, self.starts.get(key, []), self.half_widths.get(key, math.inf), sampling)
                for key in (block.key for block in pending)
            ],
            sampling,
            confidence,
            left_s=left_s,
            restart_s=max(0.0, mean_s - budget.loaded_s(starts, sampling) / made),
        )
        return [block for block in pending if block.key in chosen]

    def _changed(self) -> list[Block]:
        """Blocks in which a cell may have changed so far."""
        starts = tuple(start for every in self.starts.values() for start in every)
        so_far = compare.compare(
            RunDocument(header=self.header(), starts=starts, failures=tuple(self.failures), end=None)
        )
        seen = {
            (cell.cell.workload, cell.cell.threads)
            for cell in (*so_far.cells, *so_far.aa_controls)
            if any(verdicts.worth_confirming(metric, so_far.policy) for metric in cell.judged)
        }
        return [block for block in self.plan.blocks if (block.workload, block.threads) in seen]

    def _servers(self, block: Block) -> list[str]:
        """The block's servers that have not failed."""
        return [s for s in block.servers if s in self.ready and block.cell(s) not in self.failed]

    def _left_s(self, elapsed_s: float, done: int) -> float:
        """Estimated time to the end: the starts still due at the pace so far, within the budget."""
        sampling = self.plan.profile.sampling
        left_s = sampling.budget_s - elapsed_s
        if not done:
            return left_s
        narrow = all(self.half_widths.get(b.key, math.inf) <= sampling.half_width for b in self.plan.blocks)
        due = (sampling.starts_min if narrow else sampling.starts_max) - done
        return min(left_s, elapsed_s / done * max(due, 1))

    def _spent_s(self) -> float:
        """What a continued run had spent of its budget, as far as that is recorded."""
        return max((record.spent_s or 0.0 for record in self.recorded), default=0.0)

    def _count(self, which: Callable[[StartRecord], bool]) -> set[str]:
        """Learn these of the recorded starts; returns their blocks."""
        found = [record for record in self.recorded if which(record)]
        self.recorded = [record for record in self.recorded if not which(record)]
        for record in found:
            self._learn(record)
        return {record.block for record in found}

    # --- one start --------------------------------------------------------------------------------

    def _one_start(self, start: int, blocks: Sequence[Block], *, confirming: bool = False) -> None:
        there = self._count(lambda record: record.start == start)
        blocks = [block for block in blocks if block.key not in there]
        if not blocks:
            return
        generator = random.Random(f"{self.plan.seed}/{start}")
        needed = dict.fromkeys(label for block in blocks for label in self._servers(block))
        self._report("start", start, detail=", ".join(needed))
        with ExitStack() as held:
            instances = {}
            starting = [
                *needed,
                *([AA_CONTROL] if self.base_again and any(map(self._has_aa_control, blocks)) else []),
            ]
            # The order is random: the server that starts last has idled least.
            for label in generator.sample(starting, len(starting)):
                instance = (
                    self._start_aa_control() if label == AA_CONTROL else self._start_server(label, start)
                )
                if instance is not None:
                    held.callback(instance.kill)  # no shutdown: its data directory is discarded
                    instances[label] = instance
            self.journal.open()
            for block in self._in_order(blocks, generator):
                servers = [label for label in self._servers(block) if label in instances]
                # Without its base a start judges nothing; the block waits for the next start.
                if servers[:1] == self._servers(block)[:1]:
                    aa_controls = (
                        [AA_CONTROL] if AA_CONTROL in instances and self._has_aa_control(block) else []
                    )
                    taking_part = {label: instances[label] for label in (*servers, *aa_controls)}
                    record = self._one_block(block, start, taking_part, generator)
                    if record is not None:
                        self._keep(structs.replace(record, confirming=confirming))
                instances = {label: each for label, each in instances.items() if each.alive()}
        for label in (*needed, AA_CONTROL):
            shutil.rmtree(self._home(label), ignore_errors=True)

    # --- A/A cells ----------------------------------------------------------------------------------

    @property
    def base(self) -> str:
        """The server that the A/A control is an instance of: the first one present."""
        return next(label for label in self.plan.servers if label not in self.plan.absent)

    def _has_aa_control(self, block: Block) -> bool:
        return block.key in self.plan.aa_controls and self._servers(block)[:1] == [self.base]

    def _start_aa_control(self) -> Running | None:
        """Start a second instance of the base; None if it fails."""
        assert self.base_again is not None
        server, template = self.base_again
        try:
            return server.start(template, self._home(AA_CONTROL), self.runner.placement.servers)
        except MeasureError:
            return None

    def _in_order(self, blocks: Sequence[Block], generator: random.Random) -> list[Block]:
        """Blocks in random order, but reads before writes: purging goes on after a write.

        Of each kind, blocks with an A/A control come first. The control takes part in no other block, so
        earlier writes or warm caches would tell it from the base (index updates were 4 to 8 % slower).
        """

        def place(block: Block) -> tuple[bool, bool]:
            return self.plan.programs[block.workload].writes, not self._has_aa_control(block)

        return sorted(generator.sample(blocks, len(blocks)), key=place)

    def _start_server(self, label: str, start: int) -> Running | None:
        server, template = self.ready[label]
        try:
            instance = server.start(template, self._home(label), self.runner.placement.servers)
            if label not in self.started_servers:
                self._record_server(server.record(template, instance))
                self.started_servers.add(label)
        except MeasureError as error:
            self._fail_server(label, start, str(error))
            return None
        return instance

    def _one_block(
        self, block: Block, start: int, instances: Mapping[str, Running], generator: random.Random
    ) -> StartRecord | None:
        program = self.plan.programs[block.workload]
        client, servers = self.runner.placement.of(block.threads, writes=program.writes)
        engine = Engine(msgspec.json.encode(program), generator.getrandbits(64), min(LANES_MAX, len(client)))
        handles = []
        connected: dict[str, Running] = {}
        for label, instance in instances.items():
            try:
                if instance.ours and instance.pid is not None:
                    machine.place(instance.pid, servers)
                hooks = self._hooks(block, instance)
                hooks.set_up(block.threads)
                connect(engine, instance, hooks.schema, block.threads)
            except MeasureError as error:
                self._fail_cell(block.cell(label), start, str(error))
                continue
            handles.append(handle(label, instance))
            connected[label] = instance
        ours = all(each.stop is not None for each in handles)
        sampling = self.plan.profile.sampling
        with ExitStack() as held:
            held.enter_context(machine.hold(client, batch=block.threads > 1))
            begin = None
            if self.watcher is not None:
                begin = held.enter_context(self.watcher.watching(start, block, engine, connected))
            measured = measure_block(
                block.key,
                start,
                handles,
                kinds=[kind.name for kind in program.kinds],
                driver=engine,
                sampling=sampling.isolated(writes=program.writes, ours=ours),
                load=self.plan.profile.load,
                generator=generator,
                on_round=lambda stage, *rounds: self._report(stage, start, block, rounds),
                on_measuring=begin,
            )
        for label, reason in measured.failures.items():
            self._fail_cell(block.cell(label), start, reason)
        for each in handles:
            if each.label not in measured.failures:
                try:
                    self._hooks(block, instances[each.label]).check()
                except MeasureError as error:
                    self._fail_cell(block.cell(each.label), start, str(error))
        return measured.record

    def _keep(self, record: StartRecord) -> None:
        """Record what a start gave; samples of the A/A control go to a field of their own."""
        aa_controls = [
            structs.replace(each, server=self.base) for each in record.samples if each.server == AA_CONTROL
        ]
        samples = tuple(each for each in record.samples if each.server != AA_CONTROL)
        spent_s = round(time.monotonic() - self.began_s, 3)
        record = structs.replace(
            record, samples=samples, aa_control=next(iter(aa_controls), None), spent_s=spent_s
        )
        self.journal.add(record)
        self._learn(record)

    def _learn(self, record: StartRecord) -> None:
        starts = self.starts.setdefault(record.block, [])
        starts.append(record)
        self.half_widths[record.block] = compare.half_width(starts, self.plan.profile.policy)

    def _record_server(self, record: ServerRecord) -> None:
        """Record a server. Raises InputError if a continued run finds it changed."""
        if self.continued:
            resume.require_same_server(self.run, self.records[record.label], record)
        else:
            self.records[record.label] = record

    def _hooks(self, block: Block, instance: Running) -> Hooks:
        return Hooks(instance, self.plan.workloads[block.workload], self.plan.datasets[block.workload])

    # --- records and progress -----------------------------------------------------------------------

    def _fail_server(self, label: str, start: int, reason: str) -> None:
        """Fail all cells of a server that cannot be started."""
        self.ready.pop(label, None)
        for block in self.plan.blocks:
            if label in block.servers:
                self._fail_cell(block.cell(label), start, reason)

    def _fail_cell(self, cell: Cell, start: int, reason: str) -> None:
        if cell.server != AA_CONTROL and cell not in self.failed:
            self.failed.add(cell)
            self.failures.append(FailureRecord(cell=cell, start=start, reason=reason))
            self.journal.add(self.failures[-1])
            if self.watcher is not None:
                self.watcher.failed(cell.server, reason)

    def _home(self, label: str) -> Path:
        """The server's instance directory. Its name is short, because a socket's path has a limit."""
        place = "control" if label == AA_CONTROL else str(list(self.plan.servers).index(label))
        return self.directory / place

    def _on_preparing(self, label: str, words: str) -> None:
        self.observe(Progress(stage="prepare", detail=f"{label}: {words}"))

    def _report(
        self,
        stage: str,
        start: int,
        block: Block | None = None,
        rounds: tuple[int, int] = (0, 0),
        *,
        detail: str = "",
    ) -> None:
        half_width = self.half_widths.get(block.key, math.inf) if block else math.inf
        progress = Progress(
            stage=stage,
            detail=detail,
            block=block.key if block else "",
            block_number=self.plan.blocks.index(block) + 1 if block else 0,
            blocks=len(self.plan.blocks),
            start=start,
            starts=self.plan.profile.sampling.starts_min,
            round=rounds[0],
            rounds=rounds[1],
            half_width=half_width
            if 0 < half_width < math.inf
            else None,  # zero where there is nothing to compare
            left_s=max(self.ends_s - time.monotonic(), 0.0),
        )
        self.observe(progress)
