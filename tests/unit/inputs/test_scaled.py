from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.errors import InputError
from shootout.inputs import scaled
from shootout.inputs.scaled import Capacity
from shootout.model.plan import SBTEST_ROW_BYTES, DatasetSize, Profile, Sampling, Scale

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
    return scaled.scaled(a_profile(small), "small", Capacity(cpus, memory_bytes))


def test_what_a_scale_leaves_out_stays() -> None:
    assert scaled_profile(Scale()) == a_profile(Scale())


def test_a_scale_says_what_becomes_smaller() -> None:
    sampling = Sampling(starts_min=2)
    found = scaled_profile(
        Scale(
            servers=("a",),
            workloads=("writes",),
            threads=(1, 4),
            rows=1000,
            settings="tiny",
            sampling=sampling,
        )
    )
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
    found = scaled.scaled(before, "small", Capacity(cpus, memory_bytes))
    assert set(found.threads) <= set(before.threads)
    assert 1 <= found.dataset.rows <= before.dataset.rows
    taken = found.dataset.rows * SBTEST_ROW_BYTES * len(found.servers)
    assert found.dataset.rows == 1 or taken <= share * memory_bytes
