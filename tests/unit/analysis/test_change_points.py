import itertools
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis import change_points

SHORT = st.lists(st.floats(-10, 10).map(lambda x: round(x, 2)), max_size=9)


def total(values: list[float], cuts: tuple[int, ...], penalty: float) -> float:
    """Compute the cost of a set of cuts, from the definition."""
    ends = (0, *cuts, len(values))
    pieces = [values[a:b] for a, b in itertools.pairwise(ends)]
    return penalty * len(cuts) + sum(
        abs(value - statistics.median(piece)) for piece in pieces for value in piece if piece
    )


def best_single_cut(values: list[float]) -> float:
    """Compute how much it saves, from the definition."""
    cuts = range(change_points.PIECE_MIN, len(values) - change_points.PIECE_MIN + 1)
    return total(values, (), 0.0) - min(total(values, (cut,), 0.0) for cut in cuts)


@given(SHORT, st.floats(0, 20))
def test_no_other_cuts_cost_less(values: list[float], penalty: float) -> None:
    found = change_points.cuts(values, penalty)
    allowed = [
        cuts
        for count in range(len(values))
        for cuts in itertools.combinations(range(1, len(values)), count)
        if all(b - a >= change_points.PIECE_MIN for a, b in itertools.pairwise((0, *cuts, len(values))))
    ]
    least = min((total(values, cuts, penalty) for cuts in allowed), default=total(values, (), penalty))
    assert total(values, found, penalty) == pytest.approx(least, abs=1e-9)
    assert not found or found in allowed


@pytest.mark.parametrize("lengths", [(30, 20, 10), (10, 10, 10)])
def test_a_loss_and_its_repair_are_found_where_they_are(lengths: tuple[int, int, int]) -> None:
    noise = np.random.default_rng(7)
    parts = zip((1.0, 0.95, 1.0), lengths, strict=True)
    values = [value for level, length in parts for value in noise.normal(level, 0.01, length)]
    first, second = change_points.find(values)
    assert abs(first - lengths[0]) <= 1
    assert abs(second - lengths[0] - lengths[1]) <= 1


def test_bad_runs_are_no_change() -> None:
    values = list(np.random.default_rng(3).normal(1.0, 0.01, 40))
    values[10], values[25], values[26] = 0.7, 1.4, 0.8
    assert change_points.find(values) == ()


@pytest.mark.parametrize("length", range(1, 2 * change_points.CLEAR_MIN))
def test_short_series_have_no_change(length: int) -> None:
    values = [float(i) for i in range(length)]
    assert change_points.find(values) == ()


@given(st.lists(st.floats(-10, 10).map(lambda x: round(x, 2)), min_size=10, max_size=16))
def test_only_one_of_twenty_shuffles_saves_more(values: list[float]) -> None:
    orders = change_points._shuffles(len(values))
    saved = sorted(best_single_cut([values[index] for index in order]) for order in orders)
    found = change_points._quantile(change_points._saved(values, orders))
    assert found == pytest.approx(saved[-5], abs=2e-9)


@pytest.mark.parametrize("before", [5, 6, 15, 20])
def test_a_clear_change_is_found_after_five_runs_and_stays_found(before: int) -> None:
    noise = np.random.default_rng(before).normal(1.0, 0.006, 60)
    noise[before:] -= 0.08
    for length in range(before + 5, 61):
        assert change_points.find(noise[:length].tolist()) == (before,), length


@pytest.mark.parametrize("length", [12, 16, 20, 30])
def test_two_bad_neighbours_are_no_change(length: int) -> None:
    for seed, first in itertools.product(range(20), (length // 2, length - 2)):
        values = np.random.default_rng(seed).normal(1.0, 0.01, length)
        values[first : first + 2] -= 0.1
        assert change_points.find(values.tolist()) == (), (seed, first)


def test_a_shuffle_keeps_neighbours_together() -> None:
    for order in change_points._shuffles(11):
        assert sorted(order) == list(range(11))
        steps = [(b - a) % 11 for a, b in itertools.pairwise(order)]
        assert steps.count(1) >= 7  # of three blocks of three and one of two, cut from a ring


def test_it_is_looked_no_longer_than_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(5)
    series = []
    for length in (5, 6, 7, 20, 52, 52, 100):
        for _ in range(20):
            values = noise.normal(0, 0.01, length)
            values[length // 3 : 2 * length // 3] += noise.choice([0.0, 0.01, 0.03])
            values[length // 2 :] += noise.choice([0.0, 0.02])
            series.append(values.tolist())
    found = [*map(change_points.find, series)]
    monkeypatch.setattr(change_points, "STAGES", (change_points.SHUFFLES,))
    assert found == [*map(change_points.find, series)]
    assert 20 < sum(map(bool, found)) < 120
