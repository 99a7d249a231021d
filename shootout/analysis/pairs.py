"""Each cell beside its base: which starts can be compared, and what came of them.

A change is formed inside each round, or at least each start, where both servers saw the same machine, as the
logarithm of head / base: on this scale slower and faster are mirror images, and a margin of 2 % reaches from
1 / 1.02 to 1.02 of the base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shootout.analysis import metrics, stats
from shootout.model.plan import THROUGHPUT, Block, Cell, Metric, Policy
from shootout.model.run import RunDocument, RunHeader, Samples, StartRecord

# A slice, or a start, without any transaction counts as half of one: a standstill weighs heavily, and has a
# logarithm.
_STANDSTILL = 0.5

Starts = Mapping[int, Samples]  # one server's samples in one block, by the number of their start


class Change(NamedTuple):
    """What one metric did, as logarithms; below zero is worse, whatever the metric."""

    metric: Metric
    first: stats.Effect  # over the starts that were measured before anything was known
    again: stats.Effect | None  # over those that were to confirm it; None: there were none
    whole: stats.Effect  # over all of them
    unsteady_again: bool = False  # there were some to confirm it, and none was steady
    rounds: stats.Noise | None = None  # what rounds alone make of `first`; None: the metric has no rounds

    @property
    def p_value(self) -> float:
        """Of no difference. It is to be told from what starts differ by, and from what rounds make of them.

        A few starts lie close together now and then by chance, closer than the noise of their rounds allows:
        false alarms come of it.
        """
        of_rounds = 0.0 if self.rounds is None else self.rounds.p_value(self.first.estimate)
        return max(self.first.p_value, of_rounds)


class Pair(NamedTuple):
    """A cell beside its base, with all that is known before verdicts."""

    cell: Cell
    base: Cell
    starts: Starts
    base_starts: Starts
    failure: str | None
    base_failure: str | None
    throughput: stats.Effect | None  # over all starts; None: not to be judged
    judged: tuple[Change, ...]  # the metrics that the verdict is about
    replaces: str  # the block's first server, where nothing was measured of it; else empty
    absent: str = ""  # why the server is not here; empty: it is
    unseen: tuple[Metric, ...] = ()  # metrics to judge of which nothing can be said


def of_block(document: RunDocument, block: Block, policy: Policy, base: str | None) -> Iterator[Pair]:
    """The block's cells, its base's first."""
    records = [record for record in document.starts if record.block == block.key]
    confirming = {record.start for record in records if record.confirming}
    starts = {server: of_server(records, server) for server in block.servers}
    replaces = ""
    if base is None:
        base = next((server for server in block.servers if starts[server]), block.servers[0])
        replaces = block.servers[0] if base != block.servers[0] else ""
    failures = {server: _failure(document, block, server, starts[server]) for server in block.servers}
    for server in sorted(block.servers, key=lambda server: server != base):
        failed = failures[server] is not None or failures.get(base) is not None
        compared = ({}, {}) if failed or server == base else (starts.get(base, {}), starts[server])
        names = judged_metrics(document.header, policy)
        judged = tuple(_changes(*compared, confirming, names, policy))
        yield Pair(
            cell=block.cell(server),
            base=block.cell(base),
            starts=starts[server],
            base_starts=starts.get(base, {}),
            failure=failures[server],
            base_failure=failures.get(base),
            throughput=throughput(*compared, policy),
            judged=judged,
            replaces=replaces,
            absent=next((r.absent for r in document.header.servers if r.label == server), ""),
            unseen=tuple(_unseen(*compared, names, judged)),
        )


def of_aa_control(document: RunDocument, block: Block, policy: Policy) -> Pair | None:
    """The block's A/A cell: its first server beside a second instance of it; None where there was none."""
    base, *_ = block.servers
    records = [
        record for record in document.starts if record.block == block.key and record.aa_control is not None
    ]
    aa_controls = {record.start: record.aa_control for record in records if record.aa_control is not None}
    starts = of_server(records, base)
    if not aa_controls.keys() & starts.keys():
        return None
    confirming = {record.start for record in records if record.confirming}
    return Pair(
        cell=block.cell(f"{base} again"),
        base=block.cell(base),
        starts=aa_controls,
        base_starts=starts,
        failure=None,
        base_failure=None,
        throughput=throughput(starts, aa_controls, policy),
        judged=tuple(
            _changes(starts, aa_controls, confirming, judged_metrics(document.header, policy), policy)
        ),
        replaces="",
    )


def judged_metrics(header: RunHeader, policy: Policy) -> tuple[Metric, ...]:
    """What verdicts are about: the policy's metrics, but at a fixed rate a latency instead of throughput."""
    if header.profile.load.rate is None:
        return policy.judged
    return tuple(dict.fromkeys("latency_p95" if name == THROUGHPUT else name for name in policy.judged))


def of_server(records: Sequence[StartRecord], server: str) -> Starts:
    """One server's samples by their start."""
    return {r.start: samples for r in records for samples in r.samples if samples.server == server}


