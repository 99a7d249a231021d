"""A server's my.cnf: its settings, and what makes it keep to its instance directory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from shootout.errors import MeasureError
from shootout.model.value import Family, Version
from shootout.servers.installation import Installation, is_mysql_since

SECURE_FILE_PRIV_SINCE = (5, 5, 0)  # from here on it may have a compiled-in directory
MYSQLX_SINCE = (8, 0, 11)

_EXTRA_ADDRESSES = ("admin_address", "mysqlx_bind_address")


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """While an instance directory is written to. Raises MeasureError where the system does not let us."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""  # of a file that is open it is not known
        raise MeasureError(f"instance directory {directory}: {where}{error.strerror or error}") from None


def write(
    installation: Installation,
    directory: Path,
    settings: Mapping[str, str],
    instance_options: Mapping[str, str] | None = None,
) -> Path:
    """Write my.cnf; what belongs to the instance comes last and so wins over `settings`."""
    (directory / "tmp").mkdir(exist_ok=True)
    own = {
        **installation.options,
        "datadir": quoted(directory / "data"),
        "tmpdir": quoted(directory / "tmp"),  # a killed server leaves files in it
        "log-error": quoted(directory / "error.log"),
        **dict.fromkeys(("bind-address", *_address_options(settings)), "127.0.0.1"),
        **_own_options(installation.family, installation.version),
    }
    if installation.over_tcp:
        own["bind-address"] = "0.0.0.0"  # of a network of its own, from which one port is published on ours
    if os.geteuid() == 0:
        own["user"] = "root"
    options = {**settings, **own, **(instance_options or {})}
    lines = [name if value == "" else f"{name} = {value}" for name, value in options.items()]
    config = directory / "my.cnf"
    config.write_text("[mysqld]\n" + "\n".join(lines) + "\n")
    return config


def quoted(path: Path) -> str:
    """A path as my.cnf wants it."""
    escaped = str(path).replace("\\", "\\\\")
    return f'"{escaped}"'


def _address_options(settings: Mapping[str, str]) -> list[str]:
    """Those of the settings that open a further port, to whomever they say."""
    return [name for name in settings if name.replace("-", "_").removeprefix("loose_") in _EXTRA_ADDRESSES]


def _own_options(family: Family, version: Version) -> dict[str, str]:
    options = {}
    if family == "mariadb":
        # Nobody uses it here, and from 11.4 on each start makes a new key: 6 to 23 s in its own build.
        options["loose-skip-ssl"] = ""
    if is_mysql_since(family, version, SECURE_FILE_PRIV_SINCE):
        options["secure-file-priv"] = '""'  # its compiled-in directory need not exist here
    if is_mysql_since(family, version, MYSQLX_SINCE):
        options["loose-mysqlx"] = "OFF"  # a second port, and a second socket
    return options
