"""Which blocks of a run to measure again, because a change in them may be real."""

from __future__ import annotations

from collections.abc import Iterable

from shootout.analysis import decisions, ledger, verdicts
from shootout.model.history import LedgerEntry
from shootout.model.plan import block_key
from shootout.model.run import RunDocument


def worth_confirming(document: RunDocument, ledger_entries: Iterable[LedgerEntry] = ()) -> tuple[str, ...]:
    """Keys of the blocks in which a cell or A/A cell may have changed, by the starts so far.

    `ledger_entries`: those of this runner, so that the bar is that of the final verdict.
    """
    policy = document.header.profile.policy
    earlier = ledger.earlier(document.header, ledger_entries)
    cells, aa_controls = decisions.of_run(document, policy, earlier=earlier)
    changed = {
        block_key(pair.cell.workload, pair.cell.threads)
        for pair, decision in (*cells, *aa_controls)
        if any(verdicts.worth_confirming(metric, policy) for metric in decision.metrics)
    }
    return tuple(block.key for block in document.header.blocks if block.key in changed)
