"""A soak: each server in turn runs under load for long, without a restart, while its gauges are read.

Slices follow each other at once, about one in each second. Transactions that are under way at the end of a
slice's window finish before the next one begins, so a server that stands still makes its slice longer.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

from shootout import __version__
from shootout._engine import Slice
from shootout.document import journal
from shootout.errors import MeasureError
from shootout.measure import dataset
from shootout.measure.dataset import Template
from shootout.measure.long_load import LongLoad, Send
from shootout.measure.managed import ManagedServer
from shootout.measure.plan import Plan
from shootout.measure.workplace import say_who_else_measures
from shootout.model.run import Observe, Progress
from shootout.runner import machine
from shootout.servers import instances
from shootout.servers.instances import Instance
from shootout.soak.documents import Writer
from shootout.soak.values import Gauge, Measure, SoakEnd, SoakFailure, SoakHeader, SoakServer, SoakSlice

WINDOW_MIN_S = 0.5  # of a slice; it ends with a second
GAUGES_S = 1.0  # between readings


def measure(plan: Plan, results: Path, duration_s: float, observe: Observe) -> Path:
    """Load each of the plan's servers for so long; returns the document, which grows by the second.

    Call this from the main thread. Raises InputError and MeasureError; a server that fails is a result.
    """
    load = LongLoad.of(plan)
    started = datetime.now(UTC)
    soak = journal.new_run(started)
    with load.prepared(soak, observe) as (directory, servers, failures):
        header = _header(load, soak, started, duration_s, directory)
        say_who_else_measures(header.runner, observe)
        writer = Writer(results, header)
        for label, reason in failures.items():
            writer.append(SoakFailure(server=label, reason=reason))
        for number, (server, template) in enumerate(servers):
            home = directory / str(number)
            turn = _Turn(load, server, template, home, writer, header, (number, len(servers)), observe)
            try:
                turn.run()
            except MeasureError as error:
                writer.append(SoakFailure(server=server.label, reason=str(error)))
    return writer.path


@dataclass
class _Turn:
    """One server's soak."""

    load: LongLoad
    server: ManagedServer
    template: Template
    home: Path
    writer: Writer
    header: SoakHeader
    turn: tuple[int, int]  # its number, from 0, and of how many
    observe: Observe
    writes: int = 0  # statements
    completed: int = 0  # transactions
    footprint: dict[Measure, float] = field(default_factory=dict)

    def run(self) -> None:
        """Start, load, stop. Raises MeasureError."""
        place = self.header.runner.placement
        self.template.copy_to(self.home)
        began_s = time.monotonic()
        program, options = self.server.program, self.server.compiled.options
        with instances.start(program, self.home, options, cpus=place.starting) as instance:
            start_s = time.monotonic() - began_s
            for loaded in self.server.datasets:
                dataset.warm(instance, loaded)
            record = self.server.record(self.template, instance)
            self.writer.append(SoakServer(server=record, start_s=start_s))
            with self.load.connected(instance, place, "soak") as (send, hooks):
                gauges = Gauges(instance)
                before = _counters(instance)
                with gauges.read():
                    self._slices(send, gauges)
                hooks.check()
                self._measure(before, _counters(instance), gauges.now())
            began_s = time.monotonic()
            instance.stop()
        self.footprint |= {"start": start_s, "shutdown": time.monotonic() - began_s}
        self.writer.append(SoakEnd(server=self.server.label, footprint=self.footprint))

    def _slices(self, send: Send, gauges: Gauges) -> None:
        began_s = time.monotonic()
        while (begins_s := time.monotonic() - began_s) < self.header.duration_s:
            self._report(begins_s)
            window_s = 1 - begins_s % 1
            taken = send(window_s + (window_s < WINDOW_MIN_S))
            lasts_s = time.monotonic() - began_s - begins_s
            self.writes += taken.writes
            self.completed += taken.completed
            self.writer.append(_slice(self.server.label, begins_s, lasts_s, taken, gauges.taken()))

    def _report(self, second: float) -> None:
        all_s, (number, turns) = self.header.duration_s, self.turn
        self.observe(
            Progress(
                stage="measure",
                detail=self.server.label,
                block=self.server.label,
                block_number=number + 1,
                blocks=turns,
                start=1,
                round=int(second),
                rounds=round(all_s),
                left_s=(turns - number) * all_s - second,
            )
        )

    def _measure(
        self, before: Mapping[str, float], after: Mapping[str, float], gauges: Mapping[Gauge, float]
    ) -> None:
        """What the load took, as far as it is visible."""
        self.footprint |= {name: value for name in ("memory", "disk") if (value := gauges.get(name))}
        grown = {name: after[name] - value for name, value in before.items() if name in after}
        if self.completed and "Innodb_data_fsyncs" in grown:
            self.footprint["fsyncs"] = grown["Innodb_data_fsyncs"] / self.completed
        (one,) = self.server.datasets
        if self.writes and one.kind == "sbtest" and "disk_written_bytes" in grown:
            changed_bytes = self.writes * one.nominal_bytes / (one.tables * one.rows)
            self.footprint["write_amplification"] = grown["disk_written_bytes"] / changed_bytes


