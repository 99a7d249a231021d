"""How servers plan a workload's statements: captured as the engine sends them, then explained.

The server's general log gives the statements with the values that the engine drew, so nothing else has to
draw them. Only for servers of ours: the log is a global setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor, DictCursor

from shootout.errors import MeasureError
from shootout.explain.values import PlanStep, StatementPlan
from shootout.model.program import Program, ProgramStatement
from shootout.servers.running import Running

_LOGGED = (
    "SELECT argument FROM mysql.general_log WHERE command_type IN ('Query', 'Execute') AND user_host LIKE "
)
_DETAILED = ("EXPLAIN FORMAT=TREE ", "EXPLAIN FORMAT=JSON ")  # MySQL 8.0.16; MySQL 5.6 and MariaDB 10.1
_ROWS = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
DRAWS = 4  # plans in each start, each but the first after ANALYZE TABLE
# Of one execution. What commits and locks do says nothing of a plan.
_HANDLERS = re.compile(r"Handler_(?:read_\w+|write|update|delete|mrr_\w+)")


def captured(instance: Running, program: Program, load: Callable[[], object]) -> dict[str, str]:
    """A statement of each kind, as the server receives it while `load` runs. Raises MeasureError."""
    return by_kind(program, logged(instance, load))


def logged(instance: Running, load: Callable[[], object]) -> Iterator[str]:
    """All statements that our account sends while `load` runs. Raises MeasureError."""
    with _general_log(instance):
        load()
    found = instance.query(f"{_LOGGED}'{instance.login.user}[%'")
    return (str(sql) for (sql,) in found)


def by_kind(program: Program, statements: Iterator[str]) -> dict[str, str]:
    """The first statement of each of the program's kinds."""
    found: dict[str, str] = {}
    kinds = {
        program.kinds[each.kind].name
        for transaction in program.transactions
        for step in transaction.steps
        for each in step.statements
    }
    for kind, sql in each_kind(program, statements):
        found.setdefault(kind, sql)
        if len(found) == len(kinds):
            break
    return found


def each_kind(program: Program, statements: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Statements with their kinds; others, such as COMMIT, are left out."""
    kinds = [
        (each, program.kinds[each.kind].name)
        for transaction in program.transactions
        for step in transaction.steps
        for each in step.statements
    ]
    # A value may be any text, `1 ORDER BY c` too: of the kinds that fit, the one with most text of its own.
    every = {_texts(each): kind for each, kind in sorted(kinds, key=_literal_characters, reverse=True)}
    for sql in statements:
        if kind := next((kind for texts, kind in every.items() if _fits(texts, sql)), None):
            yield kind, sql


def explained(
    instance: Running, schema: str, statements: Mapping[str, str], *, start: int, server: str
) -> Iterator[StatementPlan]:
    """How the server executes statements by kind, and what its handlers do; no row changes.

    The server samples its statistics again for each of DRAWS plans, so that a plan that hangs by a thread
    shows all its forms. A statement that it cannot explain has an `error`. Raises MeasureError if the server
    is gone.
    """
    try:
        with closing(instance.connect(database=schema)) as connection:
            for draw in range(DRAWS):
                if draw:
                    _analyse(connection)
                for kind, sql in statements.items():
                    steps, error = _traditional(connection, sql)
                    text = _detailed(connection, sql) if not draw or not steps else ""
                    yield StatementPlan(
                        start=start, server=server, kind=kind, sql=sql, steps=steps, text=text,
                        handlers={} if draw else _handlers(connection, sql),
                        error="" if text or steps else error,
                    )  # fmt: skip
    except pymysql.Error as error:
        raise MeasureError(f"EXPLAIN on {server}: {error}{instance.post_mortem()}") from error


def _analyse(connection: Connection[Cursor]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        for (table,) in cursor.fetchall():
            cursor.execute(f"ANALYZE NO_WRITE_TO_BINLOG TABLE `{table}`")


@contextmanager
def _general_log(instance: Running) -> Iterator[None]:
    """Log every statement to mysql.general_log inside the block. Raises MeasureError."""
    before = instance.variables().get("log_output")
    if before is None:
        raise MeasureError(f"{instance.version} cannot log statements to a table; MySQL can since 5.1.6")
    instance.query("TRUNCATE TABLE mysql.general_log")
    instance.query("SET GLOBAL log_output = 'TABLE'")
    instance.query("SET GLOBAL general_log = 1")
    try:
        yield
    finally:
        instance.query("SET GLOBAL general_log = 0")
        instance.query(f"SET GLOBAL log_output = '{before}'")


def _literal_characters(kind: tuple[ProgramStatement, str]) -> int:
    return sum(len(piece) for piece in kind[0].pieces if isinstance(piece, str))


def _texts(statement: ProgramStatement) -> tuple[str, ...]:
    """What stands around a statement's parameters."""
    found = [""]
    for piece in statement.pieces:
        if isinstance(piece, str):
            found[-1] += piece
        else:
            found.append("")
    return tuple(found)


def _fits(texts: Sequence[str], sql: str) -> bool:
    """Whether a statement is these texts with something between each two: the first place of each will do."""
    first, *inner = texts
    if not inner or not sql.startswith(first):
        return sql == first
    at, last = len(first), inner.pop()
    for text in inner:
        if (found := sql.find(text, at + 1)) < 0:
            return False
        at = found + len(text)
    return sql.endswith(last) and len(sql) - len(last) > at


def _traditional(connection: Connection[Cursor], sql: str) -> tuple[tuple[PlanStep, ...], str]:
    """The steps of a plan, or the server's reason for giving none."""
    try:
        with connection.cursor(DictCursor) as cursor:
            cursor.execute(f"EXPLAIN {sql}")
            return tuple(map(_step, cursor.fetchall())), ""
    except pymysql.Error as error:
        if not is_answer(error):
            raise
        return (), str(error)


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


def _detailed(connection: Connection[Cursor], sql: str) -> str:
    """The most detailed plan that the server gives; empty before MySQL 5.6 and MariaDB 10.1."""
    for explain in _DETAILED:
        try:
            with connection.cursor() as cursor:
                cursor.execute(explain + sql)
                return "\n".join(str(column) for row in cursor.fetchall() for column in row)
        except pymysql.Error as error:
            if not is_answer(error):
                raise
    return ""


def _handlers(connection: Connection[Cursor], sql: str) -> dict[str, float]:
    """Handler counters of one execution, rolled back; none if the statement fails."""
    if not _ROWS.match(sql):
        return {}
    try:
        with connection.cursor() as cursor:
            cursor.execute("FLUSH STATUS")  # first: it commits
            cursor.execute("BEGIN")
            cursor.execute(sql)
            cursor.fetchall()
            cursor.execute("SHOW SESSION STATUS LIKE 'Handler%'")
            found = {str(name): float(value) for name, value in cursor.fetchall()}
            cursor.execute("ROLLBACK")
    except pymysql.Error as error:
        if not is_answer(error):
            raise
        return {}
    return {name: value for name, value in found.items() if value and _HANDLERS.fullmatch(name)}


def is_answer(error: pymysql.Error) -> bool:
    """Whether the server sent it; otherwise the client found that the server is gone."""
    return bool(error.args[0]) and error.args[0] not in range(2000, 3000)
