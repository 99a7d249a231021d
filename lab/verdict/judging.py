"""Variants of recorded runs: two of their servers, fewer starts, a known loss, other noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import structs

from shootout._engine import Histogram
from shootout.analysis import compare, gate, pairs, stats
from shootout.model.plan import Block, Policy
from shootout.model.run import RunDocument, Samples, StartRecord
from shootout.model.verdict import NO_ALARMS, CellComparison, Verdict

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)
NOTHING = Histogram().encode()


def pair(document: RunDocument, base: str, head: str) -> RunDocument:
    """The run reduced to two of its servers, as a gate."""
    wanted = (base, head)

    def block(each: Block) -> Block:
        return structs.replace(each, servers=wanted)

    def start(each: StartRecord) -> StartRecord:
        found = {samples.server: samples for samples in each.samples}
        numbers = {
            place: wanted.index(s.server) for place, s in enumerate(each.samples) if s.server in wanted
        }
        order = tuple(tuple(numbers[n] for n in turns if n in numbers) for turns in each.order)
        samples = tuple(found[label] for label in wanted if label in found)
        return structs.replace(each, samples=samples, order=order, aa_control=None)

    header = structs.replace(
        document.header,
        servers=tuple(server for server in document.header.servers if server.label in wanted),
        blocks=tuple(map(block, document.header.blocks)),
    )
    failures = tuple(each for each in document.failures if each.cell.server in wanted)
    return structs.replace(
        document, header=header, starts=tuple(map(start, document.starts)), failures=failures
    )


def with_starts(document: RunDocument, judging: int, confirming: int) -> RunDocument:
    """The first starts of each block: so many for judging, then so many for confirming."""
    starts: list[StartRecord] = []
    for block in document.header.blocks:
        of_block = [start for start in document.starts if start.block == block.key][: judging + confirming]
        starts += [
            structs.replace(start, confirming=number >= judging) for number, start in enumerate(of_block)
        ]
    return structs.replace(document, starts=tuple(starts))


def shorter(document: RunDocument, measure_s: float) -> RunDocument:
    """The run with only `measure_s` seconds of each server in each start."""

    def start(each: StartRecord) -> StartRecord:
        longest = np.cumsum([samples.window_s for samples in each.samples], axis=1).max(axis=0)
        rounds = max(1, int(np.searchsorted(longest, measure_s, side="right")))
        return structs.replace(
            each, order=each.order[:rounds], samples=tuple(_first(s, rounds) for s in each.samples)
        )

    return structs.replace(document, starts=tuple(map(start, document.starts)))


def heads(document: RunDocument) -> Iterator[RunDocument]:
    """A gate for each server but the first, the base."""
    base, *others = (server.label for server in document.header.servers)
    for head in others:
        yield pair(document, base, head)


def cells(document: RunDocument, policy: Policy, *, confirming: bool) -> tuple[CellComparison, ...]:
    """The heads' cells, judged with or without the confirming starts."""
    if not confirming:
        first = tuple(start for start in document.starts if not start.confirming)
        document = structs.replace(document, starts=first)
    return tuple(each for each in compare.compare(document, policy).cells if each.cell != each.base)


def failing(document: RunDocument, policy: Policy) -> Iterator[tuple[CellComparison, bool]]:
    """The regressed cells, and whether each fails the gate of a runner whose noise is not known."""
    comparison = structs.replace(compare.compare(document, policy), false_alarms=NO_ALARMS)
    for each in comparison.cells:
        if each.verdict is Verdict.REGRESSED:
            yield each, gate.counts(each, comparison)


def slower(document: RunDocument, loss: float, noise: float | None = None) -> RunDocument:
    """A pair's run with a head that is slower by the share `loss`.

    `noise` scales each cell's deviations, of starts and of rounds: it becomes the standard deviation of the
    starts' log-ratios.
    """
    scales = {
        block.key: 1.0 if noise is None else noise / _spread(document, block)
        for block in document.header.blocks
    }
    starts = tuple(_slower(start, loss, scales[start.block]) for start in document.starts)
    return structs.replace(document, starts=starts)


def variances(document: RunDocument, block: Block) -> tuple[float, float, float] | None:
    """Variances of a pair's log-ratio in one block; None with fewer than two starts.

    They are a round's within a start, the rounds' part in a start's mean, and the restart's, which may be
    estimated below zero: the starts' means vary by the restart plus the mean over rounds (one-way random
    effects: Searle, Casella and McCulloch, "Variance Components", chapter 3).
    """
    (_, head) = pairs.of_block(document, block, document.header.profile.policy, block.servers[0])
    every = pairs.log_ratios(head.base_starts, head.starts).values()
    starts = [rounds for rounds in every if len(rounds) > 1]
    if len(starts) < 2:
        return None
    single = float(np.mean([np.var(rounds, ddof=1) for rounds in starts]))
    inflation = float(np.mean([stats.inefficiency(rounds) for rounds in starts]))
    of_rounds = single * inflation / float(np.mean([len(rounds) for rounds in starts]))
    means = float(np.var([np.mean(rounds) for rounds in starts], ddof=1))
    return single, of_rounds, means - of_rounds


def bare(document: RunDocument) -> RunDocument:
    """Drop latencies and counters: small, and enough for verdicts on throughput."""

    def less(samples: Samples) -> Samples:
        return structs.replace(samples, latencies=NOTHING, statements={}, counters={}, times={})

    starts = tuple(
        structs.replace(
            start,
            samples=tuple(map(less, start.samples)),
            aa_control=less(start.aa_control) if start.aa_control else None,
        )
        for start in document.starts
    )
    return structs.replace(document, starts=starts)


def _first(samples: Samples, rounds: int) -> Samples:
    """The first rounds; counters and latencies stay those of all rounds."""
    names = ("transactions", "window_s", "server_cpu_s", "client_cpu_s", "completed")
    found = {name: getattr(samples, name) for name in names}
    return structs.replace(samples, **{name: of[:rounds] for name, of in found.items() if of is not None})


def _slower(start: StartRecord, loss: float, scale: float) -> StartRecord:
    base, head = start.samples
    counted = []
    for of_base, of_head, base_s, head_s in zip(
        base.transactions, head.transactions, base.window_s, head.window_s, strict=False
    ):
        usual = max(of_base, 0.5) / base_s * head_s  # the head's count at the base's pace
        counted.append(usual * (1 - loss) * (max(of_head, 0.5) / usual) ** scale)
    return structs.replace(start, samples=(base, structs.replace(head, transactions=tuple(counted))))


def _spread(document: RunDocument, block: Block) -> float:
    (_, head) = pairs.of_block(document, block, document.header.profile.policy, block.servers[0])
    means: Sequence[float] = [] if head.throughput is None else head.throughput.per_start
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    return spread or math.inf
