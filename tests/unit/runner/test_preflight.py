"""Fit machines: the findings of recorded machines, and those of what runs on one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shootout.model.run import Finding
from shootout.runner import preflight
from shootout.runner.host import Host
from tests.support.runner.recorded import a_host, by_code


def findings(host: Host, data: str = "/data") -> dict[str, Finding]:
    return by_code(preflight.findings(host, Path(data)))


def test_what_a_fresh_server_needs(tmp_path: Path) -> None:
    """Each with what was found, and the command that fixes it."""
    found = findings(a_host("metal", tmp_path), "/srv/data")
    unfit = {code: (each.found, each.mend) for code, each in found.items() if not each.fit}
    cpus = "/sys/devices/system/cpu"
    clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    assert unfit == {
        "cpu-governor": ("performance, powersave", "sudo cpupower frequency-set --governor performance"),
        "turbo": ("on", f"echo 1 | sudo tee {cpus}/intel_pstate/no_turbo"),
        "smt": ("on", f"echo off | sudo tee {cpus}/smt/control"),
        "numa": ("2 in use", "numactl --cpunodebind=0 --membind=0 shootout run …"),
        "numa-balancing": ("on", "sudo sysctl kernel.numa_balancing=0"),
        "steal": ("3.0%", ""),
        "clock-source": ("hpet", f"echo tsc | sudo tee {clock}"),
        "swap": ("256 of 8192 MiB in use", "sudo swapoff --all"),
        "huge-pages": ("always", "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        "aslr": ("off", "sudo sysctl kernel.randomize_va_space=2"),
        "cpu-limit": (
            "6 of 8 CPUs, throttled 12 times",
            "sudo systemctl set-property --runtime runner.service CPUQuota=",
        ),
        "tasks": (
            "at most 4915 (TasksMax)",
            "sudo systemctl set-property --runtime runner.service TasksMax=infinity",
        ),
        "aio": ("5536 of 65536 left", "sudo sysctl fs.aio-max-nr=1048576"),
        "mount-options": ("data=ordered,nobarrier,relatime,rw", "sudo mount -o remount,barrier /srv"),
        "rotational": ("sda (ST4000NM0035), reported as rotational", ""),
        "io-scheduler": ("bfq", "echo mq-deadline | sudo tee /sys/block/sda/queue/scheduler"),
    }
    assert all(each.why.endswith(".") for each in found.values() if not each.fit)
    assert found["processor"].found.endswith("@ 2.10GHz, 8 CPUs on 4 cores")
    assert found["virtual"].found == "none"


def test_a_journal_of_all_data_is_no_matter_of_a_remount(tmp_path: Path) -> None:
    mounts = "40 27 253:0 / /srv rw - ext4 /dev/vda rw,data=journal{more}"
    host = a_host("kvm", tmp_path / "1", {"proc/self/mountinfo": mounts.format(more="")})
    assert (found := findings(host, "/srv")["mount-options"]).why.startswith("All data is written twice")
    assert (found.fit, found.mend) == (False, "")
    host = a_host("kvm", tmp_path / "2", {"proc/self/mountinfo": mounts.format(more=",discard")})
    assert findings(host, "/srv")["mount-options"].mend == "sudo mount -o remount,nodiscard /srv"


def test_what_a_small_virtual_machine_needs(tmp_path: Path) -> None:
    found = findings(a_host("kvm", tmp_path))
    assert {code: each.found for code, each in found.items() if not each.fit} == {
        "virtual": "KVM",
        "mount-options": "discard,errors=remount-ro,relatime,rw",
        "rotational": "vda, reported as rotational",
    }
    assert found["rotational"].mend == "echo 0 | sudo tee /sys/block/vda/queue/rotational"
    assert found["memory"].found == "23.5 GiB, 20.2 available"
    assert found["cpu-governor"].found == "not visible"
    assert "turbo" not in found


@pytest.mark.parametrize(
    ("load", "unfit"),
    [
        ("3.25 1.00 0.50 5/812 4711", "3.25, 5 running now, on 2 CPUs"),
        ("3.25 1.00 0.50 1/812 4711", ""),  # it is over
        ("1.50 1.00 0.50 5/812 4711", ""),
    ],
)
def test_what_runs_beside_it_is_found(load: str, unfit: str, tmp_path: Path) -> None:
    ours, theirs = f"@shootout/{os.getpid()}/r1", "@shootout/1/r2"
    sockets = "".join(f"0000: 00000002 0 10000 0001 01 19 {name}\n" for name in (ours, theirs, "@other"))
    found = findings(a_host("kvm", tmp_path, {"proc/loadavg": load, "proc/net/unix": sockets}))
    assert (found["second-run"].found, found["second-run"].fit) == ("r2 (pid 1)", False)
    assert (found["load"].found if not found["load"].fit else "") == unfit


def test_what_a_container_needs(tmp_path: Path) -> None:
    found = findings(a_host("container", tmp_path), "/var/lib/mysql")
    assert {code: (each.found, each.mend) for code, each in found.items() if not each.fit} == {
        "virtual": ("Amazon EC2 m5.2xlarge", ""),
        "smt": ("on", "echo off | sudo tee /sys/devices/system/cpu/smt/control"),
        "cpu-limit": ("1.5 of 4 CPUs", "docker update --cpu-quota=-1 CONTAINER"),
        "tasks": ("at most 2048 (TasksMax)", "docker update --pids-limit=-1 CONTAINER"),
        "filesystem": ("overlay at /", "shootout run --data DIR …"),
    }
    assert found["turbo"].found == "off"
    assert found["memory"].found == "4.0 GiB, 4.0 available"  # of its limit
    of_volume = findings(Host(tmp_path), "/data/x")
    assert of_volume["filesystem"].fit
    assert of_volume["rotational"].found == "nvme0n1 (Amazon Elastic Block Store), not rotational"


@pytest.mark.parametrize(
    ("directory", "mend"), [("/srv/two words", "shootout run --data DIR …"), ("/pool/x", "chattr +C /pool")]
)
def test_file_systems_that_change_what_durable_means(tmp_path: Path, directory: str, mend: str) -> None:
    found = findings(a_host("metal", tmp_path), directory)["filesystem"]
    assert not found.fit
    assert found.mend == mend


def test_what_is_not_told_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 8000000 kB\n")
    found = findings(Host(tmp_path))
    assert found.keys() == {"processor", "virtual", "cpu-governor", "memory", "swap", "cpu-limit"}
    assert all(each.fit for each in found.values())


def test_space_and_files() -> None:
    assert preflight.free_space(11 << 30).fit
    assert not preflight.free_space(9 << 30).fit
    assert preflight.user(1000).fit
    assert (preflight.user(0).found, preflight.user(0).fit) == ("root", False)
    assert preflight.open_files(65_536).fit
    assert preflight.open_files(1024).mend == "sudo prlimit --pid $$ --nofile=65536"
