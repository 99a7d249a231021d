"""Variance shrinkage: what restarts add to the noise of rounds, by a cell's starts and the other blocks.

A start varies by its rounds and by the restart. The rounds themselves show the first part well. A few starts
hardly show the second, but the run's other blocks, of the same servers on the same machine, show how large it
usually is. One quantity holds both: the ratio of a start's variance to that of its rounds. It is 1 where
restarts add nothing, and never less. Its distribution over the run's blocks is estimated from all of them and
combined with the cell's own starts (empirical Bayes: Efron 2010, "Large-Scale Inference", chapter 1).
Estimates stay what they are; errors, intervals and p-values change.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from shootout.analysis import ledger, stats
from shootout.analysis.pairs import Pair
from shootout.analysis.stats import Effect, Noise
from shootout.model.plan import THROUGHPUT

Values = NDArray[np.float64]

# Variance of a start over that of its rounds. Before anything is known, all magnitudes are equally likely;
# without rounds this prior gives Student's interval over the starts.
RATIOS = np.geomspace(1, 1000, 25)
BROAD = np.full(len(RATIOS), 1 / len(RATIOS))
RATIO_MAX = 100.0  # of the estimate; above it, rounds say nothing, and Student's interval over starts holds
PASSES = 20  # over the blocks; by then the distribution hardly changes
OUTLYING = 0.1  # a cell whose starts differ by more than this share of others would keeps to itself
SURE = 0.99  # that a start differs from the others


def shrunk(
    cells: Sequence[Pair], aa_controls: Sequence[Pair], confidence: float
) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Shrink variances of throughput over all blocks of the run, of A/A cells as of cells."""
    pairs = (*cells, *aa_controls)
    effects = {pair.cell: pair.throughput for pair in pairs if pair.throughput is not None}
    over_run = over_blocks([*effects.values()], [ledger.kind(cell) for cell in effects], confidence)
    by_cell = dict(zip(effects, over_run, strict=True))
    done = tuple(_with(pair, by_cell.get(pair.cell)) for pair in pairs)
    return done[: len(cells)], done[len(cells) :]


def over_blocks(effects: Sequence[Effect], blocks: Sequence[Hashable], confidence: float) -> list[Effect]:
    """Effects with shrunk variances, in the order given; `blocks` names the block of each.

    The heads of one block share the base's noise, so only other blocks inform a cell. Effects of one start,
    without rounds, or whose starts differ by far more than their rounds stay as they are.
    """
    shrunk = list(effects)
    rows = [number for number, effect in enumerate(effects) if 0 < _ratio(effect) < RATIO_MAX]
    if not rows:
        return shrunk
    ratios = np.array([_ratio(effects[row]) for row in rows])
    dfs = np.array([len(effects[row].per_start) - 1.0 for row in rows])
    rounds = [noise for row in rows if (noise := effects[row].rounds) is not None]
    of_rounds = np.array([noise.df for noise in rounds])
    weights = posterior(ratios, dfs, of_rounds, [blocks[row] for row in rows])
    for row, noise, of_row in zip(rows, rounds, weights, strict=True):
        shrunk[row] = stats.with_noise(effects[row], _mixture(noise, of_row), confidence)
    return shrunk


