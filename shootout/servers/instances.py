"""Instance directories: an empty server made in one, a server started on it, and ended again.

An instance directory holds my.cnf, accounts.sql, data/, mysqld.sock, mysqld.pid, error.log and lock.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants.CR import CR_CONNECTION_ERROR
from pymysql.cursors import Cursor

from shootout.errors import InputError, MeasureError
from shootout.servers.native import quoted
from shootout.servers.program import Address, Process, Program
from shootout.servers.running import Login, Running
from shootout.servers.store import locked

SOCKET_PATH_MAX_BYTES = 100  # the system's limit is 107; servers append ".lock" for a file beside it
START_TIMEOUT_S = 60.0
RECOVERY_TIMEOUT_S = 600.0  # after an unclean end the server first works through its redo log
STOP_TIMEOUT_S = 60.0
LOAD_USER = "shootout"


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


def initialise(program: Program, directory: Path, settings: Mapping[str, str]) -> None:
    """Make an instance directory with an empty server in it; `settings` are my.cnf options.

    Raises InputError for a server that cannot be initialised this way, MeasureError with its error log's
    tail where it fails.
    """
    if program.family == "mariadb" or program.version < (5, 7, 6):
        version = ".".join(map(str, program.version))
        raise InputError(
            f"{program.name}: {program.family} {version} is not supported yet; "
            "expected MySQL or Percona Server 5.7.6 or later"
        )
    directory = directory.absolute()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = _write_config(program, directory, settings, {})
    process = program.spawn([f"--defaults-file={config}", "--initialize-insecure"], directory, ())
    try:
        code = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if code != 0:
        raise MeasureError(f"{program.name}: initialising failed:\n{_tail(directory / 'error.log', 12)}")


def start(
    program: Program,
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
    directory = directory.absolute()
    with ExitStack() as held:
        try:
            held.enter_context(locked(directory / "lock", wait=False))
        except BlockingIOError:
            raise MeasureError(
                f"{directory}: another process runs a server in this instance directory"
            ) from None
        port = _free_port() if port is None else require_port(port)
        place = directory / "mysqld.sock"
        if len(os.fsencode(place)) > SOCKET_PATH_MAX_BYTES:
            place = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="shootout-"))) / "mysqld.sock"
        address = Address(place, port)
        passwords = {"root": secrets.token_urlsafe(24), LOAD_USER: secrets.token_urlsafe(24)}
        _write_accounts(directory / "accounts.sql", passwords, program)
        pid_file = directory / "mysqld.pid"
        timeout_s = RECOVERY_TIMEOUT_S if pid_file.exists() else START_TIMEOUT_S
        placed = {
            "socket": quoted(address.socket),
            "port": str(port),
            "pid-file": quoted(pid_file),
            "init-file": quoted(directory / "accounts.sql"),
        }
        config = _write_config(program, directory, settings, placed)
        process = program.spawn([f"--defaults-file={config}"], directory, cpus, address=address)
        instance = Instance(
            directory=directory,
            address=address,
            over_tcp=program.over_tcp,
            process=process,
            passwords=passwords,
            held=held.pop_all(),
        )
    try:
        instance.wait_until_ready(timeout_s)
    except BaseException:
        instance.kill()
        raise
    return instance


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
        held: ExitStack,
    ) -> None:
        super().__init__()
        self.directory = directory
        self.socket = address.socket
        self.port = address.port
        self.over_tcp = over_tcp
        self.pid = process.pid
        self._process = process
        self._passwords = passwords
        self._held = held  # lock and socket directory, given back at the end

    def connect(self, **options: Any) -> Connection[Cursor]:
        """Log in as root over the socket: no TLS, autocommit, utf8mb4; `options` are PyMySQL's and win."""
        return self._login("root", options)

    @property
    def login(self) -> Login:
        """What the load engine logs in with."""
        address = f"127.0.0.1:{self.port}" if self.over_tcp else str(self.socket)
        return Login(address, LOAD_USER, self._passwords[LOAD_USER])

    def alive(self) -> bool:
        """Whether the server process runs."""
        return self._process.poll() is None

    def error_log_tail(self, lines: int = 12) -> str:
        """The error log's last lines; notes are left out where there are errors."""
        return _tail(self.directory / "error.log", lines)

    def post_mortem(self) -> str:
        """How the server has died, a line to put behind an error; empty while it lives."""
        try:
            code = self._process.wait(0.5)  # a crashing server drops its connections before it is gone
        except subprocess.TimeoutExpired:
            return ""
        return f"\nThe server has died ({_ending(code)}); its error log ends:\n{self.error_log_tail()}"

    def stop(self) -> None:
        """Shut the server down in good order; one that does not end in time is killed."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        self._end(signal.SIGKILL)

    def wait_until_ready(self, timeout_s: float) -> None:
        """Return once a login succeeds. Raises MeasureError where the server dies or takes longer."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                with self.connect(read_timeout=5) as connection:
                    self.version = str(connection.server_version)  # type: ignore[attr-defined]
                if self.over_tcp:
                    # Now caching_sha2_password knows the password, and need not ask for it in clear.
                    self._login(LOAD_USER, {"read_timeout": 5}, over_tcp=True).close()
                return
            except pymysql.OperationalError as error:
                code = self._process.poll()
                if code is not None:
                    reason = f"the server ended while starting ({_ending(code)})"
                elif time.monotonic() > deadline:
                    reason = f"the server did not answer within {timeout_s:.0f} s ({error})"
                else:
                    time.sleep(0.02)
                    continue
                raise MeasureError(f"{reason}; its error log ends:\n{self.error_log_tail()}") from None

    def _end(self, how: signal.Signals) -> None:
        self.hang_up()
        self._process.send_signal(how)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._held.close()

    def _login(
        self, user: str, options: Mapping[str, Any], *, over_tcp: bool = False
    ) -> Connection[Cursor]:
        # Without a collation PyMySQL's SET NAMES picks the version's own default, which differs from 8.0 on.
        common: dict[str, Any] = {
            "user": user,
            "password": self._passwords[user],
            "ssl_disabled": True,
            "charset": "utf8mb4",
            "collation": "utf8mb4_general_ci",
            "autocommit": True,
        }
        connection = Connection(**common | dict(options) | {"defer_connect": True})
        # PyMySQL forgets to close a socket of its own that found no server.
        link = socket.socket(socket.AF_INET if over_tcp else socket.AF_UNIX)
        address = ("127.0.0.1", self.port) if over_tcp else str(self.socket)
        try:
            link.connect(address)
        except OSError as error:
            link.close()
            raise pymysql.OperationalError(CR_CONNECTION_ERROR, f"{address}: {error.strerror}") from error
        connection._secure = not over_tcp  # type: ignore[attr-defined]  # as it would know of its own socket
        connection.connect(link)
        return connection


