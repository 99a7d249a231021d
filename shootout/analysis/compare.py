"""Compare the cells of a run document with their bases: ratios, verdicts and warnings under a policy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from shootout.analysis import (
    causes,
    curves,
    figures,
    ledger,
    metrics,
    pairs,
    shrinkage,
    stats,
    verdicts,
    warnings,
)
from shootout.analysis.pairs import Pair
from shootout.analysis.verdicts import CellMetric, Decision, PValues
from shootout.errors import InputError
from shootout.inputs import acknowledgements, toml
from shootout.model.history import LedgerEntry
from shootout.model.plan import Policy
from shootout.model.run import RunDocument, RunHeader, StartRecord
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison

EntriesByKind = Mapping[ledger.Kind, Sequence[LedgerEntry]]


def compare(
    document: RunDocument,
    policy: Policy | None = None,
    base: str | None = None,
    ledger_entries: Iterable[LedgerEntry] = (),
    acknowledged: Sequence[Acknowledgement] = (),
) -> Comparison:
    """Compare the document's cells with those of the server `base` under `policy` (default: the profile's).

    By default a block's base is the first of its servers that was measured. `ledger_entries`: those of this
    runner; only runs before this one count, so that verdicts never change later. `acknowledged`: known
    regressions. Raises InputError for an unknown base and for an unreadable histogram.
    """
    header = document.header
    policy = header.profile.policy if policy is None else policy
    labels = tuple(dict.fromkeys(server for block in header.blocks for server in block.servers))
    if base is not None and base not in labels:
        raise InputError(f"unknown server {base!r}, not in run {header.run}{toml.hint(base, labels)}")
    figures.require_readable(document)
    cells, aa_controls = shrinkage.shrunk(
        _pairs(document, policy, base), _aa_controls(document, policy), policy.confidence
    )
    p_values = _adjusted([*cells, *aa_controls])
    known = [entry for entry in ledger_entries if entry.run < header.run]
    entries = ledger.by_kind(known)
    aa_comparisons = tuple(_comparison(document, policy, pair, p_values, entries) for pair in aa_controls)
    known += ledger.of(header, aa_comparisons)
    entries = ledger.by_kind(known)
    compared = tuple(
        acknowledgements.applied(
            _comparison(document, policy, pair, p_values, entries), acknowledged, header.started
        )
        for pair in cells
    )
    known += ledger.of(header, self_comparisons(header, compared))
    return Comparison(
        header=header,
        end=document.end,
        policy=policy,
        cells=compared,
        curves=curves.compare(cells, policy),
        laws=curves.laws(compared),
        aa_controls=aa_comparisons,
        false_alarms=ledger.false_alarms(known, policy),
    )


def self_comparisons(header: RunHeader, cells: Iterable[CellComparison]) -> tuple[CellComparison, ...]:
    """Cells of a server against itself, because it was named twice."""
    references = {record.label: record.reference for record in header.servers}
    return tuple(
        cell
        for cell in cells
        if cell.cell != cell.base
        and references.get(cell.cell.server, "") == references.get(cell.base.server) != ""
    )


def half_width(starts: Sequence[StartRecord], policy: Policy) -> float:
    """Half the width of the widest interval of a throughput log-ratio among one block's heads.

    The base is the first server of the newest start. Infinite if a head has fewer than two starts, zero if
    nothing is left to compare. Without variance shrinkage, unlike in `compare`: the number of starts must not
    depend on blocks that still lack starts.
    """
    if not starts:
        return math.inf
    base, *heads = [pairs.of_server(starts, samples.server) for samples in starts[-1].samples] or [{}]
    effects = [pairs.throughput(base, head, policy) for head in heads]
    return max((_half_width(effect) for effect in effects), default=0.0)


def _pairs(document: RunDocument, policy: Policy, base: str | None) -> list[Pair]:
    """Every cell beside its base."""
    blocks = document.header.blocks
    return [pair for block in blocks for pair in pairs.of_block(document, block, policy, base)]


def _aa_controls(document: RunDocument, policy: Policy) -> list[Pair]:
    """Every A/A cell."""
    aa_controls = (pairs.of_aa_control(document, block, policy) for block in document.header.blocks)
    return [aa_control for aa_control in aa_controls if aa_control is not None]


def _adjusted(pairs_: Iterable[Pair]) -> dict[CellMetric, PValues]:
    """The p-values of all metrics of verdicts, after Hommel over all of them."""
    found = {(pair.cell, each.metric): each for pair in pairs_ for each in pair.changes}
    initial = stats.hommel([each.initial.p_value for each in found.values()])
    overall = stats.hommel([each.overall.p_value for each in found.values()])
    return dict(zip(found, map(PValues, initial, overall), strict=True))


def _verdict(
    header: RunHeader,
    policy: Policy,
    pair: Pair,
    p_values: Mapping[CellMetric, PValues],
    entries: EntriesByKind,
) -> tuple[CellComparison, Decision]:
    """A cell with its verdict only; `_comparison` adds the rest."""
    known = entries.get(ledger.kind(pair.cell), ())
    spreads = ledger.spreads(known, pair.cell, header.part(pair.cell).runner.fingerprint)
    decision = verdicts.of_cell(pair, policy, p_values, spreads)
    cell = CellComparison(
        cell=pair.cell,
        base=pair.base,
        verdict=decision.verdict,
        figures=None,
        ratio=pair.throughput and pair.throughput.ratio,
        p_value=decision.metrics[0].p_value if decision.metrics else None,
        per_start=(),
        reason=decision.reason,
        warnings=(),
    )
    return cell, decision


def _comparison(
    document: RunDocument,
    policy: Policy,
    pair: Pair,
    p_values: Mapping[CellMetric, PValues],
    entries: EntriesByKind,
) -> CellComparison:
    header = document.header
    cell, decision = _verdict(header, policy, pair, p_values, entries)
    figures_ = figures.of_cell(pair.starts, policy) if pair.starts else None
    compared = pair.failure is None and pair.base_failure is None and pair.cell != pair.base
    steady = pairs.both_steady(pair.base_starts, pair.starts) if compared else ({}, {})
    work = metrics.compare(*steady, policy.trim, policy.confidence)
    statements = metrics.statement_times(*steady, policy.confidence)
    place = header.part(pair.cell).runner.placement
    return structs.replace(
        cell,
        figures=figures_,
        per_start=() if pair.throughput is None else tuple(map(math.exp, pair.throughput.per_start)),
        warnings=tuple(warnings.of_cell(document, pair, decision, figures_)),
        judged=decision.metrics,
        metrics=work,
        statements=statements,
        causes=causes.of_cell(
            pair,
            decision,
            work,
            statements,
            policy,
            cpus=len(place.of(pair.cell.threads, writes=figures_ is not None and figures_.writes > 0)[1]),
            cells=sum(len(block.servers) for block in header.blocks),
        ),
    )


def _half_width(effect: stats.Effect | None) -> float:
    """Infinite with one start: the interval over its rounds, however narrow, does not count."""
    if effect is None or len(effect.per_start) < 2:
        return math.inf
    return (effect.high - effect.low) / 2
