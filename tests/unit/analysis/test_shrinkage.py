"""Variance shrinkage over the blocks of a run: by hand, by properties, and by simulation."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import beta, stdtr, stdtrit

from shootout.analysis import compare, pairs, shrinkage, stats
from shootout.analysis.stats import Effect, Noise
from shootout.model.plan import Block
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison
from tests.support.analysis.builders import a_document, a_sample, a_start

SURE = 0.95
ROUNDS = 7  # degrees of freedom of a start's rounds: a dozen, trimmed


def f_density(ratio: Any, over: int, under: int) -> Any:
    """The density of the F distribution."""
    share = over / under
    scale = share ** (over / 2) / beta(over / 2, under / 2)
    return scale * ratio ** (over / 2 - 1) * (1 + share * ratio) ** (-(over + under) / 2)


def an_effect(starts: Sequence[float], of_rounds: float) -> Effect:
    """Estimate the effect of starts whose rounds explain this standard deviation."""
    noise = Noise((of_rounds / math.sqrt(len(starts)),), ROUNDS * len(starts))
    return stats.over_starts(starts, SURE)._replace(rounds=noise)


def spread_by(ratio: float, starts: int = 5) -> Effect:
    """An effect with this ratio of variances: of starts, and of their rounds."""
    values = np.linspace(-1, 1, starts)
    return an_effect((0.1 + 0.02 * math.sqrt(ratio) * values / values.std(ddof=1)).tolist(), 0.02)


def half_width(effect: Effect) -> float:
    return (effect.high - effect.low) / 2


def test_a_posterior_is_bayes_theorem() -> None:
    """A block alone has the broad prior: equal probabilities, times the density of F."""
    (found,) = shrinkage.posterior(np.array([3.0]), np.array([4.0]), np.array([35.0]), "b")
    density = f_density(3 / shrinkage.RATIOS, 4, 35) / shrinkage.RATIOS
    assert found == pytest.approx(density / density.sum())


def test_a_mixture_of_one_is_students() -> None:
    noise = Noise((0.3,) * 25, 6, (0.04,) * 25)
    assert noise.error == pytest.approx(0.3)
    assert noise.p_value(0.5) == pytest.approx(2 * stdtr(6, -0.5 / 0.3))
    assert noise.reach(0.99) == pytest.approx(0.3 * stdtrit(6, 0.995))


def test_a_mixture_has_the_tails_of_its_parts() -> None:
    noise = Noise((1.0, 2.0), 60, (0.7, 0.3))
    for p_value in (0.05, 0.01, 0.0001):
        reach = noise.reach(1 - p_value)
        mixed = sum(w * 2 * stdtr(60, -reach / error) for w, error in ((0.7, 1), (0.3, 2)))
        assert mixed == pytest.approx(p_value)
        assert noise.times(3).reach(1 - p_value) == pytest.approx(3 * reach)
        assert noise.p_value(-reach) == pytest.approx(p_value)


def test_where_restarts_decide_the_interval_is_students() -> None:
    """The broad prior, far from its ends, is that of Student's interval."""
    for starts in (5, 12):
        own = spread_by(40, starts)
        (found,) = shrinkage.over_blocks([own], "b", SURE)
        assert half_width(found) == pytest.approx(half_width(own), rel=0.1)
    far = spread_by(200)
    assert shrinkage.over_blocks([far], "b", SURE) == [far]


def test_other_blocks_tell_that_restarts_add_nothing() -> None:
    quiet = [spread_by(ratio) for ratio in (0.3, 0.6, 0.9, 1.0, 1.2, 1.5, 2.0)]
    alone, among = (
        shrinkage.over_blocks(quiet[:count], range(count), SURE)[-1 if count == 1 else 3] for count in (1, 7)
    )
    assert half_width(among) < half_width(alone)
    rounds = quiet[3].rounds
    assert rounds is not None
    assert 1 <= half_width(among) / rounds.reach(SURE) < 1.35
    assert among.noise.df > 10


def test_heads_of_one_block_tell_each_other_nothing() -> None:
    effects = [spread_by(1.5)] * 6
    assert half_width(shrinkage.over_blocks(effects, "bbbbbb", SURE)[0]) == pytest.approx(
        half_width(shrinkage.over_blocks(effects[:1], "b", SURE)[0])
    )
    two, six = (
        shrinkage.over_blocks([spread_by(1)] + [spread_by(1.5)] * n, "a" + "b" * n, SURE) for n in (1, 6)
    )
    assert half_width(two[0]) == pytest.approx(half_width(six[0]))


def test_a_noisy_cell_keeps_to_itself() -> None:
    noisy, quiet = spread_by(30), [spread_by(ratio) for ratio in (0.6, 0.8, 1.0, 1.1, 1.3, 1.6)]
    found = shrinkage.over_blocks([noisy, *quiet], range(7), SURE)
    (alone,) = shrinkage.over_blocks([noisy], "b", SURE)
    assert found[0] == alone
    assert half_width(alone) == pytest.approx(half_width(noisy), rel=0.1)
    without = shrinkage.over_blocks(quiet, range(6), SURE)
    assert half_width(found[3]) == pytest.approx(half_width(without[2]), rel=0.15)


ratios = st.floats(0.01, 90)
runs = st.lists(st.lists(ratios, min_size=1, max_size=4), min_size=1, max_size=6)


