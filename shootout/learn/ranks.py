"""A column's distinct values in order, as parameters are drawn from them, and the ranks of literals in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from shootout.measure import columns
from shootout.model.program import Numbers, ProgramColumn


@dataclass(frozen=True)
class Values:
    """A column's distinct values in order, as parameters are drawn from them."""

    column: ProgramColumn
    type: str
    present: Callable[[Sequence[bytes]], Iterable[str]] | None = None  # asks the column, if there are more

    @property
    def count(self) -> int:
        values = self.column.values
        return values.max - values.min + 1 if isinstance(values, Numbers) else len(self._listed)

    @property
    def numeric(self) -> bool:
        """Whether they are integers of the engine; greater ones are texts."""
        return self.type in columns.INTEGERS and self.column.next is not None

    @cached_property
    def _listed(self) -> Sequence[int | str]:
        return () if isinstance(self.column.values, Numbers) else self.column.values or ()

    @cached_property
    def _keys(self) -> dict[Any, int]:
        return {self._key(value): index for index, value in enumerate(self._listed)}

    @cached_property
    def _ordered(self) -> list[Any]:
        return sorted(self._keys)

    @cached_property
    def _text(self) -> bytes:
        if columns.is_bytes(self.type):
            return b"\n".join(bytes.fromhex(str(value)) for value in self._listed)
        return "\n".join(map(str, self._listed)).casefold().encode()

    def contain(self, pattern: bytes) -> bool:
        """Whether some of them may be LIKE this: they have all its parts."""
        if self.present is not None or isinstance(self.column.values, Numbers):
            return True
        if not columns.is_bytes(self.type):
            pattern = pattern.decode(errors="replace").casefold().encode()
        return all(part in self._text for part in re.split(b"[%_]", pattern))

    def held(self, literals: Sequence[bytes]) -> frozenset[bytes]:
        """Find which of the literals the column has beyond the values here."""
        if self.present is None:
            return frozenset()
        known = {self._key(value) for value in self.present(literals)}
        return frozenset(literal for literal in literals if self._key(literal) in known)

    def rank(self, literal: bytes) -> int | None:
        """Find the index of a literal; None if it is none of the values here."""
        key = self._key(literal)
        if isinstance(self.column.values, Numbers):
            low, high = self.column.values.min, self.column.values.max
            return key - low if isinstance(key, int) and low <= key <= high else None
        return self._keys.get(key)

    def nearest(self, literal: bytes) -> int:
        """Find the index of the value next to a literal in the column's order."""
        key = self._key(literal)
        if isinstance(self.column.values, Numbers):
            low, high = self.column.values.min, self.column.values.max
            return int(min(max(key, low), high)) - low if isinstance(key, int | Decimal) else 0
        ordered = self._ordered
        try:
            at = bisect_left(ordered, key)
        except TypeError:  # a text where numbers are
            return 0
        return self._keys[ordered[min(at, len(ordered) - 1)]] if ordered else 0

    def newest(self, literals: Sequence[bytes]) -> dict[bytes, int]:
        """Find the indexes that stand for integers greater than all of them: the last ones, in order."""
        beyond = sorted((self._key(literal), literal) for literal in literals if self.is_beyond(literal))
        first = self.count - len(beyond)
        return {literal: max(first + at, 0) for at, (_, literal) in enumerate(beyond)}

    def is_beyond(self, literal: bytes) -> bool:
        """Whether an integer is greater than all of them."""
        key = self._key(literal)
        return isinstance(key, int) and self.column.next is not None and key >= self.column.next

    def _key(self, value: bytes | str | int) -> Any:
        if isinstance(value, int):
            return value
        if columns.is_bytes(self.type):
            return value.hex().upper() if isinstance(value, bytes) else value
        text = value.decode(errors="replace") if isinstance(value, bytes) else value
        if self.type in (*columns.INTEGERS, "decimal", "float", "double"):
            try:
                number = Decimal(text)
                whole = self.type in columns.INTEGERS and number.adjusted() < 20 and number == int(number)
                return int(number) if whole else number
            except (InvalidOperation, ValueError, OverflowError):
                return text
        if self.type in ("date", "datetime", "timestamp"):
            date, _, time = text.replace("T", " ").partition(" ")
            time = time.partition(".")[0]
            return f"{date} {time or '00:00:00'}"
        return text.rstrip(" ").casefold()
