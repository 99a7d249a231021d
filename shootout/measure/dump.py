"""Datasets from a dump: a file of statements, as mysqldump writes it, sent as it is to a schema of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

import pymysql
from pymysql.constants.ER import EMPTY_QUERY, UNKNOWN_SYSTEM_VARIABLE, WRONG_VALUE_FOR_VAR
from pymysql.cursors import Cursor

from shootout.errors import MeasureError

_CHUNK = 1 << 20
_WORD = b"DELIMITER"

_LINE_COMMENT = re.compile(rb"#|--(?:\s|\Z)")
_FOR_A_SERVER = re.compile(rb"/\*M?!(?!999999)")  # begins a comment that is none; no server is that new
_SPACE = re.compile(rb"\s*")
_DELIMITER = re.compile(rb"DELIMITER[ \t]+(\S+)[^\n]*(?:\n|\Z)", re.IGNORECASE)

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


def statements(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The file's statements without comments around them, each with the number of its first line.

    A `DELIMITER` line changes what ends a statement, as in the mysql client. Reads only as far as it must.
    """
    buffer, line, whole = b"", 1, False
    delimiter = b";"
    while True:
        start = _begin(buffer)
        changed = _DELIMITER.match(buffer, start)
        if changed and (whole or changed[0].endswith(b"\n")):
            delimiter = changed[1]
            line += buffer.count(b"\n", 0, changed.end())
            buffer = buffer[changed.end() :]
            continue
        word = buffer[start : start + len(_WORD)].upper()
        torn = not whole and _WORD.startswith(word) and b"\n" not in buffer[start:]
        end = None if torn else _end(buffer, start, delimiter)
        if end is not None:
            yield line + buffer.count(b"\n", 0, start), buffer[start:end].rstrip()
            line += buffer.count(b"\n", 0, end)
            buffer = buffer[end + len(delimiter) :]
        elif whole:
            if rest := buffer[start:].strip():
                yield line + buffer.count(b"\n", 0, start), rest
            return
        else:
            more = file.read(max(_CHUNK, len(buffer)))
            buffer, whole = buffer + more, not more


def _begin(buffer: bytes) -> int:
    """Where the first statement begins, behind white space and comments."""
    at = 0
    while True:
        at = _past_space(buffer, at)
        if buffer.startswith((b"#", b"--"), at):
            at = _past(b"\n", buffer, at) or len(buffer)
        elif buffer.startswith(b"/*", at) and not _FOR_A_SERVER.match(buffer, at):
            end = _past(b"*/", buffer, at + 2)
            if end is None:
                return at
            at = end
        else:
            return at


def _end(buffer: bytes, start: int, delimiter: bytes) -> int | None:
    """Where a statement ends: at a delimiter outside of quotes and comments; None: not in this buffer."""
    plain = _plain(delimiter[:1])
    at: int | None = start
    while at is not None and at < len(buffer):
        skipped = plain.match(buffer, at)
        assert skipped is not None  # matches nothing, too
        at = skipped.end()
        if buffer.startswith(delimiter, at):
            return at
        if buffer.startswith(b"/*", at):
            at = _past(b"*/", buffer, at + 2)
        elif _LINE_COMMENT.match(buffer, at):
            at = _past(b"\n", buffer, at)
        elif buffer.startswith((b"'", b'"', b"`"), at):
            return None  # a quote without its end
        else:
            at += 1
    return None


@cache
def _plain(first: bytes) -> re.Pattern[bytes]:
    """Texts in quotes, and whatever begins no quote, no comment, and no delimiter with this first byte."""
    other = rb"[^'\"`/#%b-]" % re.escape(first)
    quoted = rb"""'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+"|`(?:[^`]++|``)*+`"""
    signs = rb"" if first in (b"-", b"/") else rb"|-(?=[^-])|/(?=[^*])"
    return re.compile(rb"(?:%b++|%b%b)*+" % (other, quoted, signs), re.DOTALL)


def _past(text: bytes, buffer: bytes, start: int) -> int | None:
    at = buffer.find(text, start)
    return None if at < 0 else at + len(text)


def _past_space(buffer: bytes, start: int) -> int:
    space = _SPACE.match(buffer, start)
    assert space is not None  # matches nothing, too
    return space.end()


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
