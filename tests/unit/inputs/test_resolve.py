"""A profile and the options given with it: options win."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout.errors import InputError
from shootout.inputs.resolve import Capacity, scaled
from shootout.model.plan import (
    SBTEST_ROW_BYTES,
    Block,
    Container,
    DatasetSize,
    Load,
    Profile,
    Sampling,
    Scale,
)
from shootout.model.program import Open
from shootout.model.workload import Gaussian, Special
from tests.support.builders import HEAD
from tests.support.plans import SLOTS, planned, slots

DATASET = "sbtest-4x25000-innodb"


def test_options_win_over_the_profile() -> None:
    asked = {"servers": f"{HEAD}, {HEAD}@defaults", "workloads": "oltp_read_only", "threads": "16, 2"}
    made = planned(**asked, seed="5", set=["port=20000"])
    labels = (HEAD, f"{HEAD}@defaults")
    assert tuple(made.servers) == labels
    assert made.blocks == tuple(
        Block(workload="oltp_read_only", dataset=DATASET, threads=threads, servers=labels)
        for threads in (16, 2)
    )
    assert (made.seed, made.port) == (5, 20000)
    assert made.profile.servers == (HEAD, f"{HEAD}@defaults")
    assert made.profile.workloads == ("oltp_read_only",)
    assert made.profile.threads == (16, 2)
    assert made.profile.sampling == planned().profile.sampling


def test_the_load_and_the_scale_win_over_the_profile_too(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(
        f"description = 'd'\nworkloads = ['oltp_read_only']\nthreads = [1]\nservers = ['{HEAD}']\n"
        "options = { range_size = 9, point_selects = 2 }\ndistribution = { type = 'gaussian' }\n"
        "[load]\nrate = 50\nreconnect = true\n[dataset]\nrows = 7\n"
    )
    as_written = planned(profile=str(profile))
    assert as_written.profile.load == Load(rate=50, reconnect=True)
    assert as_written.workloads["oltp_read_only"].program.pace == Open(rate=50)
    assert as_written.workloads["oltp_read_only"].workload.options["point_selects"] == 2
    assert as_written.workloads["oltp_read_only"].workload.distribution == Gaussian()
    keys = {
        "dataset.tables": "3", "dataset.engine": "MyISAM", "options.range_size": "5", "load.rate": "60",
        "distribution.type": "special", "distribution.hot_percent": "50", "distribution.iterations": "3",
        "load.protocol": "prepared",
    }  # fmt: skip
    made = planned(profile=str(profile), set=[f"{key}={text}" for key, text in keys.items()])
    assert made.profile.load == Load(protocol="prepared", rate=60, reconnect=True)
    assert made.workloads["oltp_read_only"].dataset.key == "sbtest-3x7-myisam"
    (record,) = made.records
    assert (record.name, record.written, record.protocol) == ("oltp_read_only",) * 2 + ("prepared",)
    assert (record.options["range_size"], record.options["point_selects"]) == (5, 2)
    assert record.distribution == Special(hot_percent=50, iterations=3)
    assert made.given == {"--profile": str(profile)} | {f"--set {key}": text for key, text in keys.items()}


def test_a_scale_is_recorded_and_options_win_over_it(tmp_path: Path) -> None:
    made = planned(profile=slots(tmp_path), set=["scale=small"])
    assert (made.profile.threads, made.profile.dataset.rows) == ((1,), 10)
    assert made.given["--set scale"] == "small"
    assert made.profile.scales == {}
    made = planned(
        profile=slots(tmp_path), set=["scale=small", "dataset.rows=20", "sampling.starts_min=2"], threads="8"
    )
    assert (made.profile.threads, made.profile.dataset.rows) == ((8,), 20)
    assert made.profile.sampling.starts_min == 2


def test_a_key_wins_over_a_policys_file_and_over_the_sampling_of_a_scale(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("margin = 0.1\ntrim = 0.1\n")
    profile = slots(tmp_path, SLOTS + "[scales.small.sampling]\nstarts_min = 3\nmeasure_s = 0.5\n")
    chosen = ["scale=small", "policy.margin=0.05", "sampling.starts_min=4"]
    made = planned(profile=profile, policy=str(policy), set=chosen).profile
    assert (made.policy.margin, made.policy.trim) == (0.05, 0.1)
    assert (made.sampling.starts_min, made.sampling.measure_s) == (4, 0.5)


def test_a_profiles_file_has_a_scale_and_a_port_too(tmp_path: Path) -> None:
    profile = slots(tmp_path, "scale = 'small'\nport = 20000\n" + SLOTS)
    made = planned(profile=profile)
    assert (made.profile.dataset.rows, made.port) == (10, 20000)


def test_where_data_lies_and_what_is_around_containers(tmp_path: Path) -> None:
    as_shipped = planned()
    assert (as_shipped.data, as_shipped.profile.container) == (None, Container())
    profile = tmp_path / "mine.toml"
    profile.write_text(
        "description = 'd'\nworkloads = ['oltp_read_only']\nthreads = [1]\nservers = ['image:mysql:8.4']\n"
        "[container]\nnetwork = 'bridge'\nmemory = '512M'\n"
    )
    written = planned(profile=str(profile), data=str(tmp_path))
    assert written.data == tmp_path
    assert written.profile.container == Container(network="bridge", memory="512M")
    assert written.given["--data"] == str(tmp_path)
    given = planned(profile=str(profile), set=["container.network=host", "container.memory=8G"])
    assert given.profile.container == Container(network="host", memory="8G")


GIB = 2**30


def a_profile(small: Scale, **fields: object) -> Profile:
    values: dict[str, object] = {
        "description": "d",
        "workloads": ("reads",),
        "threads": (1, 8, 64, 512),
        "servers": ("a", "b"),
        "dataset": DatasetSize(tables=1, rows=20_000_000),
        "scales": {"small": small},
    }
    return Profile(**(values | fields))  # type: ignore[arg-type]


def scaled_profile(small: Scale, cpus: int = 2, memory_bytes: int = 16 * GIB) -> Profile:
    return scaled(a_profile(small), "small", Capacity(cpus, memory_bytes))


def test_what_a_scale_leaves_out_stays() -> None:
    assert scaled_profile(Scale()) == a_profile(Scale())


def test_a_scale_says_what_becomes_smaller() -> None:
    sampling = Sampling(starts_min=2)
    small = Scale(workloads=("writes",), threads=(1, 4), rows=1000, settings="tiny", sampling=sampling)
    found = scaled_profile(structs.replace(small, servers=("a",)))
    assert (found.servers, found.workloads, found.threads) == (("a",), ("writes",), (1, 4))
    assert (found.dataset.rows, found.settings, found.sampling) == (1000, "tiny", sampling)


def test_threads_go_with_the_machines_cpus() -> None:
    small = Scale(threads_per_cpu=32)
    assert scaled_profile(small, cpus=2).threads == (1, 8, 64)
    assert scaled_profile(small, cpus=16).threads == (1, 8, 64, 512)
    assert scaled_profile(Scale(threads=(16, 64, 65), threads_per_cpu=32)).threads == (16, 64)


def test_rows_go_with_the_machines_memory() -> None:
    small = Scale(memory_share=0.25)
    assert (
        scaled_profile(small, memory_bytes=4 * GIB).dataset.rows == 2_100_000
    )  # 2 147 483, for each of two servers
    assert scaled_profile(small, memory_bytes=1024 * GIB).dataset.rows == 20_000_000


def test_a_scale_that_leaves_nothing() -> None:
    with pytest.raises(InputError, match=r"^scale small: every thread count exceeds 4 \(threads_per_cpu\)$"):
        scaled_profile(Scale(threads=(8, 64), threads_per_cpu=2))


@given(
    st.integers(1, 4096), st.integers(2**28, 2**44), st.floats(0.01, 0.99), st.none() | st.integers(1, 10**8)
)
def test_nothing_grows_and_all_rows_fit(cpus: int, memory_bytes: int, share: float, rows: int | None) -> None:
    before = a_profile(Scale(memory_share=share, rows=rows, threads_per_cpu=64))
    found = scaled(before, "small", Capacity(cpus, memory_bytes))
    assert set(found.threads) <= set(before.threads)
    assert 1 <= found.dataset.rows <= before.dataset.rows
    taken = found.dataset.rows * SBTEST_ROW_BYTES * len(found.servers)
    assert found.dataset.rows == 1 or taken <= share * memory_bytes
