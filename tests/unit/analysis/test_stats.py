from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray

from shootout.analysis import stats
from shootout.model.verdict import Interval

# Student 1908, "The probable error of a mean", section 9: hours of sleep gained by one drug over the other.
SLEEP = (1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4)


# Dana 1990, in Wilcox, "Introduction to Robust Estimation and Hypothesis Testing", sections 3.3 and 4.3;
# shuffled, as it is printed in order of size, which would be a perfect autocorrelation.
AWARENESS = (1310, 87, 306, 210, 376, 77, 262, 2611, 151, 428, 88, 666, 246, 114, 515, 219, 299, 253, 296)
CHANGES = st.floats(-0.5, 0.5).map(lambda x: round(x, 6))
STARTS = st.lists(st.lists(CHANGES, min_size=5, max_size=15), min_size=2, max_size=6)


def autoregressive(
    rng: np.random.Generator, shape: tuple[int, ...], phi: float, sd: float
) -> NDArray[np.float64]:
    """AR(1) along the last axis, in its stationary distribution from the first value on."""
    noise = rng.normal(0, sd, shape)
    values = np.empty(shape)
    values[..., 0] = noise[..., 0] / math.sqrt(1 - phi**2)
    for i in range(1, shape[-1]):
        values[..., i] = phi * values[..., i - 1] + noise[..., i]
    return values


def test_students_interval_and_p_value_of_his_sleep_data() -> None:
    """t = 4.0621 with 9 degrees of freedom, p = 0.002833, interval 0.7001142 to 2.4598858."""
    assert structs.astuple(stats.mean_interval(SLEEP, 0.95)) == pytest.approx(
        (1.58, 0.7001142, 2.4598858), abs=1e-7
    )
    effect = stats.over_starts(SLEEP, confidence=0.95)
    assert effect[:3] == pytest.approx((1.58, 0.7001142, 2.4598858), abs=1e-7)
    assert effect.p_value == pytest.approx(0.002833, abs=5e-7)
    assert effect.per_start == SLEEP


def test_without_autocorrelation_the_interval_of_rounds_is_wilcoxs() -> None:
    """282.7 -+ 2.18 * 56.1, with 12 degrees of freedom: 160 to 405."""
    order = np.random.default_rng(2).permuted(AWARENESS)  # an order in which inefficiency is 1
    effect = stats.rounds_effect(order.tolist(), 0.2, 0.95)
    assert effect.noise.error == pytest.approx(56.1, abs=0.05)
    assert effect[:3] == pytest.approx((282.7, 160.4, 405.0), abs=0.05)


def test_welchs_interval_of_students_sleep_data() -> None:
    """As two groups: t = -1.8608 with 17.776 degrees of freedom, p = 0.07939, -3.3654832 to 0.2054832."""
    one = (0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0)
    other = (1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)
    error = float(np.std(other, ddof=1)) / math.sqrt(len(other))
    effect = stats.difference(one, float(np.mean(other)), error, len(other), 0.95)
    assert effect[:3] == pytest.approx((-1.58, -3.3654832, 0.2054832), abs=1e-7)
    assert effect.p_value == pytest.approx(0.07939, abs=5e-6)


def test_hommels_procedure() -> None:
    """It rejects all four where Holm's rejects 0.01 and 0.005 at 5 %."""
    assert stats.hommel((0.01, 0.04, 0.03, 0.005)) == pytest.approx((0.03, 0.04, 0.04, 0.02))
    assert stats.hommel(()) == ()


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_newcombes_table_of_wilsons_interval(hits: int, trials: int, low: float, high: float) -> None:
    found = stats.wilson(hits, trials, 0.95)
    assert structs.astuple(found) == pytest.approx((hits / trials, low, high), abs=5e-5)


def test_inefficiency_of_an_autoregression() -> None:
    """AR(1) has (1 + phi) / (1 - phi): Geyer 1992, section 2."""
    rng = np.random.default_rng(1)
    for phi in (0.0, 0.3, 0.6, 0.9):
        values = autoregressive(rng, (40_000,), phi, 1.0)
        assert stats.inefficiency(values.tolist()) == pytest.approx((1 + phi) / (1 - phi), rel=0.15)
    alternating = autoregressive(rng, (1_000,), -0.5, 1.0)
    assert stats.inefficiency(alternating.tolist()) == 1.0