@settings(deadline=None)
@given(runs, st.integers(2, 12) | st.just(400))
def test_no_interval_is_narrower_than_its_rounds_allow(run: list[list[float]], starts: int) -> None:
    effects = [spread_by(ratio, starts) for block in run for ratio in block]
    blocks = [number for number, block in enumerate(run) for _ in block]
    for effect, found in zip(effects, shrinkage.over_blocks(effects, blocks, SURE), strict=True):
        assert effect.rounds is not None
        assert half_width(found) >= effect.rounds.reach(SURE) * (1 - 1e-6)
        assert (found.estimate, found.per_start, found.spread, found.rounds) == (
            effect.estimate,
            effect.per_start,
            effect.spread,
            effect.rounds,
        )
        assert found.high - found.estimate == pytest.approx(found.estimate - found.low)


@given(runs, st.floats(0.01, 100), st.randoms(use_true_random=False))
def test_neither_scale_nor_order_matters(run: list[list[float]], scale: float, dice: random.Random) -> None:
    effects = [spread_by(ratio) for block in run for ratio in block]
    blocks = [number for number, block in enumerate(run) for _ in block]
    found = shrinkage.over_blocks(effects, blocks, SURE)
    scaled = [an_effect([scale * each for each in effect.per_start], scale * 0.02) for effect in effects]
    for effect, other in zip(found, shrinkage.over_blocks(scaled, blocks, SURE), strict=True):
        assert other.noise.error == pytest.approx(scale * effect.noise.error)
        assert other.p_value == pytest.approx(effect.p_value)
    order = list(range(len(effects)))
    dice.shuffle(order)
    mixed = shrinkage.over_blocks([effects[i] for i in order], [blocks[i] for i in order], SURE)
    for number, other in zip(order, mixed, strict=True):
        assert other.noise.error == pytest.approx(found[number].noise.error)


def test_without_rounds_effects_stay_as_they_are() -> None:
    without = stats.over_starts([0.1, 0.2, 0.15], SURE)
    still = an_effect([0.1, 0.2, 0.15], 0.0)
    one_start = stats.ratio_of_starts([[0.1, 0.2, 0.3]], 0.2, SURE)
    effects = [without, still, one_start, spread_by(1)]
    found = shrinkage.over_blocks(effects, range(4), SURE)
    assert found[:3] == effects[:3]
    assert found[3] == shrinkage.over_blocks(effects[3:], range(1), SURE)[0]


def a_run_of(heads: int, starts: int = 3, confirming: int = 0, blocks: int = 5) -> RunDocument:
    """So many starts, and those that confirm; each block has an A/A cell."""
    servers = tuple("abcdefgh"[: heads + 1])
    made = [Block(workload="reads", dataset="d", threads=1 + n, servers=servers) for n in range(blocks)]
    rng = np.random.default_rng(4)
    records = []
    for start in range(1, 1 + starts + confirming):
        for block in made:
            *samples, aa_control = (
                a_sample(server, (1000 * np.exp(rng.normal(0, 0.05, 10))).tolist())
                for server in (*servers, "a")
            )
            record = a_start(start, *samples, block=block)
            records.append(msgspec.structs.replace(record, aa_control=aa_control, confirming=start > starts))
    return a_document(records, blocks=made)


def of_students(cell: CellComparison) -> float:
    """The width of a cell's interval, as a share of Student's over its own starts."""
    assert cell.ratio is not None
    own = stats.over_starts([math.log(each) for each in cell.per_start], SURE)
    assert cell.judged[0].spread == pytest.approx(own.spread)  # a ledger keeps the cell's own
    assert math.log(cell.ratio.estimate) == pytest.approx(own.estimate)
    return math.log(cell.ratio.high / cell.ratio.low) / (own.high - own.low)


@pytest.mark.parametrize("base", [None, "c"])
@pytest.mark.parametrize("heads", [2, 5])
def test_intervals_of_cells_and_a_a_cells_rest_on_the_whole_run(heads: int, base: str | None) -> None:
    found = compare.compare(a_run_of(heads), base=base)
    cells = [cell for cell in found.cells if cell.cell != cell.base]
    assert np.median([of_students(cell) for cell in cells]) < 0.9
    assert np.median([of_students(cell) for cell in found.aa_controls]) < 0.9


def test_what_is_judged_is_what_is_shown() -> None:
    document = a_run_of(2, confirming=2)
    policy = document.header.profile.policy
    cells = [
        pair for block in document.header.blocks for pair in pairs.of_block(document, block, policy, None)
    ]
    heads, aa_controls = shrinkage.shrunk(cells, [], SURE)
    assert aa_controls == ()
    for before, after in zip(cells, heads, strict=True):
        for own, change in zip(before.changes, after.changes, strict=True):
            assert (own.fresh, change.fresh, len(change.effect.per_start)) == (2, 2, 5)
            assert change.effect.estimate == own.effect.estimate
            assert after.throughput == change.effect != own.effect


@pytest.mark.parametrize(("places", "starts"), [((2,), 6), ((0, 7), 12)])
def test_slow_starts_are_found_and_do_not_mask_each_other(places: tuple[int, ...], starts: int) -> None:
    own = spread_by(1, starts)
    slow = [each - 0.2 * (place in places) for place, each in enumerate(own.per_start)]
    found = shrinkage.unlike(an_effect(slow, 0.02))
    assert tuple(sorted(found)) == places
    assert [*found.values()] == pytest.approx([-0.2] * len(places), abs=0.05)
    assert shrinkage.unlike(own) == {}


def test_without_rounds_their_own_spread_decides() -> None:
    values = [0.0, 0.01, -0.01, 0.005, -0.005, -0.2]
    assert shrinkage.unlike(stats.over_starts(values, SURE)).keys() == {5}
    assert shrinkage.unlike(stats.over_starts(values[3:], SURE)) == {}  # two others are too few
    assert shrinkage.unlike(stats.over_starts(values[4:], SURE)) == {}
