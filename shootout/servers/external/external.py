"""A server that is already running, here or elsewhere: visited, and left as it was found.

The suite creates only schemas of its own. Each holds a table that names its creator, the mark: without it no
schema is touched, whatever its name. `GRANT ALL` on these schemas suffices: no global variable is set, and
nothing bypasses the binary log, which replicas may follow.
"""

from __future__ import annotations

import re
import secrets
import socket
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER
from pymysql.cursors import Cursor

from shootout.errors import InputError, MeasureError
from shootout.servers.bounded import dial
from shootout.servers.external import peer
from shootout.servers.external.authentication import CarefulConnection
from shootout.servers.external.dsn import Dsn
from shootout.servers.running import Login, Running, open_socket, timeouts

MARK = "shootout_mark"
CREATOR = "made by shootout, and dropped when its run is over"
LOCK = "shootout"
SCHEMA = re.compile(r"shootout(_[a-z0-9]+)*")  # every name that a run may have left
CONNECT_TIMEOUT_S = 10.0
LOGIN_TIMEOUT_S = 60.0  # for all that a login exchanges
DROP_TIMEOUT_S = 3600.0
WAIT_TIMEOUT_S = 31_536_000  # the maximum: an idle connection must outlive the run

SECURE_TRANSPORT_REQUIRED = 3159  # error code: the server demands TLS
_GONE = (CR.CR_CONNECTION_ERROR, CR.CR_CONN_HOST_ERROR, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)
_DENIED = (ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR)


class External(Running):
    """A session with a running server; its schemas are marked with `token`."""

    ours = False

    def __init__(self, dsn: Dsn, password: str, token: str = "", suffix: str = "") -> None:
        self.dsn = dsn
        self._pid: int | None = None
        self.local = False  # on this machine, judging by its address
        self.suffix = suffix
        self.token = token or secrets.token_hex(16)
        self._password = password

    def identify(self) -> None:
        """Log in and identify the server. Raises MeasureError if it refuses."""
        try:
            self._control = self.connect(read_timeout=CONNECT_TIMEOUT_S)
            rows = self.query("SELECT VERSION(), @@pid_file, @@datadir, @@hostname")
        except pymysql.Error as error:
            raise MeasureError(f"{self.dsn.where}: {_message(error)}") from None
        if len(rows) != 1 or len(rows[0]) != 4:
            raise MeasureError(f"{self.dsn.where}: the server does not report its version")
        self.version, pid_file, datadir, hostname = map(str, rows[0])
        link: socket.socket = self._control._sock  # type: ignore[attr-defined]
        self.local = peer.is_local(link)
        if self.dsn.socket is not None:
            self._pid = peer.socket_pid(link)
        elif self.local and (uptime_s := self.status().get("Uptime")) is not None:
            self._pid = peer.loopback_pid(hostname, Path(datadir, pid_file), uptime_s)

    def reopen(self) -> External:
        """Another session with the same token. Raises MeasureError like `identify`."""
        other = External(self.dsn, self._password, self.token, self.suffix)
        other.identify()
        return other

    @property
    def pid(self) -> int | None:
        """Its process on this machine, if `identify` found it."""
        return self._pid

    @property
    def login(self) -> Login:
        return Login(self.dsn.where, self.dsn.user, self._password)

    def connect(self, **options: Any) -> Connection[Cursor]:
        """Log in without TLS, which the load engine lacks; autocommit, UTF-8; `options` take precedence."""
        common: dict[str, Any] = {
            "user": self.dsn.user,
            "host": self.dsn.host,
            "ssl_disabled": True,
            "autocommit": True,
            "init_command": f"SET SESSION wait_timeout = {WAIT_TIMEOUT_S}",
            **timeouts(),
        }
        connection = CarefulConnection(**common | options | {"defer_connect": True})
        connection.local = self.dsn.is_local
        # Not an argument, which tracebacks may show; as bytes, since PyMySQL encodes text as Latin-1.
        connection.password = self._password.encode()
        if self.dsn.socket is None:
            link = dial(self.dsn.host, self.dsn.port, CONNECT_TIMEOUT_S)
        else:
            connection._secure = True  # type: ignore[attr-defined]  # PyMySQL sets it for its own socket
            link = open_socket(self.dsn.socket)
        connection.log_in(link, LOGIN_TIMEOUT_S)
        return connection

    @property
    def identity(self) -> tuple[Any, ...]:
        """The server's identity, however it was reached."""
        return self.query("SELECT @@hostname, @@port, @@datadir, @@socket")[0]

    def status(self) -> dict[str, float]:
        """Read the server's global status counters; none if this account may not read them."""
        try:
            return super().status()
        except MeasureError as error:
            if _code(error.__cause__) in _DENIED:
                return {}
            raise

    def alive(self) -> bool:
        """Whether the server answers, even if it refuses logins."""
        return self._connection_failure() == ""

    def post_mortem(self) -> str:
        """Say why the server does not answer, as a line to append to an error; empty while it does."""
        failure = self._connection_failure()
        return f"\nThe server at {self.dsn.where} no longer answers: {failure}" if failure else ""

    def stop(self) -> None:
        self.hang_up()

    kill = stop

    def creating(self, schema: str) -> tuple[str, ...]:
        return (
            *super().creating(schema),
            f"CREATE TABLE {schema}.{MARK} "
            "(token VARCHAR(64) NOT NULL PRIMARY KEY, creator VARCHAR(100) NOT NULL)",
            f"INSERT INTO {schema}.{MARK} VALUES ('{self.token}', '{CREATOR}')",
        )

    def removing(self, schema: str) -> tuple[str, ...]:
        """Write the statements that drop a schema of this run. Raises MeasureError for any other schema."""
        mark = self.mark(schema)
        if mark is None:
            return ()
        if mark != self.token:
            raise MeasureError(f"{self.dsn.where}: schema {schema} does not belong to this run; left alone")
        return super().removing(schema)

    def mark(self, schema: str) -> str | None:
        """Read the token in a schema's mark; "" without a mark of ours, None if there is no such schema."""
        if not self.query(f"SELECT 1 FROM information_schema.schemata WHERE schema_name = '{schema}'"):
            return None
        columns = self.query(
            f"SELECT 1 FROM information_schema.columns WHERE table_schema = '{schema}' "
            f"AND table_name = '{MARK}' AND column_name IN ('token', 'creator')"
        )
        if len(columns) != 2:
            return ""
        marks = self.query(f"SELECT token FROM {schema}.{MARK} WHERE creator = '{CREATOR}'")
        return str(marks[0][0]) if len(marks) == 1 else ""

    def sweep(self) -> None:
        """Drop the schemas of killed runs; hold the server's Claim meanwhile."""
        schemas = self.query(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'shootout%'"
        )
        for schema in (str(name) for (name,) in schemas):
            if SCHEMA.fullmatch(schema) and self.mark(schema):
                self.query(f"DROP DATABASE {schema}", DROP_TIMEOUT_S)

    def drop(self, schema: str) -> None:
        """Drop a schema if it belongs to this run."""
        if self.mark(schema) == self.token:
            self.query(f"DROP DATABASE {schema}", DROP_TIMEOUT_S)

    def _connection_failure(self) -> str:
        """Say why the server does not answer; "" if it does."""
        try:
            self.connect(read_timeout=CONNECT_TIMEOUT_S).close()
        except pymysql.Error as error:
            return _message(error) if _code(error) in _GONE else ""
        return ""


