"""Blocks to samples: prepares servers, starts them afresh again and again, keeps what each start gave.

One start serves all blocks: restarts are what moves results by percents, so there should be many of them, and
each takes seconds. Every start begins from a copy of the same loaded data directory.
"""

from __future__ import annotations

import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from shootout import __version__, compare, dataset, document, machine, settings
from shootout._engine import Engine
from shootout.dataset import Template
from shootout.errors import MeasureError
from shootout.model import (
    Block,
    Cell,
    EndRecord,
    FailureRecord,
    Progress,
    RunHeader,
    Runner,
    ServerRecord,
    ServerReference,
    StartRecord,
)
from shootout.places import cache
from shootout.plan import Plan
from shootout.rounds import Subject, measure_block
from shootout.servers import catalogue, native, packages
from shootout.servers.native import Instance, Tree
from shootout.servers.store import locked

Observe = Callable[[Progress], None]

LANES_MAX = 4  # engine threads; one drives some hundred thousand transactions a second
# What the server counts about its work, and not the levels that it reports beside it.
COUNTED = ("Bytes_", "Created_tmp", "Handler_", "Innodb_", "Select_", "Sort_", "Table_locks_")
LEVELS = ("_pages_", "_bytes_d", "_current_waits", "_avg", "_max", "_size", "_num_open_files")
FLOWS_AMONG_LEVELS = ("_pages_flushed", "_pages_read", "_pages_written", "_pages_created")


def measure(plan: Plan, results: Path, observe: Observe) -> Path:
    """Measure the plan's blocks; returns the run document, which holds each start as soon as it is over.

    Call it from the main thread. Raises InputError for what the user must mend. A server that fails is a
    result: the other cells go on. On any way out no server is left running, and no document without results.
    """
    began_s = time.monotonic()
    run = document.new_run(datetime.now(UTC))
    writer = document.Writer(results, run)
    with _instances_directory(run) as directory:
        runner = machine.inspect(directory)
        campaign = _Campaign(plan, runner, run, directory, writer, observe)
        interrupted = True
        try:
            campaign.prepare()
            campaign.measure()
            interrupted = False
        finally:
            campaign.finish(time.monotonic() - began_s, interrupted)
    return writer.path


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class _Contender:
    """A server of the run: all that it takes to start it."""

    label: str
    tree: Tree
    options: Mapping[str, str]
    template: Template
    port: int | None


