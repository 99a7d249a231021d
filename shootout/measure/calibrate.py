"""Finds the least noisy CPU placement and slice length by measuring a server against itself.

All candidates take turns in random order on the same two instances, so that they see the same machine.
"""

from __future__ import annotations

import math
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import msgspec

from shootout._engine import Engine, LoadError, Slice
from shootout.analysis import ledger
from shootout.document import journal
from shootout.errors import MeasureError
from shootout.measure.bench import LANES_MAX
from shootout.measure.dataset import Template
from shootout.measure.hooks import Hooks
from shootout.measure.managed import ManagedServer, connect
from shootout.measure.plan import Plan
from shootout.measure.rounds import ANSWER_TIMEOUT_S, RAMP_CYCLES, WINDOW_CYCLES, WINDOW_MAX_S, orders, reason
from shootout.model.plan import Block
from shootout.model.run import Calibration, Placement, Progress
from shootout.paths import cache_folder
from shootout.runner import calibration, machine
from shootout.runner.calibration import Visit
from shootout.servers.instances import Instance
from shootout.servers.leftovers import working_directory

SLICES_S = (0.05, 0.1, 0.25)  # in addition to the profile's
VISIT_S = 0.5  # at least one round
SETTLE_S = 0.1  # of load on each server after it moves to other CPUs
WARMUP_S = 1.5  # of load on each server after it starts
SWEEPS_MIN = 2  # over all candidates, per block and start
STARTS = 3
PAIR = (0, 1)  # the two instances' numbers in the engine
SHARE = 1 / 3  # of the budget; an A/A run gets the rest


def begin(plan: Plan, results: Path, observe: Callable[[Progress], None]) -> float:
    """Spend SHARE of the plan's budget on `calibrate`; returns the seconds left.

    An external server cannot be placed: the whole budget is left. Raises as `calibrate` does.
    """
    budget_s = plan.profile.sampling.budget_s
    if all(server.reference.source != "dsn" for server in plan.servers.values()):
        calibrate(plan, results, SHARE * budget_s, observe)
        budget_s -= SHARE * budget_s
    return budget_s


def calibrate(plan: Plan, results: Path, budget_s: float, observe: Callable[[Progress], None]) -> Calibration:
    """Measure the plan's first server for about `budget_s`, and store the best candidate for this runner.

    Uses the blocks with more than one thread, if there are any: a single reader shares a CPU with its server
    under every placement. Raises InputError for what the user must fix, MeasureError if the server fails.
    """
    run = journal.new_run(datetime.now(UTC))
    label = next(iter(plan.servers))
    with working_directory(cache_folder(), run, plan.place.data) as directory, ExitStack() as held:
        runner = machine.inspect(directory)
        managed_server = ManagedServer.find(plan, label, held=held)
        template = managed_server.load(held)
        sampling = plan.profile.sampling
        placements = machine.placements(machine.cpus_of(runner.placement), sampling.placement)
        blocks = [block for block in plan.blocks if block.threads > 1] or list(plan.blocks)
        generator = random.Random(f"{plan.seed}/calibration")
        bench = _Bench(plan, placements, generator, managed_server, template, directory)
        visits: list[Visit] = []
        ends_s = time.monotonic() + budget_s
        for start in range(1, STARTS + 1):
            with bench.started() as pair:
                for number, block in enumerate(blocks):
                    observe(Progress(stage="prepare", detail=f"calibration, start {start}: {block.key}"))
                    left = (STARTS - start) * len(blocks) + len(blocks) - number
                    until_s = time.monotonic() + max(ends_s - time.monotonic(), 0.0) / left
                    visits += bench.sweep(block, pair, start, until_s)
    found = calibration.trials(visits, (next(iter(placements)), sampling.slice_s))
    made = Calibration(
        format=1,
        runner=runner.fingerprint,
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
        server=managed_server.reference.text,
        best=calibration.best(found),
        trials=found,
    )
    calibration.write(results / ledger.FOLDER, made)
    return made


