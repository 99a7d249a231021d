import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.errors import InputError, MeasureError
from shootout.model.plan import PlacementName
from shootout.runner import machine
from shootout.runner.host import Host
from shootout.settings import layers
from shootout.settings.profiles import SettingsProfile
from tests.support.runner.recorded import a_host


def test_the_fingerprint_stays_and_says_what_machine_it_is(tmp_path: Path) -> None:
    one, two = machine.inspect(tmp_path), machine.inspect(tmp_path / "not" / "yet" / "there")
    assert one.fingerprint == two.fingerprint
    assert len(one.fingerprint) == 12
    assert one.cpus == len(os.sched_getaffinity(0))
    assert one.memory_bytes > 2**28
    assert one.disk in {"ssd", "disk", "unknown"}
    assert "/" not in one.filesystem
    assert set(one.placement.client) | set(one.placement.servers) == os.sched_getaffinity(0)


def test_what_makes_a_machine_unfit_is_a_warning(tmp_path: Path) -> None:
    runner = machine.inspect(Path("/srv"), a_host("metal", tmp_path))
    codes = [warning.code for warning in runner.warnings]
    assert codes[:3] == ["cpu-governor", "turbo", "smt"]
    assert "virtual" not in codes
    text = next(warning.text for warning in runner.warnings if warning.code == "swap")
    assert text == "swap: 256 of 8192 MiB in use. Swapped-out pages are read back during slices."


@pytest.mark.parametrize(
    ("cpus", "client", "servers"),
    [
        ((3,), (3,), (3,)),
        ((0, 1), (0,), (0, 1)),
        ((0, 1, 2, 3), (0,), (1, 2, 3)),
        (tuple(range(16)), (0, 1, 2, 3), tuple(range(4, 16))),
    ],
)
def test_placement(cpus: tuple[int, ...], client: tuple[int, ...], servers: tuple[int, ...]) -> None:
    assert machine.placement(cpus).cpus(8, writes=False) == (client, servers)
    if cpus == (0, 1):  # reads use both, writes do not
        assert machine.placement(cpus).cpus(8, writes=True) == ((0,), (1,))
        assert machine.placement(cpus, "apart").cpus(8, writes=False) == ((0,), (1,))


@given(st.lists(st.integers(0, 511), min_size=1, max_size=256, unique=True))
def test_a_reader_shares_a_cpu_and_all_others_stay_apart(cpus: list[int]) -> None:
    place = machine.placement(cpus)
    client, servers = place.cpus(1, writes=False)
    assert client == servers
    assert set(client) <= set(cpus)
    client, servers = place.cpus(1, writes=True)
    assert not set(client) & set(servers) or len(cpus) == 1
    assert set(place.client) | set(place.servers) == set(cpus)
    if len(cpus) > 1:
        assert sorted(place.client + place.servers) == sorted(cpus)
        assert len(place.client) <= len(place.servers)


@pytest.mark.parametrize("cpus", [(0, 1), tuple(range(8))])
def test_shared_servers_have_all_cpus(cpus: tuple[int, ...]) -> None:
    place = machine.placement(cpus, "shared")
    assert place.cpus(8, writes=False) == place.cpus(8, writes=True) == (machine.placement(cpus).client, cpus)


@pytest.mark.parametrize("name", get_args(PlacementName))
def test_the_profiles_placement_is_used_and_shared_cpus_are_warned_of(
    name: PlacementName, tmp_path: Path
) -> None:
    runner = machine.inspect(tmp_path, name=name)
    assert runner.placement == machine.placement(Host().cpus, name)
    shares = bool(set(runner.placement.client) & {*runner.placement.servers, *runner.placement.reading})
    assert ("shared-cpu" in {warning.code for warning in runner.warnings}) == shares


