from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.errors import InputError
from shootout.inputs import matrix
from shootout.model.plan import Block, Cell, Dataset, DatasetSize, Load, Planned, Policy, Profile, Sampling

LABELS = ("mysql-5.7.22", "mysql-8.0.12")
DATASETS = {"reads": Dataset(kind="sbtest"), "writes": Dataset(kind="tpcc")}


def a_profile(**fields: object) -> Profile:
    return Profile(
        **{"description": "d", "workloads": ("reads", "writes"), "threads": (1, 8)} | fields  # type: ignore[arg-type]
    )


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text('description = "d"\n' + text)
    return str(path)


def test_the_quick_profile_writes_out_the_defaults() -> None:
    profile = matrix.load_profile("quick")
    assert profile.servers == LABELS
    assert profile.workloads == ("oltp_point_select", "oltp_read_only", "oltp_read_write")
    assert profile.threads == (1, 8, 32)
    assert (profile.dataset, profile.load, profile.options) == (DatasetSize(), Load(), {})
    assert (profile.sampling, profile.policy) == (Sampling(), Policy())


def test_a_profile_of_ones_own_needs_three_keys(tmp_path: Path) -> None:
    profile = matrix.load_profile(write(tmp_path, 'workloads = ["reads"]\nthreads = [4]'))
    assert profile.measured == a_profile(workloads=("reads",), threads=(4,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("workloads = []\nthreads = [1]", "workloads: expected at least one, found none"),
        ('workloads = ["a"]\nthreads = []', "threads: expected at least one, found none"),
    ],
)
def test_a_profile_that_cannot_run(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        matrix.load_profile(path)
    assert str(caught.value) == f"{path}: {expected}"


def planned(threads: Sequence[int] = (1, 8)) -> tuple[Block, ...]:
    keys = {name: dataset.key for name, dataset in DATASETS.items()}
    return Planned(workloads=keys, threads=tuple(threads), servers=LABELS).blocks


def test_cells_follow_the_profile_and_the_base_is_first() -> None:
    cells = [cell for block in planned() for cell in block.cells]
    assert [(c.workload, c.threads, c.server) for c in cells] == [
        (workload, threads, label) for workload in DATASETS for threads in (1, 8) for label in LABELS
    ]
    assert {(cell.workload, cell.dataset) for cell in cells} == {
        (workload, dataset.key) for workload, dataset in DATASETS.items()
    }
    assert matrix.blocks(cells) == planned()


def test_blocks_of_selected_cells() -> None:
    def cell(workload: str, server: str) -> Cell:
        return Cell(workload=workload, dataset="d", server=server, threads=1)

    blocks = matrix.blocks([cell("b", "y"), cell("a", "y"), cell("b", "x")])
    assert blocks == (
        Block(workload="b", dataset="d", threads=1, servers=("y", "x")),
        Block(workload="a", dataset="d", threads=1, servers=("y",)),
    )


@given(st.integers(1, 40), st.integers(1, 40))
def test_shards_have_every_block_once_and_are_alike(blocks: int, count: int) -> None:
    whole = planned(range(1, blocks + 1))
    shards = [matrix.shard(whole, number, count) for number in range(1, count + 1)]
    assert tuple(block for shard in shards for block in shard) == whole
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
