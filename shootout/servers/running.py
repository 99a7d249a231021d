"""A server that answers: what it is asked, and how the load gets in."""

from __future__ import annotations

import socket
import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import pymysql
from pymysql.connections import Connection
from pymysql.constants.CR import CR_CONNECTION_ERROR
from pymysql.cursors import Cursor

from shootout.errors import MeasureError

QUERY_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Login:
    """An account for the load, and where the server listens: a socket's path or host:port."""

    address: str
    user: str
    password: str = field(repr=False)


class Running(ABC):
    """A running server. As a context manager it is stopped, or let go, at the end."""

    version: str = ""  # as the server says, once it answers
    ours: bool = True  # started by this run: it may be placed, and set as loading wants it
    suffix: str = ""  # of the names of the suite's schemas there

    def __init__(self) -> None:
        self._control: Connection[Cursor] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    @abstractmethod
    def pid(self) -> int | None:
        """Its process on this machine; None: it cannot be seen from here."""

    @property
    @abstractmethod
    def login(self) -> Login:
        """What the load engine logs in with."""

    @abstractmethod
    def connect(self, **options: Any) -> Connection[Cursor]:
        """Log in to prepare and to ask: no TLS, autocommit; `options` are PyMySQL's and win.

        A server that stands still is waited for no longer than QUERY_TIMEOUT_S, until `wait_for` says else.
        """

    @abstractmethod
    def alive(self) -> bool:
        """Whether the server runs."""

    @abstractmethod
    def post_mortem(self) -> str:
        """How the server has died, a line to put behind an error; empty while it lives."""

    @abstractmethod
    def stop(self) -> None:
        """End it in good order, or leave it as it was found."""

    @abstractmethod
    def kill(self) -> None:
        """End it at once, or leave it as it was found."""

    def creating(self, schema: str) -> tuple[str, ...]:
        """The statements that make a schema of the suite."""
        return (f"CREATE DATABASE {schema}",)

    def removing(self, schema: str) -> tuple[str, ...]:
        """The statements that remove one, if it is there. Raises MeasureError where that must not be."""
        return (f"DROP DATABASE IF EXISTS {schema}",)

    def query(self, sql: str, timeout_s: float | None = None) -> tuple[tuple[Any, ...], ...]:
        """The rows that `sql` gives; bytes are read as UTF-8.

        Raises MeasureError with the server's words where it fails, or gives no answer for `timeout_s`
        (None: QUERY_TIMEOUT_S).
        """
        timeout_s = QUERY_TIMEOUT_S if timeout_s is None else timeout_s
        try:
            if self._control is None:
                self._control = self.connect(read_timeout=min(timeout_s, QUERY_TIMEOUT_S))
            wait_for(self._control, timeout_s)
            with self._control.cursor() as cursor:
                cursor.execute(sql)
                return tuple(tuple(map(_text, row)) for row in cursor.fetchall())
        except pymysql.Error as error:
            self._control = None
            raise MeasureError(f"{sql}: {error}{self.post_mortem()}") from error

    def status(self) -> dict[str, float]:
        """The server's global status counters, those that are numbers."""
        return {
            str(name): float(value)
            for name, value in self.query("SHOW /*!50002 GLOBAL */ STATUS")
            if _is_number(value)
        }

    def variables(self) -> dict[str, str]:
        """The server's global variables."""
        return {str(name): str(value) for name, value in self.query("SHOW GLOBAL VARIABLES")}

    def hang_up(self) -> None:
        """Drop the connection that queries go over, without a word: a dead server must not hold us up."""
        if self._control is not None:
            self._control._force_close()  # type: ignore[attr-defined]
            self._control = None


def timeouts() -> dict[str, float]:
    """PyMySQL's options for a login that does not wait for ever."""
    return {"read_timeout": QUERY_TIMEOUT_S, "write_timeout": QUERY_TIMEOUT_S}


def open_socket(address: str | tuple[str, int]) -> socket.socket:
    """A socket that leads to a server: a unix socket's path, or host and port.

    PyMySQL forgets to close one of its own that found no server. Raises pymysql.OperationalError.
    """
    link = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    # Not settimeout: a unix socket that does not block is refused at once where a full queue is waiting.
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", CONNECT_TIMEOUT_S, 0))
    try:
        link.connect(address)
    except OSError as error:
        link.close()
        raise pymysql.OperationalError(CR_CONNECTION_ERROR, f"{address}: {error.strerror}") from error
    return link


def wait_for(connection: Connection[Cursor], timeout_s: float) -> None:
    """Wait so long for each answer from now on."""
    connection._read_timeout = timeout_s  # type: ignore[attr-defined]  # of the next packet


def version_of(connection: Connection[Cursor]) -> str:
    """The server's own version; MariaDB's greeting puts the one before it that it shows to replicas."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        ((version,),) = cursor.fetchall()
    return str(version)


def _text(value: Any) -> Any:
    """Servers before 5.1 give some of their names and words as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