def test_placing_a_process_holds_all_its_threads() -> None:
    cpu = min(os.sched_getaffinity(0))
    code = "import threading; threading.Thread(target=input).start(); print('ready', flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        machine.place(process.pid, {cpu})
        tasks = [int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(tasks) == 2
        assert all(os.sched_getaffinity(task) == {cpu} for task in tasks)
        process.communicate(b"\n")


def test_holding_ends() -> None:
    before = os.sched_getaffinity(0)
    with machine.hold({min(before)}):
        assert os.sched_getaffinity(0) == {min(before)}
        inherited = subprocess.run(
            [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert inherited.stdout.strip() == str({min(before)})
    assert os.sched_getaffinity(0) == before


def test_what_the_kernel_counts_for_another_process(tmp_path: Path) -> None:
    work = f"""
import os, time
with open({str(tmp_path / "out")!r}, "wb") as file:
    file.write(bytes(1 << 20)); file.flush(); os.fsync(file.fileno())
while time.process_time() < 0.3: pass
for _ in range(50): time.sleep(0.001)
print(time.process_time(), flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            own = float(process.stdout.readline())
            assert machine.process_cpu_s(process.pid) == pytest.approx(own, abs=0.02)
            assert machine.context_switches(process.pid) >= 50
            assert machine.bytes_written(process.pid) >= 1 << 20
            assert machine.run_queue_s(process.pid) > 0
        finally:
            process.kill()


def test_cpu_time_is_finer_than_a_tick() -> None:
    began_s, seen = machine.process_cpu_s(os.getpid()), set()
    for _ in range(200):  # of some microseconds each, however long others keep the CPU meanwhile
        seen.add(machine.process_cpu_s(os.getpid()))
    assert len(seen) > 10 * (max(seen) - began_s) / 0.01
    assert len(seen) > 10


def test_a_process_that_is_gone() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    for _, count in machine.COUNTERS.values():
        with pytest.raises(MeasureError, match=f"process {process.pid} is gone"):
            count(process.pid)


def test_the_flushes_of_the_disk_below_a_directory(tmp_path: Path) -> None:
    of_disk = " 4352658 368834 210783042 8418302 9471255 2625679 2213306280 30834872 0 4011584 42718362"
    text = f"{of_disk} 2108839 482 2162331048 1478351 2653367 1986835"
    read = machine.flushes(Path("/srv/data"), a_host("kvm", tmp_path / "1", {"sys/block/vda/stat": text}))
    assert read is not None
    assert read() == {"disk_flushes": 2653367.0, "disk_flush_s": 1986.835}
    (tmp_path / "link").symlink_to("/proc/self")  # on no disk
    assert (
        machine.flushes(tmp_path / "link", a_host("kvm", tmp_path / "3", {"sys/block/vda/stat": text}))
        is None
    )
    old = a_host("kvm", tmp_path / "2", {"sys/block/vda/stat": of_disk})
    assert machine.flushes(Path("/srv/data"), old) is None
    assert machine.flushes(Path("/proc/self"), old) is None  # on no disk
    (tmp_path / "1/sys/block/vda/stat").unlink()
    with pytest.raises(MeasureError, match=r"no longer counts the flushes of disk vda"):
        read()


BIG = {"innodb-buffer-pool-size": "64G", "innodb_buffer_pool_instances": "8", "loose_key_buffer_size": "16G"}


def test_buffers_that_a_machine_cannot_hold_are_said_with_smaller_ones() -> None:
    with pytest.raises(InputError) as caught:
        machine.require_memory("big.cnf", SettingsProfile(name="big", options=BIG), 8 << 30)
    assert str(caught.value) == (
        "big.cnf: innodb_buffer_pool_size 64 GiB, key_buffer_size 16 GiB: "
        "more than this machine's memory, 8 GiB\n"
        "To measure with smaller ones: big.cnf+innodb_buffer_pool_size=1638M+key_buffer_size=409M"
    )
    smaller = layers.combine("defaults", str(caught.value).partition("+")[2])
    machine.require_memory("", smaller, 8 << 30)


def test_buffers_that_fit_together_are_nothing_to_say() -> None:
    machine.require_memory("big.cnf", SettingsProfile(name="big", options=BIG), 80 << 30)
    of_another = SettingsProfile(name="v", options={}, versions={"8.0": BIG})
    with pytest.raises(InputError):
        machine.require_memory("v.cnf", of_another, 79 << 30)
    unclear = SettingsProfile(name="x", options={"innodb_buffer_pool_size": "80%", "key_buffer_size": ""})
    machine.require_memory("x.cnf", unclear, 1 << 30)
