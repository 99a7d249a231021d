"""Preflight: whether a machine is fit to measure on, judged by what the kernel reports at once.

Nothing is changed: each finding names the command that would fix it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from shootout.figures import counted
from shootout.model.run import Finding
from shootout.runner.host import CPUS, Disk, Host, Mount, numbers

STEAL_SHARE = 0.01  # of all CPU time: the most without a warning
MEMORY_MIN_BYTES = 2 << 30  # available, for servers and their page cache
SPACE_MIN_BYTES = 10 << 30  # free: each server of a run has a copy of the data
FILES_MIN = 8192  # open files: with fewer, servers lower their own limits
TASKS_MIN = 16_384  # two servers with one thread for each of thousands of connections
BUSY = ("second-run", "load")  # findings that are said at the start of a run, too: they pass
MARK = "shootout/"  # how the abstract sockets begin that measuring processes hold, for others to see
AIO_MIN = 16_384  # asynchronous requests: an InnoDB server reserves some thousands

_SLOW_CLOCKS = ("acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies")
_MEMORY = ("ramfs", "tmpfs")
_LAYERED = ("9p", "aufs", "ceph", "cifs", "fuse", "nfs", "overlay", "prl_fs", "smb3", "vboxsf", "virtiofs")
_COPYING = ("bcachefs", "btrfs", "zfs")
_NO_FLUSH = "A flush does not reach the disk: durable settings measure as relaxed ones."
_OPTIONS = {  # mount options: the replacement, and why
    "sync": ("async", "Every write waits for the disk, even those that a server leaves to the kernel."),
    "dirsync": ("async", "Creating or removing a file waits for the disk."),
    "nobarrier": ("barrier", _NO_FLUSH),
    "barrier=0": ("barrier=1", _NO_FLUSH),
    # No mount can change this one.
    "data=journal": ("", "All data is written twice, so servers run at the journal's pace."),
    "discard": (
        "nodiscard",
        "Removing a file sends a TRIM at once, and every start removes data directories.",
    ),
}

# The name of each check, if its code does not say it, and its effect on results.
_WHAT = {
    "virtual": "virtualisation",
    "cpu-governor": "CPU frequency governor",
    "cpu-limit": "CPU limit",
    "filesystem": "file system",
    "rotational": "disk",
    "smt": "hyper-threading",
    "numa": "memory nodes",
    "numa-balancing": "NUMA balancing",
    "clock-source": "clock source",
    "huge-pages": "transparent huge pages",
    "aslr": "address randomisation",
    "tasks": "threads and processes",
    "aio": "asynchronous I/O requests",
    "second-run": "other shootout runs on this machine",
    "load": "load average",
    "io-scheduler": "I/O scheduler",
}
_WHY = {
    "free-space": "Each server of a run has a copy of the data; if the disk fills up, its cells fail.",
    "open-files": "With fewer, a server lowers its table cache and its connections; how depends on the "
    "version.",
    "user": "Servers run as root, too: a fault in one, or in a workload's SQL, can change any file.",
    "virtual": "Its CPUs, caches and disk are shared with other machines, whose load causes noise and drift.",
    "cpu-governor": "The clock frequency follows the load with a delay, and throughput follows the "
    "frequency.",
    "memory": "When memory is short, the page cache shrinks first, and servers wait for the disk.",
    "swap": "Swapped-out pages are read back during slices.",
    "cpu-limit": "A process that has used up its quota stops until the next period, even during a slice.",
    "rotational": "Head positions are random, and MariaDB also writes neighbouring pages to save seeks. "
    "Virtual disks report this by default.",
    "turbo": "The clock frequency depends on heat and busy cores: it drops during a run.",
    "smt": "Two threads share a core: the speed of one depends on the other.",
    "numa": "Memory of another node is slower, and each start places pages on nodes by chance.",
    "numa-balancing": "The kernel moves pages between nodes during slices.",
    "clock-source": "Reading the clock takes a system call to a slow device, and servers read it all the "
    "time.",
    "huge-pages": "Which memory gets them, and when, varies between starts, and so does speed.",
    "aslr": "Without it every start has the same memory layout: intervals omit the effect of layout.",
    "tasks": "Servers have a thread for each connection: at the limit, connections fail.",
    "aio": "A server that gets none falls back to another way of writing, or does not start.",
    "second-run": "Two runs take each other's CPU time, caches and disk: each looks slow at random.",
    "load": "What others run takes CPU time from one slice and not from the next.",
    "io-scheduler": "It delays writes for fairness: one server's speed depends on the other's writes.",
}


def findings(host: Host, data: Path) -> Iterator[Finding]:
    """Examine the machine; `data` is where the servers' data will lie, free of symbolic links."""
    for checks in (_processors, _nodes, _clocks, _memory, _limits, _others):
        yield from checks(host)
    mount = host.mount(data)
    if mount is not None:
        yield from _mount(mount)
        disk = host.disk(mount)
        if disk is not None:
            yield from _disk(disk)


