"""Variance shrinkage across the heads of a block: by numbers worked out by hand, and by simulation."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import polygamma

from shootout.analysis import compare, pairs, shrinkage, stats
from shootout.analysis.stats import Effect
from shootout.model.plan import Block
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison
from tests.analysis.builders import a_document, a_sample, a_start

Values = NDArray[np.float64]
SURE = 0.95


def a_block(variances: Sequence[float], df: float = 2, shared: float = 0.25) -> shrinkage.Block:
    return shrinkage.Block(np.array(variances), np.full(len(variances), float(df)), shared)


def an_effect(*starts: float) -> Effect:
    return stats.over_starts(starts, SURE)


def spread_by(spread: float) -> Effect:
    """An effect whose starts have this standard deviation."""
    return an_effect(0.1 - spread, 0.1, 0.1 + spread)


# --- by hand ----------------------------------------------------------------------------------------


def test_the_inverse_of_trigamma() -> None:
    """Abramowitz and Stegun, 6.4.2 to 6.4.5."""
    assert shrinkage.inverse_trigamma(math.pi**2 / 6) == pytest.approx(1)
    assert shrinkage.inverse_trigamma(math.pi**2 / 6 - 1) == pytest.approx(2)
    assert shrinkage.inverse_trigamma(math.pi**2 / 2) == pytest.approx(0.5)
    for tiny in (1e-8, 1e-4, 1e4, 1e8):
        assert polygamma(1, shrinkage.inverse_trigamma(tiny)) == pytest.approx(tiny)


def test_how_alike_heads_are_by_moments_of_log_variances() -> None:
    """Two heads with 2 degrees of freedom in each of 44 blocks, whose log-variances differ as by chance.

    Half the square of their difference is trigamma(1) = pi**2 / 6, of which the shared base takes a quarter.
    A logarithm of chi-squared with 2 degrees of freedom has an excess kurtosis of 2.4: the error of that mean
    is sqrt(4.4 / 44) of it, and the bound lies 1.2816 errors above.
    """
    differing = math.exp(math.sqrt(2 * math.pi**2 / 6))
    blocks = [a_block([scale, differing * scale]) for scale in np.geomspace(1e-6, 1e-2, 44)]
    beyond = math.pi**2 / 6 * (1 + 1.28155 * math.sqrt(0.1) - 0.75)
    assert polygamma(1, shrinkage.prior_df(blocks) / 2) == pytest.approx(beyond, rel=1e-5)


def test_heads_that_differ_by_less_than_chance_could_all_be_one() -> None:
    assert shrinkage.prior_df([a_block([1.0, 1.01]) for _ in range(100)]) == math.inf


def test_a_variance_and_its_df_by_smyths_formula() -> None:
    """With infinite df and nothing shared the others count in full: 4 of 3 heads with 2 each."""
    block = a_block([1.0, 2.0, 3.0], shared=0.0)
    variances, dfs = shrinkage.posterior(block, math.inf)
    assert variances.tolist() == pytest.approx([(4 * 2.5 + 2 * 1) / 6, 2.0, (4 * 1.5 + 2 * 3) / 6])
    assert dfs.tolist() == pytest.approx([6, 6, 6])
    half = shrinkage.posterior(block, 2)
    assert half[0].tolist() == pytest.approx([(2.5 + 1) / 2, 2.0, (1.5 + 3) / 2])
    assert half[1].tolist() == pytest.approx([4, 4, 4])


def test_what_a_shared_base_takes_off() -> None:
    """Nine heads with 2 each: eight others are worth 16 / 2.75; with its own a head has less than 6."""
    _, dfs = shrinkage.posterior(a_block([1.0] * 9), math.inf)
    known = 16 / 2.75
    assert dfs == pytest.approx((2 + known) ** 2 / (2 + 1.5 * known))
    assert 5.69 < dfs[0] < 6


@pytest.mark.parametrize(("heads", "starts"), [(2, 3), (4, 3), (9, 3), (9, 6)])
def test_df_are_what_a_pooled_variance_has(heads: int, starts: int) -> None:
    """By simulation: twice its squared mean over its variance, beside a base as noisy as the heads."""
    rng = np.random.default_rng(heads)
    values = rng.normal(size=(40_000, heads, starts)) - rng.normal(size=(40_000, 1, starts))
    own = values.var(axis=2, ddof=1)
    known = (heads - 1) * (starts - 1) / (1 + (heads - 2) / 4)
    prior = (own.sum(axis=1) - own[:, 0]) / (heads - 1)
    pooled = ((starts - 1) * own[:, 0] + known * prior) / (starts - 1 + known)
    _, dfs = shrinkage.posterior(a_block([1.0] * heads, starts - 1), math.inf)
    assert 2 * pooled.mean() ** 2 / pooled.var() == pytest.approx(dfs[0], rel=0.04)


def test_a_noisy_head_keeps_to_itself() -> None:
    variances, dfs = shrinkage.posterior(a_block([1.0, 1.0, 1.0, 100.0]), math.inf)
    assert (variances[3], dfs[3]) == (100, 2)
    assert variances[:3] == pytest.approx(1)  # nor do the others borrow from it
    alone, _ = shrinkage.posterior(a_block([1.0, 100.0]), math.inf)
    assert alone[0] > 1  # there is no other


def test_beside_a_noisy_base_there_is_nothing_to_borrow() -> None:
    """All heads show its noise alone: their variances are one and the same."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.02, (40, 4))
    effects = [an_effect(*(of_base + rng.normal(0, 1e-4, 4))) for of_base in noise.tolist() for _ in range(6)]
    found = shrinkage.over_blocks(effects, [number // 6 for number in range(240)], SURE)
    assert max(effect.df for effect in found) < 3.1


# --- properties -------------------------------------------------------------------------------------

spreads = st.floats(1e-4, 0.3)
runs = st.lists(st.lists(spreads, min_size=1, max_size=5), min_size=1, max_size=5)


def a_run(of_blocks: Sequence[Sequence[float]], starts: int, seed: int) -> tuple[list[Effect], list[int]]:
    rng = np.random.default_rng(seed)
    effects = [an_effect(*rng.normal(0.01, spread, starts)) for of_block in of_blocks for spread in of_block]
    return effects, [number for number, of_block in enumerate(of_blocks) for _ in of_block]


@settings(deadline=None)
@given(runs, st.integers(2, 6), st.integers(0, 99))
def test_more_is_known_than_before_and_never_more_than_there_is(
    of_blocks: list[list[float]], starts: int, seed: int
) -> None:
    effects, blocks = a_run(of_blocks, starts, seed)
    for effect, found, block in zip(
        effects, shrinkage.over_blocks(effects, blocks, SURE), blocks, strict=True
    ):
        heads = len(of_blocks[block])
        if heads == 1:
            assert found == effect
        most = (starts - 1) * (1 + (heads - 1) / (1 + (heads - 2) / 4)) if heads > 1 else starts - 1
        assert starts - 1 <= found.df <= most
        assert (found.estimate, found.per_start, found.spread) == (
            effect.estimate,
            effect.per_start,
            effect.spread,
        )
        assert found.high - found.estimate == pytest.approx(found.estimate - found.low)


@settings(deadline=None, max_examples=40)
@given(runs, st.integers(0, 99), st.floats(0.01, 100), st.randoms(use_true_random=False))
def test_neither_scale_nor_order_matters(
    of_blocks: list[list[float]], seed: int, scale: float, dice: random.Random
) -> None:
    effects, blocks = a_run(of_blocks, 3, seed)
    found = shrinkage.over_blocks(effects, blocks, SURE)
    scaled = [an_effect(*(scale * each for each in effect.per_start)) for effect in effects]
    for effect, other in zip(found, shrinkage.over_blocks(scaled, blocks, SURE), strict=True):
        assert other.error == pytest.approx(scale * effect.error)
        assert other.p_value == pytest.approx(effect.p_value)
    order = list(range(len(effects)))
    dice.shuffle(order)
    mixed = shrinkage.over_blocks([effects[i] for i in order], [blocks[i] for i in order], SURE)
    for number, other in zip(order, mixed, strict=True):
        assert other.error == pytest.approx(found[number].error)


def test_what_has_no_spread_is_not_pooled() -> None:
    effects = [an_effect(0.1, 0.1, 0.1), spread_by(0.02), spread_by(0.03), an_effect(0.1, 0.1, 0.1 + 1e-15)]
    found = shrinkage.over_blocks(effects, "bbbb", SURE)
    assert (found[0], found[3]) == (effects[0], effects[3])
    assert found[1:3] == shrinkage.over_blocks(effects[1:3], "bb", SURE)
    assert found[1].df > 2
    one_start = stats.ratio_of_starts([[0.1, 0.2, 0.3]], 0.2, SURE)
    assert shrinkage.over_blocks([one_start, one_start], "bb", SURE) == [one_start, one_start]


# --- in a run ---------------------------------------------------------------------------------------


def a_run_of(heads: int, starts: int = 3, confirming: int = 0) -> RunDocument:
    """So many starts, and those that confirm; each block has an A/A cell."""
    servers = tuple("abcdefgh"[: heads + 1])
    blocks = [Block(workload="reads", dataset="d", threads=n, servers=servers) for n in (1, 2, 4, 8, 16)]
    rng = np.random.default_rng(4)
    records = []
    for start in range(1, 1 + starts + confirming):
        for block in blocks:
            *samples, aa_control = (
                a_sample(server, [1000 * math.exp(rng.normal(0, 0.02))] * 10) for server in (*servers, "a")
            )
            record = a_start(start, *samples, block=block)
            records.append(msgspec.structs.replace(record, aa_control=aa_control, confirming=start > starts))
    return a_document(records, blocks=blocks)


def half_width(cell: CellComparison) -> float:
    """Beside that of Student's interval over the cell's own starts."""
    assert cell.ratio is not None
    own = stats.over_starts([math.log(each) for each in cell.per_start], SURE)
    return math.log(cell.ratio.high / cell.ratio.low) / (own.high - own.low)


def test_a_gates_only_head_and_its_a_a_cell_stay_as_they_are() -> None:
    found = compare.compare(a_run_of(1))
    cells = [cell for cell in found.cells if cell.cell != cell.base]
    assert [half_width(cell) for cell in (*cells, *found.aa_controls)] == pytest.approx([1.0] * 10)


@pytest.mark.parametrize("base", [None, "c"])
def test_intervals_of_heads_rest_on_more_than_their_own_starts(base: str | None) -> None:
    found = compare.compare(a_run_of(5), base=base)
    cells = [cell for cell in found.cells if cell.cell != cell.base]
    assert len(cells) == 25
    assert np.median([half_width(cell) for cell in cells]) < 0.9
    for cell in cells:
        logs = np.log(cell.per_start)
        assert cell.ratio == cell.judged[0].ratio
        assert math.log(cell.ratio.estimate) == pytest.approx(logs.mean())
        assert cell.judged[0].spread == pytest.approx(logs.std(ddof=1))  # a ledger keeps the cell's own
    # An A/A cell is a head like the others, unless these are compared with another base than its own.
    of_aa_controls = [half_width(aa_control) for aa_control in found.aa_controls]
    assert (np.ptp(of_aa_controls) < 1e-9) == (base is not None)


def test_two_starts_rest_on_one_difference_only_where_nothing_is_pooled() -> None:
    warned = {}
    for heads in (1, 5):
        cells = [cell for cell in compare.compare(a_run_of(heads, starts=2)).cells if cell.cell != cell.base]
        few = [any(warning.code == "few-starts" for warning in cell.warnings) for cell in cells]
        own = [half_width(cell) == pytest.approx(1.0) for cell in cells]
        assert few == own
        warned[heads] = np.mean(few)
    assert warned[1] == 1
    assert warned[5] < 0.5


def test_whole_and_confirming_starts_are_shrunk_each_by_themselves() -> None:
    document = a_run_of(5, confirming=2)
    policy = document.header.profile.policy
    cells = [
        pair for block in document.header.blocks for pair in pairs.of_block(document, block, policy, None)
    ]
    heads, aa_controls = shrinkage.shrunk(cells, [], SURE)
    assert aa_controls == ()
    for before, after in zip(cells, heads, strict=True):
        for own, change in zip(before.changes, after.changes, strict=True):
            assert own.confirmation is not None
            assert change.confirmation is not None
            assert [each.df for each in (own.initial, own.confirmation, own.overall)] == [2, 1, 4]
            assert change.confirmation.estimate == own.confirmation.estimate
            assert after.throughput == change.overall
    gained = [change for pair in heads for change in pair.changes if change.initial.df > 2]
    assert len(gained) > 12


# --- simulation -------------------------------------------------------------------------------------

Noise = Callable[[np.random.Generator, int, int, int], Values]


def equal(rng: np.random.Generator, blocks: int, heads: int, starts: int) -> Values:
    """Log-ratios by block, head and start."""
    return _made(rng.standard_normal, blocks, np.ones((heads, 1)), starts, 1.0)


def base_noisy(rng: np.random.Generator, blocks: int, heads: int, starts: int) -> Values:
    """The base's variance is 25 times the heads'."""
    return _made(rng.standard_normal, blocks, np.ones((heads, 1)), starts, 5.0)


def _made(
    draw: Callable[[tuple[int, ...]], Values], blocks: int, spreads: Values, starts: int, of_base: float
) -> Values:
    heads = spreads.shape[-2]
    return spreads * draw((blocks, heads, starts)) - of_base * draw((blocks, 1, starts))


def different(rng: np.random.Generator, blocks: int, heads: int, starts: int) -> Values:
    """Variances of heads differ by a factor of 4: as the standard deviation of their logarithm."""
    spreads = np.exp(rng.normal(0, math.log(4) / 2, (blocks, heads, 1)))
    return _made(rng.standard_normal, blocks, spreads, starts, 1.0)


def one_noisy(rng: np.random.Generator, blocks: int, heads: int, starts: int) -> Values:
    """The last head's variance is 25 times the others'."""
    spreads = np.ones((heads, 1))
    spreads[-1] = 5
    return _made(rng.standard_normal, blocks, spreads, starts, 1.0)


def wild(rng: np.random.Generator, blocks: int, heads: int, starts: int) -> Values:
    return _made(lambda shape: rng.standard_t(4, shape), blocks, np.ones((heads, 1)), starts, 1.0)


def shocks(rng: np.random.Generator, blocks: int, heads: int, starts: int) -> Values:
    """In one start of five everything is four times as noisy."""
    noise = equal(rng, blocks, heads, starts)
    return noise * np.where(rng.random((blocks, 1, starts)) < 0.2, 4, 1)


class Seen(NamedTuple):
    covered: list[float]  # of each kind of run: share of cells
    of_last: list[float]  # of each block's last head alone
    alarms: int
    runs: int


KINDS = ((400, 1, 2), (40, 6, 4), (20, 14, 8))  # runs, with so many blocks of so many heads


def simulated(noise: Noise, starts: int) -> Seen:
    """Runs without a change, judged by the code that judges real ones."""
    rng = np.random.default_rng(starts)
    covered, of_last, alarms = [], [], 0
    for runs_, blocks, heads in KINDS:
        hits = np.empty((runs_, blocks, heads), dtype=bool)
        names = [block for block in range(blocks) for _ in range(heads)]
        for run in range(runs_):
            scales = 0.02 * np.exp(rng.normal(0, 0.5, (blocks, 1, 1)))
            values = scales * noise(rng, blocks, heads, starts)
            effects = [stats.over_starts(each, SURE) for block in values.tolist() for each in block]
            found = shrinkage.over_blocks(effects, names, SURE)
            hits[run] = np.reshape([each.low <= 0 <= each.high for each in found], (blocks, heads))
            alarms += min(stats.holm([each.p_value for each in found])) < 0.05
        covered.append(float(hits.mean()))
        of_last.append(float(hits[..., -1].mean()))
    return Seen(covered, of_last, alarms, sum(runs_ for runs_, *_ in KINDS))


@pytest.mark.slow
@pytest.mark.parametrize("starts", [3, 6])
@pytest.mark.parametrize("noise", [equal, base_noisy, different, one_noisy, wild, shocks])
def test_intervals_cover_and_runs_without_a_change_rarely_alarm(noise: Noise, starts: int) -> None:
    """Wild starts and shocks make Student's own intervals too wide (96 to 97 %), and so these."""
    found = simulated(noise, starts)
    most = 0.98 if noise in (wild, shocks) else 0.97
    error = 0.01  # standard error of the least certain of these shares
    assert all(0.93 - error <= share <= most + error for share in found.covered)
    assert min(found.of_last) >= 0.9 - 2 * error
    assert found.alarms / found.runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / found.runs)


def test_many_heads_of_few_starts_tell_more_together() -> None:
    """What Holm asks of the first of 112 cells, in standard deviations of a start: a third."""
    rng = np.random.default_rng(6)
    effects = [stats.over_starts(each, SURE) for block in equal(rng, 14, 8, 3).tolist() for each in block]
    found = shrinkage.over_blocks(effects, [number // 8 for number in range(112)], SURE)
    adjusted = 1 - 0.05 / 112
    before, after = (
        float(np.median([stats.quantile(adjusted, each.df) * each.error for each in of]))
        for of in (effects, found)
    )
    assert after < before / 2.5
