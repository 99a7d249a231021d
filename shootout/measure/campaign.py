"""Measures a run: starts the servers again and again, and records what each start gives.

Restarts move results by percents, so there should be many of them, and one start serves all blocks.
Every start begins with a copy of the same loaded data directory.
"""

from __future__ import annotations

import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from shootout import __version__, figures
from shootout.analysis import pairs
from shootout.analysis.stats import Effect
from shootout.document import journal, ledgers, packed, resume
from shootout.errors import InputError, MeasureError
from shootout.measure import schedule
from shootout.measure.bench import Bench, Instances, Watcher
from shootout.measure.participants import Participant, prepare
from shootout.measure.plan import Plan
from shootout.measure.planner import Planner
from shootout.measure.recorder import Recorder, now
from shootout.measure.schedule import Start
from shootout.measure.workplace import say_who_else_measures, workplace
from shootout.model.plan import Block
from shootout.model.run import Observe, Progress, RunDocument, RunHeader, Runner
from shootout.model.verdict import Acknowledgement
from shootout.runner import machine
from shootout.servers.locking import locked
from shootout.servers.running import Running

CHANGES_SHOWN = 4  # in a line, the largest first
TELLING_MAX = 1.5  # the quotient of an interval's ends that is still worth reading


def measure(
    plan: Plan,
    results: Path,
    observe: Observe,
    watcher: Watcher | None = None,
    acknowledged: Sequence[Acknowledgement] = (),
) -> Path:
    """Measure the plan's blocks; returns the run document, which gets each start as soon as it ends.

    With `resume`, the newest run in `results` continues if it was cut short, or asked for the same within a
    larger budget; if it is over, nothing is measured. `acknowledged` regressions end no gate early.
    Call this from the main thread: SIGTERM and SIGHUP end
    it as Ctrl-C does. Raises InputError for what the user must fix. A server that fails is a result, and the
    other cells continue. No exit leaves a server running or a document without results.
    """
    began_s = time.monotonic()
    before = _resumable(plan, results, observe)
    if before is not None and resume.is_finished(before, plan.profile.sampling.budget_s):
        return journal.path_of(results, before.header.run)
    run = before.header.run if before else journal.new_run(datetime.now(UTC))
    with writing(results, run):
        with workplace(run, plan.data) as (directory, held):
            if before is not None:  # as it is now: until here another process may have continued it
                before = journal.read(results / journal.new_name(run))
            writer = journal.Writer(results, run, resumed=before is not None)
            runner = machine.inspect(directory, name=plan.profile.sampling.placement)
            say_who_else_measures(runner, observe)
            if before is None:
                recorder = Recorder.begin(writer, _header(plan, run, runner), began_s)
            else:
                plan = _same_plan(plan, before, runner)
                recorder = Recorder.go_on(writer, before, plan.profile.sampling.budget_s, began_s)
                _say(observe, f"resuming {run}")
            if watcher is not None:
                recorder.on_failure = watcher.failed
            interrupted = True
            try:
                participants = prepare(plan, recorder, directory, held, observe)
                planner = Planner(thorough=watcher is not None)
                bench = Bench(plan, recorder.run.header.runner, recorder, watcher, planner)
                campaign = Campaign(plan, recorder, participants, bench, observe)
                campaign.measure(results / ledgers.FOLDER, acknowledged)
                interrupted = False
            finally:
                recorder.end(interrupted=interrupted)
        return packed.pack(writer.path)  # it may be killed: the servers' data is gone by now


@contextmanager
def writing(folder: Path, id: str, what: str = "run") -> Iterator[None]:
    """Keep a document in this folder for this process alone, whatever the caches. Raises InputError."""
    lock = folder / f".{id}.lock"
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked(lock, wait=False))
        except BlockingIOError:
            raise InputError(f"{folder}: {what} {id} is still measured by another process") from None
        except OSError as error:
            raise InputError(f"{folder}: cannot write the {what} document: {error.strerror}") from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


