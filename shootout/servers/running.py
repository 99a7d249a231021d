"""A running server: queries, and the login for the load."""

from __future__ import annotations

import re
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import pymysql
from pymysql.connections import Connection
from pymysql.constants.CR import CR_CONNECTION_ERROR, CR_SERVER_GONE_ERROR, CR_SERVER_LOST
from pymysql.cursors import Cursor

from shootout.errors import MeasureError, without_values

QUERY_TIMEOUT_S = 60.0
_HEXADECIMAL = re.compile("X'[0-9a-f]*'")  # values of a column
COUNTED_MAX = 2**64
CONNECT_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Login:
    """The load's account, and where the server listens: a socket's path or host:port."""

    address: str
    user: str
    password: str = field(repr=False)


class Running(ABC):
    """A running server. As a context manager it is stopped or disconnected at the end."""

    version: str = ""  # VERSION(), once it answers
    ours: bool = True  # started by this run: we may pin, stop and configure it
    suffix: str = ""  # of the suite's schema names
    reopened: int = 0  # times that the server closed the connection for queries, and lived
    _control: Connection[Cursor] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    @abstractmethod
    def pid(self) -> int | None: ...  # on this machine; None if it is not visible from here
    @property
    @abstractmethod
    def login(self) -> Login: ...  # of the load engine

    @abstractmethod
    def connect(self, **options: Any) -> Connection[Cursor]:
        """Log in without TLS, in autocommit; `options` are PyMySQL's and take precedence."""

    @abstractmethod
    def alive(self) -> bool: ...
    @abstractmethod
    def post_mortem(self) -> str: ...  # how it died, as a line to append to an error; empty while it lives
    @abstractmethod
    def stop(self) -> None: ...  # shut it down, or disconnect from one that is not ours
    @abstractmethod
    def kill(self) -> None: ...  # likewise, at once

    def creating(self, schema: str) -> tuple[str, ...]:
        """Write the statements that create a schema of the suite."""
        return (f"CREATE DATABASE `{schema}`",)

    def removing(self, schema: str) -> tuple[str, ...]:
        """Write the statements that drop it if it exists. Raises MeasureError if that is not allowed."""
        return (f"DROP DATABASE IF EXISTS `{schema}`",)

    def query(self, sql: str, timeout_s: float | None = None) -> tuple[tuple[Any, ...], ...]:
        """Run `sql`; return its rows, bytes decoded as UTF-8.

        Opens the connection again, once, if a server of ours has closed it and lives. Raises MeasureError
        with the server's message if the statement fails or takes longer than `timeout_s` (None:
        QUERY_TIMEOUT_S).
        """
        timeout_s = QUERY_TIMEOUT_S if timeout_s is None else timeout_s
        was_open = self._control is not None
        try:
            return self._rows(sql, timeout_s)
        except pymysql.Error as error:
            self._control = None
            if was_open and self.ours and _closed_before(sql, error) and self.alive():
                self.reopened += 1
                return self.query(sql, timeout_s)
            raise self.failure(_HEXADECIMAL.sub("?", sql), error) from error

    @contextmanager
    def naming(self, what: str) -> Iterator[None]:
        """Raise MeasureError, which begins with `what`, where a statement in the block fails."""
        try:
            yield
        except pymysql.Error as error:
            raise self.failure(what, error) from error

    def failure(self, what: str, error: pymysql.Error) -> MeasureError:
        """Make the error for a failed statement: the server's words without values, and how it died."""
        return MeasureError(f"{what}: {without_values(str(error))}{self.post_mortem()}")

    def _rows(self, sql: str, timeout_s: float) -> tuple[tuple[Any, ...], ...]:
        if self._control is None:
            self._control = self.connect(read_timeout=min(timeout_s, QUERY_TIMEOUT_S))
        wait_for(self._control, timeout_s)
        with self._control.cursor() as cursor:
            cursor.execute(sql)
            return tuple(tuple(map(_text, row)) for row in cursor.fetchall())

    def status(self) -> dict[str, float]:
        """Read the server's numeric global status counters."""
        return {
            str(name): float(value)
            for name, value in self.query("SHOW /*!50002 GLOBAL */ STATUS")
            if _is_number(value)
        }

    def variables(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.query("SHOW GLOBAL VARIABLES")}

    def hang_up(self) -> None:
        """Drop the connection for queries without COM_QUIT: a dead server must not delay us."""
        if self._control is not None:
            self._control._force_close()  # type: ignore[attr-defined]
            self._control = None


def timeouts() -> dict[str, float]:
    """PyMySQL's options for a connection whose reads and writes time out."""
    return {"read_timeout": QUERY_TIMEOUT_S, "write_timeout": QUERY_TIMEOUT_S}


def open_socket(path: str) -> socket.socket:
    """Connect to a unix socket: PyMySQL leaks its own. Raises pymysql.OperationalError."""
    link = socket.socket(socket.AF_UNIX)
    # Not settimeout: a full backlog refuses a non-blocking socket at once.
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", CONNECT_TIMEOUT_S, 0))
    try:
        link.connect(path)
    except OSError as error:
        link.close()
        raise pymysql.OperationalError(CR_CONNECTION_ERROR, f"{path}: {error.strerror}") from error
    return link


def wait_for(connection: Connection[Cursor], timeout_s: float) -> None:
    """Set the timeout for each answer."""
    connection._read_timeout = timeout_s  # type: ignore[attr-defined]  # of the next packet


def version_of(connection: Connection[Cursor]) -> str:
    """VERSION(), as MariaDB's greeting may begin with the version that it reports to replicas."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        ((version,),) = cursor.fetchall()
    return str(version)


def _closed_before(sql: str, error: pymysql.Error) -> bool:
    """Whether the server had closed the connection, so that the statement can be sent again."""
    code, message = error.args[0], str(error)
    if code == CR_SERVER_LOST and "timed out" not in message:
        return sql.startswith(("SELECT", "SHOW"))  # it may have been executed
    return bool(code == CR_SERVER_GONE_ERROR)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _is_number(text: str) -> bool:
    """Whether a run document can hold it: neither a word, nor infinite, nor beyond what servers count to."""
    try:
        return abs(float(text)) <= COUNTED_MAX
    except ValueError:
        return False
