"""Blocks of a run to measure again, as a change may be real, and whether the others still matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shootout.analysis import acknowledgements, decisions, gate, ledger, verdicts
from shootout.analysis.thresholds import BEYOND_DOUBT, CONFIRMED
from shootout.model.history import LedgerEntry
from shootout.model.plan import block_key
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement


def worth_confirming(document: RunDocument, ledger_entries: Iterable[LedgerEntry] = ()) -> tuple[str, ...]:
    """List the keys of blocks in which a cell or A/A cell may have changed, by the final verdict's bar."""
    policy = document.header.profile.policy
    earlier = ledger.earlier(document.header, ledger_entries)
    cells, aa_controls = decisions.of_run(document, policy, earlier=earlier)
    changed = {
        block_key(pair.cell.workload, pair.cell.threads)
        for pair, decision in (*cells, *aa_controls)
        if any(verdicts.worth_confirming(metric, policy) for metric in decision.metrics)
    }
    return tuple(block.key for block in document.header.blocks if block.key in changed)


def fails_gate(
    document: RunDocument,
    ledger_entries: Iterable[LedgerEntry] = (),
    acknowledged: Sequence[Acknowledgement] = (),
) -> bool:
    """Whether a cell has regressed by so much that fresh starts will fail the gate; False if it is no gate.

    Its p-value is already below the limit of confirmed changes. On a runner whose false-alarm rate is not
    known the whole interval lies beyond the margin, as a failing one must.
    """
    policy = document.header.profile.policy
    if not policy.is_gate:
        return False
    earlier = ledger.earlier(document.header, ledger_entries)
    cells, aa_controls = decisions.of_run(document, policy, earlier=earlier)
    comparisons = max(1, sum(len(decision.metrics) for _, decision in (*cells, *aa_controls)))
    state = gate.judge_rate(ledger.false_alarms(earlier, policy, comparisons), policy)
    margins = BEYOND_DOUBT.get(state, BEYOND_DOUBT["provisional"])
    compared = (decisions.as_cell(decided, policy) for decided in cells)
    known = (acknowledgements.of_cell(cell, acknowledged, document.header.started) for cell in compared)
    open_ = [metric for cell in known if cell.acknowledged is None for metric in cell.judged]
    limit = CONFIRMED * (1 - policy.confidence)
    return any(metric.p_value < limit and gate.regressed_beyond(metric, margins) for metric in open_)
