"""The answer of a learned workload: how faithful it is, statement by statement, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import asdict

from shootout import files
from shootout.answer import Answer, Detail, Field, Figure, Table, Topic, joined
from shootout.figures import counted
from shootout.learn.judge import Fidelity, StatementPair
from shootout.learn.learning import LearnedStatement, LearningReport
from shootout.learn.measure import LearnedWorkload
from shootout.report.site.answers import AnswerPage
from shootout.report.site.render import inline, renderer

COLUMNS = (
    "statement", "log, %", "sent, %", "time, %", "examined", "examined, sent", "returned", "returned, sent",
    "as many rows",
)  # fmt: skip
UNFAITHFUL = 4  # the exit code of a workload that is not what the server ran
PAGE = "fidelity.html"


def answer(outcome: LearnedWorkload) -> Answer:
    """Compare what is sent with what the log has."""
    learned, fidelity = outcome.learned, outcome.fidelity
    rows = tuple(map(_row, fidelity.statements))
    texts = tuple(Detail(each.name, (), tuple(_unknown(each)), each.sql) for each in learned.statements)
    problem = Topic("Not what the server ran", outcome.concerns, is_problem=True)
    caption = "Shares of all statements, and rows of one execution, in the log and as sent"
    return Answer(
        name="A learned workload",
        headline=headline(fidelity),
        topics=joined(
            (
                problem if outcome.concerns else None,
                Topic("Statements", tables=(Table(COLUMNS, rows, caption, whole=True),), details=texts),
                Topic("Left out", tuple(_left_out(learned))),
                Topic("Facts", facts=tuple(_facts(outcome)), page_only=True),
                Topic(lines=(f"workload      {outcome.workload}",)),
            )
        ),
        value=asdict(outcome),
        exit_code=UNFAITHFUL if outcome.concerns else 0,
        conditions=(
            f"The learned workload ran for some seconds on {learned.server} with the dump; its own log was "
            "learned again."
        ),
        footer=f"The workload is in {outcome.workload}.",
    )


def write(answer: Answer, folder: Path) -> Path:
    """Write the page to the folder, as one file; returns its whole path. Raises InputError."""
    file = folder / PAGE
    files.write(file, inline(AnswerPage(answer, "", "", PAGE), renderer()))
    return file.resolve()


def headline(fidelity: Fidelity) -> str:
    """Give the scores."""
    sent, rows, time = (
        None if score is None else Figure(100 * score, "%", 1)
        for score in (fidelity.score, fidelity.rows_score, fidelity.time_score)
    )
    by_time = "" if time is None else f", which take {time} of the log's time"
    return f"{sent} of the log's statements are sent as often, {rows} with as many rows{by_time}"


def _row(pair: StatementPair) -> tuple[Field, ...]:
    shares = (pair.share, pair.sent_share, pair.seconds)
    rows = (pair.examined, pair.sent_examined, pair.returned, pair.sent_returned)
    return (
        pair.name,
        *(None if share is None else Figure(100 * share, places=2) for share in shares),
        *(None if mean is None else Figure(mean, places=1) for mean in rows),
        "yes" if pair.faithful else "no",
    )


def _unknown(statement: LearnedStatement) -> Iterator[str]:
    if statement.problem:
        yield f"not parsed: {statement.problem}"
    if statement.unbound:
        yield f"{counted(statement.unbound, 'value')} of no column"


def _left_out(learned: LearningReport) -> Iterator[str]:
    for warning in learned.warnings:
        yield f"Warning: {warning}."
    for left in learned.left_out:
        yield f"{counted(left.statements, 'statement')}: {left.reason} {left.example}".rstrip()
    counts = ((learned.lost_begins, "BEGIN"), (learned.lost_commits, "COMMIT"))
    if named := " and ".join(counted(count, noun) for count, noun in counts if count):
        yield f"{named}, too fast for the log; other statements told where they were"
    for statement in learned.statements:
        if statement.problem:
            yield f"{statement.name} is not parsed: {statement.problem}"
    if not learned.left_out:
        yield "No other statement of the log: each is in the workload."


def _facts(outcome: LearnedWorkload) -> Iterator[tuple[str, str]]:
    learned, fidelity = outcome.learned, outcome.fidelity
    pace = f"{Figure(fidelity.tps)} in the log at its own pace, " if fidelity.tps else ""
    filled = {table: rows for table, rows in learned.rows.items() if rows}
    empty = len(learned.rows) - len(filled)
    rows = ", ".join(f"{table} {Figure(rows, places=0)}" for table, rows in filled.items())
    yield "Logs", ", ".join(learned.logs)
    yield "Transactions", f"{Figure(learned.transactions, places=0)} of {counted(learned.kinds, 'kind')}"
    yield (
        "Statements of a transaction",
        f"{Figure(fidelity.per_transaction, places=2)} in the log, "
        f"{Figure(fidelity.sent_per_transaction, places=2)} sent",
    )
    yield (
        "Transactions a second",
        f"{pace}{Figure(fidelity.sent_tps)} sent as fast as {counted(fidelity.connections, 'connection')} go",
    )
    order = "as the log has it" if learned.ordered else "not in the log: each statement is a transaction"
    yield "Order of statements", order
    none = "positions in the columns; none of the log's, except small numbers and formats of no column"
    yield "Values", "the log's own" if learned.kept_values else none
    yield "Rows", rows + (f"; none in {counted(empty, 'table')}" if empty else "")
    if errors := [f"error {code}: {Figure(count, places=0)}" for code, count in fidelity.errors.items()]:
        yield "Refused attempts", ", ".join(errors)
