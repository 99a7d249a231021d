"""The words of a run: topics that terminal, Markdown, JUnit and JSON write alike."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from shootout import figures
from shootout.analysis import gate, ledger, metrics
from shootout.analysis.warnings import OTHER_BASE
from shootout.answer import (
    SYMBOLS,
    Answer,
    Field,
    Figure,
    Mark,
    Point,
    Range,
    Table,
    Topic,
    change,
    factor,
    filled,
    joined,
    throughput,
)
from shootout.characters import visible
from shootout.model.plan import THROUGHPUT
from shootout.model.run import MODES_DROPPED, REMARK, RunDocument
from shootout.model.verdict import CellComparison, ClaimResult, Comparison, Outcome, Verdict
from shootout.numbers import SPACE
from shootout.report import circumstances, evidence, headlines, next_steps, wording
from shootout.report.sections import NO_SECTIONS, Sections
from shootout.writers.junit import Case, Suite

CUT_SHORT = "The run was cut short: some starts are missing"
APART = (
    "A change is judged round by round, without the most extreme rounds; throughputs are plain means over "
    "the same starts, so their quotient may differ"
)
COLUMNS = (
    "workload", "threads", "server", "base", "base, tps", "tps", "change", "interval", "metric",
    "detectable", "verdict",
)  # fmt: skip
# The table has no room for them.
PRINTED_WARNINGS = (
    *("not-restarted", "not-visible", "slow-build", "stood-still", "stopped", "clock-jumped", "other-bytes"),
    *("settings-left-out", MODES_DROPPED),
)
_P_VALUE = re.compile(r"(p = \S+) after")  # in a reason: each cell has its own


def answer(
    comparison: Comparison,
    sections: Sections = NO_SECTIONS,
    claims: Sequence[ClaimResult] = (),
    more_starts: str | None = None,
    out: Path | None = None,
) -> Answer:
    """Say what a run shows; `more_starts`: the command that gives it the minutes to decide more cells.

    `out`: the folder that its other commands name.
    """
    every = headlines.of_heads(comparison)
    return Answer(
        name=f"Run {comparison.header.run}",
        headline=headlines.overall(comparison).text,
        conditions=circumstances.setup(comparison),
        topics=joined(
            (
                _topic(*(headline.text for headline in every if len(every) > 1)),
                _topic(*_notes(comparison)),
                _verdicts(comparison),
                _topic(*_beside(comparison)),
                _more(comparison, more_starts),
                *_changes(comparison, sections, out),
                _topic(wording.explain_gate(comparison)),
                _topic(*wording.failures(comparison), *wording.unmeasured(comparison), is_problem=True),
                _topic(*map(_claim, claims)),
                *(
                    Topic(f"Why: {each.title}", points=each.points, folded=True)
                    for each in chain.from_iterable(sections.values())
                ),
            )
        ),
        value=value(comparison, claims),
        exit_code=gate.exit_code(comparison),
    )


def value(comparison: Comparison, claims: Sequence[ClaimResult] = ()) -> dict[str, object]:
    """Give a run as JSON has it."""
    found = {
        "run": comparison.header.run,
        "rule": comparison.rule,
        "says": [headline.text for headline in headlines.of_heads(comparison)],
        "standing": gate.judge_false_alarms(comparison),
        "failing": [cell.cell for cell in comparison.cells if gate.counts(cell, comparison)],
        "unmeasured": [cell.cell for cell in gate.unmeasured(comparison)],
        "aa_cells_wanting": ledger.cells_needed(comparison.false_alarms, comparison.policy),
        "cells": comparison.cells,
        "curves": comparison.curves,
        "false_alarms": comparison.false_alarms,
    }
    return found | ({"claims": claims} if claims else {})


def _topic(*lines: str, is_problem: bool = False) -> Topic | None:
    kept = tuple(filter(None, lines))
    return Topic(lines=kept, is_problem=is_problem) if kept else None


def _notes(comparison: Comparison) -> Iterator[str]:
    load = circumstances.conditions(comparison.header)
    yield f"Load: {load}" if load else ""
    yield from circumstances.warned(comparison, REMARK)
    if comparison.end is None or comparison.end.interrupted:
        yield CUT_SHORT
    yield from circumstances.setting_differences(comparison)


# --- the table of verdicts -----------------------------------------------------------------------------


def _verdicts(comparison: Comparison) -> Topic:
    """Show all cells that have a base, by block; a headline names servers that are absent."""
    absent = {server.label for server in comparison.header.servers if server.absent}
    alone = not wording.heads(comparison)
    shown = (c for c in comparison.cells if alone or c.cell != c.base or c.verdict is Verdict.FAILED)
    return Topic(tables=(table(c for c in shown if c.cell.server not in absent),))


def table(cells: Iterable[CellComparison]) -> Table:
    """Show cells with their verdicts; columns that no cell needs are left out."""
    shown = [*cells]
    alone = len({c.cell.server for c in shown}) == 1  # and named by the headline
    rows = (_row(c, "" if alone else c.cell.server) for c in shown)
    return filled(Table(COLUMNS, tuple(rows), whole=True))


def _row(c: CellComparison, server: str) -> tuple[Field, ...]:
    stands_in = any(warning.code == OTHER_BASE for warning in c.warnings)
    base, head = (throughput(of.tps.estimate) if of else None for of in (c.base_figures, c.figures))
    metric, ratio = wording.decisive(c) or (THROUGHPUT, None)
    decided = None if ratio is None else factor(ratio)
    return (
        c.cell.workload, Figure(c.cell.threads, places=0), server or None,
        c.base.server if stands_in else None,
        base, head, decided, decided and Range(decided),
        metrics.TITLES[metric] if metric != THROUGHPUT else None,
        detectable(c), mark(c),
    )  # fmt: skip


def detectable(c: CellComparison) -> Figure | None:
    """Return the smallest loss that the cell's run would have detected, `−1.4 %`; None if unknown."""
    loss = next((metric.detectable for metric in c.judged if metric.detectable is not None), None)
    if loss is None:
        return None
    return change(1 - loss if c.judged[0].metric == THROUGHPUT else 1 + loss, places=1)


