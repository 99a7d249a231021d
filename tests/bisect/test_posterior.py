import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from benchmarks.bisect import simulated
from shootout.bisect import posterior
from shootout.bisect.posterior import Evidence, Posterior, Values, levels

LOGS = st.floats(-0.1, 0.1).map(lambda value: round(value, 4))
STARTS = st.lists(
    st.dictionaries(st.integers(0, 6), LOGS, min_size=2, max_size=5).map(lambda start: {0: 0.01, **start}),
    max_size=6,
)


def measured(levels: dict[int, float], starts: int = 8, noise: float = 0.01) -> list[dict[int, float]]:
    dice = np.random.default_rng(1)
    return [
        {each: float(level + noise * dice.standard_normal()) for each, level in levels.items()}
        for _ in range(starts)
    ]


def by_definition(evidence: Evidence) -> tuple[Values, float, float]:
    """The same probabilities from whole covariance matrices; starts vary by far more than anything else."""
    rows = [
        (number, revision) for number, start in enumerate(evidence.starts) for revision in start
    ]  # start, revision
    seen = np.array([evidence.starts[number][revision] for number, revision in rows])
    same_start = np.array([[float(a == b) for b, _ in rows] for a, _ in rows])
    same_revision = np.array([[float(a == b) for _, b in rows] for _, a in rows])
    walk = np.array([[min(a, b) / evidence.last for _, b in rows] for _, a in rows])
    one = 1 - posterior.NONE - posterior.SEVERAL
    at, none, several = np.zeros(evidence.last + 1), 0.0, 0.0
    for (own, share), noise in itertools.product(posterior.OWN, posterior.NOISES[::3]):
        covariance = noise**2 * np.eye(len(rows)) + own**2 * same_revision + 10.0 * same_start

        def likelihood(means: Values, covariance: Values = covariance) -> Values:
            return np.asarray(multivariate_normal.pdf(seen - means, cov=covariance, allow_singular=True))

        none += posterior.NONE * share * float(likelihood(np.zeros(len(rows))))
        for wander in posterior.WANDERS:
            wandering = likelihood(np.zeros(len(rows)), covariance + wander**2 * walk)
            several += posterior.SEVERAL * share * float(wandering) / len(posterior.WANDERS)
        for place in range(1, evidence.last + 1):
            moved = np.array([float(revision >= place) for _, revision in rows])
            sizes = likelihood(posterior.SIGNED[:, None] * moved)
            at[place] += one * share * float(sizes.mean()) / evidence.last
    total = at.sum() + none + several
    return at / total, none / total, several / total


@given(STARTS.filter(bool))
def test_probabilities_are_those_of_the_model(starts: list[dict[int, float]]) -> None:
    evidence = Evidence(6, starts)
    before, posterior.NOISES = posterior.NOISES, posterior.NOISES[::3]
    try:
        found = Posterior.of(evidence)
    finally:
        posterior.NOISES = before
    at, none, several = by_definition(evidence)
    assert found.at == pytest.approx(at, rel=2e-3, abs=1e-6)
    assert (found.none, found.several) == pytest.approx((none, several), rel=2e-3, abs=1e-6)


@given(STARTS, st.lists(LOGS, min_size=6, max_size=6))
def test_the_level_of_a_start_does_not_matter(starts: list[dict[int, float]], shifts: list[float]) -> None:
    moved = [{n: y + shift for n, y in start.items()} for start, shift in zip(starts, shifts, strict=False)]
    one, other = Posterior.of(Evidence(6, starts)), Posterior.of(Evidence(6, moved))
    assert one.at == pytest.approx(other.at, abs=1e-9)


@given(STARTS)
def test_slower_and_faster_are_mirror_images(starts: list[dict[int, float]]) -> None:
    mirrored = [{number: -value for number, value in start.items()} for start in starts]
    one, other = Posterior.of(Evidence(6, starts)), Posterior.of(Evidence(6, mirrored))
    assert one.at == pytest.approx(other.at, abs=1e-9)
    assert one.sizes == pytest.approx(other.sizes[::-1], abs=1e-9)


@given(STARTS)
def test_probabilities_add_up_to_one(starts: list[dict[int, float]]) -> None:
    found = Posterior.of(Evidence(6, starts))
    assert found.at.sum() + found.none + found.several == pytest.approx(1)
    assert found.at[0] == 0
    assert found.sizes.sum() == pytest.approx(1)


def test_before_any_start_every_revision_is_as_likely() -> None:
    found = Posterior.of(Evidence(4, []))
    assert found.at[1:] == pytest.approx((1 - posterior.NONE - posterior.SEVERAL) / 4)