def _finding(code: str, found: str, *, fit: bool = True, mend: str = "", why: str = "") -> Finding:
    what, why = _WHAT.get(code, code.replace("-", " ")), why or _WHY.get(code, "")
    return Finding(code=code, what=what, found=found, why=why, fit=fit, mend=mend)


def free_space(free_bytes: int) -> Finding:
    """Judge the space for the servers' data."""
    return _finding(
        "free-space",
        f"{free_bytes / 2**30:.1f} GiB",
        fit=free_bytes >= SPACE_MIN_BYTES,
        mend="shootout cache clear",
    )


def open_files(count: int) -> Finding:
    """Judge how many files this process and its servers may open."""
    return _finding(
        "open-files", str(count), fit=count >= FILES_MIN, mend="sudo prlimit --pid $$ --nofile=65536"
    )


def user(uid: int) -> Finding:
    """Judge the user whom this process and its servers run as."""
    return _finding("user", str(uid) if uid else "root", fit=uid != 0)


def stolen(share: float, code: str, when: str) -> Finding:
    """Judge the share of CPU time that the hypervisor gave to other machines."""
    return Finding(
        code=code,
        what=f"CPU time taken by other machines {when}",
        found=f"{share:.1%}",
        why="A slice that loses CPU time to others on this host looks slow.",
        fit=share <= STEAL_SHARE,
    )