def mark(c: CellComparison) -> Mark:
    """Show a cell's verdict, or what an undecided cell still shows."""
    acknowledged = " (acknowledged)" if c.acknowledged else ""
    return Mark(c.verdict, f"{wording.reading(c)}{acknowledged}", symbol=wording.symbol(c))


def _beside(comparison: Comparison) -> Iterator[str]:
    if any(map(is_apart, comparison.cells)):
        yield APART
    yield from circumstances.warned(comparison, *PRINTED_WARNINGS)
    failed = {c.cell for c in comparison.cells if c.verdict is Verdict.FAILED}  # which is said below
    unjudged = [c for c in comparison.cells if c.verdict is Verdict.UNJUDGED and c.figures]
    yield from dict.fromkeys(
        f"Unjudged: {c.reason}" for c in unjudged if c.cell != c.base and c.base not in failed
    )
    undecided: dict[str, list[str]] = {}
    for c in comparison.cells:
        if why := wording.undecided(c):
            p_value = _P_VALUE.search(why)
            own = f" ({p_value[1]})" if p_value else ""
            undecided.setdefault(_P_VALUE.sub("p after", why), []).append(f"{name(c)}{own}")
    sign = SYMBOLS[Verdict.INCONCLUSIVE]
    yield from (f"{sign} {'; '.join(names)}: {why}" for why, names in undecided.items())


def is_apart(c: CellComparison) -> bool:
    """Tell whether the printed throughputs do not divide to the printed change."""
    if c.figures is None or c.base_figures is None or c.ratio is None or not c.base_figures.tps.estimate:
        return False
    shown = factor(c.ratio)
    measured = c.figures.tps.estimate / c.base_figures.tps.estimate
    return str(Figure(measured, places=shown.places, form=shown.form)) != str(shown)


def _more(comparison: Comparison, command: str | None) -> Topic | None:
    if not (minutes := wording.more_minutes(comparison)):
        return None
    return Topic(points=(Point(minutes, commands=() if command is None else (command,)),))


# --- changes -------------------------------------------------------------------------------------------


def name(c: CellComparison) -> str:
    """Name a cell in a sentence."""
    return f"{c.cell.workload}, {figures.threads(c.cell.threads)}, {c.cell.server}"


def told(c: CellComparison) -> str:
    """Say why a cell has its verdict, with the evidence beside its change; a multiple comes first."""
    said = wording.change_sentence(c)
    if said.startswith("×"):
        return f"{said}; {c.reason}"
    return "; ".join(filter(None, (c.reason, *evidence.evidence(c))))


