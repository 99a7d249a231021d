"""A run as lines and tables: its verdicts, its claims, where it lies, and what capabilities found out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from shootout.figures import threads
from shootout.model.run import MODES_DROPPED
from shootout.model.verdict import CellComparison, ClaimResult, Comparison, Outcome, Verdict
from shootout.report import circumstances, evidence, headlines, next_steps, wording
from shootout.report.next_steps import NextSteps
from shootout.report.sections import NO_SECTIONS, Section, Sections
from shootout.writers.judged import STYLES, Line, Table

OUTCOME_STYLES = {Outcome.HOLDS: "green", Outcome.FAILS: "bold red", Outcome.INCONCLUSIVE: "dim"}
CUT_SHORT = "The run was cut short: some starts are missing"
# The table has no room for them.
PRINTED_WARNINGS = (
    *("not-restarted", "not-visible", "slow-build", "stood-still", "stopped", "clock-jumped", "other-bytes"),
    *("settings-left-out", MODES_DROPPED),
)


def verdicts(comparison: Comparison, known: Sections = NO_SECTIONS) -> Iterator[Line | Table]:
    """The headlines, the table, the reason of each failed cell, and which cells were not measured."""
    yield Line()
    yield from (Line(headline.text, "bold") for headline in headlines.of_heads(comparison))
    if load := circumstances.conditions(comparison.header):
        yield Line(f"load: {load}")
    yield Line(circumstances.setup(comparison))
    yield from map(Line, circumstances.remarks(comparison))
    if comparison.end is None or comparison.end.interrupted:
        yield Line(CUT_SHORT, "yellow")
    yield from map(Line, circumstances.setting_differences(comparison))
    yield Line()
    yield verdict_table(comparison)
    warnings = [warning for c in comparison.cells for warning in c.warnings]
    for text in dict.fromkeys(w.text for w in warnings if w.code in PRINTED_WARNINGS):
        yield Line(text, "dim")
    unjudged = [c for c in comparison.cells if c.verdict is Verdict.UNJUDGED and c.figures]
    for reason in dict.fromkeys(c.reason for c in unjudged if c.cell != c.base):
        yield Line(f"unjudged: {reason}", "dim")
    for c in wording.worst_first(comparison.cells):
        yield from _causes(c, known.get(c.cell, ()), comparison.header.run)
    if more := wording.more_minutes(comparison):
        yield Line(more)
    if (worst := next_steps.worst(comparison)) is not None:
        yield from _next(worst, next_steps.steps_after(comparison, worst))
    if standing := wording.explain_gate(comparison):
        yield Line(standing, "yellow")
    for failure in wording.failures(comparison):
        yield Line()
        yield Line(failure, "magenta")
    yield from (Line(text, "magenta") for text in wording.unmeasured(comparison))
    yield Line()


def verdict_table(comparison: Comparison) -> Table:
    """All cells that have a base, by block; a headline names servers that are absent."""
    absent = {server.label for server in comparison.header.servers if server.absent}
    compares = bool(wording.heads(comparison))
    cells = [
        c
        for c in comparison.cells
        if c.cell.server not in absent and (c.cell != c.base or c.verdict is Verdict.FAILED or not compares)
    ]
    rows: list[tuple[str | Line, ...]] = []
    for c, (*row, verdict) in zip(cells, wording.verdict_rows(cells), strict=True):
        rows.append((*row, Line(verdict, "dim" if c.acknowledged else STYLES[c.verdict])))
    return Table(wording.VERDICT_COLUMNS, tuple(rows))


def _causes(c: CellComparison, sections: Sequence[Section], run: str) -> Iterator[Line]:
    """What a cell's change is, and what explains most of it; of an improvement, where there is evidence."""
    name = f"{c.cell.workload}, {threads(c.cell.threads)}, {c.cell.server}"
    said = wording.change_sentence(c)
    if c.verdict is Verdict.REGRESSED or evidence.evidence(c):
        yield Line(f"{wording.symbol(c)} {name}: {said}", "bold" if c.verdict is Verdict.REGRESSED else "")
    if c.verdict is Verdict.REGRESSED or (c.causes and c.verdict is not Verdict.IMPROVED):
        title, causes, command = wording.leading_causes(c, sections, run)
        if title:
            yield Line(f"{title}, {name}: {'; '.join(causes) or command}".removesuffix(": "), "dim")


def _next(c: CellComparison, steps: NextSteps) -> Iterator[Line]:
    """What to do about a regression."""
    yield Line(f"Next, {c.cell.workload}, {threads(c.cell.threads)}, {c.cell.server}:")
    yield Line(f"  compared       {steps.compared}")
    yield Line(f"  measure again  {steps.again}")
    yield Line(f"  acknowledge    in {next_steps.FILE}:")
    yield from (Line(f"    {line}") for line in steps.acknowledgement.splitlines())


def claims(results: Sequence[ClaimResult]) -> Iterator[Line]:
    """A line for each claim of a published comparison."""
    for result in results:
        text = f"{wording.OUTCOME_SYMBOLS[result.outcome]} {wording.finding(result)}"
        yield Line(text, OUTCOME_STYLES[result.outcome])
    if results:
        yield Line()


def places(document: Path, page: Path | None, more_starts: str | None) -> Iterator[Line]:
    """Where the run's files are, and the command that gives it more starts."""
    yield Line(f"run document  {document}")
    if page is not None:
        yield Line(f"report        {page.as_uri()}")
    if more_starts is not None:
        yield Line(f"more starts   {more_starts}")


def sections(by_cell: Sections) -> Iterator[Line]:
    """What capabilities found out about cells."""
    for section in chain.from_iterable(by_cell.values()):
        yield Line()
        yield Line(section.title, "bold")
        for point in section.points:
            yield Line(point.text)
            yield from (Line(f"  {item}") for item in (*point.items, *point.commands))