def _processors(host: Host) -> Iterator[Finding]:
    cpus = host.cpus
    cores = len({host.core(cpu) for cpu in cpus})
    yield _finding("processor", f"{host.processor}, {counted(len(cpus), 'CPU')} on {counted(cores, 'core')}")
    yield _finding("virtual", host.hypervisor or "none", fit=not host.hypervisor)
    governors = {host.text(f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus} - {""}
    yield _finding(
        "cpu-governor",
        ", ".join(sorted(governors)) or "not visible",
        fit=governors <= {"performance"},
        mend="sudo cpupower frequency-set --governor performance",
    )
    turbos = ((f"{CPUS}/intel_pstate/no_turbo", 0), (f"{CPUS}/cpufreq/boost", 1))
    for file, on in [(file, on) for file, on in turbos if host.number(file) is not None][:1]:
        yield _finding(
            "turbo",
            "on" if host.number(file) == on else "off",
            fit=host.number(file) != on,
            mend=f"echo {1 - on} | sudo tee /{file}",
        )
    if (smt := host.number(f"{CPUS}/smt/active")) is not None:
        yield _finding(
            "smt", "on" if smt else "off", fit=not smt, mend=f"echo off | sudo tee /{CPUS}/smt/control"
        )


def _nodes(host: Host) -> Iterator[Finding]:
    folder, cpus = "sys/devices/system/node", set(host.cpus)
    nodes = (name.removeprefix("node") for name in host.names(folder) if re.fullmatch(r"node\d+", name))
    used = [node for node in nodes if cpus & {*numbers(host.text(f"{folder}/node{node}/cpulist"))}]
    if used:
        yield _finding(
            "numa",
            f"{len(used)} in use",
            fit=len(used) == 1,
            mend=f"numactl --cpunodebind={used[0]} --membind={used[0]} shootout run …",
        )
    if len(used) > 1 and host.number("proc/sys/kernel/numa_balancing"):
        yield _finding("numa-balancing", "on", fit=False, mend="sudo sysctl kernel.numa_balancing=0")


def _clocks(host: Host) -> Iterator[Finding]:
    times = host.cpu_times
    if len(times) == 8 and any(times):
        yield stolen(times[7] / sum(times), "steal", "since boot")
    folder = "sys/devices/system/clocksource/clocksource0"
    current = host.text(f"{folder}/current_clocksource")
    others = host.text(f"{folder}/available_clocksource").split()
    better = next((name for name in others if not name.startswith(_SLOW_CLOCKS)), "")
    if current:
        yield _finding(
            "clock-source",
            current,
            fit=not current.startswith(_SLOW_CLOCKS),
            mend=f"echo {better} | sudo tee /{folder}/current_clocksource" if better else "",
        )


def _memory(host: Host) -> Iterator[Finding]:
    memory, of = host.memory, host.usable_bytes
    available = min(memory.get("MemAvailable", memory["MemTotal"]), of)
    yield _finding(
        "memory",
        f"{of / 2**30:.1f} GiB, {available / 2**30:.1f} available",
        fit=available >= MEMORY_MIN_BYTES,
    )
    total = memory.get("SwapTotal", 0)
    used = total - memory.get("SwapFree", 0)
    yield _finding(
        "swap",
        f"{used / 2**20:.0f} of {total / 2**20:.0f} MiB in use" if total else "none",
        fit=used <= 0,
        mend="sudo swapoff --all",
    )
    file = "sys/kernel/mm/transparent_hugepage/enabled"
    for chosen in re.findall(r"\[(\w+)\]", host.text(file)):
        yield _finding("huge-pages", chosen, fit=chosen != "always", mend=f"echo madvise | sudo tee /{file}")
    if (random := host.number("proc/sys/kernel/randomize_va_space")) is not None:
        yield _finding(
            "aslr", "on" if random else "off", fit=random != 0, mend="sudo sysctl kernel.randomize_va_space=2"
        )


def _limits(host: Host) -> Iterator[Finding]:
    limits, cpus = host.limits, len(host.cpus)
    limited = limits.cpus is not None and limits.cpus < cpus
    throttled = f", throttled {limits.throttled} times" if limits.throttled else ""
    yield _finding(
        "cpu-limit",
        f"{limits.cpus:g} of {counted(cpus, 'CPU')}{throttled}" if limited else "none",
        fit=not limited,
        mend=_lift(limits.unit, "CPUQuota=", "--cpu-quota=-1"),
    )
    names = ("kernel.pid_max", "kernel.threads-max")
    tasks = {name: host.number(f"proc/sys/{name.replace('.', '/')}") for name in names}
    known = [(most, name) for name, most in (tasks | {"TasksMax": limits.tasks}).items() if most is not None]
    for most, name in sorted(known)[:1]:
        lift = _lift(limits.unit, "TasksMax=infinity", "--pids-limit=-1")
        yield _finding(
            "tasks",
            f"at most {most} ({name})",
            fit=most >= TASKS_MIN,
            mend=lift if name == "TasksMax" else f"sudo sysctl {name}=4194304",
        )
    requests, used = host.number("proc/sys/fs/aio-max-nr"), host.number("proc/sys/fs/aio-nr")
    if requests is not None and used is not None:
        yield _finding(
            "aio",
            f"{requests - used} of {requests} left",
            fit=requests - used >= AIO_MIN,
            mend="sudo sysctl fs.aio-max-nr=1048576",
        )


def _others(host: Host) -> Iterator[Finding]:
    """Whoever measures on this machine, under any user, and what runs at this moment."""
    if sockets := host.text("proc/net/unix"):
        marks = re.findall(rf"@{MARK}(\d+)/(\S+)", sockets)
        runs = [f"{name} (pid {pid})" for pid, name in marks if int(pid) != os.getpid()]
        yield _finding("second-run", ", ".join(runs) or "none", fit=not runs)
    cpus = len(re.findall(r"^cpu\d", host.text("proc/stat"), re.MULTILINE))
    if cpus and (loads := re.match(r"([\d.]+) \S+ \S+ (\d+)/", host.text("proc/loadavg"))):
        average, running = float(loads[1]), int(loads[2])  # the average remembers what ended a minute ago
        yield _finding(
            "load",
            f"{average:g}, {running} running now, on {counted(cpus, 'CPU')}",
            fit=average <= cpus or running <= cpus,
        )


def _lift(unit: str, of_unit: str, of_container: str) -> str:
    if unit:
        return f"sudo systemctl set-property --runtime {unit} {of_unit}"
    return f"docker update {of_container} CONTAINER"


def _mount(mount: Mount) -> Iterator[Finding]:
    why, mend = "", "shootout run --data DIR …"
    if mount.filesystem in _MEMORY:
        why = "In memory a flush costs nothing: durable settings measure as relaxed ones."
    elif mount.filesystem.startswith(_LAYERED):
        why = "Another layer or machine lies between the servers and the disk."
    elif mount.filesystem in _COPYING:
        why = "Rewriting a page moves it: files become fragmented during a run."
        mend = f"chattr +C {mount.point}" if mount.filesystem == "btrfs" else mend
    yield _finding(
        "filesystem", f"{mount.filesystem} at {mount.point}", fit=not why, mend=mend if why else "", why=why
    )
    unfit = [remedy for option, remedy in _OPTIONS.items() if option in mount.options]
    changes = ",".join(filter(None, (instead for instead, _ in unfit)))
    yield _finding(
        "mount-options",
        ",".join(sorted(mount.options)),
        fit=not unfit,
        mend=f"sudo mount -o remount,{changes} {mount.point}" if changes else "",
        why=" ".join(why for _, why in unfit),
    )


def _disk(disk: Disk) -> Iterator[Finding]:
    model = f" ({disk.model})" if disk.model else ""
    yield _finding(
        "rotational",
        f"{disk.name}{model}, {'reported as rotational' if disk.rotational else 'not rotational'}",
        fit=not disk.rotational,
        mend=f"echo 0 | sudo tee /sys/block/{disk.name}/queue/rotational" if disk.virtual else "",
    )
    if disk.scheduler:
        instead = "mq-deadline" if disk.rotational else "none"
        yield _finding(
            "io-scheduler",
            disk.scheduler,
            fit=disk.scheduler not in ("bfq", "cfq"),
            mend=f"echo {instead} | sudo tee /sys/block/{disk.name}/queue/scheduler",
        )
