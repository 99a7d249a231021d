"""Since when: where in a history of revisions the throughput stepped, as a posterior over all revisions.

Revision 0 is the base. A start gives logarithms of throughput for some revisions at once, each the sum of the
start's own level, the revision's level, and noise. Three kinds of history compete: all levels are equal; one
step, of unknown size, faster or slower, at one revision; or levels that wander, which stands for several
steps and for a drift. Each revision may differ by a little of its own, as a new code layout does. The noise
of starts is unknown, too: it is integrated out, which gives likelihoods Student's tails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from shootout.model.verdict import Interval

Values = NDArray[np.float64]

# Before anything is measured. A third of the histories that users doubt show nothing (Google found 40 %:
# Henderson et al. 2023, "Flake Aware Culprit Finding").
NONE, SEVERAL = 0.3, 0.05
SMALLEST, LARGEST = 0.005, 0.7  # of a step, as a logarithm; all magnitudes are equally likely
SIZES = np.geomspace(SMALLEST, LARGEST, 100)
SIGNED = np.concatenate([-SIZES[::-1], SIZES])
NOISES = np.geomspace(0.002, 0.4, 29)  # standard deviation of one server's start
OWN = ((0.0, 0.6), (0.002, 0.3), (0.005, 0.1))  # what each revision differs by itself, and how likely it is
WANDERS = (0.01, 0.03, 0.1, 0.3)  # standard deviation over a whole history that wanders


@dataclass(frozen=True)
class Evidence:
    """What is known of a history of revisions 0 (the base) to `last`."""

    last: int
    starts: Sequence[Mapping[int, float]]  # log throughput by revision, up to a constant of each start
    unusable: Collection[int] = ()  # revisions that do not build or start
    equal: Collection[tuple[int, int]] = ()  # revisions, the older first, whose servers are the same files

    @property
    def usable(self) -> tuple[int, ...]:
        """The revisions that can be measured and are no other's files, as far as is known; the base first."""
        unusable = {*self.unusable, *(newer for _, newer in self.equal)}
        return tuple(number for number in range(self.last + 1) if number not in unusable)

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """First and last revision of each place that measurements can tell from others, the oldest first."""
        usable = self.usable
        return tuple((before + 1, after) for before, after in itertools.pairwise(usable))


class Posterior(NamedTuple):
    """Probabilities of histories, and what they say of the step."""

    at: Values  # one step, at this revision; the first, at 0, is zero
    none: float
    several: float  # or a drift
    sizes: Values  # of `SIGNED`, given one step
    noise: float  # standard deviation of one server's start
    own: float  # root mean square of what revisions differ by themselves

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        """Probabilities of all histories."""
        data = _Data.of(evidence)
        count = len(data.revisions)
        steps = (np.arange(count) >= np.arange(count + 1)[:, None]).astype(float)  # by the first that moves
        place = np.searchsorted(data.revisions, np.arange(evidence.last + 1))  # of revisions among `steps`
        prior = _prior(evidence)
        possible = sum(bool(prior[first : last + 1].any()) for first, last in evidence.runs)
        one = 1 - NONE - SEVERAL if possible else 0.0
        many = SEVERAL if possible > 1 else 0.0  # several steps take several places
        flat, step, wandering = [], [], []
        for own, share in OWN:
            plain, stepping = data.steps(own, steps)
            flat.append(plain + math.log(NONE * share))
            step.append(stepping + math.log(share / len(SIGNED)))
            for wander in WANDERS:
                likelihood = data.wandering(own, wander, evidence.last)
                wandering.append(likelihood + math.log(share / len(WANDERS)))
        shares = ((flat, NONE), (step, one), (wandering, many))
        peak = max(float(np.max(logs)) for logs, share in shares if share)

        def relative(logs: Sequence[Values]) -> Values:
            return np.exp(np.minimum(np.stack(logs) - peak, 0.0))  # above: histories that cannot be

        # By own, noise, place and size.
        by_step = one * relative(step)
        placed = by_step * np.bincount(place, prior, minlength=count + 1)[:, None]
        by_flat = relative(flat)
        by_wandering = many * relative(wandering).reshape(len(OWN), len(WANDERS), -1).sum(axis=1)
        by_own_and_noise = placed.sum(axis=(2, 3)) + by_flat + by_wandering
        total = float(by_own_and_noise.sum())
        sizes = placed.sum(axis=(0, 1, 2))
        return cls(
            at=by_step.sum(axis=(0, 1, 3))[place] * prior / total,
            none=float(by_flat.sum()) / total,
            several=float(by_wandering.sum()) / total,
            sizes=sizes / sizes.sum() if sizes.any() else np.full(len(SIGNED), 1 / len(SIGNED)),
            noise=float(by_own_and_noise.sum(axis=0) @ NOISES) / total,
            own=math.sqrt(by_own_and_noise.sum(axis=1) @ np.array([own**2 for own, _ in OWN]) / total),
        )

    @property
    def size(self) -> Interval:
        """The step as a logarithm: mean, and the central 95 %."""
        total = np.cumsum(self.sizes)
        low, high = (float(np.interp(share, total, SIGNED)) for share in (0.025, 0.975))
        return Interval(estimate=float(self.sizes @ SIGNED), low=low, high=high)

    def within(self, run: tuple[int, int]) -> float:
        """The probability of one step at one of these revisions."""
        return float(self.at[run[0] : run[1] + 1].sum())


