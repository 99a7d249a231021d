"""A workload's statements, as the engine sends them.

The server's general log gives them with the values that the engine drew, so nothing else has to draw them.
Only for servers of ours: the log is a global setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain

import pymysql

from shootout.errors import MeasureError
from shootout.model.program import Program, ProgramStatement
from shootout.servers.running import Running

_LITERAL = r"(\w*'(?:[^'\\]|\\.|'')*'|[^']*?)"
_LOGGED = (
    "SELECT argument FROM mysql.general_log WHERE command_type IN ('Query', 'Execute') AND user_host LIKE "
)


def captured(instance: Running, program: Program, load: Callable[[], object]) -> dict[str, str]:
    """Capture each kind's first statement as the server receives it during `load`. Raises MeasureError."""
    first: dict[str, str] = {}
    for kind, sql in each_kind(program, logged(instance, load)):
        first.setdefault(kind, sql)
        if len(first) == kinds(program):
            break
    return first


def fixed(program: Program) -> dict[str, str]:
    """List the statements without parameters, by kind."""
    whole: dict[str, str] = {}
    for statement, kind in _kinds(program):
        text, *others = _texts(statement)
        if not others:
            whole.setdefault(kind, text)
    return whole


def kinds(program: Program) -> int:
    """Count the kinds of statements that a program sends."""
    return len({kind for _, kind in _kinds(program)})


def logged(instance: Running, load: Callable[[], object]) -> Iterator[str]:
    """Log all statements that our account sends while `load` runs. Raises MeasureError."""
    with _general_log(instance):
        load()
    rows = instance.query(f"{_LOGGED}'{instance.login.user}[%'")
    return (str(sql) for (sql,) in rows)


def each_kind(program: Program, statements: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield statements with their kinds; others, such as COMMIT, are left out."""
    # A value may be any text, `1 ORDER BY c` too: of the kinds that fit, the one with most text of its own.
    fullest = sorted(_kinds(program), key=lambda each: len("".join(_texts(each[0]))), reverse=True)
    every = {_texts(statement): kind for statement, kind in fullest}
    for sql in statements:
        if kind := next((kind for texts, kind in every.items() if _fits(texts, sql)), None):
            yield kind, sql


def prepared(program: Program, sent: Mapping[str, str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Write statements by kind as prepared ones, with `?`, and the literals; empty for texts."""
    found = {}
    for statement, kind in _kinds(program) if program.prepared else ():
        gaps = [piece for piece in statement.pieces if isinstance(piece, int)]
        texts = _texts(statement)
        if literals := re.fullmatch(_LITERAL.join(map(re.escape, texts)), sent.get(kind, ""), re.DOTALL):
            filled = zip(gaps, literals.groups(), strict=True)
            marks = ["?" if gap >= 0 else literal for gap, literal in filled]  # or the table
            values = (literal for literal, mark in zip(literals.groups(), marks, strict=True) if mark == "?")
            found[kind] = "".join(chain.from_iterable(zip(texts, (*marks, ""), strict=True))), tuple(values)
    return found


def is_answer(error: pymysql.Error) -> bool:
    """Whether the server sent it; otherwise it comes from the client, and the server is gone."""
    return bool(error.args[0]) and error.args[0] not in range(2000, 3000)


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


def _kinds(program: Program) -> Iterator[tuple[ProgramStatement, str]]:
    for transaction in program.transactions:
        for step in transaction.steps:
            for statement in step.statements:
                yield statement, program.kinds[statement.kind].name


def _texts(statement: ProgramStatement) -> tuple[str, ...]:
    texts = [""]
    for piece in statement.pieces:
        if isinstance(piece, str):
            texts[-1] += piece
        else:
            texts.append("")
    return tuple(texts)


def _fits(texts: Sequence[str], sql: str) -> bool:
    """Whether a statement is these texts with something between every two; each one's first match will do."""
    first, *inner = texts
    if not inner or not sql.startswith(first):
        return sql == first
    at, last = len(first), inner.pop()
    for text in inner:
        if (place := sql.find(text, at + 1)) < 0:
            return False
        at = place + len(text)
    return sql.endswith(last) and len(sql) - len(last) > at
