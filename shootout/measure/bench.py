"""One block of one start on running servers: CPUs, connections, tables, the load, and checks after it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from shootout._engine import Engine
from shootout.errors import MeasureError
from shootout.measure import columns, refusals
from shootout.measure.dataset import schema_of
from shootout.measure.hooks import Hooks
from shootout.measure.managed import connect, handle
from shootout.measure.participants import Participant
from shootout.measure.plan import Plan
from shootout.measure.planner import Planner
from shootout.measure.recorder import Recorder
from shootout.measure.rounds import OnRound, ServerHandle, measure_block
from shootout.model.plan import Block
from shootout.model.program import Program
from shootout.model.run import LACKS, Runner, StartRecord
from shootout.runner import machine
from shootout.servers.running import Running

Instances = Mapping[Participant, Running]

LANES_MAX = 4  # engine threads; one drives some hundred thousand transactions a second


class Watcher(Protocol):
    """An observer of the servers of each block while they are measured."""

    def watching(
        self, start: int, block: Block, engine: Engine, instances: Mapping[str, Running]
    ) -> AbstractContextManager[Callable[[], None]]:
        """Surrounds one block of one start; its value is called before the first slice that counts."""

    def failed(self, server: str, reason: str) -> None:
        """Handle a server's failure; what this raises ends the run."""


@dataclass(frozen=True)
class Bench:
    """Measures blocks of a plan on this machine."""

    plan: Plan
    runner: Runner
    recorder: Recorder
    watcher: Watcher | None = None
    planner: Planner = field(default_factory=Planner)
    _filled: dict[str, Program] = field(default_factory=dict, init=False, repr=False)

    def measure(
        self, block: Block, start: int, instances: Instances, generator: random.Random, on_round: OnRound
    ) -> StartRecord | None:
        """Load the block's running servers, the base first; None if nothing was measured."""
        program, instances = self._with_values(block, instances, start)
        if not instances:
            return None
        client, cpus = self.runner.placement.cpus(block.threads, writes=program.writes)
        engine = Engine(msgspec.json.encode(program), generator.getrandbits(64), min(LANES_MAX, len(client)))
        bound = self.plan.workloads[block.workload]
        hooks: dict[Participant, Hooks] = {}
        handles: list[ServerHandle] = []
        told: dict[str, tuple[str, ...]] = {}  # what set-ups warned of
        for participant, instance in instances.items():
            with self._failing(block, participant, start):
                if instance.ours and instance.pid is not None:
                    machine.place(instance.pid, cpus)
                its_hooks = Hooks(instance, bound.workload, bound.dataset)
                told[participant.label] = its_hooks.set_up(block.threads)
                # Before the engine gives the server its number, which is its handle's place.
                its_handle = handle(participant.label, instance, control=participant.control)
                connect(engine, instance, its_hooks.schema, block.threads)
                hooks[participant] = its_hooks
                handles.append(its_handle)
        sampling = self.plan.profile.sampling
        with ExitStack() as held:
            held.enter_context(machine.hold(client, batch=block.threads > 1))
            begin = None
            if self.watcher is not None:
                by_label = {participant.label: its_hooks.instance for participant, its_hooks in hooks.items()}
                begin = held.enter_context(self.watcher.watching(start, block, engine, by_label))
            measured = measure_block(
                block.key,
                start,
                handles,
                program=program,
                driver=engine,
                sampling=sampling.isolated(
                    writes=program.writes, ours=all(server.stop is not None for server in handles)
                ),
                load=self.plan.profile.load,
                generator=generator,
                on_round=on_round,
                on_measuring=begin,
            )
        for (participant, its_hooks), failure in zip(hooks.items(), measured.failures, strict=True):
            with self._failing(block, participant, start):
                if failure is not None:
                    raise failure
                its_hooks.check()
        if measured.record is None:
            return None
        asked = [
            (participant.label, its_hooks.instance, told[participant.label])
            for participant, its_hooks in hooks.items()
            if not participant.control and its_hooks.instance.alive()
        ]
        plans = self.planner.plans(start, block, bound, program, asked)
        return msgspec.structs.replace(measured.record, plans=plans)

    def read_columns(self, workload: str, base: Running) -> None:
        """Read the values of a workload's columns, once in a run. Raises MeasureError."""
        if workload not in self._filled:
            bound = self.plan.workloads[workload]
            self._filled[workload] = columns.filled(bound.program, schema_of(base, bound.dataset), base)

    def _with_values(self, block: Block, instances: Instances, start: int) -> tuple[Program, Instances]:
        """Give the program the base's values; return it, and the servers whose last numbers could be read."""
        bound = self.plan.workloads[block.workload]
        program, telling = self._filled.get(block.workload, bound.program), {}
        for participant, instance in instances.items():
            with self._failing(block, participant, start):
                if block.workload not in self._filled:
                    self.read_columns(block.workload, instance)
                    program = self._filled[block.workload]
                program = columns.continued(program, schema_of(instance, bound.dataset), instance)
                telling[participant] = instance
        return program, telling

    @contextmanager
    def _failing(self, block: Block, participant: Participant, start: int) -> Iterator[None]:
        """Fail the server's cell for what goes wrong inside the block; an A/A control has none."""
        try:
            yield
        except MeasureError as error:
            if not participant.control:
                unknown = refusals.code(error) in refusals.LACKING
                lacks = unknown and self.plan.workloads[block.workload].workload.may_lack
                reason = f"{LACKS}{error}" if lacks else str(error)
                self.recorder.fail(block.cell(participant.label), start, reason)
