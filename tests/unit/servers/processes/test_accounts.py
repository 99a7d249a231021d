"""The statements that create a server's accounts."""

from __future__ import annotations

import re
import secrets

import pytest

from shootout.model.value import Family, Version
from shootout.servers.processes import accounts


@pytest.mark.parametrize(
    ("family", "version", "words"),
    [
        ("mysql", (5, 0, 96), "SET PASSWORD FOR root@localhost = PASSWORD("),
        ("mysql", (5, 7, 5), "SET PASSWORD FOR root@localhost = PASSWORD("),
        ("mysql", (6, 0, 11), "SET PASSWORD FOR root@localhost = PASSWORD("),
        ("percona", (5, 7, 6), "ALTER USER root@localhost IDENTIFIED BY "),
        ("mysql", (9, 7, 4), "ALTER USER root@localhost IDENTIFIED BY "),
        ("mariadb", (10, 1, 23), "SET PASSWORD FOR root@localhost = PASSWORD("),
        ("mariadb", (10, 2, 0), "ALTER USER root@localhost IDENTIFIED BY "),
    ],
)
def test_accounts_are_made_in_the_words_of_the_version(family: Family, version: Version, words: str) -> None:
    statements = accounts.created(family, version, {"root": "r-1", accounts.LOAD_USER: "l-1"})
    (root,) = (each for each in statements if "root@" in each)
    assert root.startswith(f"{words}'r-1'")
    assert all(each.endswith(";") and "\n" not in each for each in statements)
    assert sum("'l-1'" in each for each in statements) == (2 if "IF NOT EXISTS" in str(statements) else 1)


def test_a_password_has_characters_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: size * "a")
    found = accounts.new_password()
    assert all(re.search(kind, found) for kind in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))
    assert not set(found) & set("'\\")
