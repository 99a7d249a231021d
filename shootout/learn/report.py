"""The words of a learned workload, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import asdict

from shootout import figures
from shootout.learn.judge import Fidelity, StatementPair
from shootout.learn.learning import LearningReport
from shootout.learn.measure import LearnedWorkload
from shootout.numbers import grouped
from shootout.writers.judged import Judged, Line, Table

COLUMNS = (
    "statement",
    "#log %",
    "#sent %",
    "#time %",
    "#examined",
    "#sent",
    "#returned",
    "#sent",
    "as many rows",
)
UNFAITHFUL = 4  # the exit code of a workload that is not what the server ran


def judged(outcome: LearnedWorkload, page: Path) -> Judged:
    """How faithful a learned workload is, statement by statement, and what was left out."""
    return Judged(
        text=(
            Line(),
            Line(headline(outcome.fidelity), "bold"),
            Line(),
            Table(COLUMNS, tuple(map(_row, outcome.fidelity.statements))),
            Line(),
            *(Line(f"WARNING       {concern}", "bold yellow") for concern in outcome.concerns),
            *_missing(outcome.learned),
            Line(f"workload      {outcome.workload}"),
            Line(f"report        {page.as_uri()}"),
        ),
        value=asdict(outcome),
        exit_code=UNFAITHFUL if outcome.concerns else 0,
    )


def headline(fidelity: Fidelity) -> str:
    """The scores."""
    by_time = (
        ""
        if fidelity.time_score is None
        else f", which take {100 * fidelity.time_score:.1f} % of the log's time"
    )
    return (
        f"{100 * fidelity.score:.1f} % of the log's statements are sent as often, "
        f"{100 * fidelity.rows_score:.1f} % with as many rows{by_time}"
    )


def lost(learned: LearningReport) -> str:
    """What the log lacks of transactions that are known nevertheless; empty: nothing."""
    counts = ((learned.lost_begins, "BEGIN"), (learned.lost_commits, "COMMIT"))
    named = " and ".join(figures.counted(count, noun) for count, noun in counts if count)
    return named and f"{named}, too fast for the log; other statements told where they were"


def _row(pair: StatementPair) -> tuple[str, ...]:
    rows = (pair.examined, pair.sent_examined, pair.returned, pair.sent_returned)
    return (
        pair.name,
        f"{100 * pair.share:.2f}",
        f"{100 * pair.sent_share:.2f}",
        figures.NONE if pair.seconds is None else f"{100 * pair.seconds:.2f}",
        *(figures.NONE if mean is None else grouped(mean, 1) for mean in rows),
        "yes" if pair.faithful else "no",
    )


def _missing(learned: LearningReport) -> Iterator[Line]:
    """What the workload may lack."""
    for warning in learned.warnings:
        yield Line(f"warning       {warning}", "yellow")
    for left in learned.left_out:
        yield Line(f"left out      {left.statements} statements: {left.reason} {left.example}".rstrip())
    if gone := lost(learned):
        yield Line(f"lost          {gone}")
    for statement in learned.statements:
        if statement.problem:
            yield Line(f"not parsed    {statement.name}: {statement.problem}")
