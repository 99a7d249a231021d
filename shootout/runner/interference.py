"""Interference: what else runs on the machine while shootout is idle."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from shootout.model.run import Finding
from shootout.runner import preflight
from shootout.runner.host import Host

SECONDS = 3.0  # of observation
BUSY_SHARE = 0.02  # of one CPU: the most for another process
IDLE_MIN = 0.95  # of all CPUs
PRESSURE_SHARES = {"cpu": 0.05, "memory": 0.01, "io": 0.05}  # of the time: the most that something may wait
_PRESSURE = re.compile(r"^some .*\btotal=(\d+)$", re.MULTILINE)
_NAMED = 3  # processes in a finding


@dataclass(frozen=True)
class Process:
    """A process and the CPU time it has used."""

    pid: int
    name: str
    unit: str  # its systemd service, or ""
    ticks: int


@dataclass(frozen=True)
class Snapshot:
    """The kernel's counters since boot."""

    times: tuple[int, ...]  # Host.cpu_times
    waited_us: Mapping[str, int]  # that something waited, by the resource that was short
    processes: Mapping[tuple[int, str], Process]  # by pid and start time


def findings(host: Host) -> Iterator[Finding]:
    """Observe the machine for `SECONDS`."""
    began_s, before = time.monotonic(), snapshot(host)
    time.sleep(SECONDS)
    after, seconds = snapshot(host), time.monotonic() - began_s
    yield from assess(before, after, seconds, {os.getpid()}, os.sysconf("SC_CLK_TCK"))


def snapshot(host: Host) -> Snapshot:
    """Read the counters now."""
    waited = {name: _PRESSURE.search(host.text(f"proc/pressure/{name}")) for name in PRESSURE_SHARES}
    processes = (_process(host, name) for name in host.names("proc") if name.isdecimal())
    return Snapshot(
        times=host.cpu_times,
        waited_us={name: int(total[1]) for name, total in waited.items() if total},
        processes=dict(filter(None, processes)),
    )


def assess(
    before: Snapshot, after: Snapshot, seconds: float, ours: Collection[int], ticks_per_s: int
) -> Iterator[Finding]:
    """Compare two snapshots; `ours`: pids to ignore."""
    passed = [now - then for then, now in zip(before.times, after.times, strict=True)]
    total = max(sum(passed), 1)
    stolen = passed[7] / total if len(passed) == 8 else 0.0
    yield preflight.stolen(stolen, "stolen", f"in {seconds:.0f} s")
    if after.waited_us:
        shares = {
            name: (waited - before.waited_us.get(name, waited)) / (seconds * 1e6)
            for name, waited in after.waited_us.items()
        }
        yield Finding(
            code="pressure",
            what=f"time that something waited in {seconds:.0f} s",
            found=", ".join(f"for {name} {share:.1%}" for name, share in shares.items()),
            why="Other processes compete for the machine even while nothing of ours runs.",
            fit=all(share <= PRESSURE_SHARES[name] for name, share in shares.items()),
        )
    idle = (passed[3] + passed[4]) / total
    used = {
        key: (now.ticks - then.ticks) / (seconds * ticks_per_s)
        for key, now in after.processes.items()
        if (then := before.processes.get(key)) is not None and now.pid not in ours
    }
    busy = sorted((key for key, share in used.items() if share > BUSY_SHARE), key=lambda key: -used[key])
    named = [f"{after.processes[key].name} ({key[0]}) {used[key]:.0%}" for key in busy[:_NAMED]]
    more = [f"and {len(busy) - _NAMED} more"] if len(busy) > _NAMED else []
    unit = after.processes[busy[0]].unit if busy else ""  # whose any other process is, we do not know
    yield Finding(
        code="busy-processes",
        what="other processes",
        found=", ".join([f"CPUs idle for {idle:.0%}", *named, *more]),
        why="They take CPU time and caches from one slice and not from the next.",
        fit=not busy and idle >= IDLE_MIN,
        mend=f"sudo systemctl stop {unit}" if unit else "",
    )


def _process(host: Host, pid: str) -> tuple[tuple[int, str], Process] | None:
    before, _, after = host.text(f"proc/{pid}/stat").rpartition(")")
    fields = after.split()
    if len(fields) < 20:
        return None
    # Fields of proc(5) from the third on: time in user and kernel mode, start time.
    user, system, born = fields[11], fields[12], fields[19]
    unit = re.search(r"([^/\s]+\.service)$", host.text(f"proc/{pid}/cgroup"), re.MULTILINE)
    process = Process(
        pid=int(pid),
        name=before.partition("(")[2],
        unit=unit[1] if unit else "",
        ticks=int(user) + int(system),
    )
    return (process.pid, born), process
