"""Whole gates in simulation, by the code that judges real ones.

Starts are added until a cell's interval is narrow enough, Hommel's correction spans all cells, and what looks
changed is measured again after fresh starts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.verdict.judging import CHANGED
from shootout.analysis import gate, shrinkage, stats, verdicts
from shootout.analysis.pairs import Change
from shootout.analysis.stats import Effect
from shootout.inputs import matrix
from shootout.model.plan import THROUGHPUT, Cell, Policy, Sampling
from shootout.model.verdict import MetricVerdict, Verdict

Noise = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]

CELLS = 7  # of the gate's profile: six, and one A/A cell
ROUNDS = 7  # degrees of freedom of a start's rounds: a dozen, trimmed
QUICK, GATE = (matrix.load_profile(name) for name in ("quick", "gate"))


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.normal(0, 1, shape)


def two_modes(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Three starts in ten are slower than the others by two standard deviations of all."""
    return (np.where(rng.random(shape) < 0.3, -0.7, 0.3) + rng.normal(0, 0.15, shape)) / 0.482


def wild(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Now and then a start that is far off, as after a bad placement of memory."""
    return rng.standard_t(4, shape) / math.sqrt(2)


class Gate(NamedTuple):
    """Its cells as they were judged before anything was confirmed, and after it."""

    before: tuple[MetricVerdict, ...]
    after: tuple[MetricVerdict, ...]

    @property
    def alarms(self) -> tuple[bool, bool, bool]:
        """Whether any cell changed before confirmation, after it, and so that a new runner's gate fails."""
        before, after = (any(cell.verdict in CHANGED for cell in cells) for cells in self)
        return before, after, any(map(gate.beyond_doubt, self.after))


def _counted(starts: NDArray[np.float64], sampling: Sampling, confidence: float) -> list[int]:
    """Count how many of each cell's starts are made: until its interval is narrow enough."""
    counts = np.arange(sampling.starts_min, sampling.starts_max + 1)
    sums, squares = (np.cumsum(starts**power, axis=1)[:, counts - 1] for power in (1, 2))
    errors = np.sqrt((squares - sums**2 / counts) / (counts - 1) / counts)
    reaches = np.array([stats.quantile(confidence, count - 1) for count in counts.tolist()])
    narrow = errors * reaches <= sampling.half_width
    narrow[:, -1] = True
    return [int(count) for count in counts[narrow.argmax(axis=1)]]


def gates(
    runs: int,
    losses: Sequence[float],
    spread: float,
    noise: Noise = normal,
    profile: str = "gate",
    *,
    known: bool = False,
    of_rounds: float | Sequence[float] = 1.0,
) -> Iterator[Gate]:
    """Simulate so many gates whose cells have lost these shares of their throughput.

    `spread`: by how much their starts differ, which A/A cells have shown where it is `known`; either server
    has such noise, as each has restarts. `of_rounds`: how much of it the noise of rounds explains; for all
    cells, or each.
    """
    of_a_a = spread if known else None
    loaded = GATE if profile == "gate" else QUICK
    sampling, policy = loaded.sampling, loaded.policy
    rng = np.random.default_rng(9)
    for _ in range(runs):
        shape = len(losses), sampling.starts_max + policy.confirm_starts
        head, base = (noise(rng, shape) for _ in range(2))
        logs = np.log1p(-np.asarray(losses))[:, np.newaxis] + spread * (head - base) / math.sqrt(2)
        first, again = logs[:, : sampling.starts_max], logs[:, sampling.starts_max :].tolist()
        counts = _counted(first, sampling, policy.confidence)
        made = [each[:count].tolist() for each, count in zip(first, counts, strict=True)]
        rounds = rng.chisquare(ROUNDS * QUICK.sampling.starts_min, len(losses))
        rounds = spread * np.array(of_rounds) * np.sqrt(rounds / (ROUNDS * QUICK.sampling.starts_min))
        before = _judged([(starts, []) for starts in made], policy, of_a_a, rounds.tolist())
        seen = [verdicts.worth_confirming(each, policy) for each in before]
        fresh = [each if it else [] for each, it in zip(again, seen, strict=True)]
        both = [*zip(made, fresh, strict=True)]
        after = _judged(both, policy, of_a_a, rounds.tolist()) if any(seen) else before
        yield Gate(before, after)


def _judged(
    cells: Sequence[tuple[Sequence[float], Sequence[float]]],
    policy: Policy,
    of_a_a: float | None,
    of_rounds: Sequence[float],
) -> tuple[MetricVerdict, ...]:
    """Judge by what the starts of each cell gave: those that came first, and those to confirm it."""
    effects = _effects([[*first, *again] for first, again in cells], of_rounds, policy)
    changes = [
        Change(THROUGHPUT, effect, len(again) or None)
        for effect, (_, again) in zip(effects, cells, strict=True)
    ]
    keys = [
        Cell(workload="w", dataset="d", server="head", threads=1 + number) for number in range(len(cells))
    ]
    adjusted = stats.hommel([each.p_value for each in effects])
    p_values = {(key, THROUGHPUT): p_value for key, p_value in zip(keys, adjusted, strict=True)}
    floors = [None if of_a_a is None else 1.96 * of_a_a / math.sqrt(len(each.per_start)) for each in effects]
    return tuple(
        verdicts.of_metric(key, change, policy, p_values, floor)[0]
        for key, change, floor in zip(keys, changes, floors, strict=True)
    )


def _effects(cells: Sequence[Sequence[float]], of_rounds: Sequence[float], policy: Policy) -> list[Effect]:
    """Each cell's starts with the noise of their rounds, after variance shrinkage; each is a block."""
    found = [
        stats.over_starts(starts, policy.confidence)._replace(
            rounds=stats.Noise((of_start / len(starts) ** 0.5,), ROUNDS * len(starts)) if of_start else None
        )
        for starts, of_start in zip(cells, of_rounds, strict=True)
    ]
    return shrinkage.over_blocks(found, range(len(found)), policy.confidence)


def share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)


