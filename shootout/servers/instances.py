"""Instance directories: an empty server made in one, a server started on it, and ended again.

An instance directory holds my.cnf, accounts.sql, data/, tmp/, mysqld.sock, mysqld.pid, error.log and lock.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import COMMAND
from pymysql.cursors import Cursor

from shootout.errors import InputError, MeasureError
from shootout.servers import accounts, bootstrap, config, leftovers, log
from shootout.servers.accounts import LOAD_USER
from shootout.servers.config import quoted
from shootout.servers.installation import Address, Installation, Process
from shootout.servers.locking import locked
from shootout.servers.running import Login, Running, open_socket, timeouts, version_of

SOCKET_PATH_MAX_BYTES = 100  # the system's limit is 107; servers append ".lock" for a file beside it
START_TIMEOUT_S = 60.0
RECOVERY_TIMEOUT_S = 600.0  # after an unclean end the server first works through its redo log
STOP_TIMEOUT_S = 60.0
LOGIN_INTERVAL_S = 0.02  # between two tries to log in
UTF8MB4_SINCE = (5, 5, 3)
SIGNALS_SINCE = (5, 0, 0)  # before, those with threads of their own kind have none that waits for them
ACCESS_DENIED = 1045


def require_port(port: int) -> int:
    """The port itself. Raises InputError where a server cannot have it on 127.0.0.1."""
    if not 0 < port < 65_536:
        raise InputError(f"port {port}: expected 1 to 65535")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: TIME_WAIT is not busy
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(
                f"port {port} on 127.0.0.1 cannot be used ({error.strerror}); give a free one"
            ) from error
    return port


def initialise(installation: Installation, directory: Path, settings: Mapping[str, str]) -> None:
    """Make an instance directory with an empty server in it; `settings` are my.cnf options.

    Call it from the main thread. Raises InputError for a server that cannot be initialised, MeasureError
    with its error log's tail where it fails. `bootstrap.begin` does not wait for the end.
    """
    bootstrap.begin(installation, directory, settings).wait()


def start(
    installation: Installation,
    directory: Path,
    settings: Mapping[str, str],
    *,
    port: int | None = None,
    cpus: Sequence[int] = (),
) -> Instance:
    """Start the server of an initialised instance directory and wait until it answers.

    It listens on 127.0.0.1 and its socket only, runs on `cpus` (empty: on all), and dies with this process.
    Call it from the main thread.
    Raises InputError for a busy port, MeasureError with the error log's tail where it does not come up.
    """
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
) -> Instance:
    """Start it as `start` does, and do not wait: several can come up at once."""
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
        passwords = {user: secrets.token_urlsafe(24) for user in ("root", LOAD_USER)}
        hosts = ("localhost", "%") if installation.over_tcp else ("localhost",)
        statements = accounts.created(installation.family, installation.version, passwords, hosts)
        accounts.write(directory / "accounts.sql", statements)
        pid_file = directory / "mysqld.pid"
        timeout_s = RECOVERY_TIMEOUT_S if pid_file.exists() else START_TIMEOUT_S
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
            directory=directory,
            address=address,
            over_tcp=installation.over_tcp,
            process=process,
            passwords=passwords,
            charset=_charset(installation),
            heeds_signals=installation.version >= SIGNALS_SINCE,
            timeout_s=timeout_s,
            log_begins=log_begins,
            held=held.pop_all(),
        )


class Instance(Running):
    """A server that runs in an instance directory of ours."""

    def __init__(
        self,
        *,
        directory: Path,
        address: Address,
        over_tcp: bool,
        process: Process,
        passwords: Mapping[str, str],
        charset: str,
        heeds_signals: bool,
        timeout_s: float,
        log_begins: int,
        held: ExitStack,
    ) -> None:
        super().__init__()
        self.directory = directory
        self.socket = address.socket
        self.port = address.port
        self.over_tcp = over_tcp
        self._process = process
        self._passwords = passwords
        self._charset = charset
        self._heeds_signals = heeds_signals
        self._timeout_s = timeout_s
        self._log_begins = log_begins
        self._ready_until = time.monotonic() + timeout_s
        self._held = held  # lock and socket directory, given back at the end

    def connect(self, **options: Any) -> Connection[Cursor]:
        """Log in as root over the socket: no TLS, autocommit, UTF-8; `options` are PyMySQL's and win."""
        return self._login("root", options)

    @property
    def pid(self) -> Any:  # an int to all who know that no container hides it
        """Its process on this machine; None: it cannot be seen from here."""
        return self._process.pid

    @property
    def login(self) -> Login:
        """What the load engine logs in with."""
        address = f"127.0.0.1:{self.port}" if self.over_tcp else str(self.socket)
        return Login(address, LOAD_USER, self._passwords[LOAD_USER])

    @property
    def password(self) -> str:
        """Root's."""
        return self._passwords["root"]

    def alive(self) -> bool:
        """Whether the server process runs."""
        return self._process.poll() is None

    def error_log_tail(self, lines: int = 12) -> str:
        """The error log's last lines since it was started; notes are left out where there are errors."""
        return log.tail(self.directory / "error.log", lines, self._log_begins)

    def post_mortem(self) -> str:
        """How the server has died, a line to put behind an error; empty while it lives."""
        try:
            code = self._process.wait(0.5)  # a crashing server drops its connections before it is gone
        except subprocess.TimeoutExpired:
            return ""
        return f"\nThe server has died ({log.ending(code)}); its error log ends:\n{self.error_log_tail()}"

    def stop(self) -> None:
        """Shut the server down in good order; one that does not end in time is killed."""
        if self._heeds_signals:
            self._end(signal.SIGTERM)
            return
        with suppress(pymysql.MySQLError):  # it has died, or it will be killed
            connection = self.connect(read_timeout=STOP_TIMEOUT_S)
            connection._execute_command(COMMAND.COM_SHUTDOWN, b"\0")  # type: ignore[attr-defined]
        self._end(None)

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        self._end(signal.SIGKILL)

    def wait_until_ready(self) -> None:
        """Return once a login succeeds. Raises MeasureError where the server dies or takes too long.

        It does not run any longer then.
        """
        try:
            while (reason := self._try_login()) is not None:
                if reason:
                    raise MeasureError(log.failure(reason, self.directory, self._log_begins))
                time.sleep(LOGIN_INTERVAL_S)
        except BaseException:
            self.kill()
            raise

    def _try_login(self) -> str | None:
        """Try a login. None: it succeeded; empty: it is too early; else the reason why it never will."""
        try:
            with self.connect(read_timeout=5) as connection:
                self.version = version_of(connection)
            if self.over_tcp:
                # Now caching_sha2_password knows the password, and need not ask for it in clear.
                self._login(LOAD_USER, {"read_timeout": 5}, over_tcp=True).close()
        except pymysql.MySQLError as error:
            code = self._process.poll()
            if code is not None:
                return f"the server ended while starting ({log.ending(code)})"
            if error.args[:1] == (ACCESS_DENIED,):
                return f"the server did not take over its accounts ({error})"
            if time.monotonic() > self._ready_until:
                return f"the server did not answer within {self._timeout_s:.0f} s ({error})"
            return ""
        return None

    def _end(self, how: signal.Signals | None) -> None:
        self.hang_up()
        if how is not None:
            self._process.send_signal(how)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._held.close()

    def _login(self, user: str, options: Mapping[str, Any], *, over_tcp: bool = False) -> Connection[Cursor]:
        # Without a collation PyMySQL's SET NAMES picks the version's own default, which differs from 8.0 on.
        common: dict[str, Any] = {
            "user": user,
            "password": self._passwords[user],
            "ssl_disabled": True,
            "charset": self._charset,
            "collation": f"{self._charset}_general_ci",
            "autocommit": True,
            **timeouts(),
        }
        connection = Connection(**common | dict(options) | {"defer_connect": True})
        connection._secure = not over_tcp  # type: ignore[attr-defined]  # as it would know of its own socket
        connection.connect(open_socket(("127.0.0.1", self.port) if over_tcp else str(self.socket)))
        return connection


def _charset(installation: Installation) -> str:
    known = installation.version >= UTF8MB4_SINCE and installation.version[0] != 6
    return "utf8mb4" if known else "utf8"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
