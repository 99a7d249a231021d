"""New keys: those that a log's statements insert, and the values that repeat them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shootout._engine import value_hash
from shootout.learn.binding import Binding, Bound
from shootout.learn.schema import Schema
from shootout.learn.values import Link, LogSequence, Slot, Template

FEW = 20  # values that a column has no more of, if each is inserted ten times: kinds and the like, not keys
REPEATS_MIN = 0.8  # share of transactions in which a value repeats a new one, and is new with it

_INSERT = re.compile(r"\s*INSERT\s+(?!IGNORE\b)(?!.*\bON\s+DUPLICATE\s+KEY\b)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Inserted:
    """The values that a log inserts into a column, by their hashes."""

    hashes: frozenset[int]
    most: int | None = None  # greater hashes are not known; None: all are
    few: bool = False  # texts of which each comes again and again

    def has(self, value: bytes) -> bool | None:
        """Whether they have this value; None: not known."""
        known = self.most is None or value_hash(value) <= self.most
        return value_hash(value) in self.hashes if known else None

    def share(self, slot: Slot) -> float:
        """Compute the share of a slot's different values that are among them."""
        limits = [limit for limit in (self.most, _most(slot)) if limit is not None]
        known = [hash for hash in slot.hashes if not limits or hash <= min(limits)]
        return sum(hash in self.hashes for hash in known) / len(known) if known else 0.0


def inserted(templates: Sequence[Template], bound: Sequence[Bound]) -> dict[str, Inserted]:
    """Find the keys that the log inserts, by column."""
    found: dict[str, Inserted] = {}
    for template, one in zip(templates, bound, strict=True):
        for slot, to in zip(template.slots, one.slots, strict=True):
            if to.use == "insert" and to.column is not None:
                known = found.get(to.column.full_name, Inserted(frozenset(), few=not to.column.unique))
                limits = [limit for limit in (known.most, _most(slot)) if limit is not None]
                values = sum(size * count for size, count in slot.sizes) if slot.sizes else template.count
                few = known.few and slot.kind == "text" and slot.distinct <= min(FEW, values / 10)
                hashes = known.hashes | {*slot.hashes}
                found[to.column.full_name] = Inserted(hashes, min(limits, default=None), few)
    return found


def _most(slot: Slot) -> int | None:
    return slot.hashes[-1] if slot.hashes and len(slot.hashes) < slot.distinct else None


def adds_rows(template: Template) -> bool:
    """Whether a statement inserts rows that must be new: a duplicate would fail."""
    return _INSERT.match(template.sql) is not None


def removes_rows(template: Template) -> bool:
    """Whether a statement deletes rows."""
    return template.sql.lstrip()[:6].upper() == "DELETE"


def is_child(binding: Binding) -> bool:
    """Whether a foreign key allows only values of its parent."""
    return binding.use in ("insert", "set") and binding.column is not None and bool(binding.column.parent)


def numbered(template: Template, bindings: Sequence[Binding], tables: Sequence[str], schema: Schema) -> str:
    """Find the column whose number the server gives to the one row that a statement inserts; empty: none."""
    if not tables or not adds_rows(template) or any(slot.sizes for slot in template.slots):
        return ""
    column = next((each for each in schema.tables[tables[0]].values() if each.automatic), None)
    given = [
        slot
        for slot, to in zip(template.slots, bindings, strict=True)
        if to.use == "insert" and to.column == column and slot.kind != "null"
    ]
    return "" if column is None or given else column.full_name


def without_parents(
    sequence: LogSequence, templates: Sequence[Template], bound: Sequence[Bound], schema: Schema
) -> set[int]:
    """Find the statements that write a unique foreign key whose parent their transaction does not insert."""
    lacking = set()
    links: Mapping[tuple[int, int], Link] = {
        link.place: link for link in sequence.links if not link.difference and link.share >= REPEATS_MIN
    }
    for number, of in enumerate(sequence.statements):
        for slot, to in enumerate(bound[of].slots if adds_rows(templates[of]) else ()):
            if to.column is None or not is_child(to) or not to.column.unique:
                continue
            place = number, slot
            while link := links.get(place):
                place = link.source
            origin = bound[sequence.statements[place[0]]].slots[place[1]]
            parent = schema.key_of(to.column)
            new = place != (number, slot) and origin.use == "insert" and origin.column
            numbers = (
                numbered(templates[other], bound[other].slots, bound[other].tables, schema)
                for other in sequence.statements[:number]
            )
            if not (new and new.full_name == parent) and parent not in numbers:
                lacking.add(number)
    return lacking
