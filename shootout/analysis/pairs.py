"""Pair each cell with its base: which starts can be compared, and what each metric did.

A change is ln(head / base) within a round, or at least within a start, where both servers saw the same
machine. On the log scale slower and faster are mirror images: a margin of 2 % reaches from 1 / 1.02 to
1.02 of the base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shootout.analysis import metrics, returned, stats
from shootout.analysis.metrics import Starts
from shootout.model.plan import THROUGHPUT, Block, Cell, Metric, Policy
from shootout.model.run import LACKS, RunDocument, RunHeader, Samples, StartRecord

# A slice or start without transactions counts half of one, so that a standstill weighs heavily but has a
# logarithm.
_STANDSTILL = 0.5
OF_CHANGE = 0.1  # half an interval's width, as a share of the change: no narrower one is needed


class Change(NamedTuple):
    """The change of one metric, as logarithms; below zero is worse, whatever the metric."""

    metric: Metric
    effect: stats.Effect  # over all starts
    fresh: int | None = None  # how many of these starts were to confirm it; None: none were made


class Pair(NamedTuple):
    """A cell beside its base, as input to the verdict."""

    cell: Cell
    base: Cell
    starts: Starts
    base_starts: Starts
    throughput: stats.Effect | None  # over all starts; None: nothing to compare
    changes: tuple[Change, ...]  # of the metrics that the verdict is about
    failure: str | None = None
    base_failure: str | None = None
    missing_base: str = ""  # the block's first server, if `base` stands in for it: it was not measured
    unmeasured: str = ""  # why there are no starts; empty: there are, or it failed
    not_visible: tuple[Metric, ...] = ()  # metrics of the verdict that cannot be compared


def of_block(document: RunDocument, block: Block, policy: Policy, base: str | None) -> Iterator[Pair]:
    """Pair the block's cells with its base, the base's own cell first."""
    records = [record for record in document.starts if record.block == block.key]
    confirming = {record.start for record in records if record.confirming}
    starts = {server: of_server(records, server) for server in block.servers}
    missing_base = ""
    if base is None:
        measured = [server for server in block.servers if starts[server]]
        base = measured[0] if len(measured) > 1 else block.servers[0]  # one alone is compared with nothing
        missing_base = block.servers[0] if base != block.servers[0] else ""
    failures = {server: _failure(document, block, server, starts[server]) for server in block.servers}
    for server in block.servers:
        if failures[server] is None and server != base and starts.get(base):
            failures[server] = _other_rows(base, starts[base], starts[server])
    names = verdict_metrics(document.header, policy)
    for server in sorted(block.servers, key=lambda server: server != base):
        failed = failures[server] is not None or failures.get(base) is not None
        compared = ({}, {}) if failed or server == base else (starts.get(base, {}), starts[server])
        changes = tuple(_changes(*compared, confirming, names, policy))
        yield Pair(
            cell=block.cell(server),
            base=block.cell(base),
            starts=starts[server],
            base_starts=starts.get(base, {}),
            failure=failures[server],
            base_failure=failures.get(base),
            throughput=throughput(*compared, policy),
            changes=changes,
            missing_base=missing_base,
            unmeasured="" if starts[server] else _unmeasured(document, block, server),
            not_visible=tuple(_not_visible(*compared, names, changes)),
        )


def of_aa_control(document: RunDocument, block: Block, policy: Policy) -> Pair | None:
    """Pair the block's base with a second instance of it, its A/A cell; None if there was none."""
    records = [
        record for record in document.starts if record.block == block.key and record.aa_control is not None
    ]
    aa_controls = {record.start: record.aa_control for record in records if record.aa_control is not None}
    base = next((samples.server for samples in aa_controls.values()), "")
    starts = of_server(records, base)
    if not aa_controls.keys() & starts.keys():
        return None
    confirming = {record.start for record in records if record.confirming}
    names = verdict_metrics(document.header, policy)
    return Pair(
        cell=block.cell(f"{base} again"),  # no server has this name
        base=block.cell(base),
        starts=aa_controls,
        base_starts=starts,
        throughput=throughput(starts, aa_controls, policy),
        changes=tuple(_changes(starts, aa_controls, confirming, names, policy)),
    )


