"""Variance shrinkage over the blocks of a run: by hand, by properties, and by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from shootout.analysis import shrinkage, stats
from tests.unit.analysis.test_shrinkage import ROUNDS, SURE, an_effect

Values = NDArray[np.float64]


@pytest.mark.parametrize("ratio", [1, 2, 10])
@pytest.mark.parametrize("starts", [3, 6, 12])
def test_starts_that_are_alike_are_rarely_told_apart(ratio: float, starts: int) -> None:
    """In about 1 % of cells; up to 3 where restarts add to what rounds explain."""
    rng, df = np.random.default_rng(starts), ROUNDS * starts
    values = rng.normal(0, 0.02 * math.sqrt(ratio), (1000, starts)).tolist()
    rounds = (0.02 * np.sqrt(rng.chisquare(df, 1000) / df)).tolist()
    hits = [bool(shrinkage.unlike(an_effect(*both))) for both in zip(values, rounds, strict=True)]
    assert np.mean(hits) <= 0.03


Truth = Callable[[np.random.Generator, int], Values]  # the ratio of each block


def nothing(_rng: np.random.Generator, blocks: int) -> Values:
    return np.ones(blocks)


def as_much(_rng: np.random.Generator, blocks: int) -> Values:
    """Restarts add as much as the rounds."""
    return np.full(blocks, 2.0)


def ten_times(_rng: np.random.Generator, blocks: int) -> Values:
    return np.full(blocks, 10.0)


def different(rng: np.random.Generator, blocks: int) -> Values:
    found: Values = np.exp(np.abs(rng.normal(0, 1, blocks)))
    return found


def one_of_four(_rng: np.random.Generator, blocks: int) -> Values:
    """In the first block alone."""
    return np.where(np.arange(blocks) == 0, 4.0, 1.0)


def one_of_25(_rng: np.random.Generator, blocks: int) -> Values:
    return np.where(np.arange(blocks) == 0, 25.0, 1.0)


TRUTHS = (nothing, as_much, ten_times, different, one_of_four, one_of_25)


class Seen(NamedTuple):
    covered: float  # share of cells
    of_first: float  # of the first block's alone
    alarms: float  # share of runs with a p-value below 5 % after Hommel
    strict: float  # below 1 %


def simulated(
    truth: Truth, starts: int, blocks: int, *, heads: int = 1, runs: int = 300, of_base: float = 0.5
) -> Seen:
    """Runs without a change. `of_base`: share of the variance that heads of one block have in common."""
    rng = np.random.default_rng(starts)
    names = [block for block in range(blocks) for _ in range(heads)]
    covered, alarms, strict = [], 0, 0
    for _ in range(runs):
        spreads = np.sqrt(truth(rng, blocks))[:, None, None]
        base, own = rng.normal(size=(blocks, 1, starts)), rng.normal(size=(blocks, heads, starts))
        values = 0.02 * spreads * (math.sqrt(of_base) * base + math.sqrt(1 - of_base) * own)
        df = ROUNDS * starts
        of_rounds = 0.02 * np.sqrt(rng.chisquare(df, len(names)) / df)
        made = values.reshape(-1, starts).tolist()
        effects = [an_effect(*both) for both in zip(made, of_rounds.tolist(), strict=True)]
        found = shrinkage.over_blocks(effects, names, SURE)
        covered.append([each.low <= 0 <= each.high for each in found])
        least = min(stats.hommel([each.p_value for each in found]))
        alarms, strict = alarms + (least < 0.05), strict + (least < 0.01)
    of_blocks = np.array(covered).reshape(runs, blocks, heads)
    return Seen(float(of_blocks.mean()), float(of_blocks[:, 0].mean()), alarms / runs, strict / runs)


@pytest.mark.parametrize("blocks", [2, 7, 13])
@pytest.mark.parametrize("starts", [3, 6, 12])
@pytest.mark.parametrize("truth", TRUTHS)
def test_intervals_cover_and_runs_without_a_change_rarely_alarm(
    truth: Truth, starts: int, blocks: int
) -> None:
    """Few starts and few blocks leave the interval too wide rather than too narrow."""
    runs = 900 if blocks == 2 else 300
    found = simulated(truth, starts, blocks, runs=runs)
    error = math.sqrt(0.05 * 0.95 / runs / blocks)
    assert 0.94 - 2 * error <= found.covered <= (0.985 if starts * blocks > 20 else 1), found
    assert found.of_first >= (0.8 if truth is one_of_25 and starts < 6 else 0.82), found
    assert found.alarms <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300), found
    most = 0.02 if truth is one_of_25 and starts < 6 else 0.01
    assert found.strict <= most + 3 * math.sqrt(most * (1 - most) / 300), found


@pytest.mark.parametrize("of_base", [0.5, 0.95])
@pytest.mark.parametrize("blocks", [1, 6])
def test_heads_that_share_a_noisy_base_do_not_mislead_each_other(blocks: int, of_base: float) -> None:
    for truth in (as_much, ten_times):
        found = simulated(truth, 3, blocks, heads=8, runs=150, of_base=of_base)
        assert found.covered >= 0.93, found
        assert found.alarms <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150), found


@pytest.mark.parametrize("starts", [2, 3, 6, 12])
@pytest.mark.parametrize("truth", [nothing, as_much, ten_times])
def test_a_block_alone_is_covered_at_least_as_often_as_it_says(truth: Truth, starts: int) -> None:
    assert simulated(truth, starts, 1, runs=600).covered >= 0.93
