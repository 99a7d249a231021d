"""Servers that cannot be counted, or no longer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pymysql
import pytest

from shootout.errors import InputError
from shootout.work import measure


def a_server(*version: int) -> Any:
    return SimpleNamespace(
        program=SimpleNamespace(version=version), reference=SimpleNamespace(text="path:/old")
    )


def test_a_server_whose_transactions_cannot_be_left_open_is_refused() -> None:
    measure._require_open_transactions([a_server(5, 5, 0), a_server(8, 0, 12)])
    with pytest.raises(InputError, match=r"^path:/old: before MySQL 5\.5, .*--option skip_trx=1"):
        measure._require_open_transactions([a_server(8, 0, 12), a_server(5, 1, 73)])


def test_a_server_that_drops_our_own_connection_fails_alone() -> None:
    class Bench:
        failures: list[str] = []  # noqa: RUF012

        def count(self, *_: object) -> NoReturn:
            raise pymysql.err.OperationalError(2013, "Lost connection")

        def fail(self, error: Exception) -> None:
            self.failures.append(str(error))

    instance: Any = SimpleNamespace(wait_until_ready=lambda: None, post_mortem=lambda: "; it is dead")
    measure._wait_and_count(cast(Any, Bench()), instance, 1, lambda progress: None)
    assert Bench.failures == ["(2013, 'Lost connection'); it is dead"]