class Level(NamedTuple):
    """Throughput of a measured revision, as logarithms."""

    revision: int
    to_base: Interval
    to_previous: Interval  # to the measured revision before it


def levels(evidence: Evidence, confidence: float) -> tuple[Level, ...]:
    """Each measured revision beside the base, by least squares over all starts; no history is assumed.

    Intervals are Student's, with the noise that the starts show beside this fit; those to the previous
    revision hold for all of them together (Bonferroni). None with fewer degrees of freedom than one.
    """
    data = _Data.of(evidence)
    count = len(data.revisions)
    df = data.df - (count - 1)
    if count < 2 or df < 1:
        return ()
    inverse = np.linalg.pinv(data.information)
    fitted = inverse @ data.moments
    variance = max(data.squares - float(data.moments @ fitted), 0.0) / df

    def between(one: int, other: int, among: int = 1) -> Interval:
        contrast = np.zeros(count)
        contrast[other] += 1
        contrast[one] -= 1
        estimate = float(contrast @ fitted)
        reach = float(stdtrit(df, 1 - (1 - confidence) / 2 / among))
        half = reach * math.sqrt(variance * float(contrast @ inverse @ contrast))
        return Interval(estimate=estimate, low=estimate - half, high=estimate + half)

    return tuple(
        Level(int(revision), between(0, number), between(max(number - 1, 0), number, count - 1))
        for number, revision in enumerate(data.revisions)
    )


def _prior(evidence: Evidence) -> Values:
    """Where one step may be: anywhere but between servers that are the same files."""
    prior = np.ones(evidence.last + 1)
    prior[0] = 0
    for older, newer in evidence.equal:
        prior[older + 1 : newer + 1] = 0
    total = prior.sum()
    return prior / total if total else prior


@dataclass(frozen=True)
class _Data:
    """Sufficient statistics of starts whose levels are integrated out."""

    revisions: Values  # the measured ones, ascending; the base is always among them
    information: Values  # about their levels, for noise 1
    moments: Values
    squares: float
    df: int

    @classmethod
    def of(cls, evidence: Evidence) -> _Data:
        revisions = np.array(sorted({0, *(number for start in evidence.starts for number in start)}))
        place = {int(revision): number for number, revision in enumerate(revisions)}
        information = np.zeros((len(revisions), len(revisions)))
        moments, squares, df = np.zeros(len(revisions)), 0.0, 0
        together: dict[tuple[int, ...], list[list[float]]] = {}
        for start in evidence.starts:
            together.setdefault(tuple(start), []).append([*start.values()])
        for numbers, logs in together.items():
            rows = [place[number] for number in numbers]
            values = np.array(logs)
            values -= values.mean(axis=1, keepdims=True)
            information[np.ix_(rows, rows)] += len(logs) * (np.eye(len(rows)) - 1 / len(rows))
            moments[rows] += values.sum(axis=0)
            squares += float((values**2).sum())
            df += len(logs) * (len(rows) - 1)
        return cls(revisions, information, moments, squares, df)

    def steps(self, own: float, steps: Values) -> tuple[Values, Values]:
        """Log-likelihoods of no step, by noise; and of each step, by noise, place and size.

        `steps`: which measured revisions each place moves.
        """
        basis, spread = self._basis(own * np.eye(len(self.revisions)))
        moments, sums = basis.T @ self.moments, steps @ self.moments
        across = steps @ self.information @ basis
        squares = np.einsum("ki,ij,kj->k", steps, self.information, steps)
        precision = 1 / NOISES[:, None] ** 2
        shrink = precision**2 / (1 + spread * precision)  # by noise and direction
        plain = self._plain(moments, spread, shrink)
        slope = precision * sums - shrink @ (across * moments).T
        curve = precision * squares - shrink @ (across**2).T
        gain = slope[:, :, None] * SIGNED - curve[:, :, None] * (SIGNED**2 / 2)
        return plain, plain[:, None, None] + gain

    def wandering(self, own: float, wander: float, last: int) -> Values:
        """Log-likelihoods by noise, of levels that are a random walk."""
        gaps = np.diff(self.revisions, prepend=0) / max(last, 1)
        walk = np.tril(np.ones((len(gaps), len(gaps)))) * (wander * np.sqrt(gaps))
        basis, spread = self._basis(np.hstack([walk, own * np.eye(len(gaps))]))
        precision = 1 / NOISES[:, None] ** 2
        return self._plain(basis.T @ self.moments, spread, precision**2 / (1 + spread * precision))

    def _plain(self, moments: Values, spread: Values, shrink: Values) -> Values:
        precision = 1 / NOISES**2
        fixed = -self.df * np.log(NOISES) - self.squares * precision / 2
        lost = np.log1p(spread * precision[:, None]).sum(axis=1) / 2
        likelihood: Values = fixed + shrink @ moments**2 / 2 - lost
        return likelihood

    def _basis(self, root: Values) -> tuple[Values, Values]:
        """Independent directions of levels whose covariance has this root, and what is known of each."""
        spread, vectors = np.linalg.eigh(root.T @ self.information @ root)
        return root @ vectors, np.maximum(spread, 0.0)
