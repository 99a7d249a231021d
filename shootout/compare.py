"""A run document judged against a policy: each cell's ratio to its base, a verdict, and the doubts about it.

A change of throughput is ln(head / base), formed inside each round, where both saw the same machine. On this
scale slower and faster are mirror images, so a margin of 2 % reaches from 1 / 1.02 to 1.02 of the base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shootout import stats, toml
from shootout._engine import Histogram
from shootout.errors import InputError
from shootout.model import (
    Block,
    Cell,
    CellComparison,
    CellFigures,
    Comparison,
    Interval,
    Latency,
    Policy,
    RunDocument,
    RunHeader,
    Samples,
    StartRecord,
    Verdict,
    Warning,
)

# What is part of an OLTP load: rolled back by the engine, and tried again.
RETRIED = {"1020": "record changed", "1062": "duplicate key", "1205": "lock wait timeout", "1213": "deadlock"}
RETRIED_MAX = 0.01  # of transactions; with more, throughput is that of another workload
CLIENT_MAX = 0.8  # of the client's CPU time; with more, the client may be what is measured

# A slice without any transaction counts as half of one: a standstill weighs heavily, and has a logarithm.
_STANDSTILL = 0.5

Starts = Mapping[int, Samples]  # one server's samples in one block, by the number of their start


class _Pair(NamedTuple):
    """A cell beside its base, with all that is known before verdicts."""

    cell: Cell
    base: Cell
    starts: Starts
    base_starts: Starts
    failure: str | None
    base_failure: str | None
    effect: stats.Effect | None  # None: not to be judged
    replaces: str  # the block's first server, where nothing was measured of it; else empty


def compare(document: RunDocument, policy: Policy | None = None, base: str | None = None) -> Comparison:
    """The document's cells judged under `policy` (default: the profile's) against the server `base`.

    By default the base of a block is the first of its servers that was measured. Raises InputError for a
    label that the document does not have, and for a histogram that cannot be read.
    """
    header = document.header
    policy = header.profile.policy if policy is None else policy
    labels = tuple(dict.fromkeys(server for block in header.blocks for server in block.servers))
    if base is not None and base not in labels:
        raise InputError(f"unknown server {base!r}, not in run {header.run}{toml.hint(base, labels)}")
    pairs = [pair for block in header.blocks for pair in _pairs(document, block, policy, base)]
    effects = {pair.cell: pair.effect for pair in pairs if pair.effect is not None}
    p_values = stats.holm([effect.p_value for effect in effects.values()])
    adjusted = dict(zip(effects, p_values, strict=True))
    return Comparison(
        header=header,
        end=document.end,
        policy=policy,
        cells=tuple(_judged(document, policy, pair, adjusted) for pair in pairs),
    )


def half_width(starts: Sequence[StartRecord], policy: Policy) -> float:
    """Half the width of the widest interval of a log-ratio among one block's heads.

    Of the servers of the newest start, the first is the base. Endless with fewer than two starts of a head,
    zero where nothing is left to compare.
    """
    if not starts:
        return math.inf
    base, *heads = [_of(starts, samples.server) for samples in starts[-1].samples] or [{}]
    effects = [_effect(base, head, policy) for head in heads]
    return max((_half_width(effect) for effect in effects), default=0.0)


def exit_code(comparison: Comparison) -> int:
    """3 where a cell failed, else 1 where one regressed, else 0."""
    verdicts = {cell.verdict for cell in comparison.cells}
    if Verdict.FAILED in verdicts:
        return 3
    return 1 if Verdict.REGRESSED in verdicts else 0


# --- pairs ----------------------------------------------------------------------------------------


def _pairs(document: RunDocument, block: Block, policy: Policy, base: str | None) -> Iterator[_Pair]:
    """The block's cells, its base's first."""
    records = [record for record in document.starts if record.block == block.key]
    starts = {server: _of(records, server) for server in block.servers}
    replaces = ""
    if base is None:
        base = next((server for server in block.servers if starts[server]), block.servers[0])
        replaces = block.servers[0] if base != block.servers[0] else ""
    failures = {server: _failure(document, block, server, starts[server]) for server in block.servers}
    for server in sorted(block.servers, key=lambda server: server != base):
        failed = failures[server] is not None or failures.get(base) is not None
        base_starts = starts.get(base, {})
        effect = None if failed or server == base else _effect(base_starts, starts[server], policy)
        yield _Pair(
            cell=block.cell(server),
            base=block.cell(base),
            starts=starts[server],
            base_starts=base_starts,
            failure=failures[server],
            base_failure=failures.get(base),
            effect=effect,
            replaces=replaces,
        )


def _of(records: Sequence[StartRecord], server: str) -> Starts:
    return {r.start: samples for r in records for samples in r.samples if samples.server == server}


def _failure(document: RunDocument, block: Block, server: str, starts: Starts) -> str | None:
    """Why the cell failed: its own reason, or its server's where nothing at all was measured of it."""
    for failure in document.failures:
        if failure.cell == block.cell(server) or (failure.cell.server == server and not starts):
            return failure.reason
    return None


