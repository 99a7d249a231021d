"""Heads of one block lend each other their spreads, as two or three starts tell little of their own.

They are measured in the same rounds of the same starts, beside the same base, so their starts differ about
alike; how much alike is seen over all blocks of a run, and says how far the others' variances stand in for a
head's own: moderated variances (Smyth 2004, "Linear models and empirical Bayes methods for assessing
differential expression in microarray experiments", Statistical Applications in Genetics and Molecular
Biology 3(1), article 3). Estimates stay what they are; errors, intervals and p-values change.
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
SPREAD_MIN = 1e-9  # of log-ratios: less is only what computing adds to none
SHARED_MIN = 1 / 4  # correlation of two heads' variances beside a base as noisy as they are
BOUND = 0.8  # confidence of both bounds together of how different heads are; the upper one counts
OUTLYING = 0.9  # confidence that a head is noisier than the others, from which on it keeps to itself

Values = NDArray[np.float64]


def moderated(
    cells: Sequence[Pair], aa_controls: Sequence[Pair], confidence: float
) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Cells and A/A cells with moderated effects, each metric by itself over all blocks of the run.

    An A/A cell is one head more where there are two others: how often verdicts are wrong is to be seen from
    verdicts made alike. A block's only head stays as it is, and so does the A/A cell beside it.
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
    """One metric's effects, in the order given; `blocks` says which of them are heads of the same one.

    An effect of one start, one without spread, and one alone in its block are left as they are.
    """
    numbers: dict[Hashable, list[int]] = {}
    for number, (effect, block) in enumerate(zip(effects, blocks, strict=True)):
        if len(effect.per_start) > 1 and effect.spread > SPREAD_MIN:
            numbers.setdefault(block, []).append(number)
    lending = [each for each in numbers.values() if len(each) >= HEADS_MIN]
    moderated_ = list(effects)
    if not lending:
        return moderated_
    found = [_block([effects[number] for number in each]) for each in lending]
    # What a few starts say of the base's noise is a guess: a block takes the run's where that is worse.
    shared = np.maximum([each.shared for each in found], np.mean([each.shared for each in found]))
    found = [each._replace(shared=float(of_block)) for each, of_block in zip(found, shared, strict=True)]
    df = prior_df(found)
    for each, block in zip(lending, found, strict=True):
        variances, dfs = lent(block, df)
        for number, variance, of_head in zip(each, variances.tolist(), dfs.tolist(), strict=True):
            effect = effects[number]
            error = effect.error * math.sqrt(variance) / effect.spread
            moderated_[number] = stats.with_error(effect, error, of_head, confidence)
    return moderated_


class Block(NamedTuple):
    """What is known of its heads' spreads."""

    variances: Values  # of one start's log-ratio, each head's own
    dfs: Values  # degrees of freedom of each
    shared: float  # correlation of two heads' variances: the base's noise is in both


def prior_df(blocks: Sequence[Block]) -> float:
    """How many degrees of freedom one head's true variance is worth as a guess at another's; inf: any number.

    Smyth's equations for moments of log-variances (his section 6.2), with the variances inside blocks: those
    of a sample differ by trigamma(d / 2), less what is common to all heads of a block, and what they differ
    by beyond is trigamma(d0 / 2). Log-variances are less correlated than variances, so too little is taken
    off. Of that difference an upper bound counts: with few cells, chance often makes it nothing.
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
    # Of a sample variance from a distribution with this excess kurtosis.
    error = max(found, sampling) * math.sqrt((2 + excess) / within)
    beyond = found + stats.quantile(BOUND) * error - sampling
    return 2 * inverse_trigamma(beyond) if beyond > 0 else math.inf


def inverse_trigamma(value: float) -> float:
    """Where trigamma has this value, above 0: between the bounds 1/x < trigamma(x) < 1/x + 1/x**2."""
    low, high = 1 / value, (1 + math.sqrt(1 + 4 * value)) / (2 * value)
    return float(brentq(lambda x: float(polygamma(1, x)) - value, low, high, rtol=1e-12))


def _block(effects: Sequence[Effect]) -> Block:
    return Block(
        variances=np.array([each.spread**2 for each in effects]),
        dfs=np.array([each.df for each in effects], dtype=float),
        shared=max(SHARED_MIN, _correlation(effects) ** 2),
    )


def _correlation(effects: Sequence[Effect]) -> float:
    """Of two heads' log-ratios, over the starts that all of them have: what is the base's moves both alike.

    The intraclass correlation by analysis of variance (Fisher 1925, "Statistical Methods for Research
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


def lent(block: Block, df: float) -> tuple[Values, Values]:
    """Each head's variance and its degrees of freedom, with what the other heads lend it.

    m - 1 variances with d degrees of freedom each that correlate by c have a mean as variable as that of one
    variance with (m - 1) d / (1 + (m - 2) c). It counts by these, and by `freedom` at most: so a head's own d
    and the prior's D are its weights. As own and prior correlate, too, their weighted mean is as variable as
    a variance with (d + D)**2 / (d + D + 2 c D). (All of this is of normal starts; 2 / d is the variance of
    such a variance's ratio to the truth.) What is noisier than the others beyond chance keeps its own, and
    lends nothing as long as another does. Nor does anything borrow that gains no degrees of freedom by it.
    """
    own, of_own = block.variances, block.dfs
    known, prior = _others(block, np.ones(len(own), dtype=bool))
    outlying = own > fdtri(of_own, known, OUTLYING) * prior
    rest, of_rest = _others(block, ~outlying)
    known, prior = np.where(rest > 0, rest, known), np.where(rest > 0, of_rest, prior)
    lent = np.minimum(known, df)
    variances = (of_own * own + lent * prior) / (of_own + lent)
    dfs = (of_own + lent) ** 2 / (of_own + lent + 2 * block.shared * lent)
    alone = outlying | (dfs <= of_own)
    return np.where(alone, own, variances), np.where(alone, of_own, dfs)


def _others(block: Block, lending: NDArray[np.bool_]) -> tuple[Values, Values]:
    """Degrees of freedom and mean of what the lending ones have for each head; without any there are none."""
    weights = np.where(lending, block.dfs, 0.0)
    sums = weights * block.variances
    lenders = lending.sum() - lending  # beside each head
    dfs = (weights.sum() - weights) / (1 + np.maximum(lenders - 1, 0) * block.shared)
    means = (sums.sum() - sums) / np.where(lenders > 0, weights.sum() - weights, 1.0)
    return np.where(lenders > 0, dfs, 0.0), means


def _effects(pair: Pair) -> dict[tuple[str, str], Effect]:
    """All there are of a pair, by metric and part."""
    found = {(THROUGHPUT, ""): pair.throughput}
    for change in pair.judged:
        parts = {"first": change.first, "again": change.again, "whole": change.whole}
        found |= {(change.metric, part): effect for part, effect in parts.items()}
    return {name: effect for name, effect in found.items() if effect is not None}


def _with(pair: Pair, effects: dict[tuple[str, str], Effect]) -> Pair:
    judged = tuple(
        change._replace(
            first=effects[change.metric, "first"],
            again=effects.get((change.metric, "again")),
            whole=effects[change.metric, "whole"],
        )
        for change in pair.judged
    )
    return pair._replace(throughput=effects.get((THROUGHPUT, "")), judged=judged)