@dataclass
class Campaign:
    """A run in progress, whose servers are ready to be started."""

    plan: Plan
    recorder: Recorder
    participants: Sequence[Participant]  # the base first, the A/A control last
    bench: Bench
    observe: Observe
    started: set[str] = field(default_factory=set)  # labels of the servers that this process has started
    ends_s: float = math.inf  # the latest end, on the monotonic clock; it never moves back

    def measure(self, ledger_folder: Path, acknowledged: Sequence[Acknowledgement] = ()) -> None:
        """Start the servers as often as the schedule says."""
        # The judge says which of its lines are left out.
        entries = ledgers.read(ledger_folder, self.recorder.run.header.runner.fingerprint)
        self.recorder.begin_budget()
        done = schedule.resumed_after(self.recorder.run)
        while start := schedule.next_start(
            self.recorder.run, done, self.recorder.spent_s, entries, acknowledged
        ):
            self.ends_s = min(self.ends_s, time.monotonic() + start.left_s)
            self._one_start(start)
            self._report_changes(start)
            done = start.number

    def _one_start(self, start: Start) -> None:
        """Start the servers that the blocks need, in random order: the last to start has idled least."""
        generator = random.Random(f"{self.plan.seed}/{start.number}")
        needed = [p for p in self.participants if any(self._takes_part(p, block) for block in start.blocks)]
        names = ", ".join(participant.label for participant in needed if not participant.control)
        self._report(start, Progress(stage="start", detail=names))
        with ExitStack() as held:
            instances = {}
            for participant in generator.sample(needed, len(needed)):
                instance = self._started(participant, start)
                if instance is not None:
                    held.callback(instance.kill)  # no shutdown: its data directory is discarded
                    instances[participant] = instance
            self.recorder.open()
            for block in start.blocks:  # before any of them writes
                base = next(iter(self._present(block, instances).values()), None)
                with suppress(MeasureError):  # the block asks again, and fails with the reason
                    if base is not None:
                        self.bench.read_columns(block.workload, base)
            for block in self._in_order(start.blocks, generator):
                self._one_block(start, block, instances, generator)
                instances = {p: instance for p, instance in instances.items() if instance.alive()}
        for participant in needed:
            shutil.rmtree(participant.home, ignore_errors=True)

    def _started(self, participant: Participant, start: Start) -> Running | None:
        """Start a server; None if it fails, which is recorded unless it is an A/A control."""
        try:
            instance = participant.start(self.bench.runner.placement.starting)
            if not participant.control and participant.label not in self.started:
                self.recorder.add_server(participant.server.record(participant.loaded, instance))
                self.started.add(participant.label)
        except MeasureError as error:
            if not participant.control:
                self.recorder.fail_server(participant.label, start.number, str(error))
            return None
        return instance

    def _one_block(self, start: Start, block: Block, instances: Instances, generator: random.Random) -> None:
        present = self._present(block, instances)
        if not present:
            return
        progress = Progress(
            stage="", detail="", block=block.key, block_number=self.plan.blocks.index(block) + 1
        )

        def on_round(stage: str, number: int, rounds: int) -> None:
            self._report(start, structs.replace(progress, stage=stage, round=number, rounds=rounds))

        record = self.bench.measure(block, start.number, present, generator, on_round)
        if record is not None:
            self.recorder.add_start(structs.replace(record, confirming=start.confirming))

    def _present(self, block: Block, instances: Instances) -> Instances:
        """A block's servers, its base first; without it none: the block waits for the next start."""
        present = [p for p in self.participants if p in instances and self._takes_part(p, block)]
        base_is_there = present[:1] and present[0].label == schedule.servers(self.recorder.run, block)[0]
        return {participant: instances[participant] for participant in present} if base_is_there else {}

    def _takes_part(self, participant: Participant, block: Block) -> bool:
        """Whether the block measures it; an A/A control only beside its base."""
        labels = schedule.servers(self.recorder.run, block)
        if participant.control:
            return block.key in self.plan.aa_controls and labels[:1] == [participant.label]
        return participant.label in labels

    def _in_order(self, blocks: Sequence[Block], generator: random.Random) -> list[Block]:
        """Blocks in random order, but reads before writes: purging continues after a write.

        Blocks with an A/A control come first in each kind. The control takes part in no other block, so
        earlier writes or warm caches would tell it from the base (index updates were 4 to 8 % slower).
        """

        def place(block: Block) -> tuple[bool, bool]:
            controlled = any(p.control and self._takes_part(p, block) for p in self.participants)
            return self.plan.workloads[block.workload].program.writes, not controlled

        return sorted(generator.sample(blocks, len(blocks)), key=place)

    def _report_changes(self, start: Start) -> None:
        found = {
            block.cell(head).name: effect
            for block in self.plan.blocks
            for head, effect in pairs.of_heads(
                [record for record in self.recorder.run.starts if record.block == block.key],
                self.plan.profile.policy,
            ).items()
            if effect is not None
        }
        if not found:
            return
        said = {name: f"{name}: {_so_far(effect)}" for name, effect in found.items()}
        largest = sorted(found, key=lambda name: -abs(found[name].estimate))
        more = [f"{len(found) - CHANGES_SHOWN} more"] if len(found) > CHANGES_SHOWN else []
        detail = "; ".join([*(said[name] for name in largest[:CHANGES_SHOWN]), *more])
        self._report(start, Progress(stage="changes", detail=detail, changes=tuple(said.values())))

    def _report(self, start: Start, progress: Progress) -> None:
        left_s = self.ends_s - time.monotonic()
        self.observe(
            structs.replace(
                progress,
                blocks=len(self.plan.blocks),
                start=start.number,
                left_s=left_s if left_s > 0 else None,  # starts that no budget refuses may take longer
            )
        )


