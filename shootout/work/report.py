"""The words of counted work, for terminal, comments and pages."""

from __future__ import annotations

from collections.abc import Sequence

from shootout.model.verdict import Interval, Verdict
from shootout.numbers import SPACE, grouped
from shootout.report import wording
from shootout.report.wording import escaped
from shootout.work.values import WorkChange, WorkComparison, WorkFigure, WorkPoint

COLUMNS = (
    "workload", "kind", "server", "#base", "#instructions", "#change", "interval", "#spread", "verdict",
)  # fmt: skip
HEADS_MAX = 2  # with a sentence of their own


def headline(comparison: WorkComparison) -> str:
    """The result in one sentence for each head; in one for all of them, if there are many."""
    if len(heads(comparison)) > HEADS_MAX:
        return _of_all(comparison)
    return " ".join(_of_head(comparison, head) for head in heads(comparison)) or "One server, counted."


def heads(comparison: WorkComparison) -> tuple[str, ...]:
    """The servers that are compared with the base."""
    compared = (change.server for change in comparison.changes if change.server != comparison.base)
    return tuple(dict.fromkeys(compared))


def shown(comparison: WorkComparison) -> tuple[WorkChange, ...]:
    """What a table shows: everything that is compared, or all of a single server."""
    compared = tuple(change for change in comparison.changes if change.server != comparison.base)
    return compared or comparison.changes


def row(change: WorkChange) -> tuple[str, ...]:
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
        f"{wording.SYMBOLS[change.verdict]} {change.verdict}",
    )


def count(figure: WorkFigure | None) -> str:
    """Instructions for each unit."""
    return "" if figure is None else grouped(figure.mean, 0)


def percent(ratio: Interval) -> str:
    """The change of a ratio, to two places: counting is as exact."""
    return wording.percent(ratio.estimate, 2)


def interval(ratio: Interval) -> str:
    """The interval of a change."""
    low, high = (wording.percent(end, 2).removesuffix(f"{SPACE}%") for end in (ratio.low, ratio.high))
    return f"{low} to {high}{SPACE}%"


def step(point: WorkPoint) -> str:
    """The change from one count to the next."""
    return "" if point.step is None else wording.percent(point.step, 2)


def spread(change: WorkChange) -> str:
    """By how much the changes of single starts differ."""
    return "" if change.spread is None else f"{grouped(100 * change.spread, 2)}{SPACE}%"


def failures(comparison: WorkComparison) -> tuple[str, ...]:
    """Why there are no counts."""
    return tuple(
        f"{failure.server}{', ' if failure.workload else ''}{failure.workload}: {failure.reason}"
        for failure in comparison.document.failures
    )


def value(comparison: WorkComparison) -> dict[str, object]:
    """A comparison as JSON has it."""
    document = comparison.document
    return {
        "run": document.run,
        "bar": document.bar,
        "changes": comparison.changes,
        "failures": document.failures,
    }


def markdown(comparison: WorkComparison) -> str:
    """The table, for a step summary."""
    lines = ["## Instructions for each kind of statement", "", headline(comparison), ""]
    lines += wording.table_head(COLUMNS)
    lines += [f"| {' | '.join(map(escaped, row(change)))} |" for change in shown(comparison)]
    lines += ["", *(f"- {escaped(failure)}" for failure in failures(comparison))]
    return "\n".join(lines).rstrip() + "\n"


def _of_all(comparison: WorkComparison) -> str:
    changes = shown(comparison)
    worse, better = (len(_named(changes, verdict)) for verdict in (Verdict.REGRESSED, Verdict.IMPROVED))
    return (
        f"{len(heads(comparison))} servers against {comparison.base}: more instructions in {worse} of "
        f"{len(changes)} comparisons, fewer in {better}."
    )


def _of_head(comparison: WorkComparison, head: str) -> str:
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


def _named(changes: Sequence[WorkChange], verdict: Verdict) -> list[WorkChange]:
    return [change for change in changes if change.verdict is verdict]