def found_in(levels: dict[int, float], **known: tuple[object, ...]) -> tuple[Evidence, Posterior]:
    evidence = Evidence(20, measured(levels), **known)  # type: ignore[arg-type]
    return evidence, Posterior.of(evidence)


def test_a_step_is_found_with_its_size() -> None:
    _, found = found_in({0: 0.0, 5: 0.0, 9: 0.0, 10: -0.04, 15: -0.04, 20: -0.04})
    assert found.at.argmax() == 10
    assert found.at[10] > 0.95
    assert found.size.low < -0.04 < found.size.high < 0


def test_revisions_between_two_measured_ones_are_as_likely_as_each_other() -> None:
    _, found = found_in({0: 0.0, 9: 0.0, 12: -0.05, 20: -0.05})
    assert found.at[10] == found.at[11] == found.at[12] > 0.3


def test_no_step_is_an_answer() -> None:
    _, found = found_in(dict.fromkeys((0, 3, 6, 9, 12, 15, 18, 20), 0.0))
    assert found.none > 0.8


@pytest.mark.parametrize(
    "levels",
    [{0: 0.0, 5: 0.0, 6: -0.05, 12: -0.05, 13: -0.1, 20: -0.1}, {n: -0.01 * n for n in range(0, 21, 4)}],
    ids=["two-steps", "drift"],
)
def test_several_steps_and_a_drift_are_an_answer(levels: dict[int, float]) -> None:
    _, found = found_in(levels)
    assert found.several > 0.95


def test_a_step_lies_in_no_place_whose_servers_are_the_same_files() -> None:
    levels = {0: 0.0, 9: 0.0, 12: -0.05, 20: -0.05}
    _, found = found_in(levels, equal=((9, 11),))
    assert list(found.at[10:12]) == [0, 0]
    assert found.at[12] > 0.95


def test_servers_that_are_all_the_same_files_have_no_step() -> None:
    starts = measured({0: 0.0, 3: -0.5}, starts=300)  # beyond any doubt, if they were not the same
    found = Posterior.of(Evidence(3, starts, equal=((0, 3),)))
    assert found.at.sum() == 0
    assert found.none == pytest.approx(1)


def test_revisions_that_cannot_be_measured_share_the_run_of_the_next_one() -> None:
    evidence, found = found_in({0: 0.0, 9: 0.0, 12: -0.05, 20: -0.05}, unusable=(10, 11))
    run = next(each for each in evidence.runs if 12 in each)
    assert run == (10, 12)
    assert found.within(run) > 0.95


def test_one_odd_start_of_a_revision_is_no_step() -> None:
    starts = measured({0: 0.0, 10: 0.0, 20: 0.0}, starts=6)
    starts[2][20] -= 0.06
    assert Posterior.of(Evidence(20, starts)).at.sum() < 0.5


def test_levels_are_means_beside_the_base() -> None:
    starts = [{0: 1.0, 1: 1.1, 2: 1.2}, {0: 2.0, 1: 2.12, 2: 2.18}, {0: 0.0, 2: 0.2}]
    found = levels(Evidence(2, starts), 0.95)
    assert [each.revision for each in found] == [0, 1, 2]
    assert found[0].to_base.estimate == found[0].to_base.low == 0
    for each in found[1:]:
        assert each.to_base.low < each.to_base.estimate < each.to_base.high
        assert each.to_base.estimate == pytest.approx(0.1 * each.revision, abs=0.02)
    assert found[2].to_previous.estimate == pytest.approx(
        found[2].to_base.estimate - found[1].to_base.estimate
    )


def test_levels_of_two_revisions_have_students_interval_of_the_pairs() -> None:
    differences = [0.03, 0.05, 0.01, 0.04]
    starts = [{0: 0.0, 3: each} for each in differences]
    found = levels(Evidence(3, starts), 0.95)[1].to_base
    half = 3.182 * np.std(differences, ddof=1) / math.sqrt(4)
    assert found.estimate == pytest.approx(np.mean(differences))
    assert found.high - found.estimate == pytest.approx(half, rel=1e-3)


def test_levels_need_two_starts() -> None:
    assert levels(Evidence(3, [{0: 0.0, 3: 0.1}]), 0.95) == ()


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.03, 0.0])
def test_simulated_histories_are_answered_rightly(step: float) -> None:
    noises = [*simulated.recorded()]
    found = [simulated.by_posterior(simulated.history(40, step, 1000 + seed, noises)) for seed in range(10)]
    assert sum(each.right for each in found) >= 9
