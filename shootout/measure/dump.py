"""Loads a dump into a schema of ours, without what the server lacks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pymysql
from pymysql.constants import CR, ER
from pymysql.cursors import Cursor

from shootout.errors import InputError, MeasureError, without_values
from shootout.inputs.dump import is_program, names, prepared

_MODE = re.compile(r"'sql_mode' can't be set to the value of '(\w+)'")
_MODES = re.compile(rb"\bsql_mode\s*:?=\s*['\"]([\w,]+)['\"]", re.IGNORECASE)
_SETS = re.compile(rb"(?:/\*M?!\d*\s*)?SET\s", re.IGNORECASE)
_VARIABLE = re.compile(r"Unknown system variable '(\w+)'")
_CLOSED = (CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)  # what some servers do to a packet that is too large
UTC = "SET time_zone = '+00:00'"  # as mysqldump writes TIMESTAMPs; servers' own zones may differ
# Versions that name the collation of every table in a dump have another default: MySQL 8.0 and MariaDB 11.5.
# Where a dump names none, the table had the older default, and keeps it through an upgrade.
SETTINGS = (
    UTC,
    "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
    "SET character_set_collations = 'utf8mb4=utf8mb4_general_ci'",
)


@dataclass
class Lacking:
    """Session settings of a dump that the server lacks; each is dropped wherever it stands."""

    cursor: Cursor
    modes: dict[str, None] = field(default_factory=dict)
    variables: dict[str, None] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def without(self, statement: bytes) -> bytes:
        """Strip a trigger or the like of session modes that the server lacks: it may set them later."""
        for found in _MODES.finditer(statement) if is_program(statement) else ():
            for mode in found[1].decode().split(","):
                statement = _without(mode.encode(), statement) if self._lacks(mode) else statement
        return statement

    def send(self, statement: bytes) -> None:
        """Send a statement without what the server lacks. Raises pymysql.Error."""
        while True:
            try:
                self.cursor.execute(statement)  # type: ignore[call-overload]  # PyMySQL sends bytes as they are
            except pymysql.Error as error:
                code, message = error.args[0], str(error.args[-1])
                mode = _MODE.search(message) if code == ER.WRONG_VALUE_FOR_VAR else None
                variable = _VARIABLE.search(message) if code == ER.UNKNOWN_SYSTEM_VARIABLE else None
                if variable and _SETS.match(statement):
                    self.variables[variable[1]] = None
                    return
                without = statement if mode is None else _without(mode[1].encode(), statement)
                if mode is None or without == statement:
                    raise
                self.modes[mode[1]] = None
                statement = without
            else:
                return

    def _lacks(self, mode: str) -> bool:
        if mode and mode not in self.modes and mode not in self._known:
            self.cursor.execute("SELECT @@SESSION.sql_mode")
            row = self.cursor.fetchone()
            assert row is not None
            try:
                self.cursor.execute("SET SESSION sql_mode = %s", (mode,))
                self._known.add(mode)
            except pymysql.Error as error:
                if error.args[0] != ER.WRONG_VALUE_FOR_VAR:
                    raise
                self.modes[mode] = None
            self.cursor.execute("SET SESSION sql_mode = %s", row)
        return mode in self.modes


def load(path: Path, cursor: Cursor, foreign: str = "") -> Lacking:
    """Send the dump; returns what the server lacks. `foreign`: a schema that it must not name."""
    for setting in SETTINGS:
        try:
            cursor.execute(setting)
        except pymysql.Error as error:
            if error.args[0] != ER.UNKNOWN_SYSTEM_VARIABLE:
                raise MeasureError(f"{setting}: {error}") from error
    cursor.execute("SELECT @@SESSION.max_allowed_packet")
    (limit,) = cursor.fetchone() or (0,)
    lacking = Lacking(cursor)
    for line, statement in prepared(path):
        if foreign and names(statement, foreign):
            raise InputError(
                f"{path}, line {line}: it names its own database, {foreign}, but a running server gets the "
                "dump in another schema; remove the name, or use a server that shootout starts"
            )
        try:
            lacking.send(lacking.without(statement))
        except pymysql.Error as error:
            if error.args[0] != ER.EMPTY_QUERY:  # a comment for other servers
                raise MeasureError(f"{path}, line {line}: {_cause(error, statement, limit)}") from error
    return lacking


def _cause(error: pymysql.Error, statement: bytes, limit: int) -> str:
    """The server's words, or, of a packet that it does not take, its size."""
    if error.args[0] in (*_CLOSED, ER.NET_PACKET_TOO_LARGE) and len(statement) >= limit:
        return (
            f"its statement has {len(statement):,} bytes, more than the server's max_allowed_packet, "
            f"{limit:,}; raise it there, or dump again with a smaller --net-buffer-length"
        )
    return without_values(str(error))


def _without(mode: bytes, statement: bytes) -> bytes:
    return re.sub(rb"\b%b\b\s*,?|,\s*%b\b(?=\s*['\"])" % (mode, mode), b"", statement, flags=re.IGNORECASE)
