"""The kernel's account of this machine: /proc and /sys, or a recording of them."""

from __future__ import annotations

import platform
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CPUS = "sys/devices/system/cpu"
_UNLIMITED = 1 << 60  # cgroup v1 reports a larger number if there is no limit
# Clock sources of one hypervisor only, for machines that do not name theirs.
_CLOCKS = (("kvm", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen"))
# Vendors of virtual machines whose processors lack the hypervisor flag.
_VENDORS = ("Alibaba Cloud", "Amazon EC2", "Google", "KVM", "OpenStack", "Parallels", "QEMU", "VMware", "Xen")


@dataclass(frozen=True)
class Mount:
    """A mounted file system."""

    point: PurePosixPath
    inside: PurePosixPath  # the path inside it that is mounted
    device: str  # major:minor
    filesystem: str
    source: str
    options: frozenset[str]


@dataclass(frozen=True)
class Disk:
    """The disk of a file system; for a logical volume, its first disk."""

    name: str
    rotational: bool | None
    model: str
    scheduler: str

    @property
    def virtual(self) -> bool:
        """Whether a hypervisor provides it: then `rotational` is a default that can be changed."""
        return self.name.startswith(("vd", "xvd"))


@dataclass(frozen=True)
class Limits:
    """The limits of this process's control groups; None: no limit."""

    cpus: float | None
    memory_bytes: int | None
    tasks: int | None
    throttled: int  # how often their CPU quota stopped them
    unit: str  # the systemd unit they belong to; "": unknown


@dataclass(frozen=True)
class Host:
    """A machine described by its files; every access reads them again."""

    root: Path = Path("/")

    def text(self, file: str) -> str:
        """Read a file's text; "" if there is no such file."""
        try:
            return (self.root / file).read_text("utf-8", errors="replace").strip()
        except OSError:
            return ""

    def number(self, file: str) -> int | None:
        """Read the integer in a file; None if there is none."""
        text = self.text(file)
        return int(text) if re.fullmatch(r"-?\d+", text) else None

    def field(self, file: str, key: str) -> str:
        """Read the first value after `KEY:` in a file; "" if there is none."""
        line = re.search(rf"^{key}[ \t]*:[ \t]*(\S.*)$", self.text(file), re.MULTILINE)
        return line[1].strip() if line else ""

    def names(self, folder: str) -> tuple[str, ...]:
        """Read the sorted names in a folder; empty if there is no such folder."""
        try:
            return tuple(sorted(path.name for path in (self.root / folder).iterdir()))
        except OSError:
            return ()

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs that this process may use, threads of one core side by side."""
        return self.by_core(numbers(self.field("proc/self/status", "Cpus_allowed_list")))

    def by_core(self, cpus: Collection[int]) -> tuple[int, ...]:
        """CPUs in the order of their packages and cores."""
        return tuple(sorted(cpus, key=lambda cpu: (*self.core(cpu), cpu)))

    def core(self, cpu: int) -> tuple[int, int]:
        """Read a CPU's package and core; its own number if the core is unknown."""
        topology = f"{CPUS}/cpu{cpu}/topology"
        package, core = self.number(f"{topology}/physical_package_id"), self.number(f"{topology}/core_id")
        return package or 0, cpu if core is None else core

    @property
    def processor(self) -> str:
        """The processor's name; for ARM, which has none, its part numbers."""
        name = self.field("proc/cpuinfo", "model name")
        parts = (self.field("proc/cpuinfo", key) for key in ("CPU implementer", "CPU part"))
        return name or " ".join(filter(None, [platform.machine(), *parts]))

    @property
    def generation(self) -> str:
        """An x86 processor's family and model, which cloud providers hide in its name; "" for others."""
        parts = (self.field("proc/cpuinfo", key) for key in ("cpu family", "model"))
        return "/".join(filter(None, parts))

    @property
    def cpu_times(self) -> tuple[int, ...]:
        """Ticks of all CPUs since boot: user (with guests) nice system idle iowait irq softirq steal."""
        return tuple(int(field) for field in self.text("proc/stat").split("\n", 1)[0].split()[1:9])

    @property
    def memory(self) -> dict[str, int]:
        """/proc/meminfo in bytes."""
        lines = re.findall(r"^(\w+):\s+(\d+) kB$", self.text("proc/meminfo"), re.MULTILINE)
        return {name: int(kib) * 1024 for name, kib in lines}

    @property
    def installed_bytes(self) -> int:
        """The installed memory, with the kernel's own share where memory blocks are known."""
        blocks = "sys/devices/system/memory"
        online = [name for name in self.names(blocks) if self.number(f"{blocks}/{name}/online") == 1]
        size = self.text(f"{blocks}/block_size_bytes")
        return len(online) * int(size, 16) if online and size else self.memory["MemTotal"]

    @property
    def hypervisor(self) -> str:
        """The hypervisor's vendor and product, or its kind; "" on bare metal."""
        vendor, product = (self.text(f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
        kind = self.text("sys/hypervisor/type") or self.text("proc/device-tree/hypervisor/compatible")
        flagged = "hypervisor" in self.field("proc/cpuinfo", "flags").split()
        metal = platform.machine() == "x86_64" or product.endswith("metal")
        if not flagged and not kind and (metal or not vendor.startswith(_VENDORS)):
            return ""
        clocks = self.text("sys/devices/system/clocksource/clocksource0/available_clocksource")
        kind = kind.strip("\0") or next((name for sign, name in _CLOCKS if sign in clocks), "")
        return f"{vendor} {product}".strip() or kind or "unknown hypervisor"

    def mount(self, directory: Path) -> Mount | None:
        """Find the file system of a directory: that of the longest mount point above it."""
        fitting = [mount for mount in self._mounts() if PurePosixPath(directory).is_relative_to(mount.point)]
        fitting.reverse()  # later mounts hide earlier ones
        return max(fitting, key=lambda mount: len(mount.point.parts), default=None)

    def disk(self, mount: Mount) -> Disk | None:
        """Find the disk below a file system; None if there is none or it is not visible."""
        block = self._block(mount)
        if block is None:
            return None
        queue = f"{block}/queue"
        chosen = re.search(r"\[(\S+)\]", self.text(f"{queue}/scheduler"))
        rotational = self.number(f"{queue}/rotational")
        return Disk(
            name=PurePosixPath(block).name,
            rotational=None if rotational is None else bool(rotational),
            model=self.text(f"{block}/device/model"),
            scheduler=chosen[1] if chosen else "",
        )

    @property
    def usable_bytes(self) -> int:
        """The memory that it may have."""
        return min(self.installed_bytes, self.limits.memory_bytes or self.installed_bytes)

    @property
    def limits(self) -> Limits:
        """The limits of its control groups and their ancestors."""
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
        # A file system that spans devices, such as btrfs, has a device number of its own.
        candidates = (f"sys/dev/block/{mount.device}", f"sys/class/block/{PurePosixPath(mount.source).name}")
        folder = next((self.root / folder for folder in candidates if (self.root / folder).exists()), None)
        while folder is not None:
            folder = folder.resolve()
            if (folder / "partition").exists():
                folder = folder.parent
            block = str(folder.relative_to(self.root.resolve()))
            slaves = self.names(f"{block}/slaves")
            if not slaves:
                return block
            folder = folder / "slaves" / slaves[0]
        return None

    def _groups(self, controller: str) -> Iterator[str]:
        """The folders of the group with a controller's limits, and of its ancestors."""
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
                for ancestor in (inside, *inside.parents):
                    yield str(mount.point.joinpath(ancestor).relative_to("/"))

    def _cpu_share(self, group: str) -> float | None:
        quota, _, period = self.text(f"{group}/cpu.max").partition(" ")
        quota = quota or self.text(f"{group}/cpu.cfs_quota_us")
        period = period or self.text(f"{group}/cpu.cfs_period_us")
        return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() else None

    def _least(self, controller: str, *files: str) -> int | None:
        limits = (self.number(f"{group}/{file}") for group in self._groups(controller) for file in files)
        return min((limit for limit in limits if limit is not None and limit < _UNLIMITED), default=None)


def numbers(text: str) -> tuple[int, ...]:
    """Read the kernel's list format: `0-3,8` is 0, 1, 2, 3 and 8."""
    ends = [part.partition("-") for part in text.split(",") if part]
    return tuple(n for low, _, high in ends for n in range(int(low), int(high or low) + 1))


def _plain(text: str) -> str:
    return re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), text)