def test_too_little_has_no_width_or_all_of_it() -> None:
    assert stats.wilson(0, 0, 0.95) == Interval(estimate=0, low=0, high=1)
    assert stats.mean_interval((3.0,), 0.95) == Interval(estimate=3.0, low=3.0, high=3.0)
    effect = stats.ratio_of_starts([[0.5]], 0.1, 0.95)
    assert (effect.low, effect.high, effect.p_value) == (-math.inf, math.inf, 1.0)
    assert stats.settling([1.0] * (stats.STEADY_MIN - 1), 20, 24) == (0.0, math.inf, False)


def test_a_curve_that_bends_down_is_tilted() -> None:
    starts = [[0.3 + e, 0.1, -0.1, -0.3 - e] for e in (0.01, 0.02, 0.0, -0.01)]
    level, tilt = stats.curve_effects(starts, (1, 4, 16, 64), 0.95)
    assert level.estimate == pytest.approx(0.0, abs=1e-12)
    assert tilt.estimate == pytest.approx(-0.609)  # the line through them, from its one end to the other
    assert tilt.high < 0


def test_trimming_cuts_whole_values_at_both_ends() -> None:
    assert stats.trimmed_mean((100, 1, 2, 3, -100), 0.2) == 2
    assert stats.trimmed_mean((100, 1, 2, 3, -100), 0.19) == 1.2
    assert stats.trimmed_mean((5, 7), 0.4) == 6


def test_equal_starts_leave_no_doubt() -> None:
    assert stats.ratio_of_starts([[0.5, 0.5]] * 3, 0.1, 0.95)[:4] == (0.5, 0.5, 0.5, 0.0)
    assert stats.ratio_of_starts([[0.0, 0.0]] * 3, 0.1, 0.95).p_value == 1.0


def test_a_reach_is_found_where_one_error_has_all_the_weight() -> None:
    """As 500 equal starts have it: only rounding is beyond the end, on either side."""
    errors, df = (0.0002843830324804522, 0.008992981105438726), 1000.0000000000003
    for weights, end in (((1.0, 6.5e-32), 0), ((0.0, 1.0), 1)):
        noise = stats.Noise(errors, df, weights)
        assert noise.reach(0.95) == pytest.approx(stats.quantile(0.95, df) * errors[end])


def test_the_noise_of_rounds_is_that_of_their_trimmed_means() -> None:
    """Four times the same start, without memory: half the error of one, four times its degrees of freedom."""
    rounds = (0.1, 0.2, 0.15, 0.05, 0.3, 0.1, 0.25, 0.2, 0.0, 0.1)
    one = stats.rounds_effect(rounds, 0.2, 0.95)
    four = stats.ratio_of_starts([rounds] * 4, 0.2, 0.95).rounds
    assert four is not None
    assert (four.error, four.df) == pytest.approx((one.noise.error / 2, 4 * one.noise.df))
    assert four.p_value(four.reach(0.95)) == pytest.approx(0.05)
    assert stats.ratio_of_starts([rounds, (0.1,)], 0.2, 0.95).rounds is None
    still = stats.ratio_of_starts([(0.5, 0.5)] * 3, 0.1, 0.95).rounds
    assert still is not None
    assert (still.p_value(0.5), still.p_value(0.0)) == (0.0, 1.0)


def test_a_noisy_start_loses_more_rounds_and_counts_less() -> None:
    """By hand. A fifth of fifteen at each end: distances from -0.2 / 3 to 0.4 / 3 remain."""
    starts = [(0.1, 0.2, 0.3, 0.2, 0.1), (0.2, 0.3, 0.2, 0.15, 0.2), (-3.0, 0.2, 2.0, -4.0, 0.25)]
    # The starts' own trimmed means: 0.5 / 3, 0.2, and -2.55 / 3, from which every round is farther.
    found = stats.ratio_of_starts(starts, 0.2, 0.95).per_start
    estimate = (sum(starts[0]) + sum(starts[1])) / 10
    assert np.mean(found) == pytest.approx(estimate)
    low, high = -0.2 / 3, 0.4 / 3
    shifts = [1.5 * (0.5 / 3 - estimate), 1.5 * (0.2 - estimate), 0.0]
    means = [low + low + high + 0.1 / 3 * 2, 0.1 - 0.05, low + high + high + low + high]
    parts = [shift + mean / 5 * 15 / 10 for shift, mean in zip(shifts, means, strict=True)]
    assert [each - estimate for each in found] == pytest.approx([each - np.mean(parts) for each in parts])