def _effect(base: Starts, head: Starts, policy: Policy) -> stats.Effect | None:
    """The log-ratio over the starts in which both were steady, and their rounds; None with fewer than two."""
    log_ratios = []
    for start in sorted(base.keys() & head.keys()):
        if not (base[start].steady and head[start].steady):
            continue
        # A server that died on the way has fewer rounds; those before have both.
        both = zip(_log_tps(base[start]), _log_tps(head[start]), strict=False)
        log_ratios.append([float(of_head - of_base) for of_base, of_head in both])
    log_ratios = [rounds for rounds in log_ratios if rounds]
    if sum(map(len, log_ratios)) < 2:
        return None
    return stats.ratio_of_starts(log_ratios, policy.trim, policy.confidence)


def _log_tps(samples: Samples) -> NDArray[np.float64]:
    transactions = np.maximum(np.asarray(samples.transactions), _STANDSTILL)
    log_tps: NDArray[np.float64] = np.log(transactions / np.asarray(samples.window_s))
    return log_tps


def _half_width(effect: stats.Effect | None) -> float:
    """Of an interval over starts; one start has none, however narrow that of its rounds is."""
    if effect is None or len(effect.per_start) < 2:
        return math.inf
    return (effect.high - effect.low) / 2


# --- verdicts -------------------------------------------------------------------------------------


def _judged(
    document: RunDocument, policy: Policy, pair: _Pair, p_values: Mapping[Cell, float]
) -> CellComparison:
    verdict, reason = _verdict(pair, policy, p_values)
    figures = _figures(document.header, pair, policy) if pair.starts else None
    effect = pair.effect
    return CellComparison(
        cell=pair.cell,
        base=pair.base,
        verdict=verdict,
        figures=figures,
        ratio=None if effect is None else _ratio(effect),
        p_value=p_values.get(pair.cell),
        per_start=() if effect is None else tuple(map(math.exp, effect.per_start)),
        reason=reason,
        warnings=tuple(_warnings(document, pair, verdict, figures)),
    )


def _verdict(pair: _Pair, policy: Policy, p_values: Mapping[Cell, float]) -> tuple[Verdict, str]:
    """The verdict, and one sentence why."""
    if pair.failure is not None:
        return Verdict.FAILED, pair.failure
    if not pair.starts:
        return Verdict.UNJUDGED, "not measured: the run was cut short before it"
    if pair.cell == pair.base:
        return Verdict.UNJUDGED, f"the base, in place of {pair.replaces}" if pair.replaces else "the base"
    if pair.base_failure is not None:
        return Verdict.UNJUDGED, f"its base, {pair.base.server}, failed: {pair.base_failure}"
    if pair.effect is None and (unsteady := _unsteady(pair)):
        return Verdict.INCONCLUSIVE, f"nothing is judged on unsteady samples: {unsteady}"
    if pair.effect is None:
        return Verdict.UNJUDGED, f"nothing to compare with: {pair.base.server} was not measured beside it"
    return _judgement(pair, pair.effect, policy, p_values)