def verdict_metrics(header: RunHeader, policy: Policy) -> tuple[Metric, ...]:
    """List metrics that verdicts are about: the policy's, with a latency for throughput at a fixed rate."""
    if header.profile.load.rate is None:
        return policy.judged
    return tuple(dict.fromkeys("latency_p95" if name == THROUGHPUT else name for name in policy.judged))


def of_server(records: Sequence[StartRecord], server: str) -> Starts:
    """Select one server's samples by start."""
    return {r.start: samples for r in records for samples in r.samples if samples.server == server}


def throughput(base: Starts, head: Starts, policy: Policy) -> stats.Effect | None:
    """Log-ratio of throughput over the starts in which both were steady; None with fewer than two rounds."""
    by_start = log_ratios(base, head)
    if sum(map(len, by_start.values())) < 2:
        return None
    return stats.ratio_of_starts([*by_start.values()], policy.trim, policy.confidence)


def half_width(starts: Sequence[StartRecord], policy: Policy) -> float:
    """Half the width of the widest interval of a throughput log-ratio among one block's heads.

    The base is the first server of the newest start. Infinite if a head has fewer than two starts, zero if
    nothing is left to compare. Without variance shrinkage: the number of starts must not
    depend on blocks that still lack starts.
    """
    if not starts:
        return math.inf
    return max((_half_width(effect) for effect in of_heads(starts, policy).values()), default=0.0)


def is_narrow(starts: Sequence[StartRecord], policy: Policy, wanted: float) -> bool:
    """Whether each head's interval is as narrow as `wanted`, or as a share of its change."""
    effects = of_heads(starts, policy).values()
    return bool(starts) and all(
        effect is not None and _half_width(effect) <= max(wanted, OF_CHANGE * abs(effect.estimate))
        for effect in effects
    )


def is_certain(starts: Sequence[StartRecord], policy: Policy, workload: str) -> bool:
    """Whether each head has changed by more than the margin, and is known as well as such a change needs."""
    margin = math.log1p(policy.margin_of(THROUGHPUT, workload))
    effects = of_heads(starts, policy).values()
    return bool(effects) and all(
        effect is not None
        and abs(effect.estimate) > margin
        and _half_width(effect) <= OF_CHANGE * abs(effect.estimate)
        for effect in effects
    )


def of_heads(starts: Sequence[StartRecord], policy: Policy) -> dict[str, stats.Effect | None]:
    """Compute each head's change in one block, beside the first server of the newest start."""
    base, *heads = [samples.server for record in starts[-1:] for samples in record.samples] or [""]
    theirs = of_server(starts, base)
    return {head: throughput(theirs, of_server(starts, head), policy) for head in heads}


def _half_width(effect: stats.Effect | None) -> float:
    """Infinite with one start: the interval over its rounds, however narrow, does not count."""
    if effect is None or len(effect.per_start) < 2:
        return math.inf
    return (effect.high - effect.low) / 2


def log_ratios(base: Starts, head: Starts) -> dict[int, list[float]]:
    """Log-ratios of throughput by start: one per round, from the starts in which both were steady."""
    by_start = {}
    steady_base, steady_head = both_steady(base, head)
    for start, of_base in steady_base.items():
        # A server that died in the middle has fewer rounds; only complete rounds count.
        both = zip(_round_log_tps(of_base), _round_log_tps(steady_head[start]), strict=False)
        if rounds := [float(head_ - base_) for base_, head_ in both]:
            by_start[start] = rounds
    return by_start


def start_log_tps(samples: Samples) -> float:
    """ln(transactions/s) over all slices of a start."""
    return math.log(max(sum(samples.transactions), _STANDSTILL) / sum(samples.window_s))


def both_steady(base: Starts, head: Starts) -> tuple[Starts, Starts]:
    """Select both servers' samples in the starts in which both were steady, in order of the starts."""
    starts = [s for s in sorted(base.keys() & head.keys()) if base[s].steady and head[s].steady]
    return {start: base[start] for start in starts}, {start: head[start] for start in starts}


