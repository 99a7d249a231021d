"""A connection to a server that nobody vouches for: every answer has an end, and wrong ones are errors."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.cursors import Cursor

from shootout.errors import quoted

ANSWER_MAX = 4 << 20  # bytes of an answer; Python's rows take up to fifty times as much


if TYPE_CHECKING:
    _Connection = Connection[Cursor]
else:
    _Connection = Connection  # it is generic for type checkers only


class Link(socket.socket):
    """A socket with a limit to the time and the size of a whole answer: beyond it reading raises OSError."""

    ends_by = math.inf  # that no answer outlasts

    def settimeout(self, value: float | None) -> None:
        super().settimeout(value)
        self._timeout_s = math.inf if value is None else value
        self._begin()

    def sendall(self, data: Any, flags: int = 0) -> None:
        super().sendall(data, flags)
        self._begin()

    def allow_more(self) -> None:
        """Start the size limit again, but not the time-out."""
        self._left = ANSWER_MAX

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        left_s = min(self._ends, self.ends_by) - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        super().settimeout(None if left_s == math.inf else left_s)
        count = super().recv_into(buffer, nbytes, flags)
        self._left -= count
        if self._left < 0:
            raise OSError(f"the answer is longer than {ANSWER_MAX} bytes")
        return count

    def _begin(self) -> None:
        self._ends = time.monotonic() + self._timeout_s
        self.allow_more()


def dial(host: str, port: int, timeout_s: float) -> socket.socket:
    """Connect over TCP, as PyMySQL does. Raises pymysql.OperationalError."""
    try:
        link = socket.create_connection((host, port), timeout_s)
    except OSError as error:
        wrong = f"Can't connect to MySQL server on {host!r} ({error})"
        raise pymysql.OperationalError(CR.CR_CONN_HOST_ERROR, wrong) from error
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


class BoundedConnection(_Connection):
    """PyMySQL's connection over a Link. Bytes outside MySQL's protocol are a pymysql.OperationalError."""

    _sock: Link
    _result: Any

    def log_in(self, link: socket.socket, timeout_s: float) -> None:
        """Log in over an open socket, in this time. Closes it if that fails."""
        bounded = Link(fileno=link.detach())
        bounded.ends_by = time.monotonic() + timeout_s
        with self._reading():
            self.connect(bounded)
        bounded.ends_by = math.inf

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        with self._reading():
            return super().query(sql, unbuffered)

    def _read_packet(self, *arguments: Any) -> Any:
        if self._result is not None and self._result.unbuffered_active:  # no row stays in memory
            self._sock.allow_more()
        return super()._read_packet(*arguments)  # type: ignore[no-untyped-call]

    def _force_close(self) -> None:
        if self._result is not None:
            self._result.unbuffered_active = False  # or its cursor would read on when it is closed
        super()._force_close()  # type: ignore[misc]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except pymysql.Error as error:
            error.args = tuple(
                quoted(argument) if isinstance(argument, str) else argument for argument in error.args
            )
            raise
        except Exception as error:  # PyMySQL checks next to nothing that it reads
            self._force_close()
            wrong = (
                f"the server's answer is not MySQL's protocol ({type(error).__name__}: {quoted(str(error))})"
            )
            raise pymysql.OperationalError(CR.CR_MALFORMED_PACKET, wrong) from error
