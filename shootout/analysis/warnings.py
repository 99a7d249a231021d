"""Warnings about a cell, which travel with its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final

from shootout.analysis import returned, stats
from shootout.analysis.figures import completed, errors
from shootout.analysis.metrics import Starts, transaction_s
from shootout.analysis.pairs import Pair, both_steady, rested_on, start_log_tps, unsteady
from shootout.analysis.stats import STARTS_MIN
from shootout.analysis.verdicts import Decision, change_text, unlike
from shootout.model.plan import THROUGHPUT, Cell, block_key
from shootout.model.run import (
    JUMPED_S,
    REOPENED,
    STOOD_S,
    STOPPED_S,
    RunDocument,
    RunHeader,
    Samples,
    Warning,
)
from shootout.model.verdict import MetricVerdict, Verdict
from shootout.numbers import plain_percent

Said = Iterator[tuple[str, str]]  # codes and texts of warnings

# Errors that are part of an OLTP load: the transaction is rolled back and retried.
RETRIED = {"1020": "record changed", "1062": "duplicate key", "1205": "lock wait timeout", "1213": "deadlock"}
RETRIED_MAX = 0.01  # of transactions; above it, the load is in effect another workload
OTHER_BASE: Final = "other-base"  # warning code of cells whose base stands in for another
MANY, EMPTY = 100.0, 0.01  # transactions of a slice, and the share of them that is next to nothing
COLLAPSED = 0.5  # of a server's median throughput over the starts
CLIENT_MAX = 0.8  # of the client's CPU time; above it, the client may be the bottleneck


def made(said: Said) -> tuple[Warning, ...]:
    return tuple(Warning(code=code, text=text) for code, text in said)


def of_cell(document: RunDocument, pair: Pair, decision: Decision) -> Said:
    """Yield every warning about the cell; those about its servers come last."""
    if pair.missing_base:
        text = f"{pair.base.server} stands in for the base: {pair.missing_base} was not measured"
        yield OTHER_BASE, text
    if document.interrupted(pair.cell):
        yield "interrupted", "The run was cut short: some starts are missing"
    if which := unsteady(pair):
        figures = " and its figures" if any(rested_on(pair)) else ""
        yield "unsteady", f"{which}: excluded from the verdict{figures}"
    effect = pair.throughput
    if effect is not None and len(effect.per_start) == 1:
        yield "few-starts", "One start only: the interval does not include the effect of a restart"
    if effect is not None and len(effect.per_start) == 2 and effect.noise.df == 1:
        yield "few-starts", "Two starts only: the interval rests on one difference"
    yield from _collapsed(document, pair.cell)
    yield from _wide(document.header, pair, decision)
    yield from _standstills({pair.base.server: pair.base_starts, pair.cell.server: pair.starts})
    margin = next((metric.margin for metric in decision.metrics if metric.metric == THROUGHPUT), None)
    if margin is not None and effect is not None:
        yield from _unlike(pair, effect, margin)
        yield from _uneven(pair, effect, margin)
    if pair.starts:
        yield from _load_warnings(document.header, pair.cell, pair.starts)
    if effect is not None and (longer := returned.bytes_of_rows(pair.base_starts, pair.starts)):
        kind, then, now = longer[0]
        text = f"Statement `{kind}` returns {now:.4g} bytes of rows instead of {then:.4g}: other values, or "
        yield "other-bytes", f"{text}the same in another format"
    yield from _shape_warnings(document.header, pair.cell.workload)
    for metric in decision.metrics[:1]:
        yield from of_change(metric)
    records = {record.label: record for record in document.header.part(pair.cell).servers}
    for label in dict.fromkeys((pair.cell.server, pair.base.server)):
        for warning in records[label].warnings if label in records else ():
            yield warning.code, f"{label}: {warning.text}"


def of_change(metric: MetricVerdict) -> Said:
    """Warnings about a changed metric: no noise floor, or no confirmation."""
    if metric.verdict not in (Verdict.REGRESSED, Verdict.IMPROVED):
        return
    if metric.floor is None:
        text = (
            "How far this cell varies by chance is unknown here: only the margin guards against a false alarm"
        )
        yield "noise-floor-unknown", text
    if metric.confirmed is None:
        yield "not-confirmed", "Measured once: no fresh starts were made to confirm the change"


def _wide(header: RunHeader, pair: Pair, decision: Decision) -> Said:
    """Inconclusive throughput with a wider interval than the profile asks for: how many starts it needs."""
    effect, sampling, confidence = pair.throughput, header.profile.sampling, header.profile.policy.confidence
    inconclusive = [metric.metric for metric in decision.metrics if metric.verdict is Verdict.INCONCLUSIVE]
    if effect is None or len(effect.per_start) < 2 or THROUGHPUT not in inconclusive:
        return
    starts, half_width = len(effect.per_start), (effect.high - effect.low) / 2
    if half_width <= sampling.half_width:
        return
    spread = half_width / stats.half_width(1.0, starts, confidence)  # that Student's would need for it
    needed = stats.starts_for(sampling.half_width, spread, confidence)
    text = f"± {plain_percent(half_width)}, but the profile asks for ± {plain_percent(sampling.half_width)}"
    text += f": about {needed} starts are needed, {starts} were steady"
    if needed > sampling.starts_max:
        reach = stats.half_width(spread, sampling.starts_max, confidence)
        text += f", and the {sampling.starts_max} that the profile allows would give ± {plain_percent(reach)}"
    yield "wide", text


def _unlike(pair: Pair, effect: stats.Effect, margin: float) -> Said:
    """Starts that are slow or fast as a whole, as after another placement of memory."""
    starts = [*both_steady(pair.base_starts, pair.starts)[0]]
    apart = [
        f"start {starts[place]} was {plain_percent(abs(math.expm1(by)))} {'slower' if by < 0 else 'faster'}"
        for place, by in sorted(unlike(effect, margin).items())
    ]
    if apart:
        text = f"Beyond chance, {' and '.join(apart)} than the others: the server may have two states"
        yield "unlike", text


def _collapsed(document: RunDocument, cell: Cell) -> Said:
    """Starts in which all servers of a block were slow at once, which no server explains."""
    block = block_key(cell.workload, cell.threads)
    tps = {
        start.start: {one.server: math.exp(start_log_tps(one)) for one in start.samples}
        for start in document.starts
        if start.block == block
    }
    servers = {server for of_start in tps.values() for server in of_start}
    medians = {s: median(of_start[s] for of_start in tps.values() if s in of_start) for s in servers}
    for start, of_start in sorted(tps.items()):
        if len(tps) > STARTS_MIN and all(of_start[s] < COLLAPSED * medians[s] for s in of_start):
            fell = ", ".join(f"{s} {of_start[s]:.0f} instead of {medians[s]:.0f} tps" for s in of_start)
            text = f"In start {start} all servers fell below half of their median over the starts ({fell})"
            yield "collapsed", f"{text}: something else took the machine"


def _uneven(pair: Pair, effect: stats.Effect, margin: float) -> Said:
    """A change hidden by trimming, as from a server that stalls in a few slices."""
    if len(effect.per_start) < 2:
        return
    base, head = both_steady(pair.base_starts, pair.starts)
    whole = [start_log_tps(head[start]) - start_log_tps(base[start]) for start in base]
    gaps = [all_ - trimmed for all_, trimmed in zip(whole, effect.per_start, strict=True)]
    gap = stats.over_starts(gaps, stats.STRICT)
    if (gap.low > 0 or gap.high < 0) and abs(gap.estimate) >= math.log1p(margin):
        change = change_text(THROUGHPUT, stats.over_starts(whole, stats.STRICT), stats.STRICT)
        text = f"With all slices, the outermost of each start included, it is {change}: some are far off"
        yield "uneven", text


def _standstills(starts_of: Mapping[str, Starts]) -> Said:
    """Servers that stood still in the middle, and a machine or its clock that did."""
    for server, starts in starts_of.items():
        still = {
            name: sum(samples.counters.get(name, 0.0) for samples in starts.values())
            for name in (STOOD_S, STOPPED_S, JUMPED_S)
        }
        if still[STOOD_S]:
            yield "stood-still", f"{server} stood still for {still[STOOD_S]:.1f} s"
        elif empty := sum(map(_empty, starts.values())):
            yield "stood-still", f"{server} stood still: it did next to nothing in {empty} of its slices"
        if still[STOPPED_S]:
            text = f"This process stood still for {still[STOPPED_S]:.1f} s beside {server}'s slices"
            yield "stopped", f"{text}: it was stopped, or the machine was"
        if still[JUMPED_S]:
            text = f"The clock jumped by {still[JUMPED_S]:.1f} s beside {server}'s slices"
            yield "clock-jumped", f"{text}: it was set, or the machine was paused"


def _empty(samples: Samples) -> int:
    """Count the slices that did next to nothing, where slices have many transactions."""
    usual = median(samples.transactions)
    return sum(count < EMPTY * usual for count in samples.transactions) if usual >= MANY else 0


def _shape_warnings(header: RunHeader, workload: str) -> Said:
    """A load that differs from its options, or does not measure what the verdict is about."""
    load = header.profile.load
    for record in header.workloads:
        explicit = record.written.endswith(f".{record.protocol}")
        if record.name == workload and record.protocol != load.protocol and not explicit:
            yield "protocol", f"Sent by the {record.protocol} protocol, the only one for this workload"
    if load.rate is not None:
        text = "At a fixed rate throughput only shows whether a server keeps up: latencies are judged"
        yield "fixed-rate", text


def _load_warnings(header: RunHeader, cell: Cell, starts: Starts) -> Said:
    every = errors(starts)
    retried = sum(count for code, count in every.items() if code in RETRIED) / completed(starts)
    retryable, lost = (
        ", ".join(f"error {code}: {n}" for code, n in every.items() if (code in RETRIED) is known)
        for known in (True, False)
    )
    if retried > RETRIED_MAX:
        yield "errors", f"{plain_percent(retried)} of transactions were rolled back and retried ({retryable})"
    if lost:
        yield "lost", f"Connections were lost, or could not be reopened at once ({lost})"
    if reopened := sum(samples.counters.get(REOPENED, 0) for samples in starts.values()):
        times = "once" if reopened == 1 else f"{reopened:.0f} times"
        yield "reopened", f"The server closed the suite's own connection {times}; it was opened again"
    busy = _client_share(header, cell, starts)
    if busy > CLIENT_MAX:
        text = f"The load engine used about {100 * busy:.0f} % of its CPUs: it may be the bottleneck"
        yield "client-bound", text


def _client_share(header: RunHeader, cell: Cell, starts: Starts) -> float:
    """Estimated share of its CPUs that the client used during the slices.

    Run documents lack the wall time of slices. It is taken to be the window, a ramp in the profile's
    proportion, and one mean latency for the transactions in flight at the end.
    """
    sampling = header.profile.sampling
    ramp = sampling.ramp_s / sampling.slice_s
    mean_s = transaction_s(starts)
    wall_s = sum(sum(s.window_s) * (1 + ramp) + len(s.window_s) * mean_s for s in starts.values())
    cpus = len(header.part(cell).runner.placement.client)
    return sum(sum(s.client_cpu_s) for s in starts.values()) / (cpus * wall_s)
