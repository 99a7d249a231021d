"""An empty server's data directory: made by the server itself, of its own SQL, or of what it brings."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shootout.errors import InputError, MeasureError
from shootout.servers import accounts, config, log
from shootout.servers.program import Process, Program, is_mysql_since

INITIALIZE_SINCE = (5, 7, 6)
TIMEOUT_S = 120.0

# The files of its SQL, each under the names that it had, in the order in which they are run.
_TABLES = ("mysql_system_tables.sql", "mariadb_system_tables.sql")
_MORE = (
    ("mysql_performance_tables.sql", "mariadb_performance_tables.sql"),
    ("mysql_system_tables_data.sql", "mariadb_system_tables_data.sql"),
)
_SCRIPT = "mysql_create_system_tables"  # up to 5.0: a shell script that prints such SQL
# What MariaDB's own script says before them: root has a password, and there is nobody else.
_PRESET = ["SET @auth_root_socket = NULL;", "SET @skip_auth_anonymous = 1;", "USE mysql;"]

# Of a prepared data directory: each instance has its own UUID, and redo log of the size that it is set to.
_MADE_ANEW = ("auto.cnf", "ib_logfile*", "*.err", "*.pid")


@dataclass(frozen=True, slots=True)
class Beginning:
    """A data directory that is being made."""

    program: Program
    directory: Path
    process: Process

    def wait(self) -> None:
        """Return once it is made. Raises MeasureError with the error log's tail where that fails."""
        what = f"{self.program.name}: initialising"
        try:
            code = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:  # on a full disk some wait for somebody to make room
            self.kill()
            raise MeasureError(
                log.failure(f"{what} took longer than {TIMEOUT_S:.0f} s", self.directory)
            ) from None
        except BaseException:
            self.kill()
            raise
        if code != 0:
            raise MeasureError(log.failure(f"{what} failed ({log.ending(code)})", self.directory))

    def kill(self) -> None:
        """Give it up."""
        self.process.kill()
        self.process.wait()


def begin(program: Program, directory: Path, settings: Mapping[str, str]) -> Beginning:
    """Begin to make an instance directory with an empty server in it; `settings` are my.cnf options.

    In it there is one account, root@localhost, without a password: it gets one before the server listens.
    Call it from the main thread. Raises InputError for a server that cannot be initialised, MeasureError
    where the directory cannot be made.
    """
    directory = directory.absolute()
    itself = is_mysql_since(program.family, program.version, INITIALIZE_SINCE)
    statements = None if itself else _statements(program)
    prepared = None if itself or statements else program.prepared_data()
    if not (itself or statements or prepared):
        statements = _printed(program, directory)
    if not (itself or statements or prepared):
        raise InputError(
            f"{program.name}: {program.family} {'.'.join(map(str, program.version))} cannot be initialised: "
            f"it brings neither its SQL nor a data directory\nExpected {_TABLES[0]} in its share/ or "
            "scripts/, or data/mysql"
        )
    arguments, given = ["--initialize-insecure"], None
    with config.written(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not itself:
            _lay_out(directory / "data", prepared)
            arguments, given = ["--bootstrap"], directory / "bootstrap.sql"
            only_root = accounts.only_root(program.family, program.version)
            accounts.write(given, [*(statements or ()), *only_root])
        file = config.write(program, directory, settings)
        process = program.spawn([f"--defaults-file={file}", *arguments], directory, (), given)
    return Beginning(program, directory, process)


def _lay_out(data: Path, prepared: Path | None) -> None:
    """Make the data directory: a copy of the prepared one, or as empty as the server's SQL expects it."""
    if prepared is None:
        (data / "mysql").mkdir(mode=0o700, parents=True)
    else:
        shutil.copytree(prepared, data, ignore=shutil.ignore_patterns(*_MADE_ANEW))
    data.chmod(0o700)


def _statements(program: Program) -> list[str] | None:
    """The server's own SQL for an empty mysql schema; None where it brings none."""
    tables = _first(program, _TABLES)
    if tables is None:
        return None
    more = (text for names in _MORE if (text := _first(program, names)) is not None)
    return [*_PRESET, tables, *more]


def _printed(program: Program, directory: Path) -> list[str] | None:
    """The SQL that the server's script prints; None where it brings no such script."""
    script = program.shared(_SCRIPT)
    if script is None:
        return None
    command = ["sh", "-s", "--", "real", str(directory / "data" / "mysql"), "localhost", "0"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MeasureError(f"{program.name}: its {_SCRIPT} failed: {done.stderr.strip()}")
    return ["USE mysql;", done.stdout]


def _first(program: Program, names: Sequence[str]) -> str | None:
    return next((text for name in names if (text := program.shared(name)) is not None), None)
