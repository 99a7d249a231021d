"""A runner's A/A cells, by its ledger: the noise of each kind of cell, and the false-alarm rate.

An A/A cell compares a server with a second instance of itself, measured like any other cell, so whatever it
shows is noise. document/ledgers.py has the files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import structs

from shootout.analysis import stats
from shootout.analysis.thresholds import LASTING_MIN, RULE
from shootout.model.history import LedgerEntry
from shootout.model.plan import THROUGHPUT, Cell, Policy
from shootout.model.run import RunHeader
from shootout.model.verdict import CellComparison, FalseAlarms, Interval, MetricVerdict, Verdict

Kind = tuple[str, str, int]  # workload, dataset, threads: cells that share A/A noise


def entries_of_run(
    header: RunHeader,
    policy: Policy,
    cells: Sequence[CellComparison],
    aa_controls: Sequence[CellComparison],
    *,
    starts: int = 0,
) -> tuple[LedgerEntry, ...]:
    """Make a run's entries: one for each A/A cell with two starts or more.

    A cell of a server that was named twice, and so compared with itself, is an A/A cell, too. `starts`: those
    that the run has made so far, which entries on disk record.
    """
    references = {record.label: record.reference for record in header.servers}
    with_itself = [
        cell
        for cell in cells
        if cell.cell != cell.base
        and references.get(cell.cell.server, "") == references.get(cell.base.server) != ""
    ]
    made = sum(len(cell.judged) for cell in (*cells, *aa_controls))
    return tuple(
        structs.replace(
            entry(header, cell.cell, cell.verdict, len(cell.per_start), cell.judged),
            rule=RULE,
            comparisons=made,
            confidence=policy.confidence,
            confirm_starts=policy.confirm_starts,
            made=starts,
        )
        for cell in (*aa_controls, *with_itself)
        if len(cell.per_start) > 1
    )


def entry(
    header: RunHeader, cell: Cell, verdict: Verdict, starts: int, judged: Sequence[MetricVerdict]
) -> LedgerEntry:
    """Make the entry of one A/A cell, whose metrics were `judged` over so many starts."""
    part = header.part(cell)
    return LedgerEntry(
        format=2,
        run=part.run,
        runner=part.runner.fingerprint,
        workload=cell.workload,
        dataset=cell.dataset,
        threads=cell.threads,
        settings=header.profile.settings,
        verdict=verdict,
        starts=starts,
        spreads={metric.metric: metric.spread for metric in judged},
        estimates={metric.metric: math.log(metric.ratio.estimate) for metric in judged},
        margin=next((metric.margin for metric in judged if metric.metric == THROUGHPUT), None),
    )


def earlier(header: RunHeader, entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Find the entries of earlier runs with the same settings, except a merged run's own parts."""
    parts = {part.run for part in header.parts}
    return [
        entry
        for entry in entries
        if entry.settings == header.profile.settings and entry.run < header.run and entry.run not in parts
    ]


def kind(cell: Cell | LedgerEntry) -> Kind:
    """Key under which cells share A/A noise."""
    return cell.workload, cell.dataset, cell.threads


def by_kind(entries: Iterable[LedgerEntry]) -> dict[Kind, list[LedgerEntry]]:
    """Group entries by kind of cell, so that years of entries are scanned once, not for each cell."""
    grouped: dict[Kind, list[LedgerEntry]] = {}
    for entry in entries:
        grouped.setdefault(kind(entry), []).append(entry)
    return grouped


class Noise(NamedTuple):
    """The noise of A/A cells of one kind, as logarithms."""

    spread: float  # standard deviation of one start
    lasting: float = 0.0  # of what all starts of a run share

    def deviation(self, starts: int) -> float:
        """Standard deviation of the estimate of so many starts."""
        return math.hypot(self.spread / math.sqrt(starts), self.lasting)


def noise(of_kind: Sequence[LedgerEntry], runner: str = "") -> dict[str, Noise]:
    """Pool the noise of A/A cells of one kind, by metric.

    Spreads are pooled. Estimates of different runs, which should be 0, vary by their errors and by what lasts
    through all starts of a run: its variance is the mean of their squares less those of their errors (Hedges
    and Vevea 1998); 0 with fewer than `LASTING_MIN`. `runner`: count only entries of the runner with this
    fingerprint.
    """
    of_kind = [entry for entry in of_kind if not (runner and entry.runner and entry.runner != runner)]
    by_metric: dict[str, Noise] = {}
    for metric in dict.fromkeys(metric for entry in of_kind for metric in entry.spreads):
        spreads = [(entry, entry.spreads[metric]) for entry in of_kind if metric in entry.spreads]
        df = sum(entry.starts - 1 for entry, _ in spreads)
        squares = sum((entry.starts - 1) * spread**2 for entry, spread in spreads)
        excess = [
            entry.estimates[metric] ** 2 - spread**2 / entry.starts
            for entry, spread in spreads
            if metric in entry.estimates
        ]
        lasting = max(0.0, sum(excess) / len(excess)) if len(excess) >= LASTING_MIN else 0.0
        by_metric[metric] = Noise(math.sqrt(squares / df), math.sqrt(lasting))
    return by_metric


def cells_needed(known: FalseAlarms, policy: Policy) -> int:
    """Further A/A cells, all without false alarm, that would prove that few enough gates alarm.

    Wilson's upper bound for k of n is the p with n p - k = z sqrt(n p (1 - p)); this is solved for sqrt(n).
    """
    most = 1 - math.pow(1 - policy.false_alarms_max, 1 / known.comparisons)  # of cells
    reach = stats.quantile(policy.confidence) * math.sqrt(most * (1 - most))
    root = (reach + math.sqrt(reach**2 + 4 * most * known.alarms)) / (2 * most)
    return max(0, math.ceil(root**2) - known.cells)


def false_alarms_of_gates(entries: Iterable[LedgerEntry], policy: Policy, settings: str) -> FalseAlarms:
    """Count a runner's false alarms with these settings, in gates with as many comparisons as its newest."""
    alike = [entry for entry in entries if entry.settings == settings]
    return false_alarms(alike, policy, max([1, *(entry.comparisons for entry in alike[-1:])]))


def false_alarms(entries: Iterable[LedgerEntry], policy: Policy, comparisons: int) -> FalseAlarms:
    """Count A/A cells judged regressed or improved, and say how many gates of so many comparisons alarm.

    A gate alarms if any cell does. From Wilson's interval for cells follows that of gates, if cells alarm
    independently of each other; if they alarm together, fewer gates do. Only cells judged by the same rule
    count, among as many comparisons, at the policy's confidence, confirmed if it confirms, and by no larger
    margin.
    """
    verdicts = [
        entry.verdict
        for entry in entries
        if (entry.margin is None or entry.margin <= policy.margin_of(THROUGHPUT, entry.workload))
        and (entry.rule, entry.comparisons, entry.confidence) == (RULE, comparisons, policy.confidence)
        and bool(entry.confirm_starts) == bool(policy.confirm_starts)
    ]
    alarms = sum(verdict in (Verdict.REGRESSED, Verdict.IMPROVED) for verdict in verdicts)
    ends = structs.asdict(stats.wilson(alarms, len(verdicts), policy.confidence)).items()
    share = Interval(**{name: 1 - (1 - each) ** comparisons for name, each in ends})
    return FalseAlarms(alarms=alarms, cells=len(verdicts), comparisons=comparisons, share=share)
