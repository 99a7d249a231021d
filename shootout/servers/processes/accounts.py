"""The accounts of an instance: root, and the load's, with passwords that are new at each start."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from shootout.model.value import Family, Version
from shootout.servers.version import is_mysql_since

LOAD_USER = "shootout"
ALTER_USER_SINCE = (5, 7, 6)


def write(file: Path, statements: Sequence[str]) -> None:
    """Write statements for a server to execute, readable by its user only."""
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:  # noqa: PTH123
        opened.write("\n".join(statements) + "\n")  # old servers take a line for a statement


def new_password() -> str:
    """Make a random password with a character of every kind, for servers whose my.cnf sets a policy."""
    return secrets.token_urlsafe(24) + "-aA1"


def created(
    family: Family, version: Version, passwords: Mapping[str, str], hosts: Sequence[str] = ("localhost",)
) -> list[str]:
    """Write statements that create the accounts, before the server listens: none lacks a password."""
    loads = [f"{LOAD_USER}@'{host}'" for host in hosts]
    root_password, load_password = passwords["root"], passwords[LOAD_USER]
    if is_mysql_since(family, version, ALTER_USER_SINCE):
        return [
            f"ALTER USER root@localhost IDENTIFIED BY '{root_password}';",
            *(f"CREATE USER IF NOT EXISTS {load} IDENTIFIED BY '{load_password}';" for load in loads),
            *(f"ALTER USER {load} IDENTIFIED BY '{load_password}';" for load in loads),
            *(f"GRANT ALL ON *.* TO {load};" for load in loads),
        ]
    if family == "mariadb" and version >= (10, 2, 0):
        root = f"ALTER USER root@localhost IDENTIFIED BY '{root_password}';"
    else:
        root = f"SET PASSWORD FOR root@localhost = PASSWORD('{root_password}');"
    return [
        "SET SESSION old_passwords = 0;",  # 1 stores hashes from before MySQL 4.1
        root,
        *(f"GRANT ALL ON *.* TO {load} IDENTIFIED BY '{load_password}';" for load in loads),
    ]


def only_root(family: Family, version: Version) -> list[str]:
    """Write statements that remove every account but root@localhost, and the schema `test`."""
    table = "global_priv" if family == "mariadb" and version >= (10, 4, 0) else "user"
    return [
        f"DELETE FROM mysql.{table} WHERE User = '' OR (User = 'root' AND Host <> 'localhost');",
        "DELETE FROM mysql.db WHERE User = '';",
        "DROP DATABASE IF EXISTS test;",
    ]
