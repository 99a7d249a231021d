"""A soak: servers run under load for long, without a restart, while their gauges are read.

They take turns of some seconds; those that wait are stopped (SIGSTOP), so that the machine's drift meets all.
Slices follow each other at once, about one in each second of a server's load. Transactions under way at the
end of a slice's window finish before the next one begins: a server that stalls makes its slice longer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from shootout import __version__
from shootout.document import journal
from shootout.errors import MeasureError
from shootout.measure import dataset, managed
from shootout.measure.dataset import Template
from shootout.measure.long_load import LongLoad
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.workplace import say_who_else_measures
from shootout.model.run import Observe, Progress
from shootout.runner import machine
from shootout.servers.processes import instances
from shootout.servers.processes.instances import Instance
from shootout.soak import judge
from shootout.soak.documents import Writer
from shootout.soak.gauges import Gauges, Others
from shootout.soak.values import Gauge, Measure, SoakEnd, SoakFailure, SoakHeader, SoakServer, SoakSlice

WINDOW_MIN_S = 0.5  # of a slice; it ends with a second
FORESEEN_S = 60.0  # of load on each server, whose noise tells what the soak can find


def measure(plan: Plan, results: Path, duration_s: float, turn_s: float, observe: Observe) -> Path:
    """Load each of the plan's servers for so long; returns the document, which grows by the second.

    turn_s: seconds of load on one server before the next one's turn; 0: one server after the other.
    Call this from the main thread. Raises InputError and MeasureError; a server that fails is a result.
    """
    load = LongLoad.from_plan(plan)
    started = datetime.now(UTC)
    soak = journal.new_run(started)
    with load.prepared(soak, observe) as (directory, servers, failures):
        turn_s = turn_s if len(servers) > 1 else 0.0
        header = _header(load, soak, started, directory, duration_s=duration_s, turn_s=turn_s)
        say_who_else_measures(header.runner, observe)
        writer = Writer(results, header)
        for label, reason in failures.items():
            writer.append(SoakFailure(server=label, reason=reason))
        loaded = [
            _Loaded(load, server, template, directory / str(number), writer, header)
            for number, (server, template) in enumerate(servers)
        ]
        seen = _Seen(loaded, header, observe)
        for together in [loaded] if turn_s else [[each] for each in loaded]:
            _soak(together, header, seen)
    return writer.path


def _soak(servers: Sequence[_Loaded], header: SoakHeader, seen: _Seen) -> None:
    """Start servers, load them in turns, and stop them."""
    turn_s = header.turn_s or header.duration_s
    with ExitStack() as held:
        for server in servers:
            server.attempt(partial(_Loaded.start, held=held))
        for number in range(math.ceil(header.duration_s / turn_s)):
            ends_s = min((number + 1) * turn_s, header.duration_s)
            for server in servers:
                server.attempt(partial(_Loaded.turn, ends_s=ends_s, seen=seen))
        for server in servers:
            server.attempt(_Loaded.end)


@dataclass
class _Loaded:
    """One server's soak."""

    load: LongLoad
    server: ManagedServer
    template: Template
    home: Path
    writer: Writer
    header: SoakHeader
    over: bool = False  # it failed
    load_s: float = 0.0  # seconds of load so far, without the turns of others
    start_s: float = 0.0
    writes: int = 0  # statements
    completed: int = 0  # transactions

    def attempt(self, step: Callable[[_Loaded], None]) -> None:
        """Do a step; if it fails, this server's soak is over."""
        if not self.over:
            try:
                step(self)
            except MeasureError as error:
                self.over = True
                self.writer.append(SoakFailure(server=self.server.label, reason=str(error)))

    def start(self, held: ExitStack) -> None:
        """Start, connect, and wait for the first turn. Raises MeasureError."""
        place = self.header.runner.placement
        self.template.copy_to(self.home)
        began_s = time.monotonic()
        program, options = self.server.program, self.server.compiled.options
        self.instance = held.enter_context(instances.start(program, self.home, options, cpus=place.starting))
        self.start_s = time.monotonic() - began_s
        for loaded in self.server.datasets:
            dataset.warm(self.instance, loaded)
        record = self.server.record(self.template, self.instance)
        self.writer.append(SoakServer(server=record, start_s=self.start_s))
        self.send, self.hooks = held.enter_context(self.load.connected(self.instance, place, "soak"))
        self.stop = managed.stopper(self.instance) if self.header.turn_s else None
        self.gauges = Gauges(self.instance)
        self.before = _counters(self.instance)
        self.gauges.begin()
        held.callback(self.gauges.end)
        held.callback(self._stop, False)  # its gauges may wait for an answer
        self._stop(True)

    def turn(self, ends_s: float, seen: _Seen) -> None:
        """Load it until it had so many seconds of load. Raises MeasureError."""
        self._stop(False)
        others = Others(self.instance)
        began_s = time.monotonic() - self.load_s
        try:
            while self.load_s < ends_s:
                seen.report(self)
                seen.slices.append(self._next_slice(began_s, others))
                self.writer.append(seen.slices[-1])
        finally:
            self._stop(True)

    def _next_slice(self, began_s: float, others: Others) -> SoakSlice:
        """Load it until the next second of its load. Raises MeasureError."""
        begins_s = self.load_s
        window_s = 1 - begins_s % 1
        taken = self.send(window_s + (window_s < WINDOW_MIN_S))
        self.load_s = time.monotonic() - began_s
        self.writes += taken.writes
        self.completed += taken.completed
        lasts_s = self.load_s - begins_s
        gauges = self.gauges.taken() | others.taken(lasts_s)
        p50_s, p95_s, p99_s = (round(taken.latencies.percentile(each), 6) for each in (50.0, 95.0, 99.0))
        return SoakSlice(
            server=self.server.label, begins_s=round(begins_s, 4), lasts_s=round(lasts_s, 4),
            window_s=round(taken.window_s, 4), transactions=round(taken.transactions, 2),
            completed=taken.completed, p50_s=p50_s, p95_s=p95_s, p99_s=p99_s,
            errors=sum(taken.errors.values()), gauges=gauges,
        )  # fmt: skip

    def end(self) -> None:
        """Measure what the load took, as far as it is visible, and shut down. Raises MeasureError."""
        self._stop(False)
        self.gauges.end()
        self.hooks.check()
        footprint = self._footprint(_counters(self.instance), self.gauges.now())
        began_s = time.monotonic()
        self.instance.stop()
        footprint |= {"start": self.start_s, "shutdown": time.monotonic() - began_s}
        self.writer.append(SoakEnd(server=self.server.label, footprint=footprint))

    def _stop(self, stopped: bool) -> None:
        """Stop the server until its next turn, if it takes turns and can be stopped."""
        if self.stop is not None:
            self.gauges.pause(stopped)
            self.stop(stopped)

    def _footprint(self, after: Mapping[str, float], gauges: Mapping[Gauge, float]) -> dict[Measure, float]:
        taken: dict[Measure, float] = {
            name: value for name in ("memory", "disk") if (value := gauges.get(name))
        }
        grown = {name: after[name] - value for name, value in self.before.items() if name in after}
        if self.completed and "Innodb_data_fsyncs" in grown:
            taken["fsyncs"] = grown["Innodb_data_fsyncs"] / self.completed
        (one,) = self.server.datasets
        if self.writes and one.kind == "sbtest" and "disk_written_bytes" in grown:
            changed_bytes = self.writes * one.nominal_bytes / (one.tables * one.rows)
            taken["write_amplification"] = grown["disk_written_bytes"] / changed_bytes
        return taken


