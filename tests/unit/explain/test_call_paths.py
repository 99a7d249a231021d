"""Call paths: renamed functions found, paths aligned, and no sample lost."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.explain import call_paths
from shootout.explain.call_paths import CallPaths
from shootout.explain.values import Profile
from tests.support.explain.builders import a_tree

NAMES = st.sampled_from(["main", "A::x", "A::y", "A::z", "B::x", "B::y", "B::z", "[mysqld]", "f [libc]"])
Counts = Mapping[tuple[str, ...], int]
PATHS = st.dictionaries(st.lists(NAMES, min_size=1, max_size=5).map(tuple), st.integers(1, 50), min_size=1)


def paths(base: Counts, head: Counts) -> CallPaths:
    """One start of two servers, one second of CPU time each."""
    tree, nodes = a_tree([*base, *head])
    profiles = [
        Profile(
            start=1, server=server, transactions=1, cpu_s=1.0,
            nodes=tuple(nodes[path] for path in counts), samples=tuple(counts.values()),
        )
        for server, counts in (("base", base), ("head", head))
    ]  # fmt: skip
    return call_paths.paths_of_servers(tree, profiles, "base", "head")


def costs(found: CallPaths, *, inclusive: bool = False) -> dict[str, list[float]]:
    """Samples of base and head by function, without those that have none."""
    counts = found.by_function(inclusive=inclusive)[0]
    return {
        name: counts[:, at].tolist() for at, name in enumerate(found.tree.functions) if counts[:, at].any()
    }


def test_a_renamed_class_is_one() -> None:
    members = ("prepare", "optimize", "fix_fields")
    base: Counts = {("main", f"st_select_lex::{name}"): 5 for name in members}
    head: Counts = {("main", f"Query_block::{name}"): 7 for name in members}
    assert costs(paths(base, head)) == {f"Query_block::{name}": [5, 7] for name in members}


def test_a_function_that_moved_to_another_class_is_one() -> None:
    found = paths({("main", "THD::lock"): 5}, {("main", "Lock::lock"): 7})
    assert costs(found) == {"Lock::lock": [5, 7]}


def test_functions_that_both_have_are_never_merged() -> None:
    both: Counts = {("main", "A::x"): 5, ("main", "B::x"): 6}
    assert costs(paths(both, both)) == {"A::x": [5, 5], "B::x": [6, 6]}


def test_a_recursive_function_counts_once() -> None:
    found = paths({("f", "g", "f"): 3}, {("f",): 4})
    assert costs(found, inclusive=True) == {"f": [3, 4], "g": [3, 0]}


def test_what_one_server_has_between_common_functions_is_left_out() -> None:
    found = call_paths.aligned(paths({("main", "read"): 5}, {("main", "new_layer", "[mysqld]", "read"): 5}))
    assert len(found.tree.parents) == 3
    assert found.by_subtree()[0].tolist() == [[5, 5, 5], [5, 5, 5]]


def test_where_threads_start_is_no_caller_that_only_some_stacks_have() -> None:
    """The head's stacks of a worker end before it: the worker is no gain there, and no loss of its caller."""
    start, worker, command = "start_thread [libc]", "worker", "do_command"
    base: Counts = {(start, worker): 40, (start, command): 50}
    found = call_paths.aligned(paths(base, {(worker,): 40, (start, command): 60}))
    assert costs(found, inclusive=True) == {worker: [40, 40], command: [50, 60]}
    assert found.tree.parents == (-1, 0, 0)


def test_what_one_server_has_at_the_end_stays() -> None:
    found = call_paths.aligned(paths({("main",): 5}, {("main", "spin"): 5}))
    assert costs(found) == {"main": [5, 0], "spin": [0, 5]}


@given(PATHS, PATHS)
def test_no_sample_is_lost(base: dict[tuple[str, ...], int], head: dict[tuple[str, ...], int]) -> None:
    found = paths(base, head)
    for each in (found, call_paths.aligned(found)):
        assert each.counts.sum(axis=2)[0].tolist() == [sum(base.values()), sum(head.values())]
        assert each.by_subtree()[:, :, 0].tolist() == each.counts.sum(axis=2).tolist()
        own, whole = (each.by_function(inclusive=inclusive) for inclusive in (False, True))
        assert (own <= whole).all()
        assert own.sum() == pytest.approx(each.counts.sum())
        assert all(parent <= node for node, parent in enumerate(each.tree.parents[1:]))


@given(PATHS)
def test_equal_servers_have_no_difference(counts: dict[tuple[str, ...], int]) -> None:
    found = call_paths.aligned(paths(counts, counts))
    assert np.array_equal(found.counts[:, 0], found.counts[:, 1])