def _changes(comparison: Comparison, sections: Sections, out: Path | None) -> Iterator[Topic]:
    """Tell the regression to look at first, with what follows it, and then the others."""
    worst = next_steps.worst(comparison)
    if worst is not None:
        yield from _first(comparison, worst, sections, out)
    cells = (c for c in wording.worst_first(comparison.cells) if c is not worst)
    if points := [point for c in cells if (point := _point(comparison, c, sections, out)) is not None]:
        title = f"{figures.counted(len(points), 'more change')}" if worst else "Changes"
        yield Topic(title, points=tuple(points), folded=True)


def _first(
    comparison: Comparison, c: CellComparison, sections: Sections, out: Path | None
) -> Iterator[Topic]:
    point = _point(comparison, c, sections, out)
    assert point is not None  # it regressed
    steps = next_steps.steps_after(comparison, c)
    yield Topic(
        "The worst regression",
        points=(
            replace(point, text=f"{wording.symbol(c)} {name(c)}: {told(c)}"),
            Point(f"Compared: {steps.compared}"),
            Point("Measure it again:", commands=(steps.again,)),
        ),
    )
    entry = tuple(steps.acknowledgement.splitlines())
    yield Topic(f"To acknowledge it, in {next_steps.FILE}", commands=entry, folded=True)


def _point(comparison: Comparison, c: CellComparison, sections: Sections, out: Path | None) -> Point | None:
    """Describe a cell's change and what explains it; an improvement, where there is evidence."""
    is_better, text = c.verdict is Verdict.IMPROVED, f"{wording.symbol(c)} {name(c)}"
    evident = evidence.evidence(c) or (c.causes and not is_better)
    if c.verdict is not Verdict.REGRESSED and not evident:
        return None
    text = ": ".join(filter(None, (text, wording.change_sentence(c))))
    if is_better:
        return Point(text)
    known, run = sections.get(c.cell, ()), comparison.header.run
    title, causes, command = wording.leading_causes(c, known, run, out)
    items = tuple(f"{title}: {cause}" for cause in causes)
    return Point(text, items or ((f"{title}:",) if command else ()), (command,) if command else ())


def _claim(result: ClaimResult) -> str:
    return f"{wording.OUTCOME_SYMBOLS[result.outcome]} {wording.finding(result)}"


# --- a test report -------------------------------------------------------------------------------------


def suite(document: RunDocument, comparison: Comparison, claims: Iterable[ClaimResult] = ()) -> Suite:
    """Make a test report of a run: a case for each cell that is compared, or failed, and for each claim."""
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    for start in document.starts:
        for samples in start.samples:
            seconds[start.block, samples.server] += sum(samples.window_s)
    blocks = {cell: block.key for block in comparison.header.blocks for cell in block.cells}
    judged = filter(wording.needs_verdict, comparison.cells)
    cases = [_case(c, comparison, seconds[blocks[c.cell], c.cell.server]) for c in judged]
    cases += map(_claim_case, claims)
    elapsed_s = comparison.end.elapsed_s if comparison.end else sum(seconds.values())
    return Suite(f"shootout {comparison.header.run}", comparison.header.started, elapsed_s, tuple(cases))


def _case(c: CellComparison, comparison: Comparison, seconds: float) -> Case:
    fails = c.verdict in (Verdict.REGRESSED, Verdict.FAILED)
    exempt = wording.gate_exemption(c, comparison) if c.verdict is Verdict.REGRESSED else ""
    said = plain(told(c))
    return Case(
        suite=c.cell.workload,
        name=f"{c.cell.server}, {figures.threads(c.cell.threads)}",
        seconds=seconds,
        failure=said if fails and not exempt else "",
        skipped=plain(f"{said}. {exempt}") if exempt else said if c.verdict is Verdict.UNJUDGED else "",
        properties=properties(c),
    )


def properties(c: CellComparison) -> dict[str, str]:
    """Give a cell's columns for a test report; `detectable` qualifies a pass."""
    texts = {
        "verdict": str(mark(c)),
        "change": "" if c.cell == c.base else wording.decided_change(c),
        "why": wording.change_sentence(c),
        "detectable": str(detectable(c) or ""),
        "reason": c.reason,
    }
    return {key: plain(text) for key, text in texts.items() if text}


def _claim_case(result: ClaimResult) -> Case:
    said = "" if result.outcome is Outcome.HOLDS else plain(wording.finding(result))
    return Case(suite="published", name=result.claim.name, skipped=said)


def plain(text: str) -> str:
    """Write a sentence for programs: without control characters and narrow spaces."""
    return visible(text).replace(SPACE, " ")
