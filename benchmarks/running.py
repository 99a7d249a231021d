"""Running servers with open engine connections."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shootout import steps
from shootout._engine import Engine, Slice
from shootout.inputs.options import Selection
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import ManagedServer, connect
from shootout.measure.plan import Plan
from shootout.servers.processes.instances import Instance

RAMP_S, TIMEOUT_S = 0.02, 60.0


@dataclass(frozen=True)
class Servers:
    engine: Engine
    instances: Sequence[Instance]
    plan: Plan

    def slice(self, server: int, window_s: float) -> tuple[float, Slice]:
        """Throughput of one slice, and the slice."""
        measured = self.engine.slice(server, RAMP_S, window_s, TIMEOUT_S)
        return max(measured.transactions, 0.5) / window_s, measured


@contextmanager
def servers(labels: Sequence[str], workload: str, threads: int, cpus: Sequence[int]) -> Iterator[Servers]:
    """Freshly started servers with the quick profile's data, on `cpus`."""
    plan = steps.plan(Selection.read(servers=",".join(labels), workloads=workload, threads=str(threads)))
    engine = Engine(msgspec.json.encode(plan.workloads[workload].program), 1)
    instances: list[Instance] = []
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="shootout-")))
        for label in plan.servers:
            server = ManagedServer.find(plan, label)
            instances.append(server.start(server.load(), folder / str(len(instances)), cpus))
            cleanup.callback(instances[-1].kill)
        for instance in instances:
            connect(engine, instance, SCHEMAS["sbtest"], threads)
        yield Servers(engine, instances, plan)