def _judgement(
    pair: _Pair, effect: stats.Effect, policy: Policy, p_values: Mapping[Cell, float]
) -> tuple[Verdict, str]:
    """DESIGN's rule for a cell that has a ratio; the first that holds."""
    p_value, margin = p_values[pair.cell], math.log1p(policy.margin)
    margin_text = f"{100 * policy.margin:g} %"
    measured = _measured(effect, policy)
    beyond = effect.low > 0 or effect.high < 0
    if len(effect.per_start) < 2:
        return Verdict.INCONCLUSIVE, f"{measured}; a verdict must hold again after a fresh start"
    if beyond and abs(effect.estimate) >= margin and p_value < 1 - policy.confidence:
        return (Verdict.REGRESSED if effect.estimate < 0 else Verdict.IMPROVED), measured
    if -margin <= effect.low and effect.high <= margin:
        return Verdict.EQUIVALENT, f"{measured}, all within the margin of {margin_text}"
    if not beyond:
        why = f"neither beyond zero nor within the margin of {margin_text}"
    elif abs(effect.estimate) < margin:
        why = f"a change, but perhaps below the margin of {margin_text}"
    else:
        why = f"not significant among {len(p_values)} comparisons (p = {p_value:.2g} after Holm)"
    return Verdict.INCONCLUSIVE, f"{measured}: {why}"


def _measured(effect: stats.Effect, policy: Policy) -> str:
    ratio = _ratio(effect)
    low, high = sorted((ratio.low, ratio.high), key=lambda bound: abs(bound - 1))
    if (low < 1) == (high < 1):
        bounds = f"{_percent(low)} to {_percent(high)} %"
    else:
        bounds = f"{_change(ratio.low)} to {_change(ratio.high)}"
    count = len(effect.per_start)
    starts = f"{count} starts" if count > 1 else "1 start"
    return f"{_change(ratio.estimate)}, {100 * policy.confidence:g} % interval {bounds}, in {starts}"


def _ratio(effect: stats.Effect) -> Interval:
    return Interval(estimate=math.exp(effect.estimate), low=math.exp(effect.low), high=math.exp(effect.high))


def _change(ratio: float) -> str:
    return f"{_percent(ratio)} % {'slower' if ratio < 1 else 'faster'}"


def _percent(ratio: float) -> str:
    return f"{100 * abs(ratio - 1):.1f}"


# --- warnings -------------------------------------------------------------------------------------


def _warnings(
    document: RunDocument, pair: _Pair, verdict: Verdict, figures: CellFigures | None
) -> Iterator[Warning]:
    if document.end is None or document.end.interrupted:
        yield Warning(code="interrupted", text="The run was cut short: some starts are missing")
    if unsteady := _unsteady(pair):
        yield Warning(code="unsteady", text=f"{unsteady}: not judged by that")
    if pair.effect is not None and len(pair.effect.per_start) == 1:
        text = "One start only: what a restart changes is not in the interval"
        yield Warning(code="few-starts", text=text)
    if pair.effect is not None and len(pair.effect.per_start) == 2:
        yield Warning(code="few-starts", text="Two starts only: the interval rests on one difference")
    if figures is not None:
        yield from _load_warnings(document.header, pair.starts, figures)
    yield from _shape_warnings(document.header, pair.cell.workload)
    if verdict in (Verdict.REGRESSED, Verdict.IMPROVED):
        text = "The cell's A/A noise floor is not known: the margin is the only bar"
        yield Warning(code="noise-floor-unknown", text=text)
    records = {record.label: record for record in document.header.servers}
    for label in dict.fromkeys((pair.cell.server, pair.base.server)):
        for warning in records[label].warnings if label in records else ():
            yield Warning(code=warning.code, text=f"{label}: {warning.text}")


def _shape_warnings(header: RunHeader, workload: str) -> Iterator[Warning]:
    """Where the load is not what its options say, or does not measure what a verdict is about."""
    load = header.profile.load
    for record in header.workloads:
        if record.name == workload and record.protocol != load.protocol:
            text = f"Sent by the {record.protocol} protocol, the only one for this workload"
            yield Warning(code="protocol", text=text)
    if load.rate is not None:
        text = "At a fixed rate throughput says whether a server keeps up, and no more: compare the latencies"
        yield Warning(code="fixed-rate", text=text)


def _codes(errors: Mapping[str, int]) -> str:
    return ", ".join(f"error {code}: {count}" for code, count in errors.items())


