"""A fingerprint tells machines apart, and says in what."""

from pathlib import Path

import pytest
from msgspec import structs

from shootout.document import fingerprint
from shootout.runner import machine
from tests.support.runner.recorded import a_host

VDA = "sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda"


def test_a_fingerprint_outlives_a_reboot(tmp_path: Path) -> None:
    """Another kernel keeps other memory for itself, and finds its disks and CPUs as it likes."""
    kvm = machine.inspect(Path("/data"), a_host("kvm", tmp_path / "before"))
    again = {
        "proc/meminfo": "MemTotal: 24590112 kB\nMemAvailable: 20000000 kB",
        "proc/self/status": "Name: python\nCpus_allowed_list:\t0,1",
        "proc/stat": "cpu 1 0 0 0 0 0 0 0",
        "sys/devices/system/clocksource/clocksource0/available_clocksource": "kvm-clock tsc",
        f"{VDA}/queue/rotational": "0",  # as somebody has set it
    }
    assert (
        machine.inspect(Path("/data"), a_host("kvm", tmp_path / "after", again)).fingerprint
        == kvm.fingerprint
    )


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"proc/self/status": "Cpus_allowed_list:\t0"}, "CPUs 2, now 1; cores 2, now 1"),
        ({"proc/meminfo": "MemTotal: 16000000 kB"}, "memory 24 GiB, now 16 GiB"),
        ({"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "8589934592"}, "memory 24 GiB, now 8 GiB"),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000"}, "CPU limit none, now 1.5"),
        ({"sys/devices/system/cpu/cpu1/topology/core_id": "0"}, "cores 2, now 1"),
        ({f"{VDA}/device/model": "Fast"}, "disk virtual, now virtual Fast"),
        (
            {"proc/cpuinfo": "cpu family : 25\nmodel : 1\nmodel name : AMD EPYC\nflags : hypervisor"},
            "processor's family and model 25/17, now 25/1",
        ),
        (
            {"proc/self/mountinfo": "27 1 254:0 / / rw - xfs /dev/vda rw"},
            "file system ext4, now xfs",
        ),
    ],
)
def test_what_must_not_be_compared_differs_by_name(
    tmp_path: Path, changes: dict[str, str | None], difference: str
) -> None:
    kvm = machine.inspect(Path("/data"), a_host("kvm", tmp_path / "one"))
    other = machine.inspect(Path("/data"), a_host("kvm", tmp_path / "other", changes))
    assert other.fingerprint != kvm.fingerprint
    assert fingerprint.difference(kvm.facts, other.facts) == difference


def test_another_placement_is_no_other_machine_and_differs_all_the_same(tmp_path: Path) -> None:
    kvm = machine.inspect(Path("/data"), a_host("kvm", tmp_path))
    other = structs.replace(kvm, placement=machine.placement((0, 1), "shared"))
    assert fingerprint.difference(fingerprint.facts(kvm), fingerprint.facts(kvm)) == ""
    assert fingerprint.difference(fingerprint.facts(kvm), fingerprint.facts(other)) == (
        "placement load on CPU 0, servers on 1, reading on 0,1, now load on CPU 0, servers on 0,1"
    )
    assert fingerprint.difference({}, fingerprint.facts(kvm)) == ""  # not known


def test_another_filesystem_is_another_fingerprint(tmp_path: Path) -> None:
    assert machine.inspect(Path("/proc")).filesystem == "proc"
    assert machine.inspect(Path("/proc")).fingerprint != machine.inspect(tmp_path).fingerprint
