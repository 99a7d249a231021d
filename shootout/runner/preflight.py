"""Preflight: whether a machine is fit to measure on, judged by what the kernel reports at once.

Nothing is changed: each finding names the command that would fix it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from shootout.model.run import Finding
from shootout.runner.host import CPUS, Disk, Host, Mount, numbers

STEAL_SHARE = 0.01  # of all CPU time: the most without a warning
STEAL_WHY = "A slice that loses CPU time to others on this host looks slow."
MEMORY_MIN_BYTES = 2 << 30  # available, for servers and their page cache
SPACE_MIN_BYTES = 10 << 30  # free: each server of a run has a copy of the data
FILES_MIN = 8192  # open files: with fewer, servers lower their own limits
TASKS_MIN = 16_384  # two servers with one thread for each of thousands of connections
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


def findings(host: Host, data: Path) -> Iterator[Finding]:
    """Examine the machine; `data` is where the servers' data will lie, free of symbolic links."""
    checks = (
        *(_processor, _virtual, _governor, _turbo, _smt, _nodes, _numa_balancing, _steal, _clock),
        *(_memory, _swap, _huge_pages, _address_randomisation, _cpu_limit, _tasks, _asynchronous_io),
    )
    yield from filter(None, (check(host) for check in checks))
    mount = host.mount(data)
    if mount is None:
        return
    yield _filesystem(mount)
    yield _mount_options(mount)
    disk = host.disk(mount)
    if disk is not None:
        yield _rotational(disk)
        yield from filter(None, [_scheduler(disk)])


def free_space(free_bytes: int) -> Finding:
    """Judge the space for the servers' data."""
    return Finding(
        code="free-space",
        what="free space",
        found=f"{free_bytes / 2**30:.1f} GiB",
        why="Each server of a run has a copy of the data; if the disk fills up, its cells fail.",
        fit=free_bytes >= SPACE_MIN_BYTES,
        mend="shootout cache clear",
    )


def open_files(count: int) -> Finding:
    """Judge how many files this process and its servers may open."""
    return Finding(
        code="open-files",
        what="open files",
        found=str(count),
        why="With fewer, a server lowers its table cache and its connections; how depends on the version.",
        fit=count >= FILES_MIN,
        mend="sudo prlimit --pid $$ --nofile=65536",
    )


def user(uid: int) -> Finding:
    """Judge the user whom this process and its servers run as."""
    return Finding(
        code="user",
        what="user",
        found=str(uid) if uid else "root",
        why="Servers run as root, too: a fault in one, or in a workload's SQL, can change any file.",
        fit=uid != 0,
    )


# --- processors -----------------------------------------------------------------------------------


def _processor(host: Host) -> Finding:
    cpus = host.cpus
    cores = len({host.core(cpu) for cpu in cpus})
    return Finding(
        code="processor",
        what="processor",
        found=f"{host.processor}, {_count(len(cpus), 'CPU')} on {_count(cores, 'core')}",
    )


def _virtual(host: Host) -> Finding:
    return Finding(
        code="virtual",
        what="virtualisation",
        found=host.hypervisor or "none",
        why="Its CPUs, caches and disk are shared with other machines, whose load causes noise and drift.",
        fit=not host.hypervisor,
    )


