"""Heads of a block lend each other their spreads: by numbers worked out by hand, and by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import polygamma
from test_compare import a_document, a_sample, a_start

from shootout import compare, moderate, pairs, stats
from shootout.model import Block, Comparison, RunDocument, StartRecord
from shootout.stats import Effect

Values = NDArray[np.float64]
SURE = 0.95


def a_block(variances: Sequence[float], freedom: float = 2, shared: float = 0.25) -> moderate.Block:
    return moderate.Block(np.array(variances), np.full(len(variances), float(freedom)), shared)


def an_effect(*starts: float) -> Effect:
    return stats.over_starts(starts, SURE)


def spread_by(spread: float, starts: int = 3, mean: float = 0.0) -> Effect:
    """An effect whose starts have this standard deviation."""
    places = np.arange(starts) - (starts - 1) / 2
    return an_effect(*(mean + spread * places / places.std(ddof=1)))


# --- by hand ----------------------------------------------------------------------------------------


def test_the_inverse_of_trigamma() -> None:
    """Abramowitz and Stegun, 6.4.2 to 6.4.5."""
    assert moderate.inverse_trigamma(math.pi**2 / 6) == pytest.approx(1)
    assert moderate.inverse_trigamma(math.pi**2 / 6 - 1) == pytest.approx(2)
    assert moderate.inverse_trigamma(math.pi**2 / 2) == pytest.approx(0.5)
    for tiny in (1e-8, 1e-4, 1e4, 1e8):
        assert polygamma(1, moderate.inverse_trigamma(tiny)) == pytest.approx(tiny)


def test_how_alike_heads_are_by_moments_of_log_variances() -> None:
    """Two heads with 2 degrees of freedom in each of 44 blocks, whose log-variances differ as by chance.

    Half the square of their difference is trigamma(1) = pi**2 / 6, of which the shared base takes a quarter.
    A logarithm of chi-squared with 2 degrees of freedom has an excess kurtosis of 2.4: the error of that mean
    is sqrt(4.4 / 44) of it, and the bound lies 1.2816 errors above.
    """
    differing = math.exp(math.sqrt(2 * math.pi**2 / 6))
    blocks = [a_block([scale, differing * scale]) for scale in np.geomspace(1e-6, 1e-2, 44)]
    beyond = math.pi**2 / 6 * (1 + 1.28155 * math.sqrt(0.1) - 0.75)
    assert polygamma(1, moderate.prior_freedom(blocks) / 2) == pytest.approx(beyond, rel=1e-5)


def test_heads_that_differ_by_less_than_chance_could_all_be_one() -> None:
    assert moderate.prior_freedom([a_block([1.0, 1.01]) for _ in range(100)]) == math.inf


def test_a_variance_and_its_degrees_of_freedom_by_smyths_formula() -> None:
    """With endless freedom and nothing shared the others count by all their own: 4 of 3 heads with 2 each."""
    effects = [spread_by(math.sqrt(variance)) for variance in (1.0, 2.0, 3.0)]
    block = a_block([1.0, 2.0, 3.0], shared=0.0)
    variances, freedoms = moderate.lent(block, math.inf)
    assert variances.tolist() == pytest.approx([(4 * 2.5 + 2 * 1) / 6, 2.0, (4 * 1.5 + 2 * 3) / 6])
    assert freedoms.tolist() == pytest.approx([6, 6, 6])
    half = moderate.lent(block, 2)
    assert half[0].tolist() == pytest.approx([(2.5 + 1) / 2, 2.0, (1.5 + 3) / 2])
    assert half[1].tolist() == pytest.approx([4, 4, 4])
    assert [effect.spread**2 for effect in effects] == pytest.approx([1, 2, 3])


def test_what_a_shared_base_takes_off() -> None:
    """Nine heads with 2 each: eight others are worth 16 / 2.75, and all of them 9 * 2 / 3 at the very most."""
    _, freedoms = moderate.lent(a_block([1.0] * 9), math.inf)
    known = 16 / 2.75
    assert freedoms == pytest.approx((2 + known) ** 2 / (2 + 1.5 * known))
    assert 5.69 < freedoms[0] < 6


@pytest.mark.parametrize(("heads", "starts"), [(2, 3), (4, 3), (9, 3), (9, 6)])
def test_degrees_of_freedom_are_what_a_pooled_variance_has(heads: int, starts: int) -> None:
    """By simulation: twice its squared mean over its variance, of heads beside a base as noisy as they are."""
    rng = np.random.default_rng(heads)
    values = rng.normal(size=(40_000, heads, starts)) - rng.normal(size=(40_000, 1, starts))
    own = values.var(axis=2, ddof=1)
    known = (heads - 1) * (starts - 1) / (1 + (heads - 2) / 4)
    prior = (own.sum(axis=1) - own[:, 0]) / (heads - 1)
    pooled = ((starts - 1) * own[:, 0] + known * prior) / (starts - 1 + known)
    _, freedoms = moderate.lent(a_block([1.0] * heads, starts - 1), math.inf)
    assert 2 * pooled.mean() ** 2 / pooled.var() == pytest.approx(freedoms[0], rel=0.04)


def test_a_noisy_head_keeps_to_itself() -> None:
    variances, freedoms = moderate.lent(a_block([1.0, 1.0, 1.0, 100.0]), math.inf)
    assert (variances[3], freedoms[3]) == (100, 2)
    assert variances[:3] == pytest.approx(1)  # nor do the others borrow from it
    alone, _ = moderate.lent(a_block([1.0, 100.0]), math.inf)
    assert alone[0] > 1  # there is no other


def test_beside_a_noisy_base_there_is_nothing_to_borrow() -> None:
    """All heads show its noise alone: their variances are one and the same."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.02, (40, 4))
    effects = [
        an_effect(*(of_base + rng.normal(0, 1e-4, 4))) for of_base in noise.tolist() for _ in range(6)
    ]
    found = moderate.over_blocks(effects, [number // 6 for number in range(240)], SURE)
    assert max(effect.freedom for effect in found) < 3.1


# --- properties -------------------------------------------------------------------------------------

spreads = st.floats(1e-4, 0.3)
runs = st.lists(st.lists(spreads, min_size=1, max_size=5), min_size=1, max_size=5)


def a_run(of_blocks: Sequence[Sequence[float]], starts: int, seed: int) -> tuple[list[Effect], list[int]]:
    rng = np.random.default_rng(seed)
    effects = [
        an_effect(*rng.normal(0.01, spread, starts)) for of_block in of_blocks for spread in of_block
    ]
    return effects, [number for number, of_block in enumerate(of_blocks) for _ in of_block]


@settings(deadline=None)
@given(runs, st.integers(2, 6), st.integers(0, 99))
def test_more_is_known_than_before_and_never_more_than_there_is(
    of_blocks: list[list[float]], starts: int, seed: int
) -> None:
    effects, blocks = a_run(of_blocks, starts, seed)
    for effect, found, block in zip(
        effects, moderate.over_blocks(effects, blocks, SURE), blocks, strict=True
    ):
        heads = len(of_blocks[block])
        if heads == 1:
            assert found == effect
        most = (starts - 1) * (1 + (heads - 1) / (1 + (heads - 2) / 4)) if heads > 1 else starts - 1
        assert starts - 1 <= found.freedom <= most
        assert (found.estimate, found.per_start, found.spread) == (
            effect.estimate,
            effect.per_start,
            effect.spread,
        )
        assert found.high - found.estimate == pytest.approx(found.estimate - found.low)


@settings(deadline=None)
@given(runs, st.integers(0, 99), st.floats(0.01, 100), st.randoms(use_true_random=False))
def test_neither_scale_nor_order_matters(
    of_blocks: list[list[float]], seed: int, scale: float, dice: st.DataObject
) -> None:
    effects, blocks = a_run(of_blocks, 3, seed)
    found = moderate.over_blocks(effects, blocks, SURE)
    scaled = [an_effect(*(scale * each for each in effect.per_start)) for effect in effects]
    for effect, other in zip(found, moderate.over_blocks(scaled, blocks, SURE), strict=True):
        assert other.error == pytest.approx(scale * effect.error)
        assert other.p_value == pytest.approx(effect.p_value)
    order = list(range(len(effects)))
    dice.shuffle(order)  # type: ignore[attr-defined]
    mixed = moderate.over_blocks([effects[i] for i in order], [blocks[i] for i in order], SURE)
    for number, other in zip(order, mixed, strict=True):
        assert other.error == pytest.approx(found[number].error)


def test_what_has_no_spread_neither_lends_nor_borrows() -> None:
    effects = [an_effect(0.1, 0.1, 0.1), spread_by(0.02), spread_by(0.03), an_effect(0.1, 0.1, 0.1 + 1e-15)]
    found = moderate.over_blocks(effects, "bbbb", SURE)
    assert (found[0], found[3]) == (effects[0], effects[3])
    assert found[1:3] == moderate.over_blocks(effects[1:3], "bb", SURE)
    assert found[1].freedom > 2
    one_start = stats.ratio_of_starts([[0.1, 0.2, 0.3]], 0.2, SURE)
    assert moderate.over_blocks([one_start, one_start], "bb", SURE) == [one_start, one_start]


# --- in a run ---------------------------------------------------------------------------------------


def a_compared(heads: int, *, twin: bool = False, base: str | None = None) -> tuple[Comparison, RunDocument]:
    servers = tuple("abcdefgh"[: heads + 1])
    blocks = [Block(workload="reads", dataset="d", threads=n, servers=servers) for n in (1, 2, 4, 8, 16)]
    rng = np.random.default_rng(4)
    records: list[StartRecord] = []
    for start in (1, 2, 3):
        for block in blocks:
            samples = [a_sample(s, (1000 * math.exp(rng.normal(0, 0.02)),) * 10) for s in (*servers, "a")]
            record = a_start(start, *samples[:-1], block=block)
            records.append(record if not twin else _with_twin(record, samples[-1]))
    document = a_document(records, blocks=blocks)
    return compare.compare(document, base=base), document


def _with_twin(record: StartRecord, twin: object) -> StartRecord:
    import msgspec

    return msgspec.structs.replace(record, twin=twin)


def test_a_gates_only_head_and_its_a_a_cell_stay_as_they_are() -> None:
    found, _ = a_compared(1, twin=True)
    for cell in (*(cell for cell in found.cells if cell.cell != cell.base), *found.twins):
        own = stats.over_starts([math.log(each) for each in cell.per_start], SURE)
        assert cell.ratio is not None
        assert math.log(cell.ratio.high) == pytest.approx(own.high)
        assert math.log(cell.ratio.low) == pytest.approx(own.low)


@pytest.mark.parametrize("base", [None, "c"])
def test_heads_and_a_a_cells_have_intervals_by_more_than_their_own_starts(base: str | None) -> None:
    found, document = a_compared(5, twin=True, base=base)
    cells = [cell for cell in found.cells if cell.cell != cell.base]
    assert len(cells) == 25
    for cell in cells:
        own = stats.over_starts([math.log(each) for each in cell.per_start], SURE)
        (judged,) = cell.judged
        assert cell.ratio == judged.ratio
        assert math.log(cell.ratio.estimate) == pytest.approx(own.estimate)
        assert judged.spread == pytest.approx(own.spread)  # what a ledger keeps is the cell's own
    widths = [math.log(cell.ratio.high / cell.ratio.low) / 2 for cell in cells if cell.ratio]
    owns = [pair.throughput for block in document.header.blocks for pair in pairs.of_block(document, block, found.policy, base)]
    of_own = [(each.high - each.low) / 2 for each in owns if each is not None]
    assert np.median(widths) < 0.9 * np.median(of_own)
    widest = max(of_own)
    assert max(widths) <= widest
    # Beside another base than theirs, A/A cells are no heads of the block.
    alike = [math.log(t.ratio.high / t.ratio.low) / 2 / _own_half_width(t.per_start) for t in found.twins if t.ratio]
    assert (np.ptp(alike) < 1e-9) == (base is not None)


def _own_half_width(ratios: Sequence[float]) -> float:
    own = stats.over_starts([math.log(each) for each in ratios], SURE)
    return (own.high - own.low) / 2


def test_confirming_is_by_the_same_rule() -> None:
    ...