class Claim:
    """A server reserved for this run by GET_LOCK: no other run of the suite measures there."""

    def __init__(self, server: External) -> None:
        """Raise InputError if another run has it."""
        self._server = server
        self._connection: Connection[Cursor] | None = None
        self._take()

    def renew(self) -> None:
        """Check that the lock is still held, or take it again. Raises MeasureError if that fails."""
        try:
            if self._connection is not None:
                with self._connection.cursor() as cursor:
                    cursor.execute(f"SELECT IS_USED_LOCK('{LOCK}') = CONNECTION_ID()")
                    if cursor.fetchone() == (1,):
                        return
        except pymysql.Error:
            pass
        self.release()
        try:
            self._take()
        except InputError as error:
            raise MeasureError(str(error)) from None

    def release(self) -> None:
        if self._connection is not None:
            self._connection._force_close()  # type: ignore[attr-defined]
            self._connection = None

    def _take(self) -> None:
        where = self._server.dsn.where
        try:
            connection = self._server.connect()
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT GET_LOCK('{LOCK}', 0)")
                if cursor.fetchone() != (1,):
                    connection.close()
                    raise InputError(
                        f"{where}: another run of shootout is measuring there; wait for it to end"
                    )
        except pymysql.Error as error:
            raise MeasureError(f"{where}: {_message(error)}") from None
        self._connection = connection


def _code(error: BaseException | None) -> int:
    return error.args[0] if isinstance(error, pymysql.Error) and isinstance(error.args[0], int) else 0


def _message(error: pymysql.Error) -> str:
    message = f"error {error.args[0]}: {error.args[1]}" if len(error.args) == 2 else str(error)
    if _code(error) == SECURE_TRANSPORT_REQUIRED:
        message += "\nThe load engine does not support TLS: use the server's socket (?unix_socket=/PATH)."
    return message
