"""Which blocks a budget's rest goes to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout.analysis import budget, stats
from shootout.analysis.budget import BlockProgress
from shootout.model.plan import Sampling
from tests import builders

SAMPLING = Sampling(starts_min=4, starts_max=20, half_width=0.01)

STANDINGS = st.lists(
    st.builds(
        BlockProgress,
        block=st.uuids().map(str),
        starts=st.integers(2, 19),
        steady=st.integers(2, 19),
        half_width=st.floats(0.001, 1.0) | st.just(math.inf),
        start_s=st.floats(0.1, 30.0),
    ).filter(lambda each: each.steady <= each.starts),
    min_size=1,
    max_size=12,
)


def a_block(block: str, half_width: float = 0.02, starts: int = 6, start_s: float = 5.0) -> BlockProgress:
    return BlockProgress(block=block, starts=starts, steady=starts, half_width=half_width, start_s=start_s)


def chosen(*blocks: BlockProgress, left_s: float, restart_s: float = 10.0) -> tuple[str, ...]:
    return budget.next_start(blocks, SAMPLING, 0.95, left_s=left_s, restart_s=restart_s)


def test_widths_and_spreads_are_students() -> None:
    """Of ten starts that differ by 1 % (standard deviation): 2.262 · 1 % / √10."""
    assert budget.half_width(0.01, 10, 0.95) == pytest.approx(0.007154, abs=1e-6)
    assert budget.spread(0.007154, 10, 0.95) == pytest.approx(0.01, rel=1e-4)


@given(st.floats(0.001, 0.1), st.floats(0.001, 0.5))
def test_so_many_starts_are_enough_and_one_less_is_not(wanted: float, spread: float) -> None:
    starts = budget.starts_for(wanted, spread, 0.95)
    assert budget.half_width(spread, starts, 0.95) <= wanted
    assert starts == 2 or budget.half_width(spread, starts - 1, 0.95) > wanted


def test_what_no_number_of_starts_reaches_is_no_error() -> None:
    assert budget.starts_for(1e-9, 1.0, 0.95) == budget.STARTS_LIMIT


def test_with_time_for_all_of_them_all_take_part() -> None:
    assert chosen(a_block("a"), a_block("b", 0.05), left_s=10_000) == ("a", "b")


def test_a_block_that_can_be_finished_goes_before_one_that_cannot() -> None:
    """`near` needs two starts more, 30 s with their restarts; `far` all that it may have, and has no hope."""
    near, far = a_block("near", 0.012), a_block("far", 0.2)
    assert budget.starts_for(0.01, budget.spread(0.012, 6, 0.95), 0.95) == 8
    assert chosen(far, near, left_s=30) == ("near",)
    assert chosen(far, near, left_s=35) == ("far", "near")  # 5 s are left over, and go to the other


def test_what_is_left_over_goes_to_the_widest() -> None:
    blocks = [a_block("wide", 0.2), a_block("wider", 0.4), a_block("widest", 0.5)]
    assert chosen(*blocks, left_s=20) == ("wider", "widest")
    assert chosen(*blocks, left_s=15) == ("widest",)
    assert chosen(*blocks, left_s=14) == ()


def test_blocks_without_their_first_starts_go_first() -> None:
    new, near = a_block("new", math.inf, starts=1), a_block("near", 0.012)
    assert chosen(near, new, left_s=45) == ("new",)  # three more of them, with three restarts
    assert chosen(near, new, left_s=55) == ("near", "new")


def test_each_block_has_some_starts_before_one_has_all_that_it_wants() -> None:
    """Time for two blocks in one more start."""
    blocks = [a_block(name, 0.5, starts=starts) for name, starts in (("a", 3), ("b", 1), ("c", 2))]
    assert chosen(*blocks, left_s=20) == ("b", "c")
    assert chosen(*blocks, left_s=25) == ("a", "b", "c")


@given(STANDINGS, st.floats(0, 500), st.floats(0, 60))
def test_a_start_fits_into_what_is_left(blocks: list[BlockProgress], left_s: float, restart_s: float) -> None:
    names = chosen(*blocks, left_s=left_s, restart_s=restart_s)
    assert list(names) == [each.block for each in blocks if each.block in names]
    takes_s = [each.start_s for each in blocks if each.block in names]
    if names:
        assert sum(takes_s) + restart_s <= left_s * (1 + 1e-9)
    else:
        assert min(each.start_s for each in blocks) + restart_s > left_s * (1 - 1e-9)


@given(STANDINGS, st.floats(0, 500), st.floats(0, 500))
def test_with_more_time_there_is_no_less_a_start(
    blocks: list[BlockProgress], one_s: float, other_s: float
) -> None:
    less_s, more_s = sorted((one_s, other_s))
    if chosen(*blocks, left_s=less_s):
        assert chosen(*blocks, left_s=more_s)


def test_a_start_takes_as_long_as_its_slices() -> None:
    """Two servers: 15 rounds of 0.1 s and ramps of a fifth; the warm-up's slices are half as long."""
    base, head = (structs.replace(builders.a_samples(), warmup_rounds=rounds) for rounds in (16, 20))
    start = builders.a_start(builders.a_block(), 1, (base, head))
    assert budget.loaded_s([start, start], Sampling()) == pytest.approx(2 * 1.2 * (1.5 + 0.8 + 1.5 + 1.0))
    aa_control = structs.replace(start, aa_control=base)
    assert budget.loaded_s([aa_control], Sampling()) == pytest.approx(1.2 * (2.3 + 2.5 + 2.3))


