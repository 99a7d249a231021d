"""Rows that recur in the table of settings, and the families and versions that they name."""

from __future__ import annotations

from collections.abc import Mapping

from shootout.model.value import Family, Version
from shootout.settings.setting import ALWAYS, EVERY, NEVER, Kind, Reading, Row, Setting, variable

MYSQL: tuple[Family, ...] = ("mysql",)
PERCONA: tuple[Family, ...] = ("percona",)
MARIADB: tuple[Family, ...] = ("mariadb",)
ORACLE: tuple[Family, ...] = ("mysql", "percona")  # Percona Server's versions are those of MySQL

V5_1: Version = (5, 1, 0)  # Percona Server and MariaDB 5.1 introduced XtraDB, an extended InnoDB
V5_5: Version = (5, 5, 4)  # the first version of MySQL's InnoDB with these options
V5_5_3: Version = (5, 5, 3)  # utf8mb4 and the performance schema


def fixed(
    reason: str,
    *values: bool | int | str,
    since: Version = ALWAYS,
    before: Version = NEVER,
    families: tuple[Family, ...] = EVERY,
) -> tuple[Row, ...]:
    """Make rows for versions without an option: they behave like `values` and lack all other values."""
    return (
        *(Row(since=since, before=before, families=families, when=value) for value in values),
        Row(since=since, before=before, families=families, lacks=reason),
    )


def builtin(value: int | str, reason: str) -> tuple[Row, ...]:
    """Make rows for MySQL's InnoDB before 5.5 and all families' before XtraDB: fixed at `value`."""
    return (
        *fixed(f"{reason} in InnoDB of 5.0", value, before=V5_1),
        *fixed(f"{reason} in InnoDB of 5.1", value, before=V5_5, families=MYSQL),
    )


def one(
    kind: Kind,
    option: str,
    meaning: str,
    *rows: Row,
    synonyms: Mapping[str, str] | None = None,
    other_names: tuple[str, ...] = (),
    choices: tuple[str, ...] = (),
    step: int = 1,
    at_least: bool = False,
    in_files: bool = False,
    whole: bool = False,
) -> Setting:
    """Make a setting with one option and variable in all versions that have no row; `whole`: all have one."""
    names = (variable(option), *other_names)
    return Setting(
        kind=kind, meaning=meaning, rows=rows if whole else (*rows, Row({option: "{}"})),
        readings=tuple(Reading((name,), synonyms=synonyms or {}) for name in names), choices=choices,
        step=step, at_least=at_least, in_files=in_files,
    )  # fmt: skip