def _load_warnings(header: RunHeader, starts: Starts, figures: CellFigures) -> Iterator[Warning]:
    """What the load itself says about how far its figures can be trusted."""
    refused = {code: count for code, count in figures.errors.items() if code in RETRIED}
    retried = sum(refused.values()) / _completed(starts)
    if retried > RETRIED_MAX:
        text = f"{100 * retried:.1f} % of transactions were rolled back and retried ({_codes(refused)})"
        yield Warning(code="errors", text=text)
    if lost := {code: count for code, count in figures.errors.items() if code not in RETRIED}:
        text = f"Connections were lost, or could not be opened again at once ({_codes(lost)})"
        yield Warning(code="lost", text=text)
    busy = _client_share(header, starts, figures.latency)
    if busy > CLIENT_MAX:
        text = f"The load engine used about {100 * busy:.0f} % of its CPUs: it may be what is measured"
        yield Warning(code="client-bound", text=text)


def _unsteady(pair: _Pair) -> str:
    """Which servers did not become steady, and in which starts; empty where all did."""
    parts = []
    for server, starts in {pair.base.server: pair.base_starts, pair.cell.server: pair.starts}.items():
        numbers = [str(start) for start, samples in starts.items() if not samples.steady]
        if numbers:
            parts.append(f"{server} was not steady in start {', '.join(numbers)}")
    return " and ".join(parts)


def _client_share(header: RunHeader, starts: Starts, latency: Latency) -> float:
    """The client's CPU time as a share of what its CPUs had during the slices; an estimate.

    A document has no wall time of whole slices: each is taken to be its window, a ramp in the profile's
    proportion, and one mean latency for the transactions in flight at the end.
    """
    ramp = header.profile.sampling.ramp_s / header.profile.sampling.slice_s
    wall_s = sum(sum(s.window_s) * (1 + ramp) + len(s.window_s) * latency.mean_s for s in starts.values())
    cpus = len(header.runner.placement.client)
    return sum(sum(s.client_cpu_s) for s in starts.values()) / (cpus * wall_s)


# --- figures --------------------------------------------------------------------------------------


def _figures(header: RunHeader, pair: _Pair, policy: Policy) -> CellFigures:
    samples = tuple(pair.starts.values())
    completed = _completed(pair.starts)
    tps = [sum(s.transactions) / sum(s.window_s) for s in samples]
    estimate, low, high = stats.mean_interval(tps, policy.confidence)
    return CellFigures(
        tps=Interval(estimate=estimate, low=low, high=high),
        latency=_latency(header, pair),
        server_cpu_s=_server_cpu_s(samples, completed),
        client_cpu_s=sum(sum(s.client_cpu_s) for s in samples) / completed,
        reads=sum(s.reads for s in samples) / completed,
        writes=sum(s.writes for s in samples) / completed,
        other=sum(s.other for s in samples) / completed,
        errors={code: int(count) for code, count in _sums([s.errors for s in samples]).items()},
        counters=_counters(samples, completed),
        starts=len(samples),
        rounds=sum(len(s.transactions) for s in samples),
    )


def _server_cpu_s(samples: Sequence[Samples], completed: int) -> float | None:
    used_s = [sum(s.server_cpu_s) for s in samples if s.server_cpu_s is not None]
    return sum(used_s) / completed if len(used_s) == len(samples) else None


def _counters(samples: Sequence[Samples], completed: int) -> dict[str, float]:
    """Those that were visible in every start: what is missing is not zero."""
    every = [s.counters for s in samples]
    sums = _sums(every)
    return {name: sums[name] / completed for name in sums if all(name in counters for counters in every)}


def _completed(starts: Starts) -> int:
    """All transactions of all slices: what is counted for each transaction is divided by them."""
    return max(1, sum(sum(samples.completed) for samples in starts.values()))


def _sums(counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = sorted({name for count in counts for name in count})
    return {name: sum(count.get(name, 0) for count in counts) for name in names}


def _latency(header: RunHeader, pair: _Pair) -> Latency:
    """Of all starts together, from their merged histograms."""
    merged = Histogram()
    for start, samples in pair.starts.items():
        try:
            merged.add(Histogram.decode(samples.latencies))
        except ValueError as error:
            where = f"run {header.run}: start {start} of {pair.cell.workload}, {pair.cell.server}"
            raise InputError(f"{where}: latencies cannot be read: {error}") from None
    return Latency(
        mean_s=merged.mean_s,
        min_s=merged.min_s,
        p50_s=merged.percentile(50),
        p95_s=merged.percentile(95),
        p99_s=merged.percentile(99),
        p999_s=merged.percentile(99.9),
        max_s=merged.max_s,
    )
