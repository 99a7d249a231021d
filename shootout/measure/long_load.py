"""Long load on one server: servers that are ours to start, and one block's load on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shootout._engine import LoadError, Slice
from shootout.errors import InputError, MeasureError
from shootout.measure import managed
from shootout.measure.bench import LANES_MAX
from shootout.measure.dataset import Template
from shootout.measure.hooks import Hooks
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.rounds import reason
from shootout.measure.workplace import workplace
from shootout.model.plan import Block
from shootout.model.run import Observe, Placement, Progress
from shootout.runner import machine
from shootout.servers.processes.instances import Instance

SILENCE_MAX_S = 600.0  # without an answer; then the server has failed

Send = Callable[[float], Slice]


@dataclass(frozen=True)
class LongLoad:
    """The part of a plan that long load takes: one block, and servers that are ours to start."""

    plan: Plan
    block: Block

    @classmethod
    def from_plan(cls, plan: Plan) -> LongLoad:
        """Raise InputError if the plan has more than one block, or a server that runs already."""
        if len(plan.blocks) != 1:
            raise InputError("expected one workload and one number of threads: --workloads W --threads N")
        for planned in plan.servers.values():
            if planned.absent or planned.reference.source == "dsn":
                raise InputError(f"{planned.reference.text}: expected a server that shootout can start")
        return cls(plan, plan.blocks[0])

    @contextmanager
    def prepared(
        self, name: str, observe: Observe
    ) -> Iterator[tuple[Path, list[tuple[ManagedServer, Template]], dict[str, str]]]:
        """Prepare a directory, the servers, loaded, and why others could not be. Raises InputError."""
        with workplace(name, self.plan.data) as (directory, held):
            servers, failures = [], {}
            for label in self.plan.servers:
                observe(Progress(stage="prepare", detail=label))
                server = ManagedServer.find(self.plan, label, None, held)
                try:
                    servers.append((server, server.load(held)))
                except MeasureError as error:
                    failures[label] = str(error)
            yield directory, servers, failures

    @contextmanager
    def connected(self, instance: Instance, place: Placement, seed: str) -> Iterator[tuple[Send, Hooks]]:
        """Connect; then the block's load can be sent, from the client's CPUs. Raises MeasureError."""
        bound = self.plan.workloads[self.block.workload]
        client, cpus = place.cpus(self.block.threads, writes=bound.program.writes)
        if instance.pid is not None:
            machine.place(instance.pid, cpus)
        hooks = Hooks(instance, bound.workload, bound.dataset)
        hooks.set_up(self.block.threads)
        numbered = random.Random(f"{self.plan.seed}/{seed}").getrandbits(64)
        engine = managed.engine(bound.program, hooks.schema, instance, numbered, min(LANES_MAX, len(client)))

        def send(window_s: float) -> Slice:
            try:
                return engine.slice(number, 0.0, window_s, SILENCE_MAX_S)
            except LoadError as error:
                raise MeasureError(reason(error) + instance.post_mortem()) from None

        with machine.hold(client, batch=self.block.threads > 1):
            number = managed.connect(engine, instance, hooks.schema, self.block.threads)
            yield send, hooks
