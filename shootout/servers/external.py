"""A server that runs already, here or elsewhere: it is visited, and left as it was found.

All that is made there are schemas of ours. Each holds a table that says who made it, the mark: without it no
schema is touched, whatever its name. It takes no more than `GRANT ALL` on them: nothing global is set, and
nothing is kept out of the binary log, which replicas may follow.
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
from shootout.model.value import Family, Version
from shootout.servers import peer
from shootout.servers.dsn import Dsn
from shootout.servers.running import Login, Running, open_socket, timeouts

MARK = "shootout_mark"
CREATOR = "made by shootout, and dropped when its run is over"
LOCK = "shootout"
SCHEMA = re.compile(r"shootout(_[a-z0-9]+)*")  # any that a run may have left
CONNECT_TIMEOUT_S = 10.0
DROP_TIMEOUT_S = 3600.0
WAIT_TIMEOUT_S = 31_536_000  # the most that servers take: an idle connection must last as long as the run

SECURE_TRANSPORT_REQUIRED = 3159  # a server that demands TLS
_GONE = (CR.CR_CONNECTION_ERROR, CR.CR_CONN_HOST_ERROR, CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)
_DENIED = (ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR)


class External(Running):
    """A session with a running server; what it makes there is marked with `token`."""

    ours = False

    def __init__(self, dsn: Dsn, password: str, token: str = "", suffix: str = "") -> None:
        super().__init__()
        self.dsn = dsn
        self._pid: int | None = None
        self.local = False  # whether it runs on this machine, as far as its address tells
        self.suffix = suffix
        self.token = token or secrets.token_hex(16)
        self._password = password

    def identify(self) -> None:
        """Log in, and see which server this is. Raises MeasureError where it does not let us in."""
        try:
            self._control = self.connect(read_timeout=CONNECT_TIMEOUT_S)
            self.version, pid_file, datadir, hostname = map(
                str, self.query("SELECT VERSION(), @@pid_file, @@datadir, @@hostname")[0]
            )
        except pymysql.Error as error:
            raise MeasureError(f"{self.dsn.where}: {_message(error)}") from None
        link: socket.socket = self._control._sock  # type: ignore[attr-defined]
        self.local = peer.is_local(link)
        if self.dsn.socket is not None:
            self._pid = peer.socket_pid(link)
        elif self.local and (uptime_s := self.status().get("Uptime")) is not None:
            self._pid = peer.loopback_pid(link, hostname, Path(datadir, pid_file), uptime_s)

    def reopen(self) -> External:
        """Another session, which may do all that this one may. Raises MeasureError as `identify` does."""
        other = External(self.dsn, self._password, self.token, self.suffix)
        other.identify()
        return other

    @property
    def pid(self) -> int | None:
        """Its process on this machine, if `identify` has found it."""
        return self._pid

    @property
    def login(self) -> Login:
        """What the load engine logs in with."""
        return Login(self.dsn.where, self.dsn.user, self._password)

    def connect(self, **options: Any) -> Connection[Cursor]:
        """Log in without TLS, which the load engine does not speak; autocommit, utf8mb4; `options` win."""
        common: dict[str, Any] = {
            "user": self.dsn.user,
            "host": self.dsn.host,
            "port": self.dsn.port,
            "ssl_disabled": True,
            "charset": "utf8mb4",
            "collation": "utf8mb4_general_ci",
            "autocommit": True,
            "connect_timeout": CONNECT_TIMEOUT_S,
            "init_command": f"SET SESSION wait_timeout = {WAIT_TIMEOUT_S}",
            **timeouts(),
        }
        connection = Connection(**common | options | {"defer_connect": True})
        # Not among the arguments, which tracebacks may show; in bytes: of text PyMySQL takes Latin-1 only.
        connection.password = self._password.encode()
        if self.dsn.socket is None:
            connection.connect()
            return connection
        connection._secure = True  # type: ignore[attr-defined]  # so it would know of a socket of its own
        connection.connect(open_socket(self.dsn.socket))
        return connection

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it apart from other servers, however it was reached."""
        return self.query("SELECT @@hostname, @@port, @@datadir, @@socket")[0]

    def status(self) -> dict[str, float]:
        """The server's global status counters; none where it does not show them to this account."""
        try:
            return super().status()
        except MeasureError as error:
            if _code(error.__cause__) in _DENIED:
                return {}
            raise

    def alive(self) -> bool:
        """Whether the server answers, even if it lets nobody in."""
        return self._connection_failure() == ""

    def post_mortem(self) -> str:
        """How the server fails to answer, a line to put behind an error; empty while it does."""
        silence = self._connection_failure()
        return f"\nThe server at {self.dsn.where} does not answer any more: {silence}" if silence else ""

    def stop(self) -> None:
        """Let go of the server."""
        self.hang_up()

    def kill(self) -> None:
        """Let go of the server."""
        self.hang_up()

    # --- schemas --------------------------------------------------------------------------------------

    def creating(self, schema: str) -> tuple[str, ...]:
        """The statements that make a schema, and mark it."""
        return (
            *super().creating(schema),
            f"CREATE TABLE {schema}.{MARK} "
            "(token VARCHAR(64) NOT NULL PRIMARY KEY, creator VARCHAR(100) NOT NULL)",
            f"INSERT INTO {schema}.{MARK} VALUES ('{self.token}', '{CREATOR}')",
        )

    def removing(self, schema: str) -> tuple[str, ...]:
        """The statements that remove a schema of this run. Raises MeasureError for one that is not."""
        found = self.mark(schema)
        if found is None:
            return ()
        if found != self.token:
            raise MeasureError(f"{self.dsn.where}: schema {schema} is not of this run: it is left alone")
        return super().removing(schema)

    def mark(self, schema: str) -> str | None:
        """The token that a schema is marked with; "": it is not ours; None: there is no such schema."""
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
        """Drop what killed runs have left; call it while no other run can be there (Claim)."""
        found = self.query(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'shootout%'"
        )
        for schema in (str(row[0]) for row in found):
            if SCHEMA.fullmatch(schema) and self.mark(schema):
                self.query(f"DROP DATABASE {schema}", DROP_TIMEOUT_S)

    def drop(self, schema: str) -> None:
        """Drop a schema if it is of this run."""
        if self.mark(schema) == self.token:
            self.query(f"DROP DATABASE {schema}", DROP_TIMEOUT_S)

    def _connection_failure(self) -> str:
        """Why there is no answer; "": there is one."""
        try:
            self.connect(read_timeout=CONNECT_TIMEOUT_S).close()
        except pymysql.Error as error:
            return _message(error) if _code(error) in _GONE else ""
        return ""