def unlike(effect: Effect) -> dict[int, float]:
    """Starts that differ from the others beyond chance, by place: how far, as a logarithm.

    Up to a third of the starts, each compared with those that differ less, which show how much starts vary:
    by what their rounds explain, times a ratio with the broad prior. About 1 % of cells with like starts have
    one. Sequential, so that one does not mask the other (the generalized ESD test: Rosner 1983, "Percentage
    points for a generalized ESD many-outlier procedure").
    """
    values = np.array(effect.per_start)
    others, apart, beyond_chance = np.arange(len(values)), {}, {}
    for _ in range(len(values) // 3):
        candidates = len(others)
        position = np.abs(values[others] - values[others].mean()).argmax()
        farthest, others = int(others[position]), np.delete(others, position)
        apart[farthest] = float(values[farthest] - values[others].mean())
        if candidates * _of_one(effect, values[others]).p_value(apart[farthest]) < 1 - SURE:
            beyond_chance = {place: float(values[place] - values[others].mean()) for place in apart}
    return beyond_chance


def _of_one(effect: Effect, others: Values) -> Noise:
    """The noise of one start's distance from the mean of the `others`, as these show it."""
    own = float(others.std(ddof=1))
    widened, df = math.sqrt(1 + 1 / len(others)), len(others) - 1.0
    rounds = effect.rounds and effect.rounds.times(math.sqrt(len(effect.per_start)))
    if rounds is None or rounds.error == 0 or (ratio := max((own / rounds.error) ** 2, 1e-9)) >= RATIO_MAX:
        return Noise((own * widened,), df)
    of_ratio = posterior(np.array([ratio]), np.array([df]), np.array([rounds.df]), [""])
    return _mixture(rounds.times(widened), of_ratio[0])


def posterior(ratios: Values, dfs: Values, of_rounds: Values, blocks: Sequence[Hashable]) -> Values:
    """Probabilities of `RATIOS` (columns) for each cell (rows).

    `ratios`: estimates, with `dfs` degrees of freedom over starts and `of_rounds` over rounds; they vary as
    the truth times an F. A cell's prior is the mean of the other blocks' posteriors and of `BROAD`, which
    counts as one block: with few blocks it stays wide. Posteriors follow from priors and priors from
    posteriors, by iteration (EM: Laird 1978, "Nonparametric maximum likelihood estimation of a mixing
    distribution"). A cell with a larger estimate than its prior expects of a share `OUTLYING` of cells has
    the broad prior instead.
    """
    names = list(dict.fromkeys(blocks))
    member = np.array([[float(name == block) for block in blocks] for name in names])
    mean = member / member.sum(axis=1, keepdims=True)
    scaled = ratios[:, None] / RATIOS
    logs = _log_f(scaled, dfs[:, None], of_rounds[:, None])
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    prior = np.tile(BROAD, (len(ratios), 1))
    for _ in range(PASSES if len(names) > 1 else 0):
        of_blocks = mean @ _normalized(likelihood * prior)
        prior = member.T @ ((BROAD + of_blocks.sum(axis=0) - of_blocks) / len(names))
    beyond = (prior * fdtrc(dfs[:, None], of_rounds[:, None], scaled)).sum(axis=1)
    prior[beyond < OUTLYING] = BROAD
    return _normalized(likelihood * prior)


def _mixture(rounds: Noise, weights: Values) -> Noise:
    """Total noise: the variance of rounds times each of `RATIOS`, with these probabilities."""
    errors = tuple((rounds.error * np.sqrt(RATIOS)).tolist())
    return Noise(errors, rounds.df, tuple(weights.tolist()))


def _log_f(values: Values, dfs: Values, of_rounds: Values) -> Values:
    """Log-density of F at `values`, times `values`, without constants."""
    logs: Values = dfs / 2 * np.log(values) - (dfs + of_rounds) / 2 * np.log1p(dfs * values / of_rounds)
    return logs


def _normalized(rows: Values) -> Values:
    shares: Values = rows / rows.sum(axis=1, keepdims=True)
    return shares


def _ratio(effect: Effect) -> float:
    """Estimate of a start's variance over that of its rounds; infinite without rounds that differ."""
    if effect.rounds is None or len(effect.per_start) < 2 or effect.rounds.error == 0:
        return math.inf
    own = effect.spread / math.sqrt(len(effect.per_start)) / effect.rounds.error
    return max(own**2, 1e-9)


def _with(pair: Pair, throughput: Effect | None) -> Pair:
    if throughput is None:
        return pair
    changed = ((change, change.metric == THROUGHPUT) for change in pair.changes)
    changes = tuple(change._replace(effect=throughput) if is_it else change for change, is_it in changed)
    return pair._replace(throughput=throughput, changes=changes)
