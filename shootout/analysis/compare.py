"""A run document judged against a policy: each cell's ratio to its base, a verdict, the warnings about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

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
from shootout.analysis.verdicts import CellMetric, Judgement
from shootout.errors import InputError
from shootout.inputs import acknowledgements, toml
from shootout.model.history import LedgerEntry
from shootout.model.plan import Cell, Policy
from shootout.model.run import RunDocument, RunHeader, StartRecord
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, Verdict

Noise = Mapping[ledger.Kind, Sequence[LedgerEntry]]  # what A/A cells have shown


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
    cells, aa_controls = shrinkage.shrunk(
        _pairs(document, policy, base), _aa_controls(document, policy), policy.confidence
    )
    p_values = _adjusted([*cells, *aa_controls])
    known = [entry for entry in history if entry.run < header.run]
    noise = ledger.by_kind(known)
    of_aa_controls = tuple(_judged(document, policy, pair, p_values, noise) for pair in aa_controls)
    known += ledger.of(header, of_aa_controls)
    noise = ledger.by_kind(known)
    judged = tuple(
        acknowledgements.applied(
            _judged(document, policy, pair, p_values, noise), acknowledged, header.started
        )
        for pair in cells
    )
    known += ledger.of(header, again(header, judged))
    return Comparison(
        header=header,
        end=document.end,
        policy=policy,
        cells=judged,
        curves=curves.compare(cells, policy),
        laws=curves.laws(judged),
        aa_controls=of_aa_controls,
        false_alarms=ledger.false_alarms(known, policy),
    )


def others(
    document: RunDocument, comparison: Comparison, history: Iterable[LedgerEntry] = ()
) -> Iterator[CellComparison]:
    """Each two servers of a block of which neither is its base, judged as `compare` does with another base.

    Verdict, ratio and reason only, not what they rest on. `comparison`: the document's, made with the same
    `history`.
    """
    header, policy = comparison.header, comparison.policy
    bases = {cell.base for cell in comparison.cells}
    wanted: dict[str, set[Cell]] = {}
    for block in header.blocks:
        heads = [cell for cell in block.cells if cell not in bases]
        for number, cell in enumerate(heads[:-1], 1):
            wanted.setdefault(cell.server, set()).update(heads[number:])
    known = [entry for entry in history if entry.run < header.run]
    noise = ledger.by_kind([*known, *ledger.of(header, comparison.aa_controls)])
    of_aa_controls = _aa_controls(document, policy)
    for base, heads_ in wanted.items():
        cells, aa_controls = shrinkage.shrunk(
            _pairs(document, policy, base), of_aa_controls, policy.confidence
        )
        p_values = _adjusted([*cells, *aa_controls])
        for pair in cells:
            if pair.cell in heads_ and pair.base.server == base:
                yield _verdict(header, policy, pair, p_values, noise)[0]


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
    zero where nothing is left to compare. Each head's own starts count, though `compare` also goes by the
    others': what decides how many starts are made shall not rest on blocks that are still short of them.
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


def _pairs(document: RunDocument, policy: Policy, base: str | None) -> list[Pair]:
    """Every cell beside its base."""
    blocks = document.header.blocks
    return [pair for block in blocks for pair in pairs.of_block(document, block, policy, base)]


def _aa_controls(document: RunDocument, policy: Policy) -> list[Pair]:
    """Every A/A cell."""
    aa_controls = (pairs.of_aa_control(document, block, policy) for block in document.header.blocks)
    return [aa_control for aa_control in aa_controls if aa_control is not None]


def _adjusted(compared: Iterable[Pair]) -> dict[CellMetric, float]:
    """Each judged metric's p-value, after Holm over all of them."""
    found = {(pair.cell, each.metric): each.p_value for pair in compared for each in pair.judged}
    return dict(zip(found, stats.holm([*found.values()]), strict=True))


def _verdict(
    header: RunHeader,
    policy: Policy,
    pair: Pair,
    p_values: Mapping[CellMetric, float],
    noise: Noise,
) -> tuple[CellComparison, Judgement]:
    """A cell with its verdict, and not yet with what that rests on."""
    known = noise.get(ledger.kind(pair.cell), ())
    spreads = ledger.spreads(known, pair.cell, header.part(pair.cell).runner.fingerprint)
    judgement = verdicts.judge(pair, policy, p_values, spreads)
    cell = CellComparison(
        cell=pair.cell,
        base=pair.base,
        verdict=judgement.verdict,
        figures=None,
        ratio=pair.throughput and pair.throughput.ratio,
        p_value=judgement.metrics[0].p_value if judgement.metrics else None,
        per_start=(),
        reason=judgement.reason,
        warnings=(),
    )
    return cell, judgement


def _judged(
    document: RunDocument,
    policy: Policy,
    pair: Pair,
    p_values: Mapping[CellMetric, float],
    noise: Noise,
) -> CellComparison:
    header = document.header
    cell, judgement = _verdict(header, policy, pair, p_values, noise)
    figures_ = figures.of_cell(pair.starts, policy) if pair.starts else None
    compared = pair.failure is None and pair.base_failure is None and pair.cell != pair.base
    steady = pairs.both_steady(pair.base_starts, pair.starts) if compared else ({}, {})
    work = metrics.compare(*steady, policy.confidence)
    statements = metrics.statement_times(*steady, policy.confidence)
    return structs.replace(
        cell,
        figures=figures_,
        per_start=() if pair.throughput is None else tuple(map(math.exp, pair.throughput.per_start)),
        warnings=tuple(warnings.of_cell(document, pair, judgement, figures_)),
        judged=judgement.metrics,
        metrics=work,
        statements=statements,
        causes=causes.of_cell(
            pair,
            judgement,
            work,
            statements,
            policy,
            cpus=len(header.part(pair.cell).runner.placement.servers),
            cells=sum(len(block.servers) for block in header.blocks),
        ),
    )


def _half_width(effect: stats.Effect | None) -> float:
    """Of an interval over starts; one start has none, however narrow that of its rounds is."""
    if effect is None or len(effect.per_start) < 2:
        return math.inf
    return (effect.high - effect.low) / 2
