"""The measuring machine: its fingerprint, memory, CPU placement, and the kernel's counters of a process."""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from shootout.document.compatibility import fingerprint
from shootout.errors import InputError, MeasureError
from shootout.model.plan import PlacementName
from shootout.model.run import FLUSH_S, FLUSHES, Placement, Runner, Warning
from shootout.runner import preflight
from shootout.runner.host import Disk, Host, Mount
from shootout.settings.profiles import SettingsProfile
from shootout.settings.setting import normalise, variable

NOT_WARNED = ("virtual",)  # findings that are no warning: their consequences are
# Buffers that a server allocates when it starts.
_BUFFERS = (
    *("innodb_buffer_pool_size", "key_buffer_size", "aria_pagecache_buffer_size", "query_cache_size"),
    *("rocksdb_block_cache_size", "tokudb_cache_size"),
)
_SHARE = 4  # of the memory in buffers, where they are scaled: two servers run side by side
_MIB = 1 << 20


def inspect(data_dir: Path, host: Host | None = None, name: PlacementName = "auto") -> Runner:
    """Describe this machine; `data_dir` is where the servers' data will lie.

    The fingerprint is made of `facts` that change results and survive a reboot: not the host's name, the
    kernel, or what is set again at each boot.
    """
    host = host or Host()
    data = data_dir.resolve()
    mount = host.mount(data)
    disk = host.disk(mount) if mount else None
    cpus = host.cpus
    place = placement(cpus, name)
    facts = _facts(host, mount, disk)
    unfit = (
        finding
        for finding in preflight.findings(host, data)
        if not finding.fit and finding.code not in NOT_WARNED
    )
    return Runner(
        fingerprint=fingerprint(facts),
        cpu=host.processor,
        cpus=len(cpus),
        memory_bytes=host.memory["MemTotal"],
        kernel=platform.release(),
        system=platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        virtual=host.hypervisor,
        filesystem=mount.filesystem if mount else "unknown",
        disk=_kind(disk),
        placement=place,
        warnings=(*_shared_cpus(place), *(finding.warning for finding in unfit)),
        facts=facts,
    )


def placement(cpus: Sequence[int], name: PlacementName = "auto") -> Placement:
    """Divide `cpus` between client and servers.

    apart: about a quarter for the client, the rest for the servers. shared: all for the servers. auto: apart,
    but where that leaves the servers one CPU, several reading threads get all of them: that halves the
    intervals (docs/decisions.md). A client and a server that only take turns share one CPU
    throughout: on two, every turn would wake an idle one, which on a virtual machine took two thirds of the
    time and most of the noise (docs/results.md).
    The client gets the first CPUs, so pass CPUs of one core side by side (`Host.by_core`).
    """
    quarter = max(1, round(len(cpus) / 4))
    client, rest = cpus[:quarter], cpus[quarter:] or cpus
    servers = cpus if name == "shared" else rest
    reading = cpus if name == "auto" and len(rest) == 1 < len(cpus) else ()
    return Placement(
        client=tuple(sorted(client)),
        servers=tuple(sorted(servers)),
        single=cpus[-1],
        reading=tuple(sorted(reading)),
    )


def require_memory(settings: str, profile: SettingsProfile, memory_bytes: int | None = None) -> None:
    """Raise InputError for buffers larger than the machine's memory: such a server does not start."""
    memory = Host().usable_bytes if memory_bytes is None else memory_bytes
    for options in (profile.options, *profile.versions.values()):
        sizes = {
            name: int(size)
            for option, value in options.items()
            if (name := variable(option)) in _BUFFERS and (size := normalise(value)).isdecimal()
        }
        if (needed := sum(sizes.values())) > memory:
            asked = ", ".join(f"{name} {_figure(size)}" for name, size in sizes.items())
            scaled = (
                f"{name}={max(1, size * memory // needed // _SHARE // _MIB)}M" for name, size in sizes.items()
            )
            raise InputError(
                f"{settings}: {asked}: more than this machine's memory, {_figure(memory)}\n"
                f"To measure with smaller ones: {'+'.join((settings, *scaled))}"
            )


@contextmanager
def hold(cpus: Collection[int], *, batch: bool = True) -> Iterator[None]:
    """Pin this thread, and all that it starts meanwhile, to `cpus`.

    `batch`: use SCHED_BATCH, so that a reply that wakes it does not preempt the server and replies arrive in
    batches (docs/decisions.md). Not for one reply at a time.
    """
    before = os.sched_getaffinity(0), os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setaffinity(0, cpus)
    if batch:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before[0])
        os.sched_setscheduler(0, *before[1:])


def place(pid: int, cpus: Collection[int]) -> None:
    """Pin every thread of a process to `cpus`. Raises MeasureError if it is gone."""
    for task in _tasks(pid):
        with suppress(ProcessLookupError):  # the thread has ended
            os.sched_setaffinity(task, cpus)


