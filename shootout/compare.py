"""A run document judged against a policy: each cell's ratio to its base, a verdict, the doubts about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from shootout import causes, curves, doubts, figures, judge, ledger, metrics, pairs, stats, toml, triage
from shootout.errors import InputError
from shootout.judge import Key
from shootout.model import (
    THROUGHPUT,
    Acknowledgement,
    CellComparison,
    Comparison,
    Interval,
    LedgerEntry,
    Policy,
    RunDocument,
    RunHeader,
    StartRecord,
    Verdict,
)
from shootout.pairs import Pair


def compare(
    document: RunDocument,
    policy: Policy | None = None,
    base: str | None = None,
    history: Iterable[LedgerEntry] = (),
    acknowledged: Sequence[Acknowledgement] = (),
) -> Comparison:
    """The document's cells judged under `policy` (default: the profile's) against the server `base`.

    By default the base of a block is the first of its servers that was measured. `history`: what A/A cells
    have shown on this runner; only runs before this one count, so that a verdict stays what it was.
    `acknowledged`: regressions that are known. Raises InputError for a label that the document does not have,
    and for a histogram that cannot be read.
    """
    header = document.header
    policy = header.profile.policy if policy is None else policy
    labels = tuple(dict.fromkeys(server for block in header.blocks for server in block.servers))
    if base is not None and base not in labels:
        raise InputError(f"unknown server {base!r}, not in run {header.run}{toml.hint(base, labels)}")
    figures.require_readable(document)
    cells = [pair for block in header.blocks for pair in pairs.of_block(document, block, policy, base)]
    twins = [twin for block in header.blocks if (twin := pairs.of_twin(document, block, policy)) is not None]
    p_values = _adjusted([*cells, *twins])
    known = [entry for entry in history if entry.run < header.run]
    of_twins = tuple(_judged(document, policy, pair, p_values, known) for pair in twins)
    known += ledger.of(header, of_twins)
    judged = tuple(
        triage.applied(_judged(document, policy, pair, p_values, known), acknowledged, header.started)
        for pair in cells
    )
    known += ledger.of(header, again(header, judged))
    return Comparison(
        header=header,
        end=document.end,
        policy=policy,
        cells=judged,
        curves=curves.compare(cells, policy),
        twins=of_twins,
        false_alarms=ledger.false_alarms(known, policy),
    )


def again(header: RunHeader, cells: Iterable[CellComparison]) -> tuple[CellComparison, ...]:
    """The cells in which a server was measured against itself, because it was named twice."""
    references = {record.label: record.reference for record in header.servers}
    return tuple(
        cell
        for cell in cells
        if cell.cell != cell.base
        and references.get(cell.cell.server, "") == references.get(cell.base.server) != ""
    )


def half_width(starts: Sequence[StartRecord], policy: Policy) -> float:
    """Half the width of the widest interval of a throughput's log-ratio among one block's heads.

    Of the servers of the newest start, the first is the base. Endless with fewer than two starts of a head,
    zero where nothing is left to compare.
    """
    if not starts:
        return math.inf
    base, *heads = [pairs.of_server(starts, samples.server) for samples in starts[-1].samples] or [{}]
    effects = [pairs.throughput(base, head, policy) for head in heads]
    return max((_half_width(effect) for effect in effects), default=0.0)


def exit_code(comparison: Comparison) -> int:
    """3 where a cell failed; 1 where one regressed; 4 where the policy fails what cannot be told; else 0.

    What is acknowledged counts as told. Where the runner cries wolf too often (`advisory`), a regression
    fails nothing.
    """
    verdicts = {cell.verdict for cell in comparison.cells if cell.acknowledged is None}
    if Verdict.FAILED in verdicts:
        return 3
    if Verdict.REGRESSED in verdicts and not advisory(comparison):
        return 1
    untold = any(
        cell.verdict is Verdict.INCONCLUSIVE or (cell.verdict is Verdict.UNJUDGED and cell.cell != cell.base)
        for cell in comparison.cells
    )
    return 4 if untold and comparison.policy.inconclusive_fails else 0


def advisory(comparison: Comparison) -> bool:
    """Whether the runner's rate of false alarms may be above the policy's.

    That is where the upper bound of its interval is: it is above with few A/A cells, whatever they showed.
    """
    return ledger.wanting(comparison.false_alarms, comparison.policy) > 0


def _adjusted(compared: Iterable[Pair]) -> dict[Key, float]:
    """Each judged metric's p-value, after Holm over all of them."""
    found = {(pair.cell, each.metric): each.first.p_value for pair in compared for each in pair.judged}
    return dict(zip(found, stats.holm([*found.values()]), strict=True))


def _judged(
    document: RunDocument,
    policy: Policy,
    pair: Pair,
    p_values: Mapping[Key, float],
    known: Iterable[LedgerEntry],
) -> CellComparison:
    header = document.header
    runner = header.part(pair.cell).runner
    judgement = judge.judge(pair, policy, p_values, ledger.spreads(known, pair.cell, runner.fingerprint))
    figures_ = figures.of_cell(pair.starts, policy) if pair.starts else None
    compared = pair.failure is None and pair.base_failure is None and pair.cell != pair.base
    steady = pairs.both_steady(pair.base_starts, pair.starts) if compared else ({}, {})
    work = metrics.compare(*steady, policy.confidence)
    statements = metrics.statement_times(*steady, policy.confidence)
    return CellComparison(
        cell=pair.cell,
        base=pair.base,
        verdict=judgement.verdict,
        figures=figures_,
        ratio=_ratio(pair.throughput),
        p_value=judgement.metrics[0].p_value if judgement.metrics else None,
        per_start=() if pair.throughput is None else tuple(map(math.exp, pair.throughput.per_start)),
        reason=judgement.reason,
        warnings=tuple(doubts.of_cell(document, pair, judgement, figures_)),
        judged=judgement.metrics,
        metrics=work,
        statements=statements,
        causes=causes.of_cell(
            pair,
            judgement,
            work,
            statements,
            policy,
            cpus=len(runner.placement.servers),
            cells=sum(len(block.servers) for block in header.blocks),
        ),
    )


def _ratio(effect: stats.Effect | None) -> Interval | None:
    return None if effect is None else judge.ratio(THROUGHPUT, effect)


def _half_width(effect: stats.Effect | None) -> float:
    """Of an interval over starts; one start has none, however narrow that of its rounds is."""
    if effect is None or len(effect.per_start) < 2:
        return math.inf
    return (effect.high - effect.low) / 2