@dataclass
class _Seen:
    """Slices seen by a running soak, to tell how far it is, and after a minute what it can find."""

    servers: Sequence[_Loaded]
    header: SoakHeader
    observe: Observe
    slices: list[SoakSlice] = field(default_factory=list)
    foreseen: bool = False

    def report(self, server: _Loaded) -> None:
        """Say how far the soak is."""
        all_s, label = self.header.duration_s, server.server.label
        left_s = sum(all_s - each.load_s for each in self.servers if not each.over)
        number = self.servers.index(server) + 1
        self.observe(
            Progress(
                stage="measure", detail=label, block=label, block_number=number, blocks=len(self.servers),
                start=1, round=int(server.load_s), rounds=round(all_s), left_s=left_s,
            )
        )  # fmt: skip
        if not self.foreseen and all(each.load_s >= FORESEEN_S for each in self.servers):
            self.foreseen = True
            for said in judge.foreseen(self.header, self.slices):
                self.observe(Progress(stage="note", detail=said))


def _counters(instance: Instance) -> dict[str, float]:
    of_host = machine.counters(instance.pid)
    return instance.status() | {name: read() for name, read in of_host.items()}


def _header(
    load: LongLoad, soak: str, started: datetime, directory: Path, *, duration_s: float, turn_s: float
) -> SoakHeader:
    plan = load.plan
    (workload,) = plan.records
    return SoakHeader(
        format=2, soak=soak, started=started.isoformat(timespec="seconds"), shootout=__version__,
        duration_s=duration_s, turn_s=turn_s, profile_name=plan.profile_name, given=dict(plan.given),
        seed=plan.seed, settings=plan.profile.settings, confidence=plan.profile.policy.confidence,
        workload=workload, dataset=plan.workloads[load.block.workload].dataset, threads=load.block.threads,
        load=plan.profile.load, servers=tuple(plan.servers),
        runner=machine.inspect(directory, name=plan.profile.sampling.placement),
    )  # fmt: skip
