"""The gate: its exit code, and which regressions count while a runner's noise is not known."""

from __future__ import annotations

from typing import Literal

from shootout.analysis import exit_codes, ledger
from shootout.analysis.thresholds import BEYOND_DOUBT
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.run import LACKS
from shootout.model.verdict import CellComparison, Comparison, FalseAlarms, MetricVerdict, Verdict

Standing = Literal["proven", "provisional", "refuted"]


def exit_code(comparison: Comparison) -> int:
    """Return the exit code of a comparison; undecided cells count if the policy says so."""
    undecided = any(
        cell.verdict is Verdict.INCONCLUSIVE or (cell.verdict is Verdict.UNJUDGED and cell.cell != cell.base)
        for cell in comparison.cells
    )
    return exit_codes.exit_code(
        failed=has_failed(comparison),
        regressed=any(counts(cell, comparison) for cell in comparison.cells),
        unmeasured=not all(cell.reason.startswith(LACKS) for cell in unmeasured(comparison)),
        undecided=undecided and comparison.policy.inconclusive_fails,
    )


def has_failed(comparison: Comparison) -> bool:
    """Whether a cell failed."""
    return any(cell.verdict is Verdict.FAILED for cell in comparison.cells)


def unmeasured(comparison: Comparison) -> tuple[CellComparison, ...]:
    """List the cells that the run did not get to, though their servers were there; bases among them."""
    absent = {server.label for server in comparison.header.servers if server.absent}
    return tuple(
        cell
        for cell in comparison.cells
        if cell.figures is None and cell.verdict is Verdict.UNJUDGED and cell.cell.server not in absent
    )


def judge_false_alarms(comparison: Comparison) -> Standing:
    """Judge by the runner's A/A cells how many gates alarm falsely."""
    return judge_rate(comparison.false_alarms, comparison.policy)


def judge_rate(known: FalseAlarms, policy: Policy) -> Standing:
    """Judge by these false alarms how many gates alarm falsely.

    Proven: it is at most the policy's, as the upper end of its interval is. Refuted: it is higher, as the
    lower end is. Provisional: they cannot tell yet.
    """
    if ledger.cells_needed(known, policy) == 0:
        return "proven"
    return "refuted" if known.share.low > policy.false_alarms_max else "provisional"


def counts(cell: CellComparison, comparison: Comparison) -> bool:
    """Whether a cell's regression fails the gate.

    Every one does on a proven runner; on others those that are beyond doubt, by more on a refuted one. An
    acknowledged one never does.
    """
    if cell.verdict is not Verdict.REGRESSED or cell.acknowledged is not None:
        return False
    state = judge_false_alarms(comparison)
    return state == "proven" or any(beyond_doubt(each, BEYOND_DOUBT[state]) for each in cell.judged)


def beyond_doubt(metric: MetricVerdict, margins: int = BEYOND_DOUBT["provisional"]) -> bool:
    """Whether a regression was confirmed, and its whole interval lies beyond so many margins."""
    return metric.confirmed is True and regressed_beyond(metric, margins)


def regressed_beyond(metric: MetricVerdict, margins: int) -> bool:
    """Whether the whole interval of a regression lies beyond so many margins."""
    if metric.verdict is not Verdict.REGRESSED:
        return False
    loss = 1 / metric.ratio.high if metric.metric == THROUGHPUT else metric.ratio.low
    return loss > (1 + metric.margin) ** margins