def _governor(host: Host) -> Finding:
    governors = {host.text(f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor") for cpu in host.cpus} - {""}
    return Finding(
        code="cpu-governor",
        what="CPU frequency governor",
        found=", ".join(sorted(governors)) or "not visible",
        why="The clock frequency follows the load with a delay, and throughput follows the frequency.",
        fit=governors <= {"performance"},
        mend="sudo cpupower frequency-set --governor performance",
    )


def _turbo(host: Host) -> Finding | None:
    off, boost = f"{CPUS}/intel_pstate/no_turbo", f"{CPUS}/cpufreq/boost"
    for file, on in ((off, 0), (boost, 1)):
        if (value := host.number(file)) is not None:
            return Finding(
                code="turbo",
                what="turbo",
                found="on" if value == on else "off",
                why="The clock frequency depends on heat and busy cores: it drops during a run.",
                fit=value != on,
                mend=f"echo {1 - on} | sudo tee /{file}",
            )
    return None


def _smt(host: Host) -> Finding | None:
    active = host.number(f"{CPUS}/smt/active")
    if active is None:
        return None
    return Finding(
        code="smt",
        what="hyper-threading",
        found="on" if active else "off",
        why="Two threads share a core: the speed of one depends on the other.",
        fit=not active,
        mend=f"echo off | sudo tee /{CPUS}/smt/control",
    )


def _nodes(host: Host) -> Finding | None:
    used = _nodes_in_use(host)
    if not used:
        return None
    return Finding(
        code="numa",
        what="memory nodes",
        found=f"{len(used)} in use",
        why="Memory of another node is slower, and each start places pages on nodes by chance.",
        fit=len(used) == 1,
        mend=f"numactl --cpunodebind={used[0]} --membind={used[0]} shootout run …",
    )


def _numa_balancing(host: Host) -> Finding | None:
    if len(_nodes_in_use(host)) < 2 or not host.number("proc/sys/kernel/numa_balancing"):
        return None
    return Finding(
        code="numa-balancing",
        what="NUMA balancing",
        found="on",
        why="The kernel moves pages between nodes during slices.",
        fit=False,
        mend="sudo sysctl kernel.numa_balancing=0",
    )


def _nodes_in_use(host: Host) -> list[str]:
    folder, cpus = "sys/devices/system/node", set(host.cpus)
    nodes = (name.removeprefix("node") for name in host.names(folder) if re.fullmatch(r"node\d+", name))
    return [node for node in nodes if cpus & {*numbers(host.text(f"{folder}/node{node}/cpulist"))}]


def _steal(host: Host) -> Finding | None:
    times = host.cpu_times
    if len(times) < 8 or not any(times):
        return None
    stolen = times[7] / sum(times)
    return Finding(
        code="steal",
        what="CPU time taken by other machines since boot",
        found=f"{stolen:.1%}",
        why=STEAL_WHY,
        fit=stolen <= STEAL_SHARE,
    )


def _clock(host: Host) -> Finding | None:
    folder = "sys/devices/system/clocksource/clocksource0"
    current = host.text(f"{folder}/current_clocksource")
    others = host.text(f"{folder}/available_clocksource").split()
    if not current:
        return None
    better = next((name for name in others if not name.startswith(_SLOW_CLOCKS)), "")
    return Finding(
        code="clock-source",
        what="clock source",
        found=current,
        why="Reading the clock takes a system call to a slow device, and servers read it all the time.",
        fit=not current.startswith(_SLOW_CLOCKS),
        mend=f"echo {better} | sudo tee /{folder}/current_clocksource" if better else "",
    )


# --- memory ---------------------------------------------------------------------------------------


def _memory(host: Host) -> Finding:
    memory, limit = host.memory, host.limits.memory_bytes
    of = host.installed_bytes if limit is None else min(limit, host.installed_bytes)
    available = min(memory.get("MemAvailable", memory["MemTotal"]), of)
    return Finding(
        code="memory",
        what="memory",
        found=f"{of / 2**30:.1f} GiB, {available / 2**30:.1f} available",
        why="When memory is short, the page cache shrinks first, and servers wait for the disk.",
        fit=available >= MEMORY_MIN_BYTES,
    )


def _swap(host: Host) -> Finding:
    total = host.memory.get("SwapTotal", 0)
    used = total - host.memory.get("SwapFree", 0)
    return Finding(
        code="swap",
        what="swap",
        found=f"{used / 2**20:.0f} of {total / 2**20:.0f} MiB in use" if total else "none",
        why="Swapped-out pages are read back during slices.",
        fit=used <= 0,
        mend="sudo swapoff --all",
    )


def _huge_pages(host: Host) -> Finding | None:
    file = "sys/kernel/mm/transparent_hugepage/enabled"
    chosen = re.search(r"\[(\w+)\]", host.text(file))
    if chosen is None:
        return None
    return Finding(
        code="huge-pages",
        what="transparent huge pages",
        found=chosen[1],
        why="Which memory gets them, and when, varies between starts, and so does speed.",
        fit=chosen[1] != "always",
        mend=f"echo madvise | sudo tee /{file}",
    )


def _address_randomisation(host: Host) -> Finding | None:
    random = host.number("proc/sys/kernel/randomize_va_space")
    if random is None:
        return None
    return Finding(
        code="aslr",
        what="address randomisation",
        found="on" if random else "off",
        why="Without it every start has the same memory layout: intervals omit the effect of layout.",
        fit=random != 0,
        mend="sudo sysctl kernel.randomize_va_space=2",
    )


# --- limits ---------------------------------------------------------------------------------------


def _cpu_limit(host: Host) -> Finding:
    limits, cpus = host.limits, len(host.cpus)
    limited = limits.cpus is not None and limits.cpus < cpus
    throttled = f", throttled {limits.throttled} times" if limits.throttled else ""
    return Finding(
        code="cpu-limit",
        what="CPU limit",
        found=f"{limits.cpus:g} of {_count(cpus, 'CPU')}{throttled}" if limited else "none",
        why="A process that has used up its quota stops until the next period, even during a slice.",
        fit=not limited,
        mend=_lift(limits.unit, "CPUQuota=", "--cpu-quota=-1"),
    )


def _tasks(host: Host) -> Finding | None:
    limits = {
        "kernel.pid_max": host.number("proc/sys/kernel/pid_max"),
        "kernel.threads-max": host.number("proc/sys/kernel/threads-max"),
        "TasksMax": host.limits.tasks,
    }
    known = [(limit, name) for name, limit in limits.items() if limit is not None]
    if not known:
        return None
    tasks, name = min(known)
    mend = f"sudo sysctl {name}=4194304"
    if name == "TasksMax":
        mend = _lift(host.limits.unit, "TasksMax=infinity", "--pids-limit=-1")
    return Finding(
        code="tasks",
        what="threads and processes",
        found=f"at most {tasks} ({name})",
        why="Servers have a thread for each connection: at the limit, connections fail.",
        fit=tasks >= TASKS_MIN,
        mend=mend,
    )


def _asynchronous_io(host: Host) -> Finding | None:
    most, used = host.number("proc/sys/fs/aio-max-nr"), host.number("proc/sys/fs/aio-nr")
    if most is None or used is None:
        return None
    return Finding(
        code="aio",
        what="asynchronous I/O requests",
        found=f"{most - used} of {most} left",
        why="A server that gets none falls back to another way of writing, or does not start.",
        fit=most - used >= AIO_MIN,
        mend="sudo sysctl fs.aio-max-nr=1048576",
    )


def _lift(unit: str, of_unit: str, of_container: str) -> str:
    """The command that removes a control group's limit."""
    if unit:
        return f"sudo systemctl set-property --runtime {unit} {of_unit}"
    return f"docker update {of_container} CONTAINER"


# --- where data lies ------------------------------------------------------------------------------


def _filesystem(mount: Mount) -> Finding:
    why, mend = "", ""
    if mount.filesystem in _MEMORY:
        why = "In memory a flush costs nothing: durable settings measure as relaxed ones."
        mend = "shootout run --data DIR …"
    elif mount.filesystem.startswith(_LAYERED):
        why = "Another layer or machine lies between the servers and the disk."
        mend = "shootout run --data DIR …"
    elif mount.filesystem in _COPYING:
        why = "Rewriting a page moves it: files become fragmented during a run."
        mend = f"chattr +C {mount.point}" if mount.filesystem == "btrfs" else "shootout run --data DIR …"
    found = f"{mount.filesystem} at {mount.point}"
    return Finding(code="filesystem", what="file system", found=found, why=why, fit=not why, mend=mend)


def _mount_options(mount: Mount) -> Finding:
    unfit = [remedy for option, remedy in _OPTIONS.items() if option in mount.options]
    changes = ",".join(filter(None, (instead for instead, _ in unfit)))
    return Finding(
        code="mount-options",
        what="mount options",
        found=",".join(sorted(mount.options)),
        why=" ".join(why for _, why in unfit),
        fit=not unfit,
        mend=f"sudo mount -o remount,{changes} {mount.point}" if changes else "",
    )


def _rotational(disk: Disk) -> Finding:
    model = f" ({disk.model})" if disk.model else ""
    return Finding(
        code="rotational",
        what="disk",
        found=f"{disk.name}{model}, {'reported as rotational' if disk.rotational else 'not rotational'}",
        why="Head positions are random, and MariaDB also writes neighbouring pages to save seeks. "
        "Virtual disks report this by default.",
        fit=not disk.rotational,
        mend=f"echo 0 | sudo tee /sys/block/{disk.name}/queue/rotational" if disk.virtual else "",
    )


def _scheduler(disk: Disk) -> Finding | None:
    if not disk.scheduler:
        return None
    instead = "mq-deadline" if disk.rotational else "none"
    return Finding(
        code="io-scheduler",
        what="I/O scheduler",
        found=disk.scheduler,
        why="It delays writes for fairness: one server's speed depends on the other's writes.",
        fit=disk.scheduler not in ("bfq", "cfq"),
        mend=f"echo {instead} | sudo tee /sys/block/{disk.name}/queue/scheduler",
    )


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