@dataclass
class _Campaign:
    """A run in progress: what is known so far, and what is still to be measured."""

    plan: Plan
    runner: Runner
    run: str
    directory: Path
    writer: document.Writer
    observe: Observe
    contenders: dict[str, _Contender] = field(default_factory=dict)
    records: dict[str, ServerRecord] = field(default_factory=dict)  # by label
    starts: dict[str, list[StartRecord]] = field(default_factory=dict)  # by block
    failed: set[Cell] = field(default_factory=set)
    started: str = field(default_factory=_now)
    servers_known: bool = False  # the header's records are complete
    unwritten: list[StartRecord | FailureRecord] = field(default_factory=list)

    def prepare(self) -> None:
        """Fetch, initialise and load every server, and see that all hold the same rows."""
        for index, (label, reference) in enumerate(self.plan.servers.items()):
            self.observe(Progress(stage="prepare", detail=label))
            tree = Tree.inspect(directory_of(reference))
            settings_name = reference.settings or self.plan.profile.settings
            options = settings.compile(settings.load(settings_name), tree.family, tree.version)
            self.records[label] = ServerRecord(
                label=label,
                reference=reference.text,
                family=tree.family,
                version=".".join(map(str, tree.version)),
                comment="",
                build=tree.digest,
                settings_name=settings_name,
                settings=settings.compare(options, {})[0],
                checksum="",
                load_s=None,
            )
            try:
                template = dataset.template(tree, options, self.plan.profile.dataset, cache())
            except MeasureError as error:
                self._fail(label, 0, str(error))  # before the first start
                continue
            port = None if self.plan.port is None else self.plan.port + index
            self.contenders[label] = _Contender(label, tree, options, template, port)

    def measure(self) -> None:
        """Start the servers until every block is known well enough, or the budget is spent."""
        began_s = time.monotonic()
        sampling = self.plan.profile.sampling
        start = 1
        while pending := self._pending():
            elapsed_s = time.monotonic() - began_s
            if start > 1 and elapsed_s * start / (start - 1) > sampling.budget_s:
                break
            self._one_start(start, pending, partial(self._left_s, began_s, start - 1))
            start += 1

    def finish(self, elapsed_s: float, interrupted: bool) -> None:
        """End the document, if there is anything to put into one."""
        self.servers_known = True
        self._write()
        if self.writer.path.exists():
            self.writer.append(
                EndRecord(finished=_now(), elapsed_s=round(elapsed_s, 3), interrupted=interrupted)
            )

    # --- what is left to do -----------------------------------------------------------------------

    def _pending(self) -> list[Block]:
        """Blocks that need a further start, and still have a server to measure."""
        sampling = self.plan.profile.sampling
        pending = []
        for block in self.plan.blocks:
            starts = self.starts.get(block.key, [])
            steady = [start for start in starts if all(samples.steady for samples in start.samples)]
            wide = self._half_width(block) > sampling.half_width
            wanting = len(steady) < sampling.starts_min or wide
            if self._servers(block) and wanting and len(starts) < sampling.starts_max:
                pending.append(block)
        return pending

    def _half_width(self, block: Block) -> float:
        return compare.half_width(self.starts.get(block.key, ()), self.plan.profile.policy)

    def _servers(self, block: Block) -> list[str]:
        """The block's servers that have not failed in it."""
        return [
            label
            for label in block.servers
            if label in self.contenders and block.cell(label) not in self.failed
        ]

    def _left_s(self, began_s: float, done: int) -> float:
        """The time to the run's end: at most the budget, and about so many starts like those before."""
        sampling = self.plan.profile.sampling
        elapsed_s = time.monotonic() - began_s
        left_s = sampling.budget_s - elapsed_s
        if done and all(self._half_width(b) <= sampling.half_width for b in self.plan.blocks):
            left_s = min(left_s, elapsed_s / done * max(sampling.starts_min - done, 0))
        return max(left_s, 0.0)

    # --- one start --------------------------------------------------------------------------------

    def _one_start(self, start: int, blocks: Sequence[Block], left_s: Callable[[], float]) -> None:
        generator = random.Random(f"{self.plan.seed}/{start}")
        needed = dict.fromkeys(label for block in blocks for label in self._servers(block))
        self.observe(self._progress("start", start, left_s, detail=", ".join(needed)))
        with ExitStack() as held:
            instances = {}
            for label in needed:
                if (instance := self._start_server(label, start)) is not None:
                    held.callback(instance.kill)  # its data directory is thrown away
                    instances[label] = instance
            self.servers_known = True
            for block in self._in_order(blocks, generator):
                subjects = [label for label in self._servers(block) if label in instances]
                # Without the base this start could judge nothing: the block waits for the next one.
                if subjects[:1] == self._servers(block)[:1]:
                    self._one_block(block, start, {s: instances[s] for s in subjects}, generator, left_s)
                for label in subjects:
                    if not instances[label].alive():
                        del instances[label]
        for label in needed:
            shutil.rmtree(self._home(label), ignore_errors=True)

    def _in_order(self, blocks: Sequence[Block], generator: random.Random) -> list[Block]:
        """Reads before writes, whose purging would go on beside them; at random apart from that."""
        shuffled = generator.sample(blocks, len(blocks))
        return sorted(shuffled, key=lambda block: self.plan.programs[block.workload].writes)

    def _start_server(self, label: str, start: int) -> Instance | None:
        contender = self.contenders[label]
        home = self._home(label)
        try:
            contender.template.copy_to(home)
            instance = native.start(
                contender.tree,
                home,
                contender.options,
                port=contender.port,
                cpus=self.runner.placement.servers,
            )
            try:
                dataset.warm(instance, self.plan.profile.dataset)
                if start == 1:
                    self.records[label] = self._record(contender, instance)
            except BaseException:
                instance.kill()
                raise
        except MeasureError as error:
            self._fail(label, start, str(error))
            return None
        return instance

    def _record(self, contender: _Contender, instance: Instance) -> ServerRecord:
        variables = instance.variables()
        compared, warnings = settings.compare(contender.options, variables)
        return msgspec.structs.replace(
            self.records[contender.label],
            version=instance.version,
            comment=variables.get("version_comment", ""),
            settings=compared,
            checksum=contender.template.checksum,
            load_s=contender.template.load_s,
            warnings=warnings,
        )

    def _one_block(
        self,
        block: Block,
        start: int,
        instances: Mapping[str, Instance],
        generator: random.Random,
        left_s: Callable[[], float],
    ) -> None:
        program = self.plan.programs[block.workload]
        client, servers = self.runner.placement.of(block.threads, writes=program.writes)
        engine = Engine(msgspec.json.encode(program), generator.getrandbits(64), min(LANES_MAX, len(client)))
        subjects = []
        for label, instance in instances.items():
            try:
                machine.place(instance.pid, servers)
                engine.connect(instance.open(block.threads, dataset.SCHEMA))
            except MeasureError as error:
                self._fail_cell(block.cell(label), start, str(error))
                continue
            subjects.append(_subject(label, instance))
        if not subjects:
            return

        def watch(stage: str, round_: int, rounds: int) -> None:
            progress = self._progress(stage, start, left_s, block=block, round_=round_, rounds=rounds)
            self.observe(progress)

        with machine.hold(client):
            measured = measure_block(
                block.key,
                start,
                subjects,
                kinds=[kind.name for kind in program.kinds],
                driver=engine,
                sampling=self.plan.profile.sampling,
                generator=generator,
                watch=watch,
            )
        if measured.record is not None:
            self._keep(measured.record)
            self.starts.setdefault(block.key, []).append(measured.record)
        for label, reason in measured.failures.items():
            self._fail_cell(block.cell(label), start, reason)

    # --- what is kept -----------------------------------------------------------------------------

    def _fail(self, label: str, start: int, reason: str) -> None:
        """The server cannot be had: none of its cells can be measured any further."""
        self.contenders.pop(label, None)
        for block in self.plan.blocks:
            if label in block.servers:
                self._fail_cell(block.cell(label), start, reason)

    def _fail_cell(self, cell: Cell, start: int, reason: str) -> None:
        if cell not in self.failed:
            self.failed.add(cell)
            self._keep(FailureRecord(cell=cell, start=start, reason=reason))

    def _keep(self, record: StartRecord | FailureRecord) -> None:
        self.unwritten.append(record)
        if self.servers_known:
            self._write()

    def _write(self) -> None:
        if self.unwritten and not self.writer.path.exists():
            self.writer.append(self._header())
        for record in self.unwritten:
            self.writer.append(record)
        self.unwritten.clear()

    def _header(self) -> RunHeader:
        return RunHeader(
            format=document.FORMAT,
            run=self.run,
            started=self.started,
            shootout=__version__,
            seed=self.plan.seed,
            profile=self.plan.profile,
            runner=self.runner,
            servers=tuple(self.records.values()),
            blocks=self.plan.blocks,
        )

    def _home(self, label: str) -> Path:
        """The server's instance directory; short, as a socket's path must be."""
        return self.directory / str(list(self.plan.servers).index(label))

    def _progress(
        self,
        stage: str,
        start: int,
        left_s: Callable[[], float],
        *,
        detail: str = "",
        block: Block | None = None,
        round_: int = 0,
        rounds: int = 0,
    ) -> Progress:
        half_width = self._half_width(block) if block else math.inf
        return Progress(
            stage=stage,
            detail=detail,
            block=block.key if block else "",
            block_number=self.plan.blocks.index(block) + 1 if block else 0,
            blocks=len(self.plan.blocks),
            start=start,
            starts=self.plan.profile.sampling.starts_min,
            round=round_,
            rounds=rounds,
            half_width=half_width if half_width < math.inf else None,
            left_s=left_s(),
        )


