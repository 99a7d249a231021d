"""A server's family and version."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shootout.errors import InputError
from shootout.model.value import Family, Version
from shootout.servers import version


@pytest.mark.parametrize(
    ("reported", "comment", "family", "numbers"),
    [
        ("5.7.22-log", "MySQL Community Server (GPL)", "mysql", (5, 7, 22)),
        ("8.0.36-28", "Percona Server (GPL), Release 28", "percona", (8, 0, 36)),
        ("10.11.5-MariaDB-log", "managed", "mariadb", (10, 11, 5)),
        ("5.5.5-10.4.2-MariaDB", "", "mariadb", (10, 4, 2)),
        ("5.5.5-m3", "", "mysql", (5, 5, 5)),
    ],
)
def test_a_running_server(reported: str, comment: str, family: str, numbers: Sequence[int]) -> None:
    assert version.family_of(f"{reported} {comment}") == family
    assert version.numbers_of(reported) == numbers


def test_a_version_without_numbers() -> None:
    with pytest.raises(InputError, match="server version 'next': expected numbers"):
        version.numbers_of("next")


@pytest.mark.parametrize(
    ("given", "since", "expected"),
    [
        (("mysql", (8, 0, 30)), (8, 0, 30), True),
        (("percona", (8, 4, 0)), (8, 0, 30), True),
        (("mysql", (5, 7, 5)), (5, 7, 6), False),
        (("mysql", (6, 0, 11)), (5, 7, 6), False),
        (("mariadb", (10, 11, 2)), (5, 7, 6), False),
    ],
)
def test_since(given: tuple[Family, Version], since: Version, expected: bool) -> None:
    assert version.is_mysql_since(*given, since) is expected