class Gauges:
    """A server's levels, read once a second on a thread of its own: a server that stalls delays only that."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._newest: dict[Gauge, float] = {}
        self._end = Event()

    @contextmanager
    def read(self) -> Iterator[None]:
        """Read them inside the block."""
        thread = Thread(target=self._read_on, name="gauges", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def taken(self) -> dict[Gauge, float]:
        """What was read since the last call."""
        taken, self._newest = self._newest, {}
        return taken

    def now(self) -> dict[Gauge, float]:
        """Read them; those that are not visible are left out. Raises MeasureError."""
        ((*_, text),) = self._instance.query("SHOW ENGINE INNODB STATUS")  # before 5.1 the only column
        gauges = innodb_gauges(text)
        gauges["disk"] = float(sum(_sizes(self._instance.directory / "data")))
        if self._instance.pid is not None and (memory := machine.memory_bytes(self._instance.pid)):
            gauges["memory"] = float(memory)
        return gauges

    def _read_on(self) -> None:
        while not self._end.is_set():
            with suppress(MeasureError):  # the load meets what is wrong, too
                self._newest = self.now()
            self._end.wait(GAUGES_S)


def innodb_gauges(text: str) -> dict[Gauge, float]:
    """Those in the text of SHOW ENGINE INNODB STATUS; before 5.1's plugin, positions are two words each."""
    gauges: dict[Gauge, float] = {}
    if dirty := re.search(r"^Modified db pages\s+(\d+)", text, re.MULTILINE):
        gauges["dirty_pages"] = float(dirty[1])
    if history := re.search(r"^History list length (\d+)", text, re.MULTILINE):
        gauges["history_list"] = float(history[1])
    places = [
        re.search(rf"^{name}\s+(?:(\d+) )?(\d+)$", text, re.MULTILINE)
        for name in ("Log sequence number", "Last checkpoint at")
    ]
    written, checkpoint = (place and (int(place[1] or 0) << 32) + int(place[2]) for place in places)
    if written is not None and checkpoint is not None:
        gauges["checkpoint_age"] = float(max(0, written - checkpoint))
    return gauges


def _sizes(folder: Path) -> Iterator[int]:
    """What each file below takes on the disk; files come and go."""
    for top, _, files in os.walk(folder):
        for name in files:
            try:
                yield (Path(top) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue


def _counters(instance: Instance) -> dict[str, float]:
    of_host = machine.counters(instance.pid)
    return instance.status() | {name: read() for name, read in of_host.items()}


def _slice(
    server: str, begins_s: float, lasts_s: float, taken: Slice, gauges: dict[Gauge, float]
) -> SoakSlice:
    p50_s, p95_s, p99_s = (round(taken.latencies.percentile(percent), 6) for percent in (50.0, 95.0, 99.0))
    return SoakSlice(
        server=server,
        begins_s=round(begins_s, 4),
        lasts_s=round(lasts_s, 4),
        window_s=round(taken.window_s, 4),
        transactions=round(taken.transactions, 2),
        completed=taken.completed,
        p50_s=p50_s,
        p95_s=p95_s,
        p99_s=p99_s,
        errors=sum(taken.errors.values()),
        gauges=gauges,
    )


def _header(load: LongLoad, soak: str, started: datetime, duration_s: float, directory: Path) -> SoakHeader:
    plan = load.plan
    (workload,) = plan.records
    return SoakHeader(
        format=1,
        soak=soak,
        started=started.isoformat(timespec="seconds"),
        shootout=__version__,
        duration_s=duration_s,
        profile_name=plan.profile_name,
        given=dict(plan.given),
        seed=plan.seed,
        settings=plan.profile.settings,
        confidence=plan.profile.policy.confidence,
        workload=workload,
        dataset=plan.workloads[load.block.workload].dataset,
        threads=load.block.threads,
        load=plan.profile.load,
        runner=machine.inspect(directory, name=plan.profile.sampling.placement),
        servers=tuple(plan.servers),
    )
