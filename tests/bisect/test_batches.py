from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.bisect.batches import Batch, Costs, answered, next_batch
from shootout.bisect.posterior import Evidence, Posterior

CHEAP, DEAR = (
    Costs(build_s=0.0, start_s=3.0, batch_s=10.0),
    Costs(build_s=3600.0, start_s=3.0, batch_s=10.0),
)


def starts(levels: dict[int, float], count: int, noise: float = 0.01) -> list[dict[int, float]]:
    dice = np.random.default_rng(1)
    return [
        {number: level + noise * float(dice.standard_normal()) for number, level in levels.items()}
        for _ in range(count)
    ]


def batch(evidence: Evidence, costs: Costs, built: Sequence[int] = (), servers_max: int = 8) -> Batch:
    return next_batch(evidence, Posterior.of(evidence), costs, built, servers_max)


@given(st.integers(1, 60), st.sets(st.integers(1, 59)), st.integers(2, 8), st.sampled_from([CHEAP, DEAR]))
def test_a_batch_can_be_measured(last: int, unusable: set[int], servers_max: int, costs: Costs) -> None:
    unusable = {each for each in unusable if each < last}
    both = starts({0: 0.0, last: -0.03}, 4)
    found = batch(Evidence(last, both, tuple(unusable)), costs, servers_max=servers_max)
    assert 2 <= len(found.revisions) <= servers_max
    assert found.revisions[0] == 0
    assert [*found.revisions] == sorted(set(found.revisions))
    assert not unusable & {*found.revisions}
    assert found.revisions[-1] <= last


def test_cheap_builds_are_made_many_at_a_time() -> None:
    evidence = Evidence(300, starts({0: 0.0, 300: -0.05}, 8))
    assert len(batch(evidence, CHEAP, built=(0, 300)).revisions) > 3


def test_dear_builds_are_made_one_at_a_time() -> None:
    evidence = Evidence(300, starts({0: 0.0, 300: -0.05}, 8))
    found = batch(evidence, DEAR, built=(0, 300))
    assert len({*found.revisions} - {0, 300}) == 1


def test_both_ends_come_first() -> None:
    assert batch(Evidence(300, []), DEAR).revisions == (0, 300)


def test_measuring_again_what_is_known_well_gives_way_to_new_revisions() -> None:
    evidence = Evidence(300, starts({0: 0.0, 300: -0.05}, 100))
    assert {*batch(evidence, DEAR, built=(0, 300)).revisions} - {0, 300}


def test_what_lies_where_the_step_cannot_be_is_not_measured() -> None:
    evidence = Evidence(300, starts({0: 0.0, 100: 0.0, 200: -0.05, 300: -0.05}, 12))
    found = batch(evidence, CHEAP, built=(0, 100, 200, 300))
    assert any(100 < each < 200 for each in found.revisions)
    assert not any(0 < each < 100 or 200 < each < 300 for each in found.revisions)


@pytest.mark.parametrize(
    ("levels", "enough"),
    [({0: 0.0, 9: 0.0, 10: -0.05, 20: -0.05}, True), ({0: 0.0, 5: 0.0, 10: -0.05, 20: -0.05}, False)],
)
def test_an_answer_is_one_revision(levels: dict[int, float], enough: bool) -> None:
    evidence = Evidence(20, starts(levels, 12))
    assert answered(evidence, Posterior.of(evidence)) is enough


def test_an_answer_may_be_a_run_that_cannot_be_built() -> None:
    evidence = Evidence(20, starts({0: 0.0, 5: 0.0, 10: -0.05, 20: -0.05}, 12), unusable=(6, 7, 8, 9))
    assert answered(evidence, Posterior.of(evidence))


def test_one_start_is_never_enough() -> None:
    evidence = Evidence(1, starts({0: 0.0, 1: -0.7}, 1))
    assert not answered(evidence, Posterior.of(evidence))
    evidence = Evidence(1, starts({0: 0.0, 1: -0.7}, 4))
    assert answered(evidence, Posterior.of(evidence))


def test_the_same_files_need_no_start() -> None:
    evidence = Evidence(3, [], equal=((0, 3), (0, 1), (0, 2)))
    assert answered(evidence, Posterior.of(evidence))
