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
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtr, stdtrit

from shootout.analysis import ledger, stats
from shootout.analysis.pairs import Change, Pair
from shootout.analysis.stats import Effect
from shootout.model.plan import THROUGHPUT

Values = NDArray[np.float64]

# Variance of a start over that of its rounds. Before anything is known, all magnitudes are equally likely;
# without rounds this prior gives Student's interval over the starts.
RATIOS = np.geomspace(1, 1000, 25)
BROAD = np.full(len(RATIOS), 1 / len(RATIOS))
RATIO_MAX = 100.0  # of the estimate; above it, rounds say nothing, and Student's interval over starts holds
PASSES = 20  # over the blocks; by then the distribution hardly changes
BISECTIONS = 20  # to a millionth
OUTLYING = 0.1  # a cell whose starts differ by more than this share of others would keeps to itself

_LEVELS = (0.05, 0.001)  # p-values at which a mixture and its Student's distribution agree
_DFS = np.geomspace(0.5, 1e6, 1000)
_REACHES = stdtrit(_DFS, 1 - _LEVELS[1] / 2) / stdtrit(_DFS, 1 - _LEVELS[0] / 2)


def shrunk(
    cells: Sequence[Pair], aa_controls: Sequence[Pair], confidence: float
) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Cells and A/A cells with shrunk variances of throughput, over all blocks of the run.

    A/A cells are treated as cells are, so that false alarms are counted on verdicts made the same way.
    """
    pairs = (*cells, *aa_controls)
    blocks = [ledger.kind(pair.cell) for pair in pairs]

    def over_pairs(effects: Iterable[Effect | None]) -> list[Effect | None]:
        present = {number: effect for number, effect in enumerate(effects) if effect is not None}
        of_present = over_blocks([*present.values()], [blocks[number] for number in present], confidence)
        by_number = dict(zip(present, of_present, strict=True))
        return [by_number.get(number) for number in range(len(pairs))]

    changes = [_of_throughput(pair) for pair in pairs]
    done = tuple(
        map(
            _with,
            pairs,
            over_pairs(pair.throughput for pair in pairs),
            over_pairs(change and change.initial for change in changes),
            over_pairs(change and change.confirmation for change in changes),
            over_pairs(change and change.overall for change in changes),
        )
    )
    return done[: len(cells)], done[len(cells) :]


def over_blocks(effects: Sequence[Effect], blocks: Sequence[Hashable], confidence: float) -> list[Effect]:
    """Effects with shrunk variances, in the order given; `blocks` names the block of each.

    The heads of one block share the base's noise, so only other blocks inform a cell. Effects of one start,
    without rounds, or whose starts differ by far more than their rounds stay as they are.
    """
    found = list(effects)
    rows = [number for number, each in enumerate(effects) if 0 < _ratio(each) < RATIO_MAX]
    if not rows:
        return found
    ratios = np.array([_ratio(effects[row]) for row in rows])
    dfs = np.array([len(effects[row].per_start) - 1.0 for row in rows])
    rounds = [noise for row in rows if (noise := effects[row].rounds) is not None]
    errors, of_rounds = np.array([each.error for each in rounds]), np.array([each.df for each in rounds])
    weights = posterior(ratios, dfs, of_rounds, [blocks[row] for row in rows])
    shrunk_errors, shrunk_dfs = student(weights, errors[:, None] * np.sqrt(RATIOS), of_rounds)
    for row, error, df in zip(rows, shrunk_errors.tolist(), shrunk_dfs.tolist(), strict=True):
        found[row] = stats.with_error(effects[row], error, df, confidence)
    return found


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


def student(weights: Values, errors: Values, dfs: Values) -> tuple[Values, Values]:
    """Error and degrees of freedom of the Student's distribution most like a mixture of them, row by row.

    Row: Student's with `dfs[row]` and the errors `errors[row]`, with probabilities `weights[row]`. Its 95 and
    99.9 % intervals are the mixture's.
    """
    near, far = (_reach(weights, errors, dfs, p_value) for p_value in _LEVELS)
    found = np.interp(-far / near, -_REACHES, _DFS)
    return near / stdtrit(found, 1 - _LEVELS[0] / 2), found


def _reach(weights: Values, errors: Values, dfs: Values, p_value: float) -> Values:
    """How far from zero each mixture puts an estimate with this two-sided p-value; by bisection."""
    most = errors[:, -1] * stdtrit(dfs, 1 - p_value / 2)
    least = np.zeros_like(most)
    for _ in range(BISECTIONS):
        middle = (least + most) / 2
        found = (weights * 2 * stdtr(dfs[:, None], -middle[:, None] / errors)).sum(axis=1)
        least, most = np.where(found > p_value, middle, least), np.where(found > p_value, most, middle)
    return most


def _log_f(values: Values, dfs: Values, of_rounds: Values) -> Values:
    """Log-density of F at `values`, times `values`, without constants."""
    found: Values = dfs / 2 * np.log(values) - (dfs + of_rounds) / 2 * np.log1p(dfs * values / of_rounds)
    return found


def _normalized(rows: Values) -> Values:
    found: Values = rows / rows.sum(axis=1, keepdims=True)
    return found


def _ratio(effect: Effect) -> float:
    """Estimate of a start's variance over that of its rounds; infinite without rounds that differ."""
    if effect.rounds is None or len(effect.per_start) < 2 or effect.rounds.error == 0:
        return math.inf
    own = effect.spread / math.sqrt(len(effect.per_start)) / effect.rounds.error
    return max(own**2, 1e-9)


def _of_throughput(pair: Pair) -> Change | None:
    return next((change for change in pair.changes if change.metric == THROUGHPUT), None)


def _with(
    pair: Pair,
    throughput: Effect | None,
    initial: Effect | None,
    confirmation: Effect | None,
    overall: Effect | None,
) -> Pair:
    """The pair with these effects on throughput."""
    pair = pair._replace(throughput=throughput)
    if initial is None or overall is None:
        return pair
    changes = (
        change._replace(initial=initial, confirmation=confirmation, overall=overall)
        if change.metric == THROUGHPUT
        else change
        for change in pair.changes
    )
    return pair._replace(changes=tuple(changes))