def throughput(base: Starts, head: Starts, policy: Policy) -> stats.Effect | None:
    """Throughput's log-ratio, over the starts in which both were steady; None with fewer than two rounds."""
    by_start = _log_ratios(base, head)
    if sum(map(len, by_start.values())) < 2:
        return None
    return stats.ratio_of_starts([*by_start.values()], policy.trim, policy.confidence)


def log_ratios(pair: Pair) -> dict[int, list[float]]:
    """Throughput's log-ratio in each round of the starts in which both were steady, by start."""
    return _log_ratios(pair.base_starts, pair.starts)


def _log_ratios(base: Starts, head: Starts) -> dict[int, list[float]]:
    found = {}
    steady_base, steady_head = both_steady(base, head)
    for start, of_base in steady_base.items():
        # A server that died on the way has fewer rounds; those before have both.
        both = zip(_log_tps(of_base), _log_tps(steady_head[start]), strict=False)
        if rounds := [float(head_ - base_) for base_, head_ in both]:
            found[start] = rounds
    return found


def whole_log_tps(samples: Samples) -> float:
    """The logarithm of a whole start's transactions per second."""
    return math.log(max(sum(samples.transactions), _STANDSTILL) / sum(samples.window_s))


def both_steady(base: Starts, head: Starts) -> tuple[Starts, Starts]:
    """The samples of both in the starts in which both were steady, in order."""
    starts = [s for s in sorted(base.keys() & head.keys()) if base[s].steady and head[s].steady]
    return {start: base[start] for start in starts}, {start: head[start] for start in starts}


def unsteady(pair: Pair) -> str:
    """Which servers did not become steady, and in which starts; empty where all did."""
    parts = []
    for server, starts in {pair.base.server: pair.base_starts, pair.cell.server: pair.starts}.items():
        numbers = [str(start) for start, samples in starts.items() if not samples.steady]
        if numbers:
            parts.append(f"{server} was not steady in start {', '.join(numbers)}")
    return " and ".join(parts)


def _changes(
    base: Starts, head: Starts, confirming: Set[int], names: Sequence[Metric], policy: Policy
) -> Iterator[Change]:
    """What each metric did; one that is not visible, or is not there in each start, is left out."""
    for name in names:
        whole = first = _effect(name, base, head, policy)
        again = None
        if confirming:
            first, again = (
                _effect(name, _only(base, starts), _only(head, starts), policy)
                for starts in (base.keys() - confirming, base.keys() & confirming)
            )
        if first is not None and whole is not None:
            fresh = base.keys() & head.keys() & confirming
            steady, _ = both_steady(_only(base, fresh), _only(head, fresh))
            yield Change(
                name,
                first,
                again,
                whole,
                unsteady_again=bool(fresh) and not steady,
                rounds=_rounds_noise(name, base, head, confirming, policy),
            )


def _unseen(
    base: Starts, head: Starts, names: Sequence[Metric], judged: Sequence[Change]
) -> Iterator[Metric]:
    """Of metrics to judge those that are not; what is 0 on both sides throughout is the same."""
    found = {change.metric for change in judged}
    steady = both_steady(base, head)
    if len(steady[0]) >= metrics.STARTS_MIN:
        yield from (name for name in names if name not in found and not metrics.always_zero(name, *steady))


def _effect(name: str, base: Starts, head: Starts, policy: Policy) -> stats.Effect | None:
    if name == THROUGHPUT:
        return throughput(base, head, policy)
    more = metrics.log_ratio(name, *both_steady(base, head), policy.confidence)
    return None if more is None else stats.mirrored(more)


def _rounds_noise(
    name: str, base: Starts, head: Starts, confirming: Set[int], policy: Policy
) -> stats.Noise | None:
    """Of the starts before those that confirm; None with one start, which has no other noise."""
    if name != THROUGHPUT:
        return None
    by_start = _log_ratios(_only(base, base.keys() - confirming), head)
    return stats.rounds_noise([*by_start.values()], policy.trim) if len(by_start) > 1 else None


def _only(starts: Starts, numbers: Set[int]) -> Starts:
    return {start: samples for start, samples in starts.items() if start in numbers}


def _failure(document: RunDocument, block: Block, server: str, starts: Starts) -> str | None:
    """Why the cell failed: its own reason, or its server's where nothing at all was measured of it.

    On another runner, which has measured other blocks of a merged run, it may have done better.
    """
    alone = not document.header.parts
    for failure in document.failures:
        if failure.cell == block.cell(server) or (alone and failure.cell.server == server and not starts):
            return failure.reason
    return None


def _log_tps(samples: Samples) -> NDArray[np.float64]:
    transactions = np.maximum(np.asarray(samples.transactions), _STANDSTILL)
    log_tps: NDArray[np.float64] = np.log(transactions / np.asarray(samples.window_s))
    return log_tps
