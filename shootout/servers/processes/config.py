"""A server's my.cnf: its settings, and the options that confine it to its instance directory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from shootout.errors import MeasureError
from shootout.servers.installation import Installation
from shootout.servers.version import is_mysql_since

MYSQLX_SINCE = (8, 0, 11)


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Guard writes to an instance directory. Raises MeasureError for an OSError."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""  # unknown for an open file
        raise MeasureError(f"instance directory {directory}: {where}{error.strerror or error}") from None


def write(
    installation: Installation,
    directory: Path,
    settings: Mapping[str, str],
    instance_options: Mapping[str, str] | None = None,
) -> Path:
    """Write my.cnf; the instance's own options come last and override `settings`."""
    (directory / "tmp").mkdir(mode=0o700, exist_ok=True)
    confined = {
        **installation.options,
        "datadir": quoted(directory / "data"),
        "tmpdir": quoted(directory / "tmp"),  # a killed server leaves files in it
        # Where the load's account may read and write files. `loose`: servers before 5.0.38 lack it.
        "loose-secure-file-priv": quoted(directory / "tmp"),
        "log-error": quoted(directory / "error.log"),
        "bind-address": "127.0.0.1",
        # Each SIGCONT interrupts reads of idle connections; 5.5 closes one after this many (default 10).
        "net_retry_count": "4294967295",
    }
    if installation.family == "mariadb":
        # Unused here, and from 11.4 on each start makes a new key: 6 to 23 s in its own build.
        confined["loose-skip-ssl"] = ""
    if is_mysql_since(installation.family, installation.version, MYSQLX_SINCE):
        confined["loose-mysqlx"] = "OFF"  # opens a second port and a second socket
    if installation.over_tcp:
        confined["bind-address"] = "0.0.0.0"  # in the container's network; one port is published on 127.0.0.1
    if os.geteuid() == 0:
        confined["user"] = "root"
    options = {**settings, **confined, **(instance_options or {})}
    lines = [name if value == "" else f"{name} = {value}" for name, value in options.items()]
    config = directory / "my.cnf"
    config.write_text("[mysqld]\n" + "\n".join(lines) + "\n")
    return config


def quoted(path: Path) -> str:
    """Quote a path for my.cnf."""
    escaped = str(path).replace("\\", "\\\\")
    return f'"{escaped}"'
