"""Decide on every cell of a run: its verdict, without the evidence that a comparison adds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shootout.analysis import ledger, pairs, shrinkage, stats, verdicts
from shootout.analysis.pairs import Pair
from shootout.analysis.verdicts import CellMetric, Decision
from shootout.model.history import LedgerEntry
from shootout.model.plan import Cell, Policy
from shootout.model.run import RunDocument, RunHeader
from shootout.model.verdict import CellComparison


class Decided(NamedTuple):
    """A cell beside its base, and what was decided on it."""

    pair: Pair
    decision: Decision


class Decisions(NamedTuple):
    """A run's cells and A/A cells, by block, each block's base first."""

    cells: tuple[Decided, ...]
    aa_controls: tuple[Decided, ...]


def of_run(
    document: RunDocument, policy: Policy, base: str | None = None, earlier: Iterable[LedgerEntry] = ()
) -> Decisions:
    """Decide on all cells, and on A/A cells in the same way. `earlier`: A/A cells of earlier runs."""
    header = document.header
    cells, aa_controls = shrinkage.shrunk(
        [pair for block in header.blocks for pair in pairs.of_block(document, block, policy, base)],
        [
            pair
            for block in header.blocks
            if (pair := pairs.of_aa_control(document, block, policy)) is not None
        ],
        policy.confidence,
    )
    every = (*cells, *aa_controls)
    alone: dict[CellMetric, float] = {
        (pair.cell, change.metric): change.effect.p_value for pair in every for change in pair.changes
    }
    p_values = dict(zip(alone, stats.hommel([*alone.values()]), strict=True))
    known = [*earlier]
    decided_aa = _decided(header, aa_controls, policy, p_values, known)
    known += [
        ledger.entry(header, pair.cell, decision.verdict, len(pair.throughput.per_start), decision.metrics)
        for pair, decision in decided_aa
        if pair.throughput is not None and len(pair.throughput.per_start) > 1
    ]
    return Decisions(_decided(header, cells, policy, p_values, known), decided_aa)


def as_cell(decided: Decided, policy: Policy) -> CellComparison:
    """Return what was decided on a cell, without figures and evidence."""
    pair, decision = decided
    return CellComparison(
        cell=pair.cell,
        base=pair.base,
        verdict=decision.verdict,
        figures=None,
        ratio=pair.throughput and pair.throughput.ratio,
        p_value=decision.metrics[0].p_value if decision.metrics else None,
        per_start=() if pair.throughput is None else tuple(map(math.exp, pair.throughput.per_start)),
        reason=decision.reason,
        warnings=(),
        judged=decision.metrics,
        leaning=verdicts.leaning(pair, decision, policy),
    )


def _decided(
    header: RunHeader,
    pairs_: Iterable[Pair],
    policy: Policy,
    p_values: Mapping[CellMetric, float],
    known: Iterable[LedgerEntry],
) -> tuple[Decided, ...]:
    by_kind = ledger.by_kind(known)

    def noise(cell: Cell) -> Mapping[str, ledger.Noise]:
        return ledger.noise(by_kind.get(ledger.kind(cell), ()), header.part(cell).runner.fingerprint)

    return tuple(Decided(pair, verdicts.of_cell(pair, policy, p_values, noise(pair.cell))) for pair in pairs_)
