"""Gauges read beside a load: a server's levels, and the CPU time that others take."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from shootout.errors import MeasureError
from shootout.runner import machine
from shootout.servers.processes.instances import Instance
from shootout.soak.values import Gauge

GAUGES_S = 1.0  # between readings


class Others:
    """The CPU time that other processes used than one server and this one; none if it is not visible."""

    def __init__(self, instance: Instance) -> None:
        self._pid = instance.pid
        self._before = self._read()

    def taken(self, seconds: float) -> dict[Gauge, float]:
        """Mean CPUs since the last call, so many seconds ago."""
        before, self._before = self._before, self._read()
        if before is None or self._before is None:
            return {}
        return {"others": round(max(0.0, self._before - before) / seconds, 3)}

    def _read(self) -> float | None:
        busy_s = machine.busy_s()
        if self._pid is None or busy_s is None:
            return None
        return busy_s - machine.process_cpu_s(self._pid) - time.process_time()


class Gauges:
    """A server's levels, read once a second on a thread of its own: a server that stalls delays only that."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._newest: dict[Gauge, float] = {}
        self._end, self._runs = Event(), Event()
        self._runs.set()
        self._thread = Thread(target=self._read_on, name="gauges", daemon=True)

    def begin(self) -> None:
        """Read them from now on."""
        self._thread.start()

    def end(self) -> None:
        """Read them no more: from now on others may ask the server."""
        self._end.set()
        self._runs.set()
        self._thread.join()

    def pause(self, paused: bool) -> None:
        """Read no more until the server runs again, which would not answer meanwhile."""
        (self._runs.clear if paused else self._runs.set)()

    def taken(self) -> dict[Gauge, float]:
        """Hand over the gauges read since the last call."""
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
            self._runs.wait()


def innodb_gauges(text: str) -> dict[Gauge, float]:
    """Read the gauges in SHOW ENGINE INNODB STATUS; before 5.1's plugin, positions are two words each."""
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
    """List the disk space of each file below; files come and go."""
    for top, _, files in os.walk(folder):
        for name in files:
            try:
                yield (Path(top) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
