"""Simulated histories, and searches of them: by the posterior, by gates, and by git-bayesect."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shootout.analysis import pairs
from shootout.bisect.batches import ENOUGH, Costs, answered, next_batch
from shootout.bisect.posterior import Evidence, Posterior
from shootout.document import journal
from shootout.paths import REPORTS

RECORDED = REPORTS / "showcase" / "verdict"
USUAL = (0.01, 0.02)  # the spread of a start in the cells that noise is drawn from
BROKEN = 1 / 8
COSTS = Costs(build_s=600.0, start_s=3.0, batch_s=10.0)
SERVERS_MAX = 8
BATCHES_MAX = 30
ASSUMED = 0.03  # without a step: what a gate looks for
BAYESECT_STARTS_MAX = 4000
CERTAIN = 3.0  # standard errors by which a gate tells both ends of a history apart


class History(NamedTuple):
    """A history to be bisected; revision 0 is the base."""

    last: int
    at: int | None  # of the step
    size: float
    broken: frozenset[int]
    noise: NDArray[np.float64]  # deviations of single starts
    dice: np.random.Generator
    own: NDArray[np.float64]  # what each revision differs by itself

    def start(self, revisions: Sequence[int]) -> dict[int, float]:
        """What one start of these revisions gives."""
        drawn = self.dice.choice(self.noise, len(revisions))
        moved = [self.size * (self.at is not None and each >= self.at) for each in revisions]
        logs = np.array(moved) + self.own[list(revisions)] + drawn
        return dict(zip(revisions, logs.tolist(), strict=True))


class Found(NamedTuple):
    """What a search answered, and its cost."""

    answer: str  # "step", "none", "several" or "": no answer
    right: bool
    builds: int
    starts: int  # of single servers
    claims: tuple[bool, ...] = ()  # for each claim of 0.9 on the way to the answer: whether it is true


def recorded() -> Iterator[NDArray[np.float64]]:
    """Deviations of servers from the others of their start, for each recorded A/A cell of usual noise."""
    for path in sorted(RECORDED.glob("aa-*.jsonl.xz")):
        document = journal.read(path)
        for block in document.header.blocks:
            starts = [record.samples for record in document.starts if record.block == block.key]
            logs = np.array([[pairs.start_log_tps(each) for each in samples] for samples in starts])
            logs -= logs.mean(axis=1, keepdims=True)
            servers = logs.shape[1]
            deviations = logs.ravel() * np.sqrt(servers / (servers - 1))  # their mean took a share
            if USUAL[0] <= deviations.std() <= USUAL[1]:
                yield deviations


def history(
    last: int, step: float, seed: int, noises: Sequence[NDArray[np.float64]], own: float = 0.0
) -> History:
    """A random history; steps are losses. `own`: spread of what revisions differ by themselves."""
    dice = np.random.default_rng([last, round(1000 * step), seed])
    broken = frozenset(number for number in range(1, last) if dice.random() < BROKEN)
    at = int(dice.integers(1, last + 1)) if step else None
    noise = noises[int(dice.integers(len(noises)))]
    layouts = np.random.default_rng([last, seed]).normal(0, own, last + 1)
    return History(last, at, np.log1p(-step), broken, noise, dice, layouts)


def by_posterior(given: History) -> Found:
    """Bisect as `shootout bisect` does."""
    starts: list[dict[int, float]] = []
    tried: set[int] = set()
    claims = []
    for _ in range(BATCHES_MAX):
        evidence = Evidence(given.last, starts, tuple(tried & given.broken))
        posterior = Posterior.of(evidence)
        run = max(evidence.runs, key=posterior.within)
        holds = given.at is not None and run[0] <= given.at <= run[1]
        said = {
            "step": (posterior.within(run), holds),
            "none": (posterior.none, given.at is None),
            "several": (posterior.several, False),
        }
        claims += [right for probability, right in said.values() if probability >= 0.9]
        if answered(evidence, posterior):
            answer = max(said, key=lambda name: said[name][0])
            return Found(answer, said[answer][1], len(tried), sum(map(len, starts)), tuple(claims))
        batch = next_batch(evidence, posterior, COSTS, tried, SERVERS_MAX)
        tried |= {*batch.revisions}
        usable = [number for number in batch.revisions if number not in given.broken]
        if len(usable) > 1:
            starts += [given.start(usable) for _ in range(batch.starts)]
    return Found("", False, len(tried), sum(map(len, starts)), tuple(claims))


def gates(given: History, repeats: int) -> Found:
    """`git bisect` with a gate of so many starts for each revision, each beside the base."""
    tried: set[int] = {0}
    bar = given.size / 2 if given.size else np.log1p(-ASSUMED) / 2

    def gate(revision: int) -> NDArray[np.float64]:
        tried.add(revision)
        starts = [given.start((0, revision)) for _ in range(repeats)]
        return np.array([each[revision] - each[0] for each in starts])

    ends = gate(given.last)
    gated, good, bad = 1, 0, given.last
    error = ends.std(ddof=1) / np.sqrt(repeats)
    if ends.mean() > bar or abs(ends.mean()) < CERTAIN * error:
        return Found("none", given.at is None, len(tried), 2 * repeats)
    while usable := [each for each in range(good + 1, bad) if each not in given.broken & tried]:
        middle = min(usable, key=lambda each: abs(each - (good + bad) / 2))
        tried.add(middle)
        if middle in given.broken:
            continue
        gated += 1
        if gate(middle).mean() > bar:
            good = middle
        else:
            bad = middle
    return Found("step", given.at is not None and good < given.at <= bad, len(tried), 2 * repeats * gated)


def bayesect(given: History) -> Found:
    """Bisect with git-bayesect until one place has a probability of 0.95; it knows no "none"."""
    search = importlib.import_module("git_bayesect").Bisector(
        np.ones(given.last)
    )  # the newest revision first
    bar = given.size / 2 if given.size else np.log1p(-ASSUMED) / 2
    tried: set[int] = {0}
    starts = 0
    while starts < BAYESECT_STARTS_MAX and max(search.distribution) < ENOUGH:
        revision = given.last - search.select()
        tried.add(revision)
        if revision in given.broken:
            search.record(given.last - revision, None)
            continue
        start = given.start((0, revision))
        starts += 2
        search.record(given.last - revision, bool(start[revision] - start[0] < bar))
    place = given.last - int(np.argmax(search.distribution))
    certain = max(search.distribution) >= ENOUGH
    usable = [each for each in range(1, given.last + 1) if each not in given.broken]
    first = next((each for each in usable if given.at is not None and each >= given.at), None)
    return Found("step" if certain else "", certain and place == first, len(tried), starts)