class Claim:
    """A server kept for this run: no other run of the suite measures there meanwhile."""

    def __init__(self, server: External) -> None:
        """Raise InputError where another run has it."""
        self._server = server
        self._connection: Connection[Cursor] | None = None
        self._take()

    def renew(self) -> None:
        """See that it still holds, or take it again. Raises MeasureError where that cannot be had."""
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
        """Give it up."""
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
                        f"{where}: another run of shootout measures there; wait until it is over"
                    )
        except pymysql.Error as error:
            raise MeasureError(f"{where}: {_message(error)}") from None
        self._connection = connection


def family_of(version: str, comment: str) -> Family:
    """Whose server it is, by what it says of itself."""
    said = f"{version} {comment}".lower()
    if "mariadb" in said:
        return "mariadb"
    return "percona" if "percona" in said else "mysql"


def numbers_of(version: str) -> Version:
    """The numbers of a server's version; a MariaDB may put the 5.5.5 of old protocols before its own."""
    found = re.match(r"(?:5\.5\.5-(?=\d+\.\d+\.\d+-MariaDB))?(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        raise InputError(f"server version {version!r}: expected numbers")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def _code(error: BaseException | None) -> int:
    return error.args[0] if isinstance(error, pymysql.Error) and isinstance(error.args[0], int) else 0


def _message(error: pymysql.Error) -> str:
    """A refusal as the server says it, and what may help."""
    words = f"error {error.args[0]}: {error.args[1]}" if len(error.args) == 2 else str(error)
    if _code(error) == SECURE_TRANSPORT_REQUIRED:
        words += "\nThe load engine speaks no TLS: log in over the server's socket (?unix_socket=/PATH)."
    return words
