"""A server's family and version, read from how it describes itself."""

from __future__ import annotations

import re

from shootout.errors import InputError
from shootout.model.value import Family, Version

# MariaDB may put the 5.5.5 that it reports to replicas before its own version.
_NUMBERS = re.compile(r"(?:5\.5\.5-(?=\d+\.\d+\.\d))?(\d+)\.(\d+)\.(\d+)")
UTF8MB4_SINCE: Version = (5, 5, 3)


def family_of(description: str) -> Family:
    """Find the family that a server's version and comment name; MySQL if they name none."""
    others: tuple[Family, ...] = ("mariadb", "percona")
    return next((family for family in others if family in description.lower()), "mysql")


def numbers_of(version: str) -> Version:
    """Read the numbers at the start of a version. Raises InputError if there are none."""
    numbers = _NUMBERS.match(version)
    if numbers is None:
        raise InputError(f"server version {version!r}: expected numbers")
    major, minor, patch = map(int, numbers.groups())
    return major, minor, patch


def parse(output: str) -> tuple[Version, Family] | None:
    """Read what `mysqld --version` prints; None if that names no version."""
    version = re.search(r"\bVer (\d+\.\d+\.\d\S*)", output)
    return (numbers_of(version[1]), family_of(output)) if version else None


def utf8_of(version: Version) -> str:
    """Find the widest UTF-8 character set that the version has."""
    return "utf8mb4" if version >= UTF8MB4_SINCE and version[0] != 6 else "utf8"


def is_mysql_since(family: Family, version: Version, since: Version) -> bool:
    """Whether it is MySQL or Percona Server `since` or later; MySQL 6.0 was abandoned before 5.5."""
    return family != "mariadb" and since <= version and version[0] != 6
