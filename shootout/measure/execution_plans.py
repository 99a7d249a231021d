"""How servers plan statements: EXPLAIN's answers, and one execution."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor, DictCursor

from shootout.errors import without_literals, without_values
from shootout.measure.statements import is_answer
from shootout.model.execution_plan import ExecutionPlan, PlanStep
from shootout.servers.running import Running

_DETAILED = ("EXPLAIN FORMAT=TREE", "EXPLAIN FORMAT=JSON")  # MySQL 8.0.16; MySQL 5.6 and MariaDB 10.1
# Statements whose execution counts rows, and can be rolled back; of these, those that change none.
ANY = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
READING = re.compile(r"\s*SELECT\b", re.IGNORECASE)
_WORDS = re.compile(r"\w+")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"")
# Notes that have the statement as the optimizer understood it, or say that some syntax will go.
_IDLE = (1003, 1287, 1681, 3719, 3778)
_NAMES = ("range_optimizer_max_mem_size",)  # of variables that warnings quote
Prepared = tuple[str, Sequence[str]]  # with `?`, and the literals in their places
NONE: Mapping[str, Prepared] = {}
DRAWS = 4  # plans in each start, each but the first after ANALYZE TABLE
# One execution's. Commits and locks say nothing of a plan.
_HANDLERS = re.compile(r"Handler_(?:read_\w+|write|update|delete|mrr_\w+)")


def planned(
    instance: Running,
    schema: str,
    statements: Mapping[str, str],
    *,
    start: int,
    server: str,
    prepared: Mapping[str, Prepared] = NONE,
    session: Sequence[str] = (),
    draws: int = DRAWS,
    executed: re.Pattern[str] | None = ANY,
) -> Iterator[ExecutionPlan]:
    """Explain statements by kind, and count what the server's handlers do; no row changes.

    The plan is that of the prepared statement where there is one: of a literal the server knows more.
    The server samples its statistics again for each plan but the first, so that a plan that hangs by a thread
    shows all its forms. A statement that it cannot explain has an `error`. `executed`: the statements whose
    handlers count. Raises MeasureError if the server is gone.
    """
    with instance.naming(f"EXPLAIN on {server}"), closing(instance.connect(database=schema)) as connection:
        with connection.cursor() as cursor:
            for statement in session:
                cursor.execute(statement)
            # MySQL 9.7 gives a tree by default, and 8.0.32 lets that be set.
            if cursor.execute("SHOW VARIABLES LIKE 'explain_format'"):
                cursor.execute("SET SESSION explain_format = 'TRADITIONAL'")
        for draw in range(draws):
            if draw:
                _analyse(connection)
            for kind, sql in statements.items():
                asked = prepared.get(kind, (sql, ()))
                steps, error, said = _traditional(connection, asked)
                counts = executed is not None and executed.match(sql)
                text = _detailed(connection, asked) if not draw or not steps else ""
                yield ExecutionPlan(
                    start=start, server=server, kind=kind, sql=without_literals(sql), steps=steps,
                    text=without_literals(text),
                    handlers=_handlers(connection, sql) if counts and not draw else {},
                    error="" if text or steps else without_values(error), warnings=said,
                )  # fmt: skip


def _analyse(connection: Connection[Cursor]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        for (table,) in cursor.fetchall():
            cursor.execute(f"ANALYZE NO_WRITE_TO_BINLOG TABLE `{table}`")


def _explain(cursor: Cursor, explain: str, sql: str, values: Sequence[str]) -> None:
    """Execute `explain` of a statement, which has `?` for each of these literals."""
    if not values:
        cursor.execute(f"{explain} {sql}")
        return
    names = [f"@value{number}" for number in range(len(values))]
    given = (f"{name} = {value}" for name, value in zip(names, values, strict=True))
    cursor.execute(f"SET {', '.join(given)}")
    cursor.execute("PREPARE explained FROM %s", (f"{explain} {sql}",))
    cursor.execute(f"EXECUTE explained USING {', '.join(names)}")


def _traditional(
    connection: Connection[Cursor], asked: Prepared
) -> tuple[tuple[PlanStep, ...], str, tuple[str, ...]]:
    """Read the steps of a plan, or the server's reason for giving none; and what it warns of."""
    try:
        with connection.cursor(DictCursor) as cursor:
            _explain(cursor, "EXPLAIN", *asked)
            rows = cursor.fetchall()
            cursor.execute("SHOW WARNINGS")
            names = {word for row in rows for word in _WORDS.findall(" ".join(map(str, row.values())))}
            return tuple(map(_step, rows)), "", tuple(warnings(cursor.fetchall(), asked[0], names))
    except pymysql.Error as error:
        if not is_answer(error):
            raise
        return (), str(error), ()


def warnings(rows: Iterable[Mapping[str, Any]], sql: str, names: Iterable[str] = ()) -> Iterator[str]:
    """Yield each warning once, without what it quotes unless that is a name: values are private."""
    known = {*names, *_WORDS.findall(_QUOTED.sub("", sql)), *_NAMES}
    texts = (str(row["Message"]) for row in rows if row["Code"] not in _IDLE)
    yield from dict.fromkeys(
        _QUOTED.sub(lambda quoted: quoted[0] if quoted[0][1:-1] in known else "'…'", text) for text in texts
    )


def _step(row: Mapping[str, Any]) -> PlanStep:
    text = {name: "" if value is None else str(value) for name, value in row.items()}
    return PlanStep(
        select=text["select_type"],
        table=text["table"],
        access=text["type"],
        key=text["key"],
        key_length=text["key_len"],
        ref=text["ref"],
        extra=tuple(sorted(filter(None, text["Extra"].split("; ")))),
    )


def _detailed(connection: Connection[Cursor], asked: Prepared) -> str:
    """Read the most detailed plan that the server gives; empty before MySQL 5.6 and MariaDB 10.1."""
    for explain in _DETAILED:
        try:
            with connection.cursor() as cursor:
                _explain(cursor, explain, *asked)
                return "\n".join(str(column) for row in cursor.fetchall() for column in row)
        except pymysql.Error as error:
            if not is_answer(error):
                raise
    return ""


def _handlers(connection: Connection[Cursor], sql: str) -> dict[str, float]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("FLUSH STATUS")  # first: it commits
            cursor.execute("BEGIN")
            cursor.execute(sql)
            cursor.fetchall()
            cursor.execute("SHOW SESSION STATUS LIKE 'Handler%'")
            counters = {str(name): float(value) for name, value in cursor.fetchall()}
            cursor.execute("ROLLBACK")
    except pymysql.Error as error:
        if not is_answer(error):
            raise
        return {}
    return {name: value for name, value in counters.items() if value and _HANDLERS.fullmatch(name)}
