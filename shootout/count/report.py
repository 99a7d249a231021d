"""The words of counts, for terminal, comments and pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shootout import figures
from shootout.analysis.exit_codes import exit_code
from shootout.count.commands import count_command
from shootout.count.findings import findings
from shootout.count.instructions import Instructions, PartCount, Statement
from shootout.count.values import (
    CountChange,
    CountComparison,
    CountDocument,
    CountFailure,
    CountFigure,
    CountPoint,
    CountSeries,
)
from shootout.model.run import MODES_DROPPED, RunHeader
from shootout.model.verdict import Interval, Verdict
from shootout.numbers import SPACE, grouped
from shootout.report import wording
from shootout.report.sections import Point
from shootout.writers.judged import STYLES, Judged, Line, Table
from shootout.writers.markdown import escaped, table

COLUMNS = (
    "workload", "kind", "server", "#base", "#instructions", "#change", "interval", "#spread", "verdict",
)  # fmt: skip
HISTORY_COLUMNS = ("workload", "kind", "server", "#counts", "#first", "#newest", "steps")
HEADS_MAX = 2  # with a sentence of their own
STATEMENTS_MAX = 3  # in a list of what differs
NAMED_MAX = 5  # functions in a list; the page lists all
UNNAMED_MIN = 0.05  # share of the instructions that is worth a sentence


def headline(comparison: CountComparison) -> str:
    """The result in one sentence for each head; in one for all of them, if there are many."""
    if len(heads(comparison)) > HEADS_MAX:
        return _of_all(comparison)
    return " ".join(_of_head(comparison, head) for head in heads(comparison)) or "One server, counted."


def judged(comparison: CountComparison) -> Judged:
    """The result, the table, what goes with the counts, and why some are missing."""
    verdicts = {change.verdict for change in comparison.changes}
    rows: list[tuple[str | Line, ...]] = []
    for change in shown(comparison):
        *cells, verdict = row(change)
        rows.append((*cells, Line(verdict, STYLES[change.verdict])))
    return Judged(
        text=(
            Line(),
            Line(headline(comparison), "bold"),
            Line(),
            Table(COLUMNS, tuple(rows)),
            *map(Line, finding_lines(comparison)),
            *(Line(failure, "magenta") for failure in failures(comparison)),
            Line(),
        ),
        value=value(comparison),
        exit_code=exit_code(
            failed=not all(failure.lacks for failure in comparison.document.failures)
            or Verdict.FAILED in verdicts,
            regressed=Verdict.REGRESSED in verdicts,
        ),
        markdown=markdown(comparison),
    )


def finding_lines(comparison: CountComparison) -> Iterator[str]:
    """A line for each kind with findings: other plans, more system calls or allocations."""
    for (workload, kind, server), texts in findings(comparison).items():
        yield f"{workload}, {kind}, {server}: {'; '.join(texts)}"


def history(series: Sequence[CountSeries]) -> Judged:
    """How many instructions each kind of statement needed, and the steps of the bar or more."""
    return Judged((Table(HISTORY_COLUMNS, tuple(map(_history_row, series))),), {"series": series})


def _history_row(series: CountSeries) -> tuple[str, ...]:
    steps = [f"{step(point)} in {counted(point)}" for point in series.steps] or ["none"]
    first, newest = (grouped(series.points[end].instructions, 0) for end in (0, -1))
    return (
        series.workload, series.kind, series.server, str(len(series.points)), first, newest, ", ".join(steps),
    )  # fmt: skip


def points(instructions: Instructions | None, header: RunHeader) -> Iterator[Point]:
    """What statements execute more or less, and which functions do; or the command that counts it."""
    if instructions is None:
        command = count_command(header)
        if command is not None:
            said = "Instructions of each statement are not counted yet; this counts them:"
            yield Point(said, commands=(command,))
        return
    whole = instructions.whole
    yield Point(
        f"Instructions, counted in {instructions.run}:", tuple(map(statement, instructions.statements))
    )
    if whole.explaining:
        yield Point(
            "Functions that explain most of it, without what they call:",
            tuple(_of_whole(count, whole) for count in whole.explaining[:NAMED_MAX]),
        )
        yield Point(
            "By part of the server:", tuple(_of_whole(count, whole) for count in whole.parts[:NAMED_MAX])
        )
    unnamed, sizes = whole.unnamed, (whole.change.base, whole.change.head)
    if any(
        size and part >= UNNAMED_MIN * size.mean
        for size, part in zip(sizes, (unnamed.base, unnamed.head), strict=True)
    ):
        yield Point(f"Of them, {_of_whole(unnamed, whole)}.")


def differences(instructions: Instructions) -> Iterator[str]:
    """The kinds of statements that certainly changed, the largest change first, with their functions."""
    alone = [each for each in instructions.statements if each.functions and each.explaining]
    for each in sorted(alone, key=lambda each: -abs(each.difference or 0.0))[:STATEMENTS_MAX]:
        functions = ", ".join(
            f"{figures.rounded(count.difference)} in {count.name}" for count in each.explaining[:NAMED_MAX]
        )
        yield f"{statement(each)}: {functions}"


def statement(counted: Statement) -> str:
    """A kind of statement: its instructions on head and base."""
    change = counted.change
    if change.ratio is None:
        return f"{change.kind}: {change.reason}"
    by = f"{percent(change.ratio)} ({interval(change.ratio)})"
    return f"{change.kind}: {count(change.head)} instead of {count(change.base)}, {by}"


def _of_whole(count: PartCount, whole: Statement) -> str:
    part, total = (figures.rounded(value) for value in (count.difference, whole.difference or 0.0))
    return f"{part} of {total} instructions: {count.name}"


def heads(comparison: CountComparison) -> tuple[str, ...]:
    """The servers that are compared with the base."""
    compared = (change.server for change in comparison.changes if change.server != comparison.base)
    return tuple(dict.fromkeys(compared))


def shown(comparison: CountComparison) -> tuple[CountChange, ...]:
    """What a table shows: everything that is compared, or all of a single server."""
    compared = tuple(change for change in comparison.changes if change.server != comparison.base)
    return compared or comparison.changes


def row(change: CountChange) -> tuple[str, ...]:
    """A line of a table, in the order of COLUMNS."""
    ratio = change.ratio
    return (
        change.workload,
        change.kind,
        change.server,
        count(change.base),
        count(change.head),
        "" if ratio is None else percent(ratio),
        "" if ratio is None else interval(ratio),
        spread(change),
        f"{wording.SYMBOLS[change.verdict]} {_verdict(change)}",
    )


def _verdict(change: CountChange) -> str:
    return "lacks it" if change.lacks and change.head is None else str(change.verdict)


def count(figure: CountFigure | None) -> str:
    """Instructions for each unit."""
    return "" if figure is None else grouped(figure.mean, 0)


def percent(ratio: Interval) -> str:
    """The change of a ratio, to two places: counting is as exact."""
    return figures.percent(ratio.estimate, 2)


def interval(ratio: Interval) -> str:
    """The interval of a change."""
    low, high = (figures.percent(end, 2).removesuffix(f"{SPACE}%") for end in (ratio.low, ratio.high))
    return f"{low} to {high}{SPACE}%"


def step(point: CountPoint) -> str:
    """The change from one count to the next."""
    return "" if point.step is None else figures.percent(point.step, 2)


def counted(point: CountPoint) -> str:
    """What was counted: a commit, or by which run if the commit is not known."""
    return point.commit[:12] or point.run


def spread(change: CountChange) -> str:
    """By how much the changes of single starts differ."""
    return "" if change.spread is None else f"{grouped(100 * change.spread, 2)}{SPACE}%"


def failures(comparison: CountComparison) -> tuple[str, ...]:
    """Why there are no counts, or of other data."""
    document = comparison.document
    made = max((count.start for count in document.counts), default=0)
    fewer = [f"counted in {made} of {document.starts} starts"] if 0 < made < document.starts else []
    return (*fewer, *modes_dropped(document), *map(_failure, document.failures))


def modes_dropped(document: CountDocument) -> list[str]:
    """Which session modes of a dump the servers lack."""
    every = ((server.label, each) for server in document.servers for each in server.warnings)
    return [f"{label}: {each.text}" for label, each in every if each.code == MODES_DROPPED]


def _failure(failure: CountFailure) -> str:
    place = ", ".join(filter(None, (failure.workload, failure.kind)))
    if failure.lacks:
        return f"{failure.server} lacks {place}: {failure.reason}"
    return ", ".join(filter(None, (failure.server, place))) + f": {failure.reason}"


def value(comparison: CountComparison) -> dict[str, object]:
    """A comparison as JSON has it."""
    document = comparison.document
    return {
        "run": document.run,
        "bar": document.bar,
        "changes": comparison.changes,
        "findings": [
            {"workload": workload, "kind": kind, "server": server, "texts": texts}
            for (workload, kind, server), texts in findings(comparison).items()
        ],
        "failures": document.failures,
    }


def markdown(comparison: CountComparison) -> str:
    """The table, for a step summary."""
    lines = ["## Instructions for each kind of statement", "", escaped(headline(comparison)), ""]
    lines += table(COLUMNS, map(row, shown(comparison)))
    told = (*finding_lines(comparison), *failures(comparison))
    lines += ["", *(f"- {escaped(each)}" for each in told)]
    return "\n".join(lines).rstrip() + "\n"


def _of_all(comparison: CountComparison) -> str:
    changes = shown(comparison)
    worse, better = (len(_named(changes, verdict)) for verdict in (Verdict.REGRESSED, Verdict.IMPROVED))
    return (
        f"{len(heads(comparison))} servers against {comparison.base}: more instructions in {worse} of "
        f"{len(changes)} comparisons, fewer in {better}."
    )


def _of_head(comparison: CountComparison, head: str) -> str:
    changes = [change for change in comparison.changes if change.server == head]
    worse = _named(changes, Verdict.REGRESSED)
    better = _named(changes, Verdict.IMPROVED)
    if not any(change.ratio for change in changes):
        return f"{head} could not be compared with {comparison.base}."
    sentence = (
        f"{head} executes more instructions than {comparison.base} for {len(worse)} of {len(changes)} kinds"
    )
    if worse:
        most = max(worse, key=lambda change: change.ratio.estimate if change.ratio else 0.0)
        assert most.ratio is not None
        sentence += f" (most: {percent(most.ratio)}, {most.kind} of {most.workload})"
    return f"{sentence}, fewer for {len(better)}."


def _named(changes: Sequence[CountChange], verdict: Verdict) -> list[CountChange]:
    return [change for change in changes if change.verdict is verdict]