def test_contributions_vary_as_much_as_the_estimate_does() -> None:
    rng = np.random.default_rng(1)
    runs = [stats.ratio_of_starts(each, 0.2, 0.95) for each in rng.normal(0, 1, (600, 6, 20)).tolist()]
    of_estimates = np.var([each.estimate for each in runs])
    assert np.mean([each.noise.error**2 for each in runs]) == pytest.approx(of_estimates, rel=0.15)
    of_rounds = [each.rounds.error**2 for each in runs if each.rounds is not None]
    assert np.mean(of_rounds) == pytest.approx(of_estimates, rel=0.15)


def test_a_slow_start_counts_in_full() -> None:
    """One of six is 20 % slower, and each round as noisy as those of the others."""
    rounds = np.random.default_rng(1).normal(0, 0.02, (6, 20))
    alike = stats.ratio_of_starts(rounds.tolist(), 0.2, 0.95)
    rounds[2] += math.log(0.8)
    found = stats.ratio_of_starts(rounds.tolist(), 0.2, 0.95)
    assert found.estimate == pytest.approx(alike.estimate + math.log(0.8) / 6, abs=0.005)
    assert found.per_start[2] - found.per_start[0] == pytest.approx(math.log(0.8), abs=0.05)
    assert found.low < -0.1 < 0 < found.high


def test_a_step_is_a_drift() -> None:
    change, error = stats.drift((1, 2, 1, 2, 6, 7, 6, 7))
    assert change == 5
    assert error == pytest.approx(math.sqrt(2 * (1 / 3) / 4))  # variance 1/3 in each half of 4


def test_a_drift_is_one_that_chance_does_not_explain() -> None:
    flat = [1.0, 1.01] * 10
    assert not stats.drifts(flat, 0.001)
    assert stats.drifts([0.8] * 10 + flat[:10], 0.02)
    assert not stats.drifts([0.99] * 10 + [1.0] * 10, 0.02)
    noisy = np.random.default_rng(1).normal(1, 0.1, 40)
    assert not stats.drifts(noisy.tolist(), 0.001)


@pytest.mark.parametrize("fade", [2.5, 5, 10, 20])
def test_what_is_left_of_a_fade_is_found(fade: float) -> None:
    """The fade is 20 % after 20 values, in the mean of the next 10, for each time constant."""
    series = -0.2 * np.exp(-np.arange(30) / fade)
    found = stats.settling(series[:20].tolist(), slowest=20, ahead=10)
    assert found.remaining == pytest.approx(series[20:].mean(), abs=0.004)
    assert found.bound == pytest.approx(abs(found.remaining), abs=1e-6)


def test_a_standstill_at_the_end_is_no_fade() -> None:
    series = np.random.default_rng(1).normal(0, 0.05, 32)
    calm = stats.settling(series.tolist(), 20, 24)
    series[-1] = -5.0
    assert stats.settling(series.tolist(), 20, 24).remaining == pytest.approx(calm.remaining, abs=0.015)


def test_the_bound_on_what_is_left_holds() -> None:
    """It holds in 92 % of 95 % asked where the fade is the slowest that is looked for, in more elsewhere."""
    rng = np.random.default_rng(2)
    for fade, sd, phi in ((20.0, 0.12, 0.2), (20.0, 0.04, 0.0), (10.0, 0.12, 0.4), (4.0, 0.08, 0.2)):
        series = -0.2 * np.exp(-np.arange(24) / fade) + autoregressive(rng, (250, 24), phi, sd)
        truth = 0.2 * float(np.exp(-np.arange(24, 48) / fade).mean())
        bounds = [stats.settling(each, 20, 24).bound for each in series.tolist()]
        assert np.mean([truth <= bound for bound in bounds]) > 0.9


@given(STARTS)
def test_swapping_base_and_head_mirrors_the_effect(starts: list[list[float]]) -> None:
    effect = stats.ratio_of_starts(starts, 0.1, 0.95)
    mirror = stats.ratio_of_starts([[-x for x in rounds] for rounds in starts], 0.1, 0.95)
    assert mirror[:3] == pytest.approx((-effect.estimate, -effect.high, -effect.low), abs=1e-12)
    assert mirror.p_value == pytest.approx(effect.p_value, rel=1e-6, abs=1e-9)


@given(STARTS, st.floats(0.01, 100))
def test_scaling_scales_the_effect_and_keeps_the_p_value(starts: list[list[float]], factor: float) -> None:
    effect = stats.ratio_of_starts(starts, 0.1, 0.95)
    assume(effect.high - effect.low > 1e-9)
    scaled = stats.ratio_of_starts([[factor * x for x in rounds] for rounds in starts], 0.1, 0.95)
    assert scaled[:3] == pytest.approx([factor * x for x in effect[:3]], rel=1e-6, abs=1e-9)
    assert scaled.p_value == pytest.approx(effect.p_value, rel=1e-6, abs=1e-9)