def alarming(found: Sequence[Gate]) -> tuple[float, ...]:
    """The shares of gates with each of the alarms."""
    return tuple(share(each) for each in zip(*(gate.alarms for gate in found), strict=True))


def with_loss(loss: float) -> list[float]:
    """One cell has lost throughput."""
    return [loss] + [0.0] * (CELLS - 1)


NOISES = (
    ("gate", 0.01, normal), ("gate", 0.02, normal), ("gate", 0.04, normal), ("gate", 0.08, normal),
    ("gate", 0.03, two_modes), ("gate", 0.08, two_modes), ("gate", 0.04, wild), ("gate", 0.08, wild),
    ("quick", 0.02, normal), ("quick", 0.04, normal),
)  # fmt: skip
# The share of starts' noise that the noise of rounds explains, in each cell.
EXPLAINED = ([0.0] * CELLS, [0.7] * CELLS, [1.0] * CELLS, [0.3] + [1.0] * (CELLS - 1))


# Starts, how many of them are slow, and by how much.
SLOW = (
    (6, 0, 0.0), (6, 1, 0.05), (6, 1, 0.10), (6, 1, 0.20), (6, 1, 0.50), (12, 2, 0.10), (12, 2, 0.15)
)  # fmt: skip


def tables(runs: int = 300) -> Iterator[str]:
    """False alarms, and losses that are found, as Markdown."""
    yield "| profile | noise | starts differ by | rounds explain | before | after confirmation | fail |"
    yield "|---|---|---|---|---|---|---|"
    for profile, spread, noise in NOISES:
        for explained in EXPLAINED:
            found = list(gates(runs, [0.0] * CELLS, spread, noise, profile, of_rounds=explained))
            shares = " | ".join(f"{each:.1%}" for each in alarming(found))
            of_rounds = f"{explained[0]:.0%}, others {explained[-1]:.0%}"
            yield f"| {profile} | {noise.__name__} | {spread:.1%} | {of_rounds} | {shares} |"
    yield ""
    yield from slow_starts(runs)
    yield ""
    yield "| starts differ by | loss | flagged | their estimate | hold the truth | called equivalent |"
    yield "|---|---|---|---|---|---|"
    for spread in (0.005, 0.01, 0.02, 0.04):
        for loss in (1 - 1 / (1 + GATE.policy.margin), 0.03, 0.05):
            cells = [each.after[0] for each in gates(runs, with_loss(loss), spread)]
            yield f"| {spread:.1%} | {loss:.1%} | {' | '.join(_findings(cells, 1 - loss))} |"


def slow_starts(runs: int = 300) -> Iterator[str]:
    """Tabulate verdicts of a run of seven cells on one whose starts are in two states: per cent of runs."""
    margin = math.log1p(GATE.policy.margin)
    yield "| rounds, restart | slow starts | by | estimate | slower | warned | silent | equivalent |"
    yield "|---|---|---|---|---|---|---|---|"
    for of_rounds, restart in ((0.02, 0.005), (0.06, 0.01)):
        for starts, slow, loss in SLOW:
            rng, found, estimates = np.random.default_rng(1), Counter[str](), []
            for _ in range(runs):
                logs = rng.normal(0, of_rounds, (CELLS, starts, 20)) + rng.normal(
                    0, restart, (CELLS, starts, 1)
                )
                logs[0, :slow] += math.log1p(-loss)
                made = [stats.ratio_of_starts(cell, 0.2, 0.95) for cell in logs.tolist()]
                effects = shrinkage.over_blocks(made, range(CELLS), 0.95)
                effect, p_value = effects[0], stats.hommel([each.p_value for each in effects])[0]
                estimates.append(effect.estimate)
                if p_value < 1 - GATE.policy.confidence and effect.estimate <= -margin:
                    found["slower"] += 1
                elif verdicts.unlike(effect, GATE.policy.margin):
                    found["warned"] += 1
                else:
                    within = -margin <= effect.low and effect.high <= margin
                    found["equivalent" if within else "silent"] += 1
            shares = " | ".join(
                f"{found[each] / runs:.0%}" for each in ("slower", "warned", "silent", "equivalent")
            )
            noise = f"{of_rounds / math.sqrt(20):.1%}, {restart:.1%}"
            estimate = f"{math.expm1(np.mean(estimates)):+.1%}"
            yield f"| {noise} | {slow} of {starts} | {loss:.0%} | {estimate} | {shares} |"


def _findings(cells: Sequence[MetricVerdict], truth: float) -> Iterator[str]:
    flagged = [cell.ratio for cell in cells if cell.verdict is Verdict.REGRESSED]
    yield f"{len(flagged) / len(cells):.0%}"
    yield f"{1 - np.mean([ratio.estimate for ratio in flagged]):.1%}" if flagged else ""
    yield f"{share([ratio.low <= truth <= ratio.high for ratio in flagged]):.0%}" if flagged else ""
    yield f"{share([cell.verdict is Verdict.EQUIVALENT for cell in cells]):.1%}"