def _write_config(
    program: Program, directory: Path, settings: Mapping[str, str], placed: Mapping[str, str]
) -> Path:
    """Write my.cnf; what belongs to the instance comes last and so wins over `settings`."""
    own = {
        **program.options,
        "datadir": quoted(directory / "data"),
        "log-error": quoted(directory / "error.log"),
        "bind-address": "0.0.0.0" if program.over_tcp else "127.0.0.1",
        "secure-file-priv": '""',  # its compiled-in directory need not exist here
    }
    if program.family != "mariadb" and program.version >= (8, 0, 11):
        own["loose-mysqlx"] = "OFF"  # a second port, and a second socket
    if os.geteuid() == 0:
        own["user"] = "root"
    lines = [
        name if value == "" else f"{name} = {value}" for name, value in {**settings, **own, **placed}.items()
    ]
    config = directory / "my.cnf"
    config.write_text("[mysqld]\n" + "\n".join(lines) + "\n")
    return config


def _write_accounts(file: Path, passwords: Mapping[str, str], program: Program) -> None:
    """Write what the server runs before it listens: so there is no moment in which root has no password."""
    lines = [f"ALTER USER root@localhost IDENTIFIED BY '{passwords['root']}';"]
    for host in ("localhost", "%") if program.over_tcp else ("localhost",):
        load = f"{LOAD_USER}@'{host}'"
        lines += [
            f"CREATE USER IF NOT EXISTS {load} IDENTIFIED BY '{passwords[LOAD_USER]}';",
            f"ALTER USER {load} IDENTIFIED BY '{passwords[LOAD_USER]}';",
            f"GRANT ALL ON *.* TO {load};",
        ]
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:  # noqa: PTH123
        opened.write("\n".join(lines) + "\n")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tail(log: Path, lines: int) -> str:
    """A log's last lines, without notes where it has errors: a server that fails shuts down at length."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 64 * 1024))
        found = file.read().decode(errors="replace").splitlines()
    if any("[ERROR]" in line for line in found):
        found = [line for line in found if "[Note]" not in line]
    return "\n".join(found[-lines:])


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


