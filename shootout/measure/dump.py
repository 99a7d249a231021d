"""Datasets from a dump: a file of statements, as mysqldump writes it, sent as it is to a schema of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pymysql
from pymysql.constants.ER import EMPTY_QUERY, UNKNOWN_SYSTEM_VARIABLE, WRONG_VALUE_FOR_VAR
from pymysql.cursors import Cursor

from shootout.errors import MeasureError
from shootout.inputs.sql_file import statements

_HEAD = 1000  # bytes of a statement that say what it is
_MARKS = re.compile(rb"/\*M?!\d*|\*/|/\*.*?\*/", re.DOTALL)  # around what is for some servers; comments
_WORDS = re.compile(rb"[@\w]+")
_NAME = rb"""(?:`[^`]*`|'[^']*'|"[^"]*"|[\w.$%-]+)"""
_ACCOUNT = re.compile(rb"DEFINER\s*=\s*%b@%b" % (_NAME, _NAME), re.IGNORECASE)
_DEFINER = re.compile(rb"DEFINER\s*=\s*%b(?:@%b|\(\))?" % (_NAME, _NAME), re.IGNORECASE)
_USE = re.compile(rb"USE\s+`?(?P<schema>[^`;]+)", re.IGNORECASE)
_MODE = re.compile(r"'sql_mode' can't be set to the value of '(\w+)'")
UTC = "SET time_zone = '+00:00'"  # as mysqldump writes TIMESTAMPs; servers' own zones may differ
# Versions that name the collation of every table in a dump have another default: MySQL 8.0 and MariaDB 11.5.
# Where a dump names none, the table had the older default, and keeps it through an upgrade.
SETTINGS = (
    UTC,
    "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
    "SET character_set_collations = 'utf8mb4=utf8mb4_general_ci'",
)


def prepared(path: Path) -> Iterator[tuple[int, bytes]]:
    """The statements to send; raises MeasureError for a dump of several databases.

    Routines and views belong to the account that loads them, as their definers may not exist.
    """
    schemas: set[bytes] = set()
    with path.open("rb") as file:
        for line, statement in statements(file):
            if use := _USE.match(statement):
                schemas.add(use["schema"].strip())
                if len(schemas) > 1:
                    raise MeasureError(f"{path}, line {line}: expected a dump of one database, found another")
            elif _is_left_out(statement):
                continue
            elif is_program(statement):
                yield line, _ACCOUNT.sub(b"", statement, count=1)
            elif statement:
                yield line, statement


def is_program(statement: bytes) -> bool:
    """Whether it creates a view, a trigger or a routine, whose text may have a `;`."""
    words = _words(statement)
    return words[:1] == [b"CREATE"] and words[1:2] != [b"TABLE"]


def _is_left_out(statement: bytes) -> bool:
    """Whether it belongs to the server that was dumped, or would go on by itself."""
    match _words(statement):
        case [b"CREATE" | b"DROP" | b"ALTER", b"DATABASE" | b"SCHEMA", *_]:
            return True
        case [b"CREATE", b"EVENT", *_] | [b"CREATE", b"OR", b"REPLACE", b"EVENT", *_]:
            return True
        case [b"LOCK" | b"UNLOCK", b"TABLES", *_]:
            return True
        case [b"SET", b"SESSION" | b"@@SESSION", variable, *_] | [b"SET", variable, *_]:
            return variable.removeprefix(b"@@") in (b"GLOBAL", b"PERSIST", b"PERSIST_ONLY", b"SQL_LOG_BIN")
        case [b"START" | b"STOP", b"ALL", replica, *_] | [b"START" | b"STOP", replica, *_]:
            return replica in (b"SLAVE", b"SLAVES", b"REPLICA", b"REPLICAS", b"GROUP_REPLICATION")
        case [b"CHANGE" | b"FLUSH" | b"PURGE" | b"RESET", *_]:
            return True
    return False


def _words(statement: bytes) -> list[bytes]:
    """Its first words in upper case, without a definer; words for some servers only are included."""
    head = _DEFINER.sub(b"", statement[:_HEAD], count=1)
    return _WORDS.findall(_MARKS.sub(b" ", head).upper())[:4]


def load(path: Path, cursor: Cursor) -> tuple[str, ...]:
    """Send the dump; returns the session modes that the server lacks, which are dropped from it.

    Raises MeasureError with the line and the server's message.
    """
    lacking: dict[str, None] = {}
    for setting in SETTINGS:
        try:
            cursor.execute(setting)
        except pymysql.Error as error:
            if error.args[0] != UNKNOWN_SYSTEM_VARIABLE:
                raise MeasureError(f"{setting}: {error}") from error
    try:
        for line, statement in prepared(path):
            try:
                lacking |= dict.fromkeys(_send(statement, cursor))
            except pymysql.Error as error:
                if error.args[0] != EMPTY_QUERY:  # a comment for other servers
                    raise MeasureError(f"{path}, line {line}: {error}") from error
    except OSError as error:
        raise MeasureError(f"{path}: cannot be read: {error.strerror}") from None
    return tuple(lacking)


def _send(statement: bytes, cursor: Cursor) -> Iterator[str]:
    """Send a statement without the session modes that the server lacks, and yield these."""
    while True:
        try:
            cursor.execute(statement)  # type: ignore[call-overload]  # PyMySQL sends bytes as they are
        except pymysql.Error as error:
            code, message = error.args[0], str(error.args[-1])
            mode = _MODE.search(message) if code == WRONG_VALUE_FOR_VAR else None
            without = statement if mode is None else _without(mode[1].encode(), statement)
            if mode is None or without == statement:
                raise
            yield mode[1]
            statement = without
        else:
            return


def _without(mode: bytes, statement: bytes) -> bytes:
    """The statement without a session mode, and without the comma beside it."""
    return re.sub(rb"\b%b\b\s*,?|,\s*%b\b(?=\s*['\"])" % (mode, mode), b"", statement, flags=re.IGNORECASE)
