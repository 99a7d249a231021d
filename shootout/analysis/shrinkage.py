"""Variance shrinkage: the heads of one block share what they know of the spread between starts.

Two or three starts say little about a head's own variance. The heads of a block are measured in the same
rounds of the same starts, beside the same base, so their variances are similar; how similar is estimated over
all blocks of the run, and weighs the others' variances against a head's own (empirical Bayes: Smyth 2004,
"Linear models and empirical Bayes methods for assessing differential expression in microarray experiments",
Statistical Applications in Genetics and Molecular Biology 3(1), article 3). Estimates stay what they are;
errors, intervals and p-values change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import fdtri, polygamma, psi

from shootout.analysis import stats
from shootout.analysis.pairs import Pair
from shootout.analysis.stats import Effect
from shootout.model.plan import THROUGHPUT

HEADS_MIN = 2
SPREAD_MIN = 1e-9  # spread of log-ratios; anything smaller is rounding error
SHARED_MIN = 1 / 4  # correlation of two heads' variances where the base is as noisy as they are
BOUND = 0.8  # two-sided confidence of how much heads differ; the upper bound counts
OUTLYING = 0.9  # confidence that a head is noisier than the others; above it, it keeps its own variance

Values = NDArray[np.float64]


def shrunk(
    cells: Sequence[Pair], aa_controls: Sequence[Pair], confidence: float
) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Cells and A/A cells with shrunk variances, each metric by itself over all blocks of the run.

    An A/A cell counts as a head where there are two others, so that false alarms are counted on verdicts made
    the same way. A block's only head stays as it is, and so does the A/A cell beside it.
    """
    pairs = [*cells, *aa_controls]
    heads = Counter(pair.base for pair in cells if pair.throughput is not None)
    blocks = [pair.base if heads[pair.base] >= HEADS_MIN else pair.cell for pair in pairs]
    effects = [_effects(pair) for pair in pairs]
    for name in dict.fromkeys(chain.from_iterable(effects)):
        having = [number for number, each in enumerate(effects) if name in each]
        found = over_blocks([effects[i][name] for i in having], [blocks[i] for i in having], confidence)
        for number, effect in zip(having, found, strict=True):
            effects[number][name] = effect
    done = tuple(map(_with, pairs, effects))
    return done[: len(cells)], done[len(cells) :]


def over_blocks(effects: Sequence[Effect], blocks: Sequence[Hashable], confidence: float) -> list[Effect]:
    """One metric's effects with shrunk variances, in the order given; `blocks` names the block of each.

    Effects of one start, without spread, or alone in their block stay as they are.
    """
    numbers: dict[Hashable, list[int]] = {}
    for number, (effect, block) in enumerate(zip(effects, blocks, strict=True)):
        if len(effect.per_start) > 1 and effect.spread > SPREAD_MIN:
            numbers.setdefault(block, []).append(number)
    pooled = [each for each in numbers.values() if len(each) >= HEADS_MIN]
    shrunk_ = list(effects)
    if not pooled:
        return shrunk_
    found = [_block([effects[number] for number in each]) for each in pooled]
    # A few starts only hint at the base's noise: a block takes the run's mean where that is worse.
    shared = np.maximum([each.shared for each in found], np.mean([each.shared for each in found]))
    found = [each._replace(shared=float(of_block)) for each, of_block in zip(found, shared, strict=True)]
    df = prior_df(found)
    for each, block in zip(pooled, found, strict=True):
        variances, dfs = posterior(block, df)
        for number, variance, of_head in zip(each, variances.tolist(), dfs.tolist(), strict=True):
            effect = effects[number]
            error = effect.error * math.sqrt(variance) / effect.spread
            shrunk_[number] = stats.with_error(effect, error, of_head, confidence)
    return shrunk_


class Block(NamedTuple):
    """The variances of a block's heads."""

    variances: Values  # each head's own, of one start's log-ratio
    dfs: Values  # degrees of freedom of each
    shared: float  # correlation of two heads' variances; both hold the base's noise


def prior_df(blocks: Sequence[Block]) -> float:
    """Degrees of freedom that one head's true variance is worth as an estimate of another's; inf: any number.

    Smyth's moment equations for log-variances (section 6.2), applied inside blocks. Sample variances differ
    by trigamma(d / 2), less what all heads of a block have in common; what they differ by beyond that is
    trigamma(d0 / 2). Log-variances are less correlated than variances, so the correction is too small. An
    upper bound of the difference counts, because with few cells chance often makes it zero.
    """
    squares = within = sampling = fourth = 0.0
    for block in blocks:
        halves = block.dfs / 2
        logs = np.log(block.variances) - psi(halves) + np.log(halves)
        free = len(logs) - 1
        within += free
        squares += float(((logs - logs.mean()) ** 2).sum())
        sampling += free * (1 - block.shared) * float(polygamma(1, halves).mean())
        fourth += free * float((polygamma(3, halves) / polygamma(1, halves) ** 2).mean())
    found, sampling, excess = squares / within, sampling / within, fourth / within
    # Standard error of a sample variance from a distribution with this excess kurtosis.
    error = max(found, sampling) * math.sqrt((2 + excess) / within)
    beyond = found + stats.quantile(BOUND) * error - sampling
    return 2 * inverse_trigamma(beyond) if beyond > 0 else math.inf


