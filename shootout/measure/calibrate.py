"""Which CPU placement and slice length is least noisy: a server beside itself, under each of them.

They take turns in random order on the same two instances, so that they see the same machine.
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
from shootout.measure.campaign import LANES_MAX
from shootout.measure.dataset import Template
from shootout.measure.hooks import Hooks
from shootout.measure.managed import ManagedServer, connect
from shootout.measure.plan import Plan
from shootout.measure.rounds import ANSWER_TIMEOUT_S, RAMP_CYCLES, WINDOW_CYCLES, WINDOW_MAX_S, orders
from shootout.model.plan import Block
from shootout.model.run import Calibration, Placement, Progress
from shootout.paths import cache_folder
from shootout.runner import calibration, machine
from shootout.runner.calibration import Visit
from shootout.servers.instances import Instance
from shootout.servers.leftovers import workplace

SLICES_S = (0.05, 0.1, 0.25)  # beside the profile's own
VISIT_S = 0.5  # of measuring, at least a round
SETTLE_S = 0.1  # of load on each server, after it was moved to other CPUs
WARMUP_S = 1.5  # likewise, after it was started
SWEEPS_MIN = 2  # of all placements and lengths, in each start of a block
STARTS = 3
PAIR = (0, 1)  # the engine's numbers of both instances
SHARE = 1 / 3  # of the time that a calibration has; then the server is measured as others are


def begin(plan: Plan, results: Path, observe: Callable[[Progress], None]) -> float:
    """Spend SHARE of the plan's budget on `calibrate`; returns the seconds left.

    All of it where the server runs already, for it cannot be placed. Raises as `calibrate` does.
    """
    budget_s = plan.profile.sampling.budget_s
    if all(reference.source != "dsn" for reference in plan.servers.values()):
        calibrate(plan, results, SHARE * budget_s, observe)
        budget_s -= SHARE * budget_s
    return budget_s


def calibrate(plan: Plan, results: Path, budget_s: float, observe: Callable[[Progress], None]) -> Calibration:
    """Measure the plan's first server for about `budget_s`, and keep what is best on this runner.

    Of its blocks those of more than one thread, where there are some: one reader shares a CPU with its server
    however the others are placed. Raises InputError for what the user must mend, MeasureError where the
    server fails.
    """
    run = journal.new_run(datetime.now(UTC))
    label = next(iter(plan.servers))
    with workplace(cache_folder(), run, plan.data) as directory, ExitStack() as held:
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
    calibration.keep(results / ledger.FOLDER, made)
    return made


@dataclass(frozen=True)
class _Bench:
    """What all starts have in common."""

    plan: Plan
    placements: Mapping[str, Placement]  # the profile's first
    generator: random.Random
    managed_server: ManagedServer
    template: Template
    directory: Path

    @contextmanager
    def started(self) -> Iterator[Sequence[Instance]]:
        """Two fresh instances. Raises MeasureError."""
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
        """Visit every placement and slice length of a block again and again. Raises MeasureError."""
        program = self.plan.programs[block.workload]
        workload, dataset = self.plan.workloads[block.workload], self.plan.datasets[block.workload]
        both_hooks = [Hooks(instance, workload, dataset) for instance in pair]
        for hooks in both_hooks:
            hooks.set_up(block.threads)
        sampling = self.plan.profile.sampling.isolated(writes=program.writes, ours=True)
        pids = [instance.pid for instance in pair if instance.pid is not None]
        loads: dict[str, _Load] = {}
        for name, place in self.placements.items():
            client, servers = place.of(block.threads, writes=program.writes)
            lanes = min(LANES_MAX, len(client))
            engine = Engine(msgspec.json.encode(program), self.generator.getrandbits(64), lanes)
            for hooks in both_hooks:
                connect(engine, hooks.instance, hooks.schema, block.threads)
            loads[name] = _Load(
                engine, client, servers, pids, batch=block.threads > 1, stops_idle=sampling.stops_idle
            )
        slices_s = list(dict.fromkeys([sampling.slice_s, *SLICES_S]))
        try:
            latency_s = next(iter(loads.values())).settle(WARMUP_S)
            ramp_s = min(max(sampling.ramp_s, RAMP_CYCLES * latency_s), WINDOW_MAX_S)
            least_s = min(WINDOW_CYCLES * latency_s, WINDOW_MAX_S)
            for sweep in count(1):
                if sweep > SWEEPS_MIN and time.monotonic() > until_s:
                    break
                for name in self.generator.sample(list(loads), len(loads)):
                    loads[name].settle(SETTLE_S)
                    for slice_s in self.generator.sample(slices_s, len(slices_s)):
                        log_ratio, took_s = loads[name].visit(ramp_s, max(slice_s, least_s), self.generator)
                        yield Visit(
                            start=start,
                            block=block.key,
                            placement=name,
                            slice_s=slice_s,
                            log_ratio=log_ratio,
                            took_s=took_s,
                        )
        except LoadError as error:
            server, code, message = error.args
            words = f"error {code}: {message}" if code else str(message)
            raise MeasureError(f"{block.key}: {words}{pair[server].post_mortem()}") from None


@dataclass(frozen=True)
class _Load:
    """All connections to both instances under one placement."""

    engine: Engine
    client: tuple[int, ...]
    servers: tuple[int, ...]
    pids: Sequence[int]
    batch: bool
    stops_idle: bool  # each is stopped while the other has its slice, as in runs

    def settle(self, seconds: float) -> float:
        """Move both there, and load each for so long; gives the slower one's mean latency."""
        for pid in self.pids:
            machine.place(pid, self.servers)
        with machine.hold(self.client, batch=self.batch):
            return max(self._slice(server, 0.0, seconds).latencies.mean_s for server in PAIR)

    def visit(self, ramp_s: float, window_s: float, generator: random.Random) -> tuple[float, float]:
        """Some rounds: the mean of their log-ratios, and the seconds that they took."""
        rounds = max(1, round(VISIT_S / (2 * (ramp_s + window_s))))
        log_ratios = []
        began_s = time.monotonic()
        with machine.hold(self.client, batch=self.batch):
            for order in orders(PAIR, rounds, generator):
                seen = {server: self._slice(server, ramp_s, window_s).transactions for server in order}
                log_ratios.append(math.log(max(seen[1], 0.5) / max(seen[0], 0.5)))
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
