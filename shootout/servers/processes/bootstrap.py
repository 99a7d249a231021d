"""Statements that fill a new data directory: the server's own SQL scripts, or a copy shipped with it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from shootout.errors import InputError, MeasureError
from shootout.servers.installation import Installation
from shootout.servers.processes import accounts

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


def tables(installation: Installation, directory: Path) -> list[str] | Path:
    """Find the SQL for an empty mysql schema, or a shipped data directory. Raises InputError without."""
    sql = _first(installation, _TABLES)
    if sql is not None:
        more = (text for names in _OPTIONAL if (text := _first(installation, names)) is not None)
        return [*_PREAMBLE, sql, *more]
    if (shipped := installation.prepared_data()) is not None:
        return shipped
    if (script := installation.shared(_SCRIPT)) is not None:
        command = ["sh", "-s", "--", "real", str(directory / "data" / "mysql"), "localhost", "0"]
        done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MeasureError(f"{installation.name}: its {_SCRIPT} failed: {done.stderr.strip()}")
        return ["USE mysql;", done.stdout]
    version = ".".join(map(str, installation.version))
    raise InputError(
        f"{installation.name}: {installation.family} {version} cannot be initialised: it has neither SQL "
        f"scripts nor a data directory\nExpected {_TABLES[0]} in its share/ or scripts/, or data/mysql"
    )


def prepare(installation: Installation, directory: Path, tables: list[str] | Path) -> Path:
    """Make the data directory of an instance; returns the file with the SQL that --bootstrap reads."""
    data, statements = directory / "data", []
    if isinstance(tables, Path):
        shutil.copytree(tables, data, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    else:
        (data / "mysql").mkdir(mode=0o700, parents=True)
        statements = tables
    data.chmod(0o700)
    sql_file = directory / "bootstrap.sql"
    accounts.write(sql_file, [*statements, *accounts.only_root(installation.family, installation.version)])
    return sql_file


def _first(installation: Installation, names: Sequence[str]) -> str | None:
    return next((text for name in names if (text := installation.shared(name)) is not None), None)