def process_cpu_s(pid: int) -> float:
    """CPU seconds of a process by its clock, clock_getcpuclockid(3): (~pid << 3) + 2. Raises MeasureError."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2) / 1e9
    except OSError as error:
        raise _gone(pid) from error


def busy_s() -> float | None:
    """CPU seconds that all processes, and a hypervisor's other guests, took since boot; None: not visible."""
    kinds = Host().text("proc/stat").partition("\n")[0].split()[1:9]
    if len(kinds) < 8:
        return None
    user, nice, system, _idle, _waiting, interrupts, soft, stolen = map(int, kinds)
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")


def context_switches(pid: int) -> int:
    """Context switches of a process's present threads. Raises MeasureError if it is gone."""
    kernel = Host()
    status = "\n".join(kernel.text(f"proc/{pid}/task/{task}/status") for task in _tasks(pid))
    return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", status)))


def bytes_written(pid: int) -> int:
    """Read the bytes that a process caused to be written to disks. Raises MeasureError if it is gone."""
    written = Host().field(f"proc/{pid}/io", "write_bytes")
    if not written:
        raise _gone(pid)
    return int(written)


def memory_bytes(pid: int) -> int:
    """Resident memory of a process; 0 if it is gone."""
    resident = Host().field(f"proc/{pid}/status", "VmRSS")
    return 1024 * int(resident.removesuffix(" kB") or 0)


def run_queue_s(pid: int) -> float:
    """Seconds that present threads waited for a CPU. Raises MeasureError if not visible."""
    kernel = Host()
    counts = [kernel.text(f"proc/{pid}/task/{task}/schedstat").split() for task in _tasks(pid)]
    if not any(counts):
        raise MeasureError(f"the kernel does not count how long process {pid} waits for CPUs")
    return sum(int(of_task[1]) for of_task in counts if of_task) / 1e9


# The kernel's counters of a process, by their names in results, with their titles.
COUNTERS: Mapping[str, tuple[str, Callable[[int], float]]] = {
    "server_cpu_s": ("server CPU", process_cpu_s),
    "context_switches": ("context switches", context_switches),
    "disk_written_bytes": ("bytes written to disks", bytes_written),
    "run_queue_s": ("waits for CPUs", run_queue_s),
}


def counters(pid: int | None) -> dict[str, Callable[[], float]]:
    """Find the COUNTERS that can be read for a process; none if it is not visible from here."""
    visible: dict[str, Callable[[], float]] = {}
    if pid is None:
        return visible
    for name, (_, read) in COUNTERS.items():
        with suppress(MeasureError):
            read(pid)
            visible[name] = partial(read, pid)
    return visible


def flushes(directory: Path, host: Host | None = None) -> Callable[[], dict[str, float]] | None:
    """Reads how often a directory's disk was flushed, and for how long; None if that is not visible."""
    kernel = host or Host()
    mount = kernel.mount(directory.resolve())
    disk = mount and kernel.disk(mount)
    if not disk:
        return None
    name = disk.name

    def read() -> dict[str, float]:
        counted = kernel.text(f"sys/block/{name}/stat").split()
        if len(counted) < 17:
            raise MeasureError(f"the kernel no longer counts the flushes of disk {name}")
        count, milliseconds = counted[15:17]
        return {FLUSHES: float(count), FLUSH_S: int(milliseconds) / 1e3}

    try:
        read()
    except MeasureError:
        return None
    return read


def not_visible(pid: int | None, *others: str) -> tuple[Warning, ...]:
    """Warn of the counters of a server that cannot be read, and of `others`; not if all can."""
    visible = counters(pid)
    missing = [*(title for name, (title, _) in COUNTERS.items() if name not in visible), *others]
    if not missing:
        return ()
    return (Warning(code="not-visible", text=f"Not visible from here: {', '.join(missing)}."),)


def _tasks(pid: int) -> list[int]:
    try:
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError as error:
        raise _gone(pid) from error


def _facts(host: Host, mount: Mount | None, disk: Disk | None) -> dict[str, str]:
    cpus, limits = host.cpus, host.limits
    limited = limits.cpus is not None and limits.cpus < len(cpus)
    facts = {
        "architecture": platform.machine(),
        "processor": host.processor,
        "processor's family and model": host.generation,
        "CPUs": str(len(cpus)),
        "cores": str(len({host.core(cpu) for cpu in cpus})),
        "CPU limit": f"{limits.cpus:g}" if limited else "",
        "memory": f"{math.ceil(host.usable_bytes / 2**30)} GiB",
        "virtualisation": host.hypervisor,
        "file system": mount.filesystem if mount else "",
        "disk": f"{'virtual' if disk.virtual else _kind(disk)} {disk.model}".strip() if disk else "unknown",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _kind(disk: Disk | None) -> str:
    if disk is None or disk.rotational is None:
        return "unknown"
    return "disk" if disk.rotational else "ssd"


def _shared_cpus(place: Placement) -> tuple[Warning, ...]:
    if not set(place.client) & {*place.servers, *place.reading}:
        return ()
    where = " for workloads that only read" if place.reading else ""
    text = f"Load engine and servers share CPUs{where}: ratios include some of the engine's work."
    return (Warning(code="shared-cpu", text=text),)


def _gone(pid: int) -> MeasureError:
    return MeasureError(f"process {pid} is gone")


def _figure(size: int) -> str:
    return f"{size / 2**30:.4g} GiB"
