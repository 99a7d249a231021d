"""Instances: initialising an instance directory, starting its server, stopping it.

An instance directory holds my.cnf, accounts.sql, data/, tmp/, mysqld.sock, mysqld.pid, error.log and lock.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import COMMAND
from pymysql.cursors import Cursor

from shootout.errors import InputError, MeasureError
from shootout.servers.bounded import dial
from shootout.servers.installation import Address, Installation, Process
from shootout.servers.locking import locked
from shootout.servers.processes import accounts, bootstrap, children, config, leftovers, log
from shootout.servers.processes.accounts import LOAD_USER
from shootout.servers.processes.config import quoted
from shootout.servers.running import CONNECT_TIMEOUT_S, Login, Running, open_socket, timeouts, version_of
from shootout.servers.version import is_mysql_since, utf8_of

INITIALIZE_SINCE = (5, 7, 6)
INITIALISE_TIMEOUT_S = 120.0
SOCKET_PATH_MAX_BYTES = 100  # the kernel's limit is 107; servers append ".lock"
START_TIMEOUT_S = 60.0
RECOVERY_TIMEOUT_S = 600.0  # after a crash the server first applies its redo log
STOP_TIMEOUT_S = 60.0
LOGIN_INTERVAL_S = 0.02  # between attempts
SIGNALS_SINCE = (5, 0, 0)  # before, some thread implementations had no thread that waits for signals
ACCESS_DENIED = 1045


def initialise(installation: Installation, directory: Path, settings: Mapping[str, str]) -> None:
    """Make a directory with an empty server; main thread only. Raises InputError, MeasureError."""
    directory = directory.absolute()
    initializes = is_mysql_since(installation.family, installation.version, INITIALIZE_SINCE)
    tables = None if initializes else bootstrap.tables(installation, directory)
    arguments, sql_file = ["--initialize-insecure"], None
    with config.writing(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if tables is not None:
            arguments, sql_file = ["--bootstrap"], bootstrap.prepare(installation, directory, tables)
        file = config.write(installation, directory, settings)
        process = installation.spawn([f"--defaults-file={file}", *arguments], directory, (), sql_file)
    what = f"{installation.name}: initialising"
    try:
        code = process.wait(INITIALISE_TIMEOUT_S)
    except subprocess.TimeoutExpired:  # some servers wait for space on a full disk
        _end(process, directory)
        what += f" took longer than {INITIALISE_TIMEOUT_S:.0f} s"
        raise MeasureError(log.failure(what, directory)) from None
    except BaseException:
        _end(process, directory)
        raise
    if code != 0:
        raise MeasureError(log.failure(f"{what} failed ({log.ending(code)})", directory))


def require_port(port: int) -> int:
    """Return the port. Raises InputError if a server cannot listen on it at 127.0.0.1."""
    if not 0 < port < 65_536:
        raise InputError(f"port {port}: expected 1 to 65535")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # like servers: TIME_WAIT is not busy
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(
                f"port {port} on 127.0.0.1 cannot be used ({error.strerror}); choose another: --set port=N"
            ) from error
    return port


def start(
    installation: Installation,
    directory: Path,
    settings: Mapping[str, str],
    *,
    port: int | None = None,
    cpus: Sequence[int] = (),
) -> Instance:
    """Start an initialised server and wait for it; main thread only. Raises as `begin`, MeasureError."""
    instance = begin(installation, directory, settings, port=port, cpus=cpus)
    instance.wait_until_ready()
    return instance


def begin(
    installation: Installation,
    directory: Path,
    settings: Mapping[str, str],
    *,
    port: int | None = None,
    cpus: Sequence[int] = (),
    start_timeout_s: float = START_TIMEOUT_S,
) -> Instance:
    """Do as `start` without waiting, so that several servers can start at once."""
    directory = directory.absolute()
    with ExitStack() as held, config.writing(directory):
        try:
            held.enter_context(locked(directory / "lock", wait=False))
        except BlockingIOError:
            raise MeasureError(
                f"{directory}: another process runs a server in this instance directory"
            ) from None
        leftovers.end_servers(directory)
        port = _free_port() if port is None else require_port(port)
        socket_path = directory / "mysqld.sock"
        if len(os.fsencode(socket_path)) > SOCKET_PATH_MAX_BYTES:
            socket_path = held.enter_context(leftovers.socket_folder(directory)) / "mysqld.sock"
        socket_path.with_name("mysqld.sock.lock").unlink(missing_ok=True)  # a killed server's
        address = Address(socket_path, port)
        passwords = {user: accounts.new_password() for user in ("root", LOAD_USER)}
        hosts = ("localhost", "%") if installation.over_tcp else ("localhost",)
        statements = accounts.created(installation.family, installation.version, passwords, hosts)
        accounts.write(directory / "accounts.sql", statements)
        pid_file = directory / "mysqld.pid"
        timeout_s = RECOVERY_TIMEOUT_S if pid_file.exists() else start_timeout_s
        instance_options = {
            "socket": quoted(address.socket),
            "port": str(port),
            "pid-file": quoted(pid_file),
            "init-file": quoted(directory / "accounts.sql"),
        }
        file = config.write(installation, directory, settings, instance_options)
        log_begins = log.length(directory / "error.log")
        process = installation.spawn([f"--defaults-file={file}"], directory, cpus, address=address)
        return Instance(
            installation,
            directory,
            socket_path,
            port,
            process,
            passwords,
            timeout_s,
            log_begins,
            held.pop_all(),
        )  # fmt: skip


@dataclass(eq=False, repr=False)
class Instance(Running):
    """A server that runs in one of our instance directories."""

    installation: Installation
    directory: Path
    socket: Path
    port: int
    _process: Process
    _passwords: Mapping[str, str]
    _timeout_s: float
    _log_begins: int
    _held: ExitStack  # lock and socket folder, released at the end

    def __post_init__(self) -> None:
        self.over_tcp = self.installation.over_tcp
        self._ready_until = time.monotonic() + self._timeout_s

    def connect(self, **options: Any) -> Connection[Cursor]:
        """Log in as root over the socket: no TLS, autocommit, UTF-8; PyMySQL's `options` take precedence."""
        return self._login("root", options)

    @property
    def pid(self) -> Any:  # an int where no container can hide it
        return self._process.pid

    @property
    def login(self) -> Login:
        address = f"127.0.0.1:{self.port}" if self.over_tcp else str(self.socket)
        return Login(address, LOAD_USER, self._passwords[LOAD_USER])

    @property
    def password(self) -> str:
        return self._passwords["root"]

    def alive(self) -> bool:
        return self._process.poll() is None

    def error_log_tail(self, lines: int = 12) -> str:
        """Read the error log's last lines since the start, without notes if there are errors."""
        return log.tail(self.directory / "error.log", lines, self._log_begins)

    def post_mortem(self) -> str:
        try:
            code = self._process.wait(0.5)  # a crashing server drops its connections before it exits
        except subprocess.TimeoutExpired:
            return ""
        return f"\nThe server has died ({log.ending(code)}); its error log ends:\n{self.error_log_tail()}"

    def stop(self) -> None:
        self.shut_down(STOP_TIMEOUT_S)

    def shut_down(self, timeout_s: float) -> int | None:
        """Shut the server down, or kill it after that time; returns what `children.kill` does."""
        self.hang_up()
        if self.installation.version >= SIGNALS_SINCE:
            self._process.send_signal(signal.SIGTERM)
        else:
            with suppress(pymysql.MySQLError):  # it is dead, or will be killed
                connection = self.connect(read_timeout=STOP_TIMEOUT_S)
                connection._execute_command(COMMAND.COM_SHUTDOWN, b"\0")  # type: ignore[attr-defined]
        try:
            code: int | None = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = children.kill(self._process)
        self._held.close()
        return code

    def kill(self) -> None:
        """Kill the server, as a crash would."""
        self.hang_up()
        _end(self._process, self.directory)
        self._held.close()

    def wait_until_ready(self) -> None:
        """Wait until a login succeeds; a server that dies or takes too long is killed: MeasureError."""
        try:
            while (reason := self._try_login()) is not None:
                if reason:
                    raise MeasureError(log.failure(reason, self.directory, self._log_begins))
                time.sleep(LOGIN_INTERVAL_S)
        except BaseException:
            self.kill()
            raise

    def _try_login(self) -> str | None:
        """Try to log in. None: it succeeded; "": too early; otherwise why it never will."""
        try:
            with self.connect(read_timeout=5) as connection:
                self._require_own(connection)
                self.version = version_of(connection)
            if self.over_tcp:
                # Fills caching_sha2_password's cache, so that it does not ask for the password in clear text.
                self._login(LOAD_USER, {"read_timeout": 5}, over_tcp=True).close()
        except pymysql.MySQLError as error:
            code = self._process.poll()
            if code is not None:
                return f"the server ended while starting ({log.ending(code)})"
            if error.args[:1] == (ACCESS_DENIED,):
                return f"the server did not create its accounts ({error})"
            if time.monotonic() > self._ready_until:
                return f"the server did not answer within {self._timeout_s:.0f} s ({error})"
            return ""
        return None

    def _require_own(self, connection: Connection[Cursor]) -> None:
        """Raise InputError if another process listens than the one that was started."""
        if self.over_tcp or self.pid is None:  # in a container
            return
        link: socket.socket = connection._sock  # type: ignore[attr-defined]
        listening, _, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if listening != self.pid:
            raise InputError(
                f"{self.installation.name}: it started the server as another process ({listening}), which "
                "would be neither paused nor stopped\nIf it is a script, let it start the server by `exec`."
            )

    def _login(self, user: str, options: Mapping[str, Any], *, over_tcp: bool = False) -> Connection[Cursor]:
        charset = utf8_of(self.installation.version)
        # Without a collation PyMySQL's SET NAMES picks the version's default, which differs from 8.0 on.
        common: dict[str, Any] = {
            "user": user,
            "password": self._passwords[user],
            "ssl_disabled": True,
            "charset": charset,
            "collation": f"{charset}_general_ci",
            "autocommit": True,
            **timeouts(),
        }
        connection = Connection(**common | dict(options) | {"defer_connect": True})
        connection._secure = not over_tcp  # type: ignore[attr-defined]  # PyMySQL sets it for its own socket
        if over_tcp:
            connection.connect(dial("127.0.0.1", self.port, CONNECT_TIMEOUT_S))
        else:
            connection.connect(open_socket(str(self.socket)))
        return connection


def _end(process: Process, directory: Path) -> None:
    """Kill a server, and what a script of that name has started in the instance directory."""
    children.kill(process)
    leftovers.end_servers(directory)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