def inverse_trigamma(value: float) -> float:
    """The x > 0 with trigamma(x) = value, searched within 1/x < trigamma(x) < 1/x + 1/x**2."""
    low, high = 1 / value, (1 + math.sqrt(1 + 4 * value)) / (2 * value)
    return float(brentq(lambda x: float(polygamma(1, x)) - value, low, high, rtol=1e-12))


def _block(effects: Sequence[Effect]) -> Block:
    return Block(
        variances=np.array([each.spread**2 for each in effects]),
        dfs=np.array([each.df for each in effects], dtype=float),
        shared=max(SHARED_MIN, _correlation(effects) ** 2),
    )


def _correlation(effects: Sequence[Effect]) -> float:
    """Correlation of two heads' log-ratios over their common starts; the base's noise moves both.

    It is the intraclass correlation by analysis of variance (Fisher 1925, "Statistical Methods for Research
    Workers", chapter 7), with starts as classes and without each head's mean. Variances of normal samples
    correlate by its square.
    """
    starts, heads = min(len(each.per_start) for each in effects), len(effects)
    values = np.array([each.per_start[:starts] for each in effects])
    centred = values - values.mean(axis=1, keepdims=True)
    between = heads * float((centred.mean(axis=0) ** 2).sum())
    inside = (float((centred**2).sum()) - between) / (heads - 1)
    whole = between + (heads - 1) * inside
    return min(1.0, max(0.0, (between - inside) / whole)) if whole > 0 else 1.0


def posterior(block: Block, df: float) -> tuple[Values, Values]:
    """Each head's shrunk variance and its degrees of freedom.

    The mean of m - 1 variances with d degrees of freedom each and correlation c varies as one variance with
    (m - 1) d / (1 + (m - 2) c) degrees of freedom. That number, at most `df`, is the prior's weight D beside
    the head's own d. Own and prior correlate, too, so their weighted mean varies as a variance with (d +
    D)**2 / (d + D + 2 c D). (This assumes normal starts, where a sample variance's ratio to the truth has the
    variance 2 / d.) A head that is noisier than the others beyond chance keeps its own variance and leaves
    the pool. So does a head that would gain no degrees of freedom.
    """
    own, of_own = block.variances, block.dfs
    known, prior = _others(block, np.ones(len(own), dtype=bool))
    outlying = own > fdtri(of_own, known, OUTLYING) * prior
    rest, of_rest = _others(block, ~outlying)
    known, prior = np.where(rest > 0, rest, known), np.where(rest > 0, of_rest, prior)
    weight = np.minimum(known, df)
    variances = (of_own * own + weight * prior) / (of_own + weight)
    dfs = (of_own + weight) ** 2 / (of_own + weight + 2 * block.shared * weight)
    alone = outlying | (dfs <= of_own)
    return np.where(alone, own, variances), np.where(alone, of_own, dfs)


def _others(block: Block, pooled: NDArray[np.bool_]) -> tuple[Values, Values]:
    """Degrees of freedom and mean of the other pooled heads' variances, for each head; 0 without others."""
    weights = np.where(pooled, block.dfs, 0.0)
    sums = weights * block.variances
    others = pooled.sum() - pooled  # beside each head
    dfs = (weights.sum() - weights) / (1 + np.maximum(others - 1, 0) * block.shared)
    means = (sums.sum() - sums) / np.where(others > 0, weights.sum() - weights, 1.0)
    return np.where(others > 0, dfs, 0.0), means


def _effects(pair: Pair) -> dict[tuple[str, str], Effect]:
    """A pair's effects by metric and part."""
    found = {(THROUGHPUT, ""): pair.throughput}
    for change in pair.changes:
        parts = {
            "initial": change.initial,
            "confirmation": change.confirmation,
            "overall": change.overall,
        }
        found |= {(change.metric, part): effect for part, effect in parts.items()}
    return {name: effect for name, effect in found.items() if effect is not None}


def _with(pair: Pair, effects: dict[tuple[str, str], Effect]) -> Pair:
    changes = tuple(
        change._replace(
            initial=effects[change.metric, "initial"],
            confirmation=effects.get((change.metric, "confirmation")),
            overall=effects[change.metric, "overall"],
        )
        for change in pair.changes
    )
    return pair._replace(throughput=effects.get((THROUGHPUT, "")), changes=changes)
