"""A log's templates as a workload sends them, and which of their values repeat others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from shootout.learn.binding import Binding
from shootout.learn.blocks import Place
from shootout.learn.schema import Column, Schema
from shootout.learn.shapes import Shape
from shootout.learn.values import Link, LogSequence, Template

LINKED_MIN = 0.5  # share of transactions in which a value must repeat another to be derived from it


@dataclass(frozen=True)
class Statement:
    """A template as a workload sends it."""

    name: str
    template: Template
    shapes: tuple[Shape, ...]
    bindings: tuple[Binding, ...]
    outputs: tuple[Column | None, ...]  # the columns that it returns
    labels: tuple[str, ...]  # of parameters: the slots' columns or kinds
    numbers: str = ""  # the column whose number the server gives to the row that it inserts


def strongest(sequence: LogSequence, statements: Sequence[Statement], schema: Schema) -> dict[Place, Link]:
    """Find the best link of each slot that means something.

    Servers number two tables in step as long as a transaction inserts a row into each: such keys
    repeat only those of their own table.
    """

    def statement_at(place: Place) -> Statement:
        return statements[sequence.statements[place[0]]]

    links: dict[Place, Link] = {}
    for link in sorted(sequence.links, key=lambda link: (link.share, link.difference == 0)):
        place, source = (link.statement, link.slot), (link.of_statement, link.of_slot)
        lists = any(statement_at(each).template.slots[each[1]].sizes for each in (place, source))
        if link.share >= LINKED_MIN and not lists:
            links[place] = link
    first: dict[tuple[Place, str], Place] = {}  # by what a key repeats, and its column
    for place in sorted(links):
        link = links[place]
        source = link.of_statement, link.of_slot
        own, other = (
            _numbers(statement_at(place), place[1], schema),
            _numbers(statement_at(source), source[1], schema),
        )
        if not own or not other or own == other:
            continue
        known = first.setdefault((source, own), place)
        if known == place or link.difference:
            del links[place]
        else:
            links[place] = replace(link, of_statement=known[0], of_slot=known[1])
    return links


def _numbers(statement: Statement, slot: int, schema: Schema) -> str:
    """The column that a place has a key of, if the server numbers it; empty: none."""
    column = statement.bindings[slot].column
    key = "" if column is None else schema.key_of(column)
    return key if key in schema.numbered else ""
