"""Machines are told apart, runs may continue, and what differs of those that may not is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from shootout.document import compatibility, resume
from shootout.errors import InputError
from shootout.model.run import ServerRecord
from shootout.runner import machine
from tests.support import builders
from tests.support.runner.recorded import a_host


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"runner": builders.a_runner(fingerprint="f", facts={"CPUs": "4"})},
         "runner 5e7c0f2a91d4, now f (CPUs 2, now 4)"),
        ({"shootout": "0.2.0"}, 'shootout "0.1.0", now "0.2.0"'),
        ({"given": {"--threads": "1,8"}}, 'given --threads none, now "1,8"'),
        ({"digests": {"mine": "b"}}, 'digests mine "a", now "b"'),
        ({"workloads": (builders.a_record("mine", options={"range_size": 9}),)},
         "workloads mine options range_size 100, now 9"),
        ({"profile_name": "gate"}, 'profile_name "quick", now "gate"'),
    ],
)  # fmt: skip
def test_what_differs_is_named(changes: dict[str, Any], expected: str) -> None:
    mine = builders.a_record("mine", options={"range_size": 100})
    then = structs.replace(
        builders.a_header(digests={"mine": "a"}, runner=builders.a_runner(facts={"CPUs": "2"})),
        workloads=(mine,),
    )
    with pytest.raises(InputError) as caught:
        resume.require_same_run(then, structs.replace(then, **changes))
    assert str(caught.value).startswith(f"run {then.run} cannot be resumed: {expected}")
    resume.require_same_run(then, then)


def test_other_blocks_are_another_run() -> None:
    then, now = builders.a_header(threads=(1,)), builders.a_header(threads=(8,))
    now = structs.replace(now, profile=then.profile)
    with pytest.raises(InputError, match=r"blocks oltp_point_select-t1 .*, now oltp_point_select-t8 "):
        resume.require_same_run(then, now)


def test_a_server_must_be_the_same_build_with_the_same_settings() -> None:
    then = builders.a_server()

    def differs(now: ServerRecord) -> str:
        with pytest.raises(InputError) as caught:
            resume.require_same_server("r", then, now)
        return str(caught.value)

    assert "build" in differs(structs.replace(then, build="1" * 64))
    first, *rest = then.settings
    now = structs.replace(then, settings=(structs.replace(first, effective="1"), *rest))
    assert differs(now).startswith(
        'run r cannot be resumed: server mysql-5.7.22, effective buffer_pool_bytes "536870912", now "1"'
    )
    now = structs.replace(then, settings=(structs.replace(first, requested="1"), *rest))
    assert "mysql-5.7.22, requested buffer_pool_bytes" in differs(now)
    here, there = (
        structs.replace(then, reference=f"path:/{folder}/build@my.cnf", settings_name="my.cnf")
        for folder in ("one", "two")
    )
    then = here
    resume.require_same_server("r", here, there)  # the same files, in another place
    assert "settings_name" in differs(structs.replace(there, settings_name="other.cnf"))
    assert "reference" in differs(structs.replace(there, build=""))  # nothing else to know it by
    unstarted = tuple(structs.replace(each, effective=None) for each in then.settings)
    resume.require_same_server("r", then, structs.replace(then, settings=unstarted, comment="", load_s=None))


VDA = "sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda"


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    return "".join(compatibility.machines(("", then), ("", now)))


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
    ("changes", "differing"),
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
        ({"proc/self/mountinfo": "27 1 254:0 / / rw - xfs /dev/vda rw"}, "file system ext4, now xfs"),
    ],
)
def test_what_must_not_be_compared_differs_by_name(
    tmp_path: Path, changes: dict[str, str | None], differing: str
) -> None:
    kvm = machine.inspect(Path("/data"), a_host("kvm", tmp_path / "one"))
    other = machine.inspect(Path("/data"), a_host("kvm", tmp_path / "other", changes))
    assert other.fingerprint != kvm.fingerprint
    assert difference(kvm.facts, other.facts) == differing


def test_another_placement_is_no_other_machine_and_differs_all_the_same(tmp_path: Path) -> None:
    kvm = machine.inspect(Path("/data"), a_host("kvm", tmp_path))
    other = structs.replace(kvm, placement=machine.placement((0, 1), "shared"))
    assert difference(compatibility.facts(kvm), compatibility.facts(kvm)) == ""
    assert difference(compatibility.facts(kvm), compatibility.facts(other)) == (
        "placement load on CPU 0, servers on 1, reading on 0,1, now load on CPU 0, servers on 0,1"
    )
    assert difference({}, compatibility.facts(kvm)) == ""  # not known


def test_another_filesystem_is_another_fingerprint(tmp_path: Path) -> None:
    assert machine.inspect(Path("/proc")).filesystem == "proc"
    assert machine.inspect(Path("/proc")).fingerprint != machine.inspect(tmp_path).fingerprint
