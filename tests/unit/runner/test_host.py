"""Facts about a machine: about recorded ones, and about this one."""

from __future__ import annotations

import os
import platform
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.runner.host import Disk, Host, Limits, numbers
from tests.support.runner.recorded import a_host

SDA = Disk("sda", rotational=True, model="ST4000NM0035", scheduler="bfq")
NVME = Disk("nvme0n1", rotational=False, model="SAMSUNG MZQL2960HCJR-00A07", scheduler="none")
CLOCKS = "sys/devices/system/clocksource/clocksource0/available_clocksource"


def test_processors_and_memory_of_a_virtual_machine(tmp_path: Path) -> None:
    host = a_host("kvm", tmp_path)
    assert (host.processor, host.generation) == ("AMD EPYC", "25/17")
    assert host.cpus == (0, 1)
    assert host.core(0) != host.core(1)
    assert host.hypervisor == "KVM"  # it has no DMI: its clock tells
    assert host.installed_bytes == host.memory["MemTotal"] == 24_684_096 * 1024  # blocks are not told
    assert host.limits == Limits(cpus=None, memory_bytes=None, tasks=None, throttled=0, unit="")


def test_processors_and_memory_of_a_server(tmp_path: Path) -> None:
    host = a_host("metal", tmp_path)
    assert host.hypervisor == ""
    assert host.cpus == (0, 4, 1, 5, 2, 6, 3, 7)  # threads of a core side by side
    assert host.installed_bytes == 4 << 30  # two blocks of 2 GiB; the third is offline
    assert host.limits == Limits(cpus=6.0, memory_bytes=None, tasks=4915, throttled=12, unit="runner.service")


def test_limits_of_a_container(tmp_path: Path) -> None:
    host = a_host("container", tmp_path)
    assert host.hypervisor == "Amazon EC2 m5.2xlarge"
    assert host.limits == Limits(cpus=1.5, memory_bytes=4 << 30, tasks=2048, throttled=0, unit="")


def test_limits_of_the_first_version_and_of_a_group_that_is_mounted_from_inside(tmp_path: Path) -> None:
    changes = {
        "proc/self/cgroup": "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc/inner",
        "proc/self/mountinfo": "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "250000",
        "sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu/inner/cpu.stat": "nr_throttled 3",
        "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "1073741824",
    }
    limits = a_host("kvm", tmp_path, changes).limits
    assert (limits.cpus, limits.memory_bytes, limits.throttled) == (2.5, 1 << 30, 3)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"sys/hypervisor/type": "xen"}, "xen"),
        ({CLOCKS: "tsc"}, "unknown hypervisor"),
        (
            {"sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_name": "Standard PC"},
            "QEMU Standard PC",
        ),
        ({CLOCKS: "hyperv_clocksource_tsc_page"}, "Hyper-V"),
    ],
)
def test_the_hypervisor_has_a_name(tmp_path: Path, files: dict[str, str | None], expected: str) -> None:
    assert a_host("kvm", tmp_path, files).hypervisor == expected


def test_an_arm_processor_is_known_by_its_numbers(tmp_path: Path) -> None:
    arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    host = a_host("kvm", tmp_path, {"proc/cpuinfo": arm})
    assert host.processor == f"{platform.machine()} 0x41 0xd0c"
    assert host.generation == ""


@pytest.mark.parametrize(
    ("directory", "point", "disk"),
    [
        ("/home/me", "/", SDA),
        ("/srv/data", "/srv", SDA),  # a logical volume on a partition
        ("/srv/two words/data", "/srv/two words", None),
        ("/pool", "/pool", NVME),  # btrfs, with a device number of its own
    ],
)
def test_where_data_lies(tmp_path: Path, directory: str, point: str, disk: Disk | None) -> None:
    host = a_host("metal", tmp_path)
    mount = host.mount(Path(directory))
    assert mount is not None
    assert mount.point == PurePosixPath(point)
    assert host.disk(mount) == disk


def test_a_later_mount_hides_an_earlier_one(tmp_path: Path) -> None:
    lines = "1 0 8:2 / / rw - ext4 /dev/sda2 rw\n2 1 0:9 / /d rw - tmpfs tmpfs rw\n3 2 0:8 / /d rw - xfs x rw"
    mount = a_host("kvm", tmp_path, {"proc/self/mountinfo": lines}).mount(Path("/d/e"))
    assert mount is not None
    assert mount.filesystem == "xfs"


def test_a_machine_without_files_is_no_fault(tmp_path: Path) -> None:
    host = Host(tmp_path)
    assert host.cpus == ()
    assert host.mount(Path("/")) is None
    assert host.hypervisor == ""
    assert host.limits == Limits(cpus=None, memory_bytes=None, tasks=None, throttled=0, unit="")


def test_this_machine() -> None:
    host = Host()
    assert set(host.cpus) == os.sched_getaffinity(0)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 <= host.installed_bytes - pages < 0.2 * host.installed_bytes
    mount = host.mount(Path("/proc"))
    assert mount is not None
    assert mount.filesystem == "proc"


@given(st.sets(st.integers(0, 300), min_size=1))
def test_lists_of_numbers(cpus: set[int]) -> None:
    """As the kernel writes them: ranges where neighbours are, single numbers else."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    text = ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
    assert numbers(text) == tuple(sorted(cpus))
    assert numbers("") == ()
