"""Initialising a data directory: by the server, from its SQL scripts, or from a shipped copy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from shootout.errors import InputError, MeasureError
from shootout.servers import accounts, config, leftovers, log
from shootout.servers.installation import Installation, Process
from shootout.servers.version import is_mysql_since

INITIALIZE_SINCE = (5, 7, 6)
TIMEOUT_S = 120.0

# The server's SQL scripts, each under all names it has had, in the order of execution.
_TABLES = ("mysql_system_tables.sql", "mariadb_system_tables.sql")
_OPTIONAL = (
    ("mysql_performance_tables.sql", "mariadb_performance_tables.sql"),
    ("mysql_system_tables_data.sql", "mariadb_system_tables_data.sql"),
)
_SCRIPT = "mysql_create_system_tables"  # up to 5.0: a shell script that prints this SQL
# MariaDB's own script sets these first: root logs in by password, and there are no anonymous accounts.
_PREAMBLE = ["SET @auth_root_socket = NULL;", "SET @skip_auth_anonymous = 1;", "USE mysql;"]

# Not copied from a shipped data directory: each instance has its own UUID and redo log size.
_NOT_COPIED = ("auto.cnf", "ib_logfile*", "*.err", "*.pid")


def initialise(installation: Installation, directory: Path, settings: Mapping[str, str]) -> None:
    """Make an instance directory with an empty server; `settings` are my.cnf options.

    Its only account is root@localhost without a password; it gets one before the server listens.
    Call it from the main thread. Raises InputError if the server cannot be initialised, MeasureError
    if the directory cannot be made, and with the error log's tail if the server fails.
    """
    directory = directory.absolute()
    initializes = is_mysql_since(installation.family, installation.version, INITIALIZE_SINCE)
    statements = None if initializes else _statements(installation)
    prepared = None if initializes or statements else installation.prepared_data()
    if not (initializes or statements or prepared):
        statements = _script_output(installation, directory)
    if not (initializes or statements or prepared):
        version = ".".join(map(str, installation.version))
        raise InputError(
            f"{installation.name}: {installation.family} {version} cannot be initialised: it has neither SQL "
            f"scripts nor a data directory\nExpected {_TABLES[0]} in its share/ or scripts/, or data/mysql"
        )
    arguments, sql_file = ["--initialize-insecure"], None
    with config.writing(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not initializes:
            _make_data_directory(directory / "data", prepared)
            arguments, sql_file = ["--bootstrap"], directory / "bootstrap.sql"
            only_root = accounts.only_root(installation.family, installation.version)
            accounts.write(sql_file, [*(statements or ()), *only_root])
        file = config.write(installation, directory, settings)
        process = installation.spawn([f"--defaults-file={file}", *arguments], directory, (), sql_file)
    _wait(process, installation.name, directory)


def _wait(process: Process, name: str, directory: Path) -> None:
    what = f"{name}: initialising"
    try:
        code = process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:  # some servers wait for space on a full disk
        leftovers.kill(process)
        raise MeasureError(log.failure(f"{what} took longer than {TIMEOUT_S:.0f} s", directory)) from None
    except BaseException:
        leftovers.kill(process)
        raise
    if code != 0:
        raise MeasureError(log.failure(f"{what} failed ({log.ending(code)})", directory))


def _make_data_directory(data: Path, prepared: Path | None) -> None:
    """Make the data directory: a copy of the shipped one, or as empty as the server's SQL expects."""
    if prepared is None:
        (data / "mysql").mkdir(mode=0o700, parents=True)
    else:
        shutil.copytree(prepared, data, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    data.chmod(0o700)


def _statements(installation: Installation) -> list[str] | None:
    """The server's SQL for an empty mysql schema; None if there is none."""
    tables = _first(installation, _TABLES)
    if tables is None:
        return None
    more = (text for names in _OPTIONAL if (text := _first(installation, names)) is not None)
    return [*_PREAMBLE, tables, *more]


def _script_output(installation: Installation, directory: Path) -> list[str] | None:
    """The SQL that the server's shell script prints; None if there is no script."""
    script = installation.shared(_SCRIPT)
    if script is None:
        return None
    command = ["sh", "-s", "--", "real", str(directory / "data" / "mysql"), "localhost", "0"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MeasureError(f"{installation.name}: its {_SCRIPT} failed: {done.stderr.strip()}")
    return ["USE mysql;", done.stdout]


def _first(installation: Installation, names: Sequence[str]) -> str | None:
    return next((text for name in names if (text := installation.shared(name)) is not None), None)