def _resumable(plan: Plan, results: Path, observe: Observe) -> RunDocument | None:
    """The newest run, if it was cut short, or was asked for the same; None: a new one begins."""
    if not plan.resume:
        return None
    before = find_unfinished(plan, results, lambda reason: _say(observe, f"left out: {reason}"))
    if before is not None and resume.is_finished(before):
        run = before.header.run
        if not _is_asked(plan, before.header):
            _say(observe, f"run {run} is over, and was asked for something else: a new one begins")
            return None
        if resume.is_finished(before, plan.profile.sampling.budget_s):
            _say(observe, f"run {run} is over and is judged again; without --resume a new one begins")
    return before


def find_unfinished(plan: Plan, results: Path, skip: Callable[[str], None]) -> RunDocument | None:
    """Find the run in `results` that the plan would continue; `skip` receives why documents are left out."""
    return resume.find(results, plan.given.get("--shard"), skip, partial(_is_asked, plan))


def _is_asked(plan: Plan, header: RunHeader) -> bool:
    return resume.is_same(header, structs.replace(header, **_asked(plan)))


def _same_plan(plan: Plan, before: RunDocument, runner: Runner) -> Plan:
    """Give the plan the seed of the run that it continues. Raises InputError if run or runner differ."""
    if "--seed" not in plan.given:
        plan = replace(plan, seed=before.header.seed)
    resume.require_same_run(before.header, _header(plan, before.header.run, runner))
    return plan


def _header(plan: Plan, run: str, runner: Runner) -> RunHeader:
    return RunHeader(
        format=journal.FORMAT,
        run=run,
        started=now(),
        seed=plan.seed,
        runner=runner,
        servers=(),
        **_asked(plan),
    )


def _asked(plan: Plan) -> dict[str, Any]:
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


def _so_far(effect: Effect) -> str:
    """A provisional change; one start tells no interval, and a wide one tells nothing."""
    starts, ratio = len(effect.per_start), effect.ratio
    wide = ratio.high > TELLING_MAX * ratio.low
    change = f"{figures.change(ratio)}, uncertain" if starts == 1 or wide else figures.factor(ratio)
    return f"{change} in {figures.counted(starts, 'start')}"


def _say(observe: Observe, detail: str) -> None:
    observe(Progress(stage="note", detail=detail))
