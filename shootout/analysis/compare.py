"""Compare the cells of a run document with their bases: ratios, verdicts and warnings under a policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set

from msgspec import structs

from shootout.analysis import (
    causes,
    curves,
    decisions,
    figures,
    ledger,
    metrics,
    pairs,
    plan_changes,
    warnings,
)
from shootout.analysis.decisions import Decided
from shootout.analysis.thresholds import RULE
from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.history import LedgerEntry
from shootout.model.plan import Cell, Policy
from shootout.model.run import RunDocument
from shootout.model.verdict import CellComparison, Comparison


def compare(
    document: RunDocument,
    policy: Policy | None = None,
    base: str | None = None,
    ledger_entries: Iterable[LedgerEntry] = (),
) -> Comparison:
    """Compare the document's cells with those of the server `base` under `policy` (default: the profile's).

    By default a block's base is the first of its servers that was measured. `ledger_entries`: those of this
    runner; only runs before this one count, so that verdicts never change later. Raises InputError for an
    unknown base and for an unreadable histogram.
    """
    header = document.header
    policy = header.profile.policy if policy is None else policy
    labels = tuple(dict.fromkeys(server for block in header.blocks for server in block.servers))
    if base is not None and base not in labels:
        raise InputError(f"unknown server {base!r}, not in run {header.run}{toml.hint(base, labels)}")
    figures.require_readable(document)
    known = ledger.earlier(header, ledger_entries)
    cells, aa_controls = decisions.of_run(document, policy, base, known)
    of_base: defaultdict[Cell, set[int]] = defaultdict(set)  # starts that some head's verdict rests on
    for pair, _ in cells:
        of_base[pair.base] |= pairs.rested_on(pair)[0].keys()
    compared_aa, compared = (
        tuple(_comparison(document, policy, decided, of_base[decided.pair.base]) for decided in every)
        for every in (aa_controls, cells)
    )
    known += ledger.entries_of_run(header, policy, compared, compared_aa)
    comparisons = max(1, sum(len(each.judged) for each in (*compared, *compared_aa)))
    return Comparison(
        header=header,
        end=document.end,
        policy=policy,
        cells=compared,
        curves=curves.compare([pair for pair, _ in cells], policy),
        aa_controls=compared_aa,
        false_alarms=ledger.false_alarms(known, policy, comparisons),
        rule=RULE,
    )


def _comparison(document: RunDocument, policy: Policy, decided: Decided, of_base: Set[int]) -> CellComparison:
    """Complete a cell with its evidence; `of_base`: the base's starts that some head's verdict rests on."""
    header, (pair, decision) = document.header, decided
    rested_on = pairs.rested_on(pair)
    costs = metrics.compare(*rested_on, policy.trim, policy.confidence)
    statements = metrics.statement_times(*rested_on, policy.confidence)
    if pair.cell == pair.base:
        figures_, base_figures = figures.of_cell(pair.starts, of_base, policy), None
    else:
        base_figures, figures_ = (
            figures.of_cell(starts, used.keys(), policy)
            for starts, used in zip((pair.base_starts, pair.starts), rested_on, strict=True)
        )
    if figures_ is not None and base_figures is not None:
        figures_ = figures.as_compared(figures_, {each.name: each.head for each in costs})
        base_figures = figures.as_compared(base_figures, {each.name: each.base for each in costs})
    place = header.part(pair.cell).runner.placement
    return structs.replace(
        decisions.as_cell(decided, policy),
        figures=figures_,
        base_figures=base_figures,
        warnings=warnings.made(warnings.of_cell(document, pair, decision)),
        metrics=costs,
        plans=plan_changes.kept(document, pair.cell, pair.base, [each.kind for each in statements]),
        statements=statements,
        causes=causes.of_cell(
            pair,
            decision,
            costs,
            statements,
            policy,
            cpus=len(place.cpus(pair.cell.threads, writes=figures_ is not None and figures_.writes > 0)[1]),
            cells=sum(len(block.servers) for block in header.blocks),
        ),
    )
