"""The machine that measures: what it is, which CPUs serve whom, and what its kernel counts for a process."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from shootout.errors import MeasureError
from shootout.model import Placement, Runner, Warning

SHARED_CPUS_MAX = 3  # with so few, a CPU kept for the client would be missing to the servers
STEAL_SHARE = 0.01  # of all CPU time since boot; more is worth a warning


def inspect(data_dir: Path) -> Runner:
    """What this machine is. `data_dir` lies where the servers' data will.

    The fingerprint is made of what changes a result and outlives a reboot: neither the host's name nor the
    kernel's minor version is in it.
    """
    cpuinfo = _read(Path("/proc/cpuinfo"))
    memory = _memory_bytes()
    cpus = by_core(os.sched_getaffinity(0))
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    cpu = model[1].strip() if model else platform.machine()
    virtual = _hypervisor(cpuinfo)
    filesystem = _filesystem(data_dir)
    disk = _disk(data_dir)
    place = placement(cpus)
    facts = (cpu, len(cpus), round(memory["MemTotal"] / 2**30), virtual, filesystem, disk)
    return Runner(
        fingerprint=hashlib.sha256(repr(facts).encode()).hexdigest()[:12],
        cpu=cpu,
        cpus=len(cpus),
        memory_bytes=memory["MemTotal"],
        kernel=platform.release(),
        system=platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        virtual=virtual,
        filesystem=filesystem,
        disk=disk,
        placement=place,
        warnings=(*_shared_cpus(place), *_governor(cpus), *_swap(memory), *_steal()),
    )


def placement(cpus: Sequence[int]) -> Placement:
    """About a quarter of `cpus` for the client, the rest for the servers; up to three, the servers use all.

    A client and a server that only take turns share one CPU: on two, every turn would wake an idle one, which
    on a virtual machine took two thirds of the time and most of the noise (docs/method.md).
    The client takes the first CPUs, so give CPUs of one core side by side (`by_core`).
    """
    count = max(1, round(len(cpus) / 4))
    servers = cpus[count:] if len(cpus) > SHARED_CPUS_MAX else cpus
    return Placement(client=tuple(sorted(cpus[:count])), servers=tuple(sorted(servers)), single=cpus[-1])


def by_core(cpus: Collection[int]) -> tuple[int, ...]:
    """The CPUs in the order of the package and core that they are threads of."""

    def core(cpu: int) -> tuple[int, int, int]:
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        package, number = (_read(topology / name).strip() for name in ("physical_package_id", "core_id"))
        return int(package or 0), int(number or cpu), cpu

    return tuple(sorted(cpus, key=core))


@contextmanager
def hold(cpus: Collection[int], *, batch: bool = True) -> Iterator[None]:
    """Keep this thread, and all that it starts meanwhile, on `cpus`.

    `batch`: it also waits for its turn there. A reply that wakes it does not push the server off the CPU, so
    that replies come in by the handful (docs/method.md, "What the load engine costs"): not for one at a time.
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
    """Hold every thread that a process has, and so all that they start, to `cpus`.

    Raises MeasureError where the process is gone.
    """
    for task in _tasks(pid):
        with suppress(ProcessLookupError):  # a thread may end meanwhile
            os.sched_setaffinity(task, cpus)


def stop(pid: int, stopped: bool) -> None:
    """Stop a process, or let it go on; one that is gone stays so."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP if stopped else signal.SIGCONT)


def process_cpu_s(pid: int) -> float:
    """CPU seconds a process has used, ended threads included, to the nanosecond.

    It is the process's CPU clock, clock_getcpuclockid(3): the kernel encodes it as (~pid << 3) | 2.
    Raises MeasureError where the process is gone.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | 2) / 1e9
    except OSError as error:
        raise _gone(pid) from error


def context_switches(pid: int) -> int:
    """Context switches of a process's present threads, voluntary or not; those of ended threads are lost.

    Raises MeasureError where the process is gone.
    """
    status = "".join(_read(Path(f"/proc/{pid}/task/{task}/status")) for task in _tasks(pid))
    return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", status)))


def bytes_written(pid: int) -> int:
    """Bytes a process has caused to be written to disks. Raises MeasureError where it is gone."""
    found = re.search(r"^write_bytes: (\d+)$", _read(Path(f"/proc/{pid}/io")), re.MULTILINE)
    if found is None:
        raise _gone(pid)
    return int(found[1])


