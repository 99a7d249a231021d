"""What recorded runs say when they are judged otherwise: two of their servers, fewer starts, other noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import structs

from shootout._engine import Histogram
from shootout.analysis import compare, pairs, stats
from shootout.model.plan import Block, Policy
from shootout.model.run import RunDocument, Samples, StartRecord
from shootout.model.value import Value
from shootout.model.verdict import CellComparison, Verdict

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)
NOTHING = Histogram().encode()


def pair(document: RunDocument, base: str, head: str) -> RunDocument:
    """The same run, of two of its servers alone: a gate's."""
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
    """The first starts of each block alone, the last of them made to confirm what the others show."""
    starts: list[StartRecord] = []
    for block in document.header.blocks:
        of_block = [start for start in document.starts if start.block == block.key][: judging + confirming]
        starts += [
            structs.replace(start, confirming=number >= judging) for number, start in enumerate(of_block)
        ]
    return structs.replace(document, starts=tuple(starts))


def shorter(document: RunDocument, measure_s: float) -> RunDocument:
    """The document as it would be, had each start measured each server for so many seconds only."""

    def start(each: StartRecord) -> StartRecord:
        longest = np.cumsum([samples.window_s for samples in each.samples], axis=1).max(axis=0)
        rounds = max(1, int(np.searchsorted(longest, measure_s, side="right")))
        return structs.replace(
            each, order=each.order[:rounds], samples=tuple(_first(s, rounds) for s in each.samples)
        )

    return structs.replace(document, starts=tuple(map(start, document.starts)))


def heads(document: RunDocument) -> Iterator[RunDocument]:
    """A gate for each server but the first, which is the base of all."""
    base, *others = (server.label for server in document.header.servers)
    for head in others:
        yield pair(document, base, head)


def cells(document: RunDocument, policy: Policy, *, confirming: bool) -> tuple[CellComparison, ...]:
    """The heads' cells, judged; what its confirming starts say is heard or not."""
    if not confirming:
        kept = tuple(start for start in document.starts if not start.confirming)
        document = structs.replace(document, starts=kept)
    return tuple(each for each in compare.compare(document, policy).cells if each.cell != each.base)


def slower(document: RunDocument, loss: float, noise: float | None = None) -> RunDocument:
    """The document of a pair as it would be with a head that is slower by `loss`, a share.

    With `noise` each cell's deviations, of starts and of rounds, are scaled so that its starts differ by that
    much: the standard deviation of the logarithm of their ratio.
    """
    scales = {
        block.key: 1.0 if noise is None else noise / _spread(document, block)
        for block in document.header.blocks
    }
    starts = tuple(_slower(start, loss, scales[start.block]) for start in document.starts)
    return structs.replace(document, starts=starts)


class Budget(Value):
    """Where the spread of a cell's starts comes from: variances of the logarithm of the ratio."""

    round: float  # of one round, the starts' means apart
    inflation: float  # of the mean over a start's rounds, by their autocorrelation
    rounds: float  # what the rounds give to a start's mean
    start: float  # what the restart itself gives; below zero by chance where that is little


def budget(document: RunDocument, block: Block) -> Budget | None:
    """A pair's budget in one block; None with fewer than two starts.

    The variance of the starts' means is the restart's own plus that of a mean over rounds (one-way random
    effects: Searle, Casella and McCulloch, "Variance Components", chapter 3).
    """
    (_, head) = pairs.of_block(document, block, document.header.profile.policy, block.servers[0])
    starts = [rounds for rounds in pairs.log_ratios(head).values() if len(rounds) > 1]
    if len(starts) < 2:
        return None
    single = float(np.mean([np.var(rounds, ddof=1) for rounds in starts]))
    inflation = float(np.mean([stats.inefficiency(rounds) for rounds in starts]))
    of_rounds = single * inflation / float(np.mean([len(rounds) for rounds in starts]))
    means = float(np.var([np.mean(rounds) for rounds in starts], ddof=1))
    return Budget(round=single, inflation=inflation, rounds=of_rounds, start=means - of_rounds)


def budgets(gates: Iterable[RunDocument]) -> dict[tuple[str, int], list[Budget]]:
    """Those of all blocks of pairs, by workload and number of threads."""
    found: dict[tuple[str, int], list[Budget]] = {}
    for gate in gates:
        for block in gate.header.blocks:
            if (each := budget(gate, block)) is not None:
                found.setdefault((block.workload, block.threads), []).append(each)
    return found


def bare(document: RunDocument) -> RunDocument:
    """Without latencies and counters: what verdicts on throughput rest on, small enough to be kept."""

    def less(samples: Samples) -> Samples:
        return structs.replace(samples, latencies=NOTHING, statements={}, counters={})

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
    """Of the first rounds alone; counters and latencies stay those of all."""
    names = ("transactions", "window_s", "server_cpu_s", "client_cpu_s", "completed")
    found = {name: getattr(samples, name) for name in names}
    return structs.replace(samples, **{name: of[:rounds] for name, of in found.items() if of is not None})


def _slower(start: StartRecord, loss: float, scale: float) -> StartRecord:
    base, head = start.samples
    counted = []
    for of_base, of_head, base_s, head_s in zip(
        base.transactions, head.transactions, base.window_s, head.window_s, strict=False
    ):
        usual = max(of_base, 0.5) / base_s * head_s  # what the head would have done at the base's pace
        counted.append(usual * (1 - loss) * (max(of_head, 0.5) / usual) ** scale)
    return structs.replace(start, samples=(base, structs.replace(head, transactions=tuple(counted))))


def _spread(document: RunDocument, block: Block) -> float:
    (_, head) = pairs.of_block(document, block, document.header.profile.policy, block.servers[0])
    means: Sequence[float] = [] if head.throughput is None else head.throughput.per_start
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    return spread or math.inf
