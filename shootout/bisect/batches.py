"""What a bisection measures next: the revisions and the starts that tell most for what they cost.

Gain is the mutual information between the place of the step and what the starts would give, estimated by
simulation. Costs are seconds. Candidates divide the posterior into equal parts, so that they lie where the
step may be; revisions that are built already, and those measured already, are as good as others, and cheaper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from shootout.bisect.posterior import SIGNED, Evidence, Posterior, Values

SIMULATIONS = 100
SIZES = 8  # of the step, of equal probability
STARTS = (4, 8, 16, 32)
FIRST = 6
COUNTS = (1, 2, 3, 5)  # of revisions beside the base; and as many as possible
ENOUGH = 0.95  # of the probability, for an answer


class Costs(NamedTuple):
    """Seconds."""

    build_s: float  # one revision
    start_s: float  # one server in one start
    batch_s: float  # a batch of no starts


class Batch(NamedTuple):
    """Revisions to measure together, the base among them, in so many starts."""

    revisions: tuple[int, ...]
    starts: int


def answered(evidence: Evidence, posterior: Posterior) -> bool:
    """Whether one history is likely enough: no step, several, or one step in one run of revisions.

    Never after fewer starts than the smallest batch has, unless no place is left for a step.
    """
    if len(evidence.starts) < STARTS[0] and posterior.none < 1:
        return False
    step = max((posterior.within(run) for run in evidence.runs), default=0.0)
    return max(posterior.none, posterior.several, step) >= ENOUGH


def next_batch(
    evidence: Evidence, posterior: Posterior, costs: Costs, built: Collection[int], servers_max: int
) -> Batch:
    """The batch with the largest gain for its cost; at most `servers_max` servers run at a time.

    The first one has both ends only: many a history has no step to look for.
    """
    generator = np.random.default_rng(len(evidence.starts))
    last = evidence.usable[-1]
    measured = Counter(number for start in evidence.starts for number in start)
    best, best_value = Batch((0, last), FIRST), 0.0
    for revisions in _candidates(evidence, posterior, servers_max - 1) if evidence.starts else ():
        builds = len({0, *revisions} - {*built})
        for starts in STARTS:
            starts_s = starts * costs.start_s * (len(revisions) + 1)
            cost = costs.batch_s + builds * costs.build_s + starts_s
            variances = np.array([_variance(posterior, measured[number], starts) for number in revisions])
            value = _gain(posterior, revisions, variances, generator) / cost
            if value > best_value:
                best, best_value = Batch((0, *revisions), starts), value
    return best


def _candidates(evidence: Evidence, posterior: Posterior, count_max: int) -> list[tuple[int, ...]]:
    """Sets of revisions whose places divide the probability of one step evenly, with and without the last."""
    usable = np.array(evidence.usable[1:])
    last = int(usable[-1])
    before = np.cumsum(posterior.at)[usable]  # that the step is there or earlier
    whole = float(posterior.at.sum())
    sets: dict[tuple[int, ...], None] = {}
    for count in sorted({min(count, count_max) for count in (*COUNTS, count_max)}):
        shares = whole * (np.arange(count) + 1) / (count + 1)
        nearest = usable[np.abs(before[:, None] - shares).argmin(axis=0)]
        chosen = set(map(int, nearest))
        sets[tuple(sorted(chosen))] = None
        if len(chosen) < count_max or last in chosen:
            sets[tuple(sorted(chosen | {last}))] = None
    sets[last,] = None
    return [*sets]


def _variance(posterior: Posterior, measured: int, starts: int) -> float:
    """Variance of the new evidence on one revision; no number of starts averages out its own difference."""
    own, noise = posterior.own**2, posterior.noise**2
    before = 1 / (own + noise / measured) if measured else 0.0
    return 1 / (1 / (own + noise / (measured + starts)) - before)


def _gain(
    posterior: Posterior, revisions: tuple[int, ...], variances: Values, generator: np.random.Generator
) -> float:
    """Mutual information, in nats, between what is seen of `revisions` and which of them the step moves."""
    total = np.cumsum(posterior.at)[list(revisions)]
    places = np.clip(np.diff(total, prepend=0.0), 0, None)
    places = np.append(places, max(float(posterior.at.sum()) - total[-1], 0.0) + posterior.none)  # moves none
    if places.sum() <= 0:
        return 0.0
    places /= places.sum()
    count = len(revisions)
    moved = (np.arange(count) >= np.arange(count + 1)[:, None]).astype(float)
    sizes = np.interp((np.arange(SIZES) + 0.5) / SIZES, np.cumsum(posterior.sizes), SIGNED)
    means: Values = moved[:, None, :] * sizes[:, None]  # place, size, revision
    noise = np.sqrt(variances * (1 + 1 / count))  # the base has its own
    place = generator.choice(count + 1, SIMULATIONS, p=places)
    truth = means[place, generator.integers(SIZES, size=SIMULATIONS)]
    means, seen = means / noise, truth / noise + generator.standard_normal(truth.shape)
    # Squared distances of what is seen from each mean, without what all have in common.
    logs = np.einsum("sr,pzr->spz", seen, means) - (means**2).sum(axis=2) / 2
    likelihood = np.exp(logs - logs.max(axis=(1, 2), keepdims=True)).mean(axis=2) * places
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    return _entropy(places[None, :]) - _entropy(likelihood)


def _entropy(rows: Values) -> float:
    """The mean entropy of rows of probabilities, in nats."""
    logs = np.log(np.where(rows > 0, rows, 1.0))
    return -float((rows * logs).sum(axis=1).mean())