# What the kernel counts for a process, by the names that results have.
COUNTERS: Mapping[str, Callable[[int], float]] = {
    "server_cpu_s": process_cpu_s,
    "context_switches": context_switches,
    "disk_written_bytes": bytes_written,
}
_SAID = {
    "server_cpu_s": "server CPU",
    "context_switches": "context switches",
    "disk_written_bytes": "bytes written to disks",
}


def counters(pid: int | None) -> dict[str, Callable[[], float]]:
    """Those of COUNTERS that can be read of a process; none where it cannot be seen from here."""
    found: dict[str, Callable[[], float]] = {}
    if pid is None:
        return found
    for name, read in COUNTERS.items():
        with suppress(MeasureError):
            read(pid)
            found[name] = partial(read, pid)
    return found


def unseen(pid: int | None, *others: str) -> tuple[Warning, ...]:
    """A warning that names what cannot be read of a server's process, and `others`, if there is anything."""
    seen = counters(pid)
    missing = [*(said for name, said in _SAID.items() if name not in seen), *others]
    if not missing:
        return ()
    return (Warning(code="not-visible", text=f"Not visible from here: {', '.join(missing)}."),)


def _tasks(pid: int) -> list[int]:
    try:
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError as error:
        raise _gone(pid) from error


def _shared_cpus(place: Placement) -> tuple[Warning, ...]:
    if not set(place.client) & set(place.servers):
        return ()
    text = "Load engine and servers share the same few CPUs: ratios contain some of the engine's work."
    return (Warning(code="shared-cpu", text=text),)


def _governor(cpus: Sequence[int]) -> tuple[Warning, ...]:
    files = (Path(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus)
    others = sorted({governor for file in files if (governor := _read(file).strip())} - {"performance"})
    if not others:
        return ()
    text = (
        f"The CPU frequency governor is {', '.join(others)}, not performance: clock speed follows the load."
    )
    return (Warning(code="cpu-governor", text=text),)


def _swap(memory: dict[str, int]) -> tuple[Warning, ...]:
    used = memory.get("SwapTotal", 0) - memory.get("SwapFree", 0)
    if used <= 0:
        return ()
    return (Warning(code="swap", text=f"{used / 2**20:.0f} MiB are swapped out: memory may be short."),)


def _steal() -> tuple[Warning, ...]:
    # user nice system idle iowait irq softirq steal; guest time, which follows, is within user's
    times = [int(field) for field in _read(Path("/proc/stat")).split("\n", 1)[0].split()[1:9]]
    if len(times) < 8 or times[7] <= STEAL_SHARE * sum(times):
        return ()
    text = f"Other machines on this host took {times[7] / sum(times):.1%} of the CPU time since boot."
    return (Warning(code="steal", text=text),)


def _memory_bytes() -> dict[str, int]:
    lines = re.findall(r"^(\w+):\s+(\d+) kB$", _read(Path("/proc/meminfo")), re.MULTILINE)
    return {name: int(kib) * 1024 for name, kib in lines}


def _hypervisor(cpuinfo: str) -> str:
    if not re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE):
        return ""
    names = (_read(Path("/sys/class/dmi/id") / name).strip() for name in ("sys_vendor", "product_name"))
    return " ".join(name for name in names if name) or "unknown hypervisor"


def _filesystem(directory: Path) -> str:
    """The type of the file system that `directory` is on: that of the longest mount point above it."""
    where = directory.resolve()
    mounts: list[tuple[int, int, str]] = []
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), before.split()[4]))
        if where.is_relative_to(point):
            mounts.append((len(point.parts), len(mounts), after.split()[0]))  # later mounts hide earlier ones
    return max(mounts)[2] if mounts else "unknown"


def io_scheduler(directory: Path) -> str:
    """The I/O scheduler of the disk that `directory` is on; "" where it has none, or it cannot be seen."""
    found = re.search(r"\[(\S+)\]", _of_disk(directory, "scheduler"))
    return found[1] if found else ""


def _disk(directory: Path) -> str:
    return {"0": "ssd", "1": "disk"}.get(_of_disk(directory, "rotational"), "unknown")


def _of_disk(directory: Path, name: str) -> str:
    """What the kernel says of the disk that `directory` is on; "" where it says nothing."""
    while not directory.exists():
        directory = directory.parent
    device = directory.stat().st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    for place in (block, block.parent):  # a partition's queue is its disk's
        if said := _read(place / "queue" / name).strip():
            return said
    return ""


def _read(file: Path) -> str:
    """The text of a kernel's file; "" where this machine has no such file."""
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _gone(pid: int) -> MeasureError:
    return MeasureError(f"process {pid} is gone")
