from __future__ import annotations

import numpy as np
import pytest

from shootout.analysis import pairs, returned
from shootout.measure import samples
from shootout.model.plan import Policy
from shootout.model.run import Returned
from tests.support.analysis.builders import READS, a_document, a_sample, a_start

EACH = [(50, 50, 6000)] * 12  # executions, rows and bytes of each slice


def returned_rows(slices: list[tuple[int, int, int]], *, alike: bool = True) -> Returned:
    return samples.returned(slices, alike=alike)


def times(factor: float, slices: list[tuple[int, int, int]] = EACH) -> list[tuple[int, int, int]]:
    return [(count, round(factor * rows), round(factor * size)) for count, rows, size in slices]


def drawn(rng: np.random.Generator, share: float, slices: int = 30) -> list[tuple[int, int, int]]:
    return [(50, int(rows), 0) for rows in rng.binomial(50, share, slices)]


def differing_kinds(
    base: list[tuple[int, int, int]], head: list[tuple[int, int, int]], writes: int = 0, *, alike: bool = True
) -> list[returned.Difference]:
    starts = [
        {1: a_sample(server, returned={"k": returned_rows(slices, alike=alike)}, writes=writes)}
        for server, slices in (("a", base), ("b", head))
    ]
    return [*returned.differing_rows(*starts)]


@pytest.mark.parametrize("writes", [0, 9])
def test_a_constant_number_of_rows_must_agree(writes: int) -> None:
    assert differing_kinds(EACH, EACH[:7], writes) == []
    assert differing_kinds(EACH, times(0.5), writes) == [("k", 1.0, 0.5)]
    assert differing_kinds(times(0.0), EACH, writes) == [("k", 0.0, 1.0)]
    some = drawn(np.random.default_rng(1), 0.5)
    ((_, then, now),) = differing_kinds(EACH, some, writes)
    assert (then, round(now, 1)) == (1.0, 0.5)


def test_few_slices_and_a_rare_difference_prove_nothing() -> None:
    assert differing_kinds(EACH[:5], times(0.5)[:5]) == []
    assert differing_kinds(EACH[:1], times(0.5)[:1]) == []
    one_conflict = [*EACH[1:], (50, 49, 5900)]
    assert differing_kinds(EACH, one_conflict) == []


def test_a_varying_number_of_rows_may_differ_by_chance_only() -> None:
    rng = np.random.default_rng(2)
    assert [differing_kinds(drawn(rng, 0.5), drawn(rng, 0.5)) for _ in range(300)] == [[]] * 300
    assert differing_kinds(drawn(rng, 0.5), drawn(rng, 0.25))


def test_what_a_load_that_writes_changes_is_not_compared() -> None:
    """A faster server has deleted more."""
    rng = np.random.default_rng(3)
    assert differing_kinds(drawn(rng, 0.9), drawn(rng, 0.6), writes=9) == []


def test_what_depends_on_which_connection_is_served_is_not_compared() -> None:
    rng = np.random.default_rng(4)
    assert differing_kinds(drawn(rng, 0.9), drawn(rng, 0.6), alike=False) == []
    assert differing_kinds(EACH, drawn(rng, 0.6), alike=False)


def test_a_head_that_returns_other_rows_has_no_result() -> None:
    both = [
        a_start(
            number,
            a_sample("a", returned={"k": returned_rows(EACH)}),
            a_sample("b", returned={"k": returned_rows(times(0.5))}),
        )
        for number in (1, 2)
    ]
    _, head = pairs.of_block(a_document(both), READS, Policy(), None)
    assert head.failure == (
        "it returns other rows than a: `k` returns or changes 0.5 rows per execution instead of 1"
    )
    assert head.throughput is None


def test_longer_rows_are_told_of_a_load_that_reads() -> None:
    longer = [(count, rows, 2 * size) for count, rows, size in EACH]
    assert differing_kinds(EACH, longer) == []
    for writes, told in ((0, [("k", 120.0, 240.0)]), (9, [])):
        base, head = (
            {1: a_sample(returned={"k": returned_rows(slices)}, writes=writes)} for slices in (EACH, longer)
        )
        assert [*returned.bytes_of_rows(base, head)] == told