def rested_on(pair: Pair) -> tuple[Starts, Starts]:
    """Select the base's and the head's samples that a verdict rests on; none where nothing is compared."""
    compared = pair.failure is None and pair.base_failure is None and pair.cell != pair.base
    return both_steady(pair.base_starts, pair.starts) if compared else ({}, {})


def unsteady(pair: Pair) -> str:
    """Say which servers did not become steady, and in which starts; empty if all did."""
    parts = []
    for server, starts in {pair.base.server: pair.base_starts, pair.cell.server: pair.starts}.items():
        if numbers := [str(start) for start, samples in starts.items() if not samples.steady]:
            parts.append(f"{server} was not steady in start {', '.join(numbers)}")
    return " and ".join(parts)


def _changes(
    base: Starts, head: Starts, confirming: Set[int], names: Sequence[Metric], policy: Policy
) -> Iterator[Change]:
    """The change of each metric, without those that are not visible in every start."""
    fresh = base.keys() & head.keys() & confirming
    steady = len(both_steady(base, head)[0].keys() & fresh) if fresh else None
    for name in names:
        if (effect := _effect(name, base, head, policy)) is not None:
            yield Change(name, effect, steady)


def _not_visible(
    base: Starts, head: Starts, names: Sequence[Metric], changes: Sequence[Change]
) -> Iterator[Metric]:
    """Metrics of the verdict that have no change, except those always 0 on both sides, which are equal."""
    changed = {change.metric for change in changes}
    steady = both_steady(base, head)
    if len(steady[0]) >= stats.STARTS_MIN:
        yield from (name for name in names if name not in changed and not metrics.always_zero(name, *steady))


def _effect(name: str, base: Starts, head: Starts, policy: Policy) -> stats.Effect | None:
    if name == THROUGHPUT:
        return throughput(base, head, policy)
    effect = metrics.log_ratio(name, *both_steady(base, head), policy.trim, policy.confidence)
    return None if effect is None else stats.mirrored(effect)


def _failure(document: RunDocument, block: Block, server: str, starts: Starts) -> str | None:
    """Find why the cell failed: its own reason, or its server's if nothing at all was measured of that.

    In a merged run only the cell's own reason counts: the server may have worked on another runner.
    """
    alone = not document.header.parts
    for failure in document.failures:
        of_server = alone and failure.cell.server == server and not failure.reason.startswith(LACKS)
        if failure.cell == block.cell(server) or (of_server and not starts):
            return failure.reason
    return None


def _other_rows(base: str, of_base: Starts, of_head: Starts) -> str | None:
    """Say why a server that returns more or fewer rows than the base has no result; None if it does not."""
    if not (differing := returned.differing_rows(of_base, of_head)):
        return None
    first, *others = differing
    more = f", and so do {len(others)} other statements" if others else ""
    return (
        f"it returns other rows than {base}: `{first.kind}` returns or changes {first.head:.4g} rows per "
        f"execution instead of {first.base:.4g}{more}"
    )


def _unmeasured(document: RunDocument, block: Block, server: str) -> str:
    cell = block.cell(server)
    if document.header.runner_of(cell) is None:
        return "not measured: its shard is missing"
    absent = {record.label: record.absent for record in document.header.part(cell).servers if record.absent}
    if server in absent:
        return absent[server]
    failed = {failure.cell for failure in document.failures}
    others = [other for other in block.servers if other != server and other not in absent]
    if others and all(block.cell(other) in failed for other in others):
        why = "no other server was left in its block"
    elif document.interrupted(cell):
        why = "the run was cut short before it"
    else:
        why = "the budget ended before it"
    return f"not measured: {why}"


def _round_log_tps(samples: Samples) -> NDArray[np.float64]:
    transactions = np.maximum(np.asarray(samples.transactions), _STANDSTILL)
    log_tps: NDArray[np.float64] = np.log(transactions / np.asarray(samples.window_s))
    return log_tps