def test_a_block_stands_where_its_starts_have_brought_it() -> None:
    steady, not_ = (builders.a_samples(steady=steady) for steady in (True, False))
    starts = [builders.a_start(builders.a_block(), n, (steady, each)) for n, each in ((1, steady), (2, not_))]
    found = budget.progress("b", starts, 0.03, Sampling())
    assert (found.starts, found.steady, found.half_width) == (2, 1, 0.03)
    assert found.start_s == pytest.approx(budget.loaded_s(starts, Sampling()) / 2)
    assert budget.progress("b", [], math.inf, Sampling()).start_s == 0


SPREADS = dict(zip("abcdefghi", (0.008, 0.01, 0.012, 0.012, 0.014, 0.015, 0.016, 0.08, 0.1), strict=True))


def finished(seed: int, left_s: float, *, divided: bool) -> int:
    """How many of nine blocks become narrow enough; two are far too noisy for that."""
    rng = np.random.default_rng(seed)
    made: dict[str, list[float]] = {block: [] for block in SPREADS}
    half_widths = dict.fromkeys(SPREADS, math.inf)
    while True:
        pending = [
            BlockProgress(block, len(of), len(of), half_widths[block], 4.0)
            for block, of in made.items()
            if half_widths[block] > SAMPLING.half_width and len(of) < SAMPLING.starts_max
        ]
        if divided:
            names = budget.next_start(pending, SAMPLING, 0.95, left_s=left_s, restart_s=10)
        else:
            names = tuple(each.block for each in pending if 10 + 4 * len(pending) <= left_s)
        if not names:
            return sum(width <= SAMPLING.half_width for width in half_widths.values())
        left_s -= 10 + 4 * len(names)
        for block in names:
            made[block].append(rng.normal(0, SPREADS[block]))
            if len(made[block]) >= SAMPLING.starts_min:
                interval = stats.mean_interval(made[block], 0.95)
                half_widths[block] = (interval.high - interval.low) / 2


@pytest.mark.parametrize("left_s", [250.0, 300.0])
def test_dividing_by_variance_brings_more_blocks_to_their_end(left_s: float) -> None:
    divided, alike = (
        np.mean([finished(seed, left_s, divided=how) for seed in range(30)]) for how in (True, False)
    )
    assert divided > alike + 0.2