@dataclass(frozen=True)
class _Bench:
    """What all starts share."""

    plan: Plan
    placements: Mapping[str, Placement]  # the profile's comes first
    generator: random.Random
    managed_server: ManagedServer
    template: Template
    directory: Path

    @contextmanager
    def started(self) -> Iterator[Sequence[Instance]]:
        """Start two fresh instances. Raises MeasureError."""
        servers = next(iter(self.placements.values())).servers
        with ExitStack() as running:
            pair = []
            for name in ("one", "two"):
                home = self.directory / name
                running.callback(shutil.rmtree, home, ignore_errors=True)
                pair.append(self.managed_server.start(self.template, home, servers))
                running.callback(pair[-1].kill)
            yield pair

    def sweep(self, block: Block, pair: Sequence[Instance], start: int, until_s: float) -> Iterator[Visit]:
        """Visit every candidate repeatedly on one block. Raises MeasureError."""
        bound = self.plan.workloads[block.workload]
        program = bound.program
        pair_hooks = [Hooks(instance, bound.workload, bound.dataset) for instance in pair]
        for hooks in pair_hooks:
            hooks.set_up(block.threads)
        sampling = self.plan.profile.sampling.isolated(writes=program.writes, ours=True)
        pids = [instance.pid for instance in pair if instance.pid is not None]
        connections: dict[str, _Connections] = {}
        for name, place in self.placements.items():
            client, servers = place.of(block.threads, writes=program.writes)
            lanes = min(LANES_MAX, len(client))
            engine = Engine(msgspec.json.encode(program), self.generator.getrandbits(64), lanes)
            for hooks in pair_hooks:
                connect(engine, hooks.instance, hooks.schema, block.threads)
            connections[name] = _Connections(
                engine, client, servers, pids, batch=block.threads > 1, stops_idle=sampling.stops_idle
            )
        slices_s = list(dict.fromkeys([sampling.slice_s, *SLICES_S]))
        try:
            latency_s = next(iter(connections.values())).settle(WARMUP_S)
            ramp_s = min(max(sampling.ramp_s, RAMP_CYCLES * latency_s), WINDOW_MAX_S)
            least_s = min(WINDOW_CYCLES * latency_s, WINDOW_MAX_S)
            for sweep in count(1):
                if sweep > SWEEPS_MIN and time.monotonic() > until_s:
                    break
                for name in self.generator.sample(list(connections), len(connections)):
                    connections[name].settle(SETTLE_S)
                    for slice_s in self.generator.sample(slices_s, len(slices_s)):
                        log_ratio, took_s = connections[name].visit(
                            ramp_s, max(slice_s, least_s), self.generator
                        )
                        yield Visit(
                            start=start,
                            block=block.key,
                            placement=name,
                            slice_s=slice_s,
                            log_ratio=log_ratio,
                            took_s=took_s,
                        )
        except LoadError as error:
            post_mortem = pair[error.args[0]].post_mortem()
            raise MeasureError(f"{block.key}: {reason(error)}{post_mortem}") from None


@dataclass(frozen=True)
class _Connections:
    """All connections to both instances under one placement."""

    engine: Engine
    client: tuple[int, ...]
    servers: tuple[int, ...]
    pids: Sequence[int]
    batch: bool
    stops_idle: bool  # whether a server is stopped during the other's slice, as in runs

    def settle(self, seconds: float) -> float:
        """Move both servers to their CPUs and load each for `seconds`; returns the higher mean latency."""
        for pid in self.pids:
            machine.place(pid, self.servers)
        with machine.hold(self.client, batch=self.batch):
            return max(self._slice(server, 0.0, seconds).latencies.mean_s for server in PAIR)

    def visit(self, ramp_s: float, window_s: float, generator: random.Random) -> tuple[float, float]:
        """Measure some rounds; returns the mean of their log-ratios, and the seconds that they took."""
        rounds = max(1, round(VISIT_S / (2 * (ramp_s + window_s))))
        log_ratios = []
        began_s = time.monotonic()
        with machine.hold(self.client, batch=self.batch):
            for order in orders(PAIR, rounds, generator):
                counted = {server: self._slice(server, ramp_s, window_s).transactions for server in order}
                log_ratios.append(math.log(max(counted[1], 0.5) / max(counted[0], 0.5)))
        return statistics.fmean(log_ratios), time.monotonic() - began_s

    def _slice(self, server: int, ramp_s: float, window_s: float) -> Slice:
        idle = [pid for number, pid in enumerate(self.pids) if self.stops_idle and number != server]
        for pid in idle:
            machine.stop(pid, True)
        try:
            return self.engine.slice(server, ramp_s, window_s, ANSWER_TIMEOUT_S)
        finally:
            for pid in idle:
                machine.stop(pid, False)
