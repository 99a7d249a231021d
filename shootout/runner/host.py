"""What the kernel tells of this machine: /proc and /sys below a root, which may be a recorded one."""

from __future__ import annotations

import platform
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CPUS = "sys/devices/system/cpu"
_UNLIMITED = 1 << 60  # what stands in a version 1 control group without a limit is larger
# Clocks that only one kind of hypervisor gives, for machines that say nothing else of it.
_CLOCKS = (("kvm", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen"))
# Of machines whose processors do not say that they are virtual.
_VENDORS = ("Alibaba Cloud", "Amazon EC2", "Google", "KVM", "OpenStack", "Parallels", "QEMU", "VMware", "Xen")


@dataclass(frozen=True)
class Mount:
    """A mounted file system."""

    point: PurePosixPath
    inside: PurePosixPath  # the part of it that is mounted
    device: str  # major:minor
    filesystem: str
    source: str
    options: frozenset[str]


@dataclass(frozen=True)
class Disk:
    """What a file system lies on; below a logical volume the first of its disks."""

    name: str
    rotational: bool | None
    model: str
    scheduler: str  # the chosen one
    schedulers: tuple[str, ...]

    @property
    def virtual(self) -> bool:
        """Whether a hypervisor makes it up: then `rotational` is a default that may be set otherwise."""
        return self.name.startswith(("vd", "xvd"))


@dataclass(frozen=True)
class Limits:
    """What the control groups of this process let it have; None: no limit."""

    cpus: float | None
    memory_bytes: int | None
    tasks: int | None
    throttled: int  # how often they have been held up for their share of CPU
    unit: str  # systemd's, whose they are; "": not known


@dataclass(frozen=True)
class Host:
    """A machine by its files; each figure is read anew."""

    root: Path = Path("/")

    def text(self, file: str) -> str:
        """A file's text; "" where this machine has no such file."""
        try:
            return (self.root / file).read_text("utf-8", errors="replace").strip()
        except OSError:
            return ""

    def number(self, file: str) -> int | None:
        """The whole number that a file holds; None where it holds none."""
        found = re.fullmatch(r"-?\d+", self.text(file))
        return int(found[0]) if found else None

    def names(self, folder: str) -> tuple[str, ...]:
        """What is in a folder, in order; nothing where there is none."""
        try:
            return tuple(sorted(path.name for path in (self.root / folder).iterdir()))
        except OSError:
            return ()

    # --- processors and memory --------------------------------------------------------------------

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs that this process may use, those of one core side by side."""
        found = re.search(r"^Cpus_allowed_list:\s*(\S+)$", self.text("proc/self/status"), re.MULTILINE)
        return self.by_core(numbers(found[1])) if found else ()

    def by_core(self, cpus: Collection[int]) -> tuple[int, ...]:
        """CPUs in the order of the package and core that they are threads of."""
        return tuple(sorted(cpus, key=lambda cpu: (*self.core(cpu), cpu)))

    def core(self, cpu: int) -> tuple[int, int]:
        """Package and core that a CPU is a thread of; its own where that is not told."""
        topology = f"{CPUS}/cpu{cpu}/topology"
        package, core = self.number(f"{topology}/physical_package_id"), self.number(f"{topology}/core_id")
        return package or 0, cpu if core is None else core

    @property
    def processor(self) -> str:
        """The processor's name; of an ARM one, which has none, its numbers."""
        name = self._cpuinfo("model name")
        numbers_ = (self._cpuinfo(key) for key in ("CPU implementer", "CPU part"))
        return name or " ".join(filter(None, [platform.machine(), *numbers_]))

    @property
    def generation(self) -> str:
        """Family and model of an x86 processor, which clouds hide in its name; "" of others."""
        return "/".join(filter(None, (self._cpuinfo("cpu family"), self._cpuinfo("model"))))

    @property
    def memory(self) -> dict[str, int]:
        """What /proc/meminfo counts in bytes."""
        lines = re.findall(r"^(\w+):\s+(\d+) kB$", self.text("proc/meminfo"), re.MULTILINE)
        return {name: int(kib) * 1024 for name, kib in lines}

    @property
    def installed_bytes(self) -> int:
        """The memory that the machine has, what the kernel keeps for itself included.

        That share grows and shrinks with each kernel. Where the memory's blocks are not told, it is missing.
        """
        blocks = "sys/devices/system/memory"
        online = [name for name in self.names(blocks) if self.number(f"{blocks}/{name}/online") == 1]
        size = self.text(f"{blocks}/block_size_bytes")
        return len(online) * int(size, 16) if online and size else self.memory["MemTotal"]

    @property
    def hypervisor(self) -> str:
        """What this machine runs on, by vendor and product or else by kind; "": on bare metal."""
        vendor, product = (self.text(f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
        kind = self.text("sys/hypervisor/type") or self.text("proc/device-tree/hypervisor/compatible")
        flagged = "hypervisor" in self._cpuinfo("flags").split()
        metal = platform.machine() == "x86_64" or product.endswith("metal")
        if not flagged and not kind and (metal or not vendor.startswith(_VENDORS)):
            return ""
        clocks = self.text("sys/devices/system/clocksource/clocksource0/available_clocksource")
        kind = kind.strip("\0") or next((name for sign, name in _CLOCKS if sign in clocks), "")
        return f"{vendor} {product}".strip() or kind or "unknown hypervisor"

    # --- where data lies --------------------------------------------------------------------------

    def mount(self, directory: Path) -> Mount | None:
        """The file system that a directory is on: that of the longest mount point above it."""
        fitting = [mount for mount in self._mounts() if PurePosixPath(directory).is_relative_to(mount.point)]
        fitting.reverse()  # later mounts hide earlier ones
        return max(fitting, key=lambda mount: len(mount.point.parts), default=None)

    def disk(self, mount: Mount) -> Disk | None:
        """The disk below a file system; None where it has none, or none that can be seen."""
        block = self._block(mount)
        if block is None:
            return None
        queue = f"{block}/queue"
        schedulers = self.text(f"{queue}/scheduler")
        chosen = re.search(r"\[(\S+)\]", schedulers)
        rotational = self.number(f"{queue}/rotational")
        return Disk(
            name=PurePosixPath(block).name,
            rotational=None if rotational is None else bool(rotational),
            model=self.text(f"{block}/device/model"),
            scheduler=chosen[1] if chosen else "",
            schedulers=tuple(schedulers.replace("[", "").replace("]", "").split()),
        )

    # --- what this process may have ---------------------------------------------------------------

    @property
    def limits(self) -> Limits:
        """Those of its control groups, and of the groups that these are in."""
        shares = [share for group in self._groups("cpu") if (share := self._cpu_share(group)) is not None]
        memory = self._least("memory", "memory.max", "memory.limit_in_bytes")
        stat = "\n".join(self.text(f"{group}/cpu.stat") for group in self._groups("cpu"))
        units = re.findall(r"([^/\s]+\.(?:service|scope))\b", self.text("proc/self/cgroup"))
        return Limits(
            cpus=min(shares, default=None),
            memory_bytes=memory,
            tasks=self._least("pids", "pids.max"),
            throttled=sum(map(int, re.findall(r"^nr_throttled (\d+)$", stat, re.MULTILINE))),
            unit=units[-1] if units else "",
        )

    # --- how it is read ---------------------------------------------------------------------------

    def _cpuinfo(self, key: str) -> str:
        found = re.search(rf"^{key}\s*:\s*(.+)$", self.text("proc/cpuinfo"), re.MULTILINE)
        return found[1].strip() if found else ""

    def _mounts(self) -> Iterator[Mount]:
        for line in self.text("proc/self/mountinfo").splitlines():
            before, _, after = line.partition(" - ")
            _, _, device, inside, point, options, *_ = before.split(" ")
            filesystem, source, of_all = after.split(" ", 2)
            yield Mount(
                point=PurePosixPath(_plain(point)),
                inside=PurePosixPath(_plain(inside)),
                device=device,
                filesystem=filesystem,
                source=_plain(source),
                options=frozenset([*options.split(","), *of_all.split(",")]),
            )

    def _block(self, mount: Mount) -> str | None:
        """Where the kernel describes the disk, below the root."""
        # A file system that spans devices, such as btrfs, has a number of its own.
        places = (f"sys/dev/block/{mount.device}", f"sys/class/block/{PurePosixPath(mount.source).name}")
        place = next((self.root / each for each in places if (self.root / each).exists()), None)
        while place is not None:
            place = place.resolve()
            if (place / "partition").exists():
                place = place.parent
            below = self.names(f"{place.relative_to(self.root.resolve())}/slaves")
            if not below:
                return str(place.relative_to(self.root.resolve()))
            place = place / "slaves" / below[0]
        return None

    def _groups(self, controller: str) -> Iterator[str]:
        """The folders of the group that holds a controller's limits, and of those that it is in."""
        for line in self.text("proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            for mount in self._mounts():
                if mount.filesystem != ("cgroup" if controllers else "cgroup2"):
                    continue
                if controllers and controller not in mount.options:
                    continue
                group = PurePosixPath(path)
                inside = group.relative_to(mount.inside if group.is_relative_to(mount.inside) else "/")
                for each in (inside, *inside.parents):
                    yield str(mount.point.joinpath(each).relative_to("/"))

    def _cpu_share(self, group: str) -> float | None:
        quota, _, period = self.text(f"{group}/cpu.max").partition(" ")
        quota = quota or self.text(f"{group}/cpu.cfs_quota_us")
        period = period or self.text(f"{group}/cpu.cfs_period_us")
        return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() else None

    def _least(self, controller: str, *files: str) -> int | None:
        found = (self.number(f"{group}/{file}") for group in self._groups(controller) for file in files)
        return min((limit for limit in found if limit is not None and limit < _UNLIMITED), default=None)


def numbers(text: str) -> tuple[int, ...]:
    """A list as the kernel writes it: `0-3,8` is 0, 1, 2, 3 and 8."""
    ends = [part.partition("-") for part in text.split(",") if part]
    return tuple(n for low, _, high in ends for n in range(int(low), int(high or low) + 1))


def _plain(text: str) -> str:
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), text)
