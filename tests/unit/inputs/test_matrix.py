from __future__ import annotations

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
        ('workloads = ["a", "a"]\nthreads = [1]', "workloads: 'a' appears twice"),
        ('workloads = ["a"]\nthreads = [8, 1, 8]', "threads: 8 appears twice"),
        (
            'workloads = ["a"]\nthreads = [1]\nsampling = { starts_min = 5, starts_max = 4 }',
            "sampling.starts_max: expected 5 (starts_min) or more, found 4",
        ),
        (
            'workloads = ["a"]\nthread = [1]',
            "the file: Object contains unknown field `thread`; did you mean 'threads'?",
        ),
    ],
)
def test_a_profile_that_cannot_run(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        matrix.load_profile(path)
    assert str(caught.value) == f"{path}: {expected}"


def test_cells_follow_the_profile_and_the_base_is_first() -> None:
    cells = matrix.cells(a_profile(), DATASETS, LABELS)
    assert [(c.workload, c.threads, c.server) for c in cells] == [
        ("reads", 1, LABELS[0]),
        ("reads", 1, LABELS[1]),
        ("reads", 8, LABELS[0]),
        ("reads", 8, LABELS[1]),
        ("writes", 1, LABELS[0]),
        ("writes", 1, LABELS[1]),
        ("writes", 8, LABELS[0]),
        ("writes", 8, LABELS[1]),
    ]
    assert {(cell.workload, cell.dataset) for cell in cells} == {
        (workload, dataset.key) for workload, dataset in DATASETS.items()
    }


def test_blocks_of_selected_cells() -> None:
    def cell(workload: str, server: str) -> Cell:
        return Cell(workload=workload, dataset="d", server=server, threads=1)

    blocks = matrix.blocks([cell("b", "y"), cell("a", "y"), cell("b", "x")])
    assert blocks == (
        Block(workload="b", dataset="d", threads=1, servers=("y", "x")),
        Block(workload="a", dataset="d", threads=1, servers=("y",)),
    )


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, unique=True),
    st.lists(st.integers(1, 64), min_size=1, unique=True),
    st.lists(st.text("xyz", min_size=1), min_size=1, unique=True),
)
def test_blocks_hold_every_cell_once_in_order(
    workloads: list[str], threads: list[int], labels: list[str]
) -> None:
    profile = a_profile(workloads=tuple(workloads), threads=tuple(threads))
    cells = matrix.cells(profile, dict.fromkeys(workloads, Dataset()), labels)
    blocks = matrix.blocks(cells)
    assert len(blocks) == len(workloads) * len(threads)
    assert tuple(cell for block in blocks for cell in block.cells) == cells


@given(st.integers(1, 40), st.integers(1, 40))
def test_shards_have_every_block_once_and_are_alike(blocks: int, count: int) -> None:
    whole = matrix.blocks(matrix.cells(a_profile(threads=tuple(range(1, blocks + 1))), DATASETS, LABELS))
    shards = [matrix.shard(whole, number, count) for number in range(1, count + 1)]
    assert tuple(block for shard in shards for block in shard) == whole
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_what_is_planned_is_what_a_profile_asks_for() -> None:
    profile = a_profile()
    planned = Planned(
        workloads={name: dataset.key for name, dataset in DATASETS.items()},
        threads=profile.threads,
        servers=LABELS,
    )
    assert planned.blocks == matrix.blocks(matrix.cells(profile, DATASETS, LABELS))