@given(STARTS | st.lists(st.lists(CHANGES, min_size=2, max_size=40), min_size=1, max_size=1))
def test_an_interval_holds_its_estimate_and_grows_with_confidence(starts: list[list[float]]) -> None:
    narrow = stats.ratio_of_starts(starts, 0.1, 0.5)
    wide = stats.ratio_of_starts(starts, 0.1, 0.99)
    assert wide.low <= narrow.low <= narrow.estimate <= narrow.high <= wide.high
    assert 0 <= wide.p_value <= 1


@given(STARTS)
def test_the_interval_lies_beyond_zero_where_p_is_small_enough(starts: list[list[float]]) -> None:
    effect = stats.ratio_of_starts(starts, 0.1, 0.95)
    assume(abs(effect.p_value - 0.05) > 1e-6)
    assert (effect.low > 0 or effect.high < 0) is (effect.p_value < 0.05)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_adjustment_is_the_closed_test_of_simes(p_values: list[float]) -> None:
    def simes(members: Sequence[int]) -> float:
        ordered = sorted(p_values[member] for member in members)
        return min(len(ordered) * p / rank for rank, p in enumerate(ordered, start=1))

    every = range(len(p_values))
    sets = [members for size in every for members in combinations(every, size + 1)]
    worst = [max(simes(members) for members in sets if number in members) for number in every]
    assert stats.hommel(p_values) == pytest.approx(worst)


RUNS = 2_000
Noise = NDArray[np.float64]
Shape = tuple[int, int, int]  # runs, starts, rounds


def restarts(rng: np.random.Generator, shape: Shape) -> Noise:
    return rng.normal(0, 0.02, (*shape[:2], 1)) + rng.normal(0, 0.08, shape)


def share_covered(intervals: list[stats.Effect], truth: float) -> float:
    return float(np.mean([effect.low <= truth <= effect.high for effect in intervals]))


def test_the_interval_from_resampled_starts_is_students_for_a_mean() -> None:
    """His sleep data again; the error is right to what 4000 resamples allow."""
    drawn = np.random.default_rng(1).choice(SLEEP, (4000, len(SLEEP))).mean(axis=1)
    found = stats.resampled(1.58, drawn.tolist(), SLEEP, 0.0, 0.95)
    assert found[:3] == pytest.approx((1.58, 0.7001142, 2.4598858), abs=0.03)
    assert found.per_start == SLEEP
    coarse = stats.resampled(1.58, drawn.tolist(), SLEEP, 3 * found.noise.error, 0.95)
    assert coarse.noise.error == pytest.approx(math.sqrt(10) * found.noise.error)


def test_level_and_tilt_cover_the_truth_though_cells_resemble_each_other() -> None:
    """Cells of one start share what the restart did to the server."""
    rng, threads = np.random.default_rng(5), (1, 2, 8, 32)
    shared = rng.normal(0, 0.02, (2000, 8, 1))
    starts = -0.03 + shared + rng.normal(0, 0.01, (2000, 8, 4)) + 0.05 * np.log(threads) / np.log(32)
    effects = [stats.curve_effects(run, threads, 0.95) for run in starts.tolist()]
    level_truth = -0.03 + 0.05 * float(np.mean(np.log(threads))) / math.log(32)
    assert 0.93 <= share_covered([level for level, _ in effects], level_truth) <= 0.97
    assert 0.93 <= share_covered([tilt for _, tilt in effects], 0.05) <= 0.97


def test_the_interval_over_rounds_covers_the_start_but_not_the_restart() -> None:
    """One start is no verdict: the interval is right for this start, too narrow for the server."""
    rng = np.random.default_rng(3)
    restarts = rng.normal(0, 0.04, (RUNS, 1))
    rounds = restarts + autoregressive(rng, (RUNS, 60), 0.3, 0.05)
    intervals = [stats.ratio_of_starts([run.tolist()], 0.1, 0.95) for run in rounds]
    of_start = [
        effect.low <= start <= effect.high for effect, [start] in zip(intervals, restarts, strict=True)
    ]
    assert 0.93 <= np.mean(of_start) <= 0.97
    assert share_covered(intervals, 0.0) < 0.7