def _subject(label: str, instance: Instance) -> Subject:
    def counters() -> dict[str, float]:
        counted = {name: value for name, value in instance.status().items() if _is_counted(name)}
        counted["context_switches"] = machine.context_switches(instance.pid)
        counted["disk_written_bytes"] = machine.bytes_written(instance.pid)
        return counted

    def explain(words: str) -> str:
        try:
            instance.query("SELECT 1")
        except MeasureError:  # dead: its log says more than the broken connection
            return f"{words}\nThe server has died; its error log ends:\n{instance.error_log_tail()}"
        return words

    return Subject(label, partial(machine.process_cpu_s, instance.pid), counters, explain)


def _is_counted(name: str) -> bool:
    if not name.startswith(COUNTED):
        return False
    return any(f in name for f in FLOWS_AMONG_LEVELS) or not any(level in name for level in LEVELS)


def directory_of(reference: ServerReference) -> Path:
    """Where the server's tree lies; one of the catalogue is fetched where it is not there yet."""
    if reference.source == "path":
        return Path(reference.target)
    return packages.fetch(reference.target, catalogue.load()[reference.target], cache())


@contextmanager
def _instances_directory(run: str) -> Iterator[Path]:
    """A place for the run's instances, gone afterwards; what killed runs left behind goes with it."""
    instances = cache() / "instances"
    instances.mkdir(parents=True, exist_ok=True)
    for lock in instances.glob("*.lock"):
        try:
            with locked(lock, wait=False):  # its owner is gone, and so are its servers
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink()
        except BlockingIOError:
            continue
    directory = instances / run
    with locked(directory.with_suffix(".lock")):
        directory.mkdir()
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)
            directory.with_suffix(".lock").unlink()
