"""Refusals by servers: a workload that mostly fails is no load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pymysql

from shootout._engine import LoadError
from shootout.errors import MeasureError, without_values

Refusals = Sequence[tuple[int, int, int, str]]  # kind, code, how often, and the server's message

CONFLICTS = frozenset({1020, 1205, 1213})  # between transactions: part of a load
# Errors for a statement that a server does not know, or not in this form.
LACKING = frozenset(
    (
        1064,  # syntax
        *(1115, 1128, 1193, 1273, 1286, 1305),  # character set, function, variable, collation, engine
        *(1178, 1214, 1235, 1295, 1582),  # by the engine, FULLTEXT, not yet, prepared, with so many arguments
        *(1800, 1801, 1845, 1846),  # an ALTER's algorithm or lock
        4161,  # type, on MariaDB
    )
)
ATTEMPTS_MIN = 20  # of a kind, before its rate tells anything
MOST = 0.5  # share of attempts


def code(error: BaseException) -> int:
    """Find the server's error number behind an error of ours; 0: none."""
    said = error.__cause__ or error.__context__
    if isinstance(said, LoadError):
        _, number, _ = said.args
        return int(number)
    return int(said.args[0]) if isinstance(said, pymysql.Error) else 0


class Refused:
    """A server's answers so far, by kind of statement."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = kinds
        self._answered: Counter[int] = Counter()
        self._refused: Counter[int] = Counter()
        self._said: dict[int, str] = {}

    def add(self, answered: Iterable[int], refusals: Refusals) -> None:
        """Count one slice: the answered statements of each kind, and the refused ones."""
        self._answered.update(dict(enumerate(answered)))
        for kind, code, count, message in refusals:
            if code not in CONFLICTS:
                self._refused[kind] += count
                self._said[kind] = f"{without_values(message)} ({code})"

    def rate(self, kind: int) -> float:
        """Compute the share of a kind's attempts that was refused."""
        refused = self._refused[kind]
        return refused / (refused + self._answered[kind]) if refused else 0.0

    def failing(self) -> list[tuple[str, str]]:
        """List the kinds that are mostly refused: name and why, the worst first."""
        failing = [
            kind
            for kind, refused in self._refused.items()
            if refused + self._answered[kind] >= ATTEMPTS_MIN and self.rate(kind) > MOST
        ]
        return [
            (self.kinds[kind], f"{self._said[kind]}, in {100 * self.rate(kind):.0f} % of its attempts")
            for kind in sorted(failing, key=self.rate, reverse=True)
        ]

    def check(self) -> None:
        """Raise MeasureError, with the server's message, if it mostly refuses a kind of statement."""
        for name, why in self.failing():
            raise MeasureError(f"statement `{name}`: {why}")
