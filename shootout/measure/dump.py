"""Datasets from a dump: a file of statements, as mysqldump writes it, sent as it is to a schema of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pymysql
from pymysql.constants.ER import EMPTY_QUERY, UNKNOWN_SYSTEM_VARIABLE
from pymysql.cursors import Cursor

from shootout.errors import MeasureError

_CHUNK = 1 << 20
_WORD = b"DELIMITER"

_TOKENS = rb"""(?:(?!%(delimiter)s)(?:
    [^'"`/\-\#%(first)s]++
  | '(?:[^'\\]++|\\.|'')*+' | "(?:[^"\\]++|\\.|"")*+" | `(?:[^`]++|``)*+`
  | /\*.*?\*/ | /(?!\*)(?=.) | \#[^\n]*+\n | --[\x20\t\r][^\n]*+\n | --\n | -(?!-(?:\s|\Z))(?=.)
  | (?!['"`/\-\#])%(first)s(?=.)
))*+"""
_BLANK = re.compile(rb"(?:\s++|--[^\n]*+(?:\n|\Z)|#[^\n]*+(?:\n|\Z)|/\*(?!M?!(?!999999)).*?\*/)*+", re.DOTALL)
_DELIMITER = re.compile(rb"DELIMITER[ \t]+(\S+)[^\n]*(?:\n|\Z)", re.IGNORECASE)
_NAME = rb"""(?:`[^`]*`|'[^']*'|"[^"]*"|[\w.$%-]+)"""
_DEFINER = re.compile(rb"DEFINER\s*=\s*%b@%b" % (_NAME, _NAME), re.IGNORECASE)
_DEFINED = re.compile(rb"(?:/\*!\d+\s+)?CREATE\b(?!\s+TABLE)|/\*!50013\b", re.IGNORECASE)
_USE = re.compile(rb"USE\s+`?(?P<schema>[^`;]+)", re.IGNORECASE)
UTC = "SET time_zone = '+00:00'"  # as mysqldump writes TIMESTAMPs; servers' own zones may differ
# Versions that name the collation of every table in a dump have another default: MySQL 8.0 and MariaDB 11.5.
# Where a dump names none, the table had the older default, and keeps it through an upgrade.
SETTINGS = (
    UTC,
    "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
    "SET character_set_collations = 'utf8mb4=utf8mb4_general_ci'",
)
# What belongs to the server that was dumped, or would go on by itself.
_LEFT_OUT = re.compile(
    rb"""(?:/\*M?!\d*\s*)?(?:
        (?:CREATE|DROP|ALTER)\s+(?:/\*.*?\*/\s*)*(?:DATABASE|SCHEMA)\b
      | (?:LOCK|UNLOCK)\s+TABLES\b
      | SET\s+(?:@@)?(?:GLOBAL|PERSIST|PERSIST_ONLY|(?:SESSION[.\s])?SQL_LOG_BIN)\b
      | (?:CHANGE|FLUSH|PURGE|RESET)\s
      | (?:START|STOP)\s+(?:ALL\s+)?(?:SLAVES?|REPLICAS?|GROUP_REPLICATION)\b
      | CREATE\b(?:\s|\*/|/\*M?!\d*|OR\s+REPLACE\b|DEFINER\s*=\s*%(name)b(?:@%(name)b|\(\))?)+EVENT\b
    )"""
    % {b"name": _NAME},
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def statements(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The file's statements without comments around them, each with the number of its first line.

    A `DELIMITER` line changes what ends a statement, as in the mysql client. Reads only as far as it must.
    """
    buffer, line, whole = b"", 1, False
    body = _body(b";")
    delimiter = b";"
    while True:
        blank = _BLANK.match(buffer)
        assert blank is not None  # matches nothing, too
        start = blank.end()
        changed = _DELIMITER.match(buffer, start)
        if changed and (whole or changed[0].endswith(b"\n")):
            delimiter = changed[1]
            body = _body(delimiter)
            line += buffer.count(b"\n", 0, changed.end())
            buffer = buffer[changed.end() :]
            continue
        found = body.match(buffer, start)
        assert found is not None
        end = found.end()
        word = buffer[start : start + len(_WORD)].upper()
        torn = not whole and _WORD.startswith(word) and b"\n" not in buffer[start:]
        if buffer.startswith(delimiter, end) and not torn:
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


def _body(delimiter: bytes) -> re.Pattern[bytes]:
    """What matches a statement up to its delimiter, or up to what the buffer has only a part of."""
    first = re.escape(delimiter[:1])
    pattern = _TOKENS.replace(b"%(delimiter)s", re.escape(delimiter)).replace(b"%(first)s", first)
    return re.compile(pattern, re.DOTALL | re.VERBOSE)


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
            elif _LEFT_OUT.match(statement):
                continue
            elif _DEFINED.match(statement):
                yield line, _DEFINER.sub(b"", statement, count=1)
            elif statement:
                yield line, statement


def is_program(statement: bytes) -> bool:
    """Whether it creates a view, a trigger or a routine, whose text may have a `;`."""
    return _DEFINED.match(statement) is not None


def load(path: Path, cursor: Cursor) -> None:
    """Send the dump. Raises MeasureError with the line and the server's message."""
    for setting in SETTINGS:
        try:
            cursor.execute(setting)
        except pymysql.Error as error:
            if error.args[0] != UNKNOWN_SYSTEM_VARIABLE:
                raise MeasureError(f"{setting}: {error}") from error
    try:
        for line, statement in prepared(path):
            try:
                cursor.execute(statement)  # type: ignore[call-overload]  # PyMySQL sends bytes as they are
            except pymysql.Error as error:
                if error.args[0] != EMPTY_QUERY:  # a comment for other servers
                    raise MeasureError(f"{path}, line {line}: {error}") from error
    except OSError as error:
        raise MeasureError(f"{path}: cannot be read: {error.strerror}") from None
