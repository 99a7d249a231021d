"""A transaction's values: where each is, and which places have the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from shootout.learn.binding import Binding
from shootout.learn.keys import adds_rows, is_child, removes_rows
from shootout.learn.schema import Column, Schema
from shootout.learn.shapes import Shape
from shootout.learn.values import Link, LogSequence, Slot, Template

SAME_MIN = 0.995  # share of transactions from which on a value that repeats another is the same parameter
LINKED_MIN = 0.5  # share of transactions in which a value must repeat another to be derived from it
TELLS_MIN = 20  # executions of a statement that tell what values it has
_BLOCK_MAX = 16  # statements in a repetition

Place = tuple[int, int]  # statement and slot


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
    """Find the best link of each slot that means something."""

    def statement_at(place: Place) -> Statement:
        return statements[sequence.statements[place[0]]]

    def numbers(place: Place) -> str:
        """The column that a place has a key of, if the server numbers it; empty: none."""
        column = statement_at(place).bindings[place[1]].column
        key = "" if column is None else schema.key_of(column)
        return key if key in schema.numbered else ""

    links: dict[Place, Link] = {}
    for link in sorted(sequence.links, key=lambda link: (link.share, link.difference == 0)):
        lists = any(statement_at(each).template.slots[each[1]].sizes for each in (link.place, link.source))
        if link.share >= LINKED_MIN and not lists:
            links[link.place] = link
    # Servers number two tables in step as long as a transaction inserts a row into each: such keys repeat
    # only those of their own table.
    first: dict[tuple[Place, str], Place] = {}  # by what a key repeats, and its column
    for place in sorted(links):
        link, own = links[place], numbers(place)
        if not own or numbers(link.source) in ("", own):
            continue
        known = first.setdefault((link.source, own), place)
        if known == place or link.difference:
            del links[place]
        else:
            links[place] = replace(link, of_statement=known[0], of_slot=known[1])
    return links


@dataclass(frozen=True)
class Block:
    """Statements of a sequence that are sent repeatedly."""

    first: int
    length: int
    repeat: int
    constant: frozenset[Place] = frozenset()  # that have the same value in all repetitions


def blocks(statements: Sequence[int], links: Mapping[Place, Link]) -> list[Block]:
    """Split the sequence into blocks: a run of equal statements, or of equal groups, is one that repeats."""
    sequence: list[Block] = []
    at = 0
    while at < len(statements):
        lengths = range(1, min(_BLOCK_MAX, (len(statements) - at) // 2) + 1)
        repeated = (_repeated(statements, links, at, length) for length in lengths)
        several = [Block(at, 1, 1), *(block for block in repeated if block.repeat > 1)]
        best = max(several, key=lambda block: block.length * block.repeat)
        sequence.append(best)
        at += best.length * best.repeat
    return sequence


def _repeated(statements: Sequence[int], links: Mapping[Place, Link], first: int, length: int) -> Block:
    repeat, constant = 1, frozenset[Place]()
    own, _ = _relations(links, first, first, length)
    while (at := first + repeat * length) + length <= len(statements):
        if list(statements[first : first + length]) != list(statements[at : at + length]):
            break
        relations, repeated = _relations(links, at, first, length)
        if relations != own or (repeat > 1 and repeated != constant):
            break
        constant = repeated
        repeat += 1
    after = first + repeat * length
    # A statement linked to one of several repetitions needs all of them.
    into = {link.source for link in links.values() if link.statement >= after}
    for statement, slot in into:
        if first <= statement < after and (first + (statement - first) % length, slot) not in constant:
            return Block(first, length, 1)
    return Block(first, length, repeat, constant)


def _relations(
    links: Mapping[Place, Link], at: int, first: int, length: int
) -> tuple[set[tuple[int, ...]], frozenset[Place]]:
    """The links of the group at `at`, relative to it, and the places that repeat their value."""
    relations: set[tuple[int, ...]] = set()
    repeated: set[Place] = set()
    for link in links.values():
        if not at <= link.statement < at + length:
            continue
        before = first <= link.of_statement < at
        same = (link.statement - link.of_statement) % length == 0 and link.slot == link.of_slot
        if before and same and not link.difference and link.share >= SAME_MIN:
            repeated.add((first + link.statement - at, link.slot))
            continue
        target = link.of_statement if link.of_statement < first else link.of_statement - at + 1_000_000
        relations.add((link.statement - at, link.slot, target, link.of_slot, link.difference))
    return relations, frozenset(repeated)


@dataclass
class Places:
    """The places of a transaction: slots of its statements."""

    statements: Sequence[Statement]  # by index of the template
    schema: Schema
    sequence: LogSequence
    links: Mapping[Place, Link]
    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        self.steps = self._steps()
        self.constants = {(statement, slot): number for statement, slot, number in self.sequence.constants}
        self._texts = {(statement, slot): hash for statement, slot, hash in self.sequence.texts}
        self._new: dict[Place, Place] = {}  # by root: where its value is inserted
        for place in self._places():
            to, known = self._to(place), self._own_shape(place).parameter
            adds = to.use == "insert" and not is_child(to) and adds_rows(self._of(place[0]).template)
            if adds and known and known.fresh and not self._replaces(place):
                self._new.setdefault(self._root(place), place)

    def inserted(self) -> Iterator[tuple[Place, Column | None]]:
        """Yield all places, and the column of the new key that each repeats; None: no new key."""
        for place in self._places():
            new = self._new.get(self._root(place))
            yield place, new and self._to(new).column

    def _places(self) -> Iterator[Place]:
        for number in range(len(self.sequence.statements)):
            yield from ((number, slot) for slot in range(len(self._of(number).shapes)))

    def _of(self, number: int) -> Statement:
        return self.statements[self.sequence.statements[number]]

    def _to(self, place: Place) -> Binding:
        return self._of(place[0]).bindings[place[1]]

    def _slot(self, place: Place) -> Slot:
        return self._of(place[0]).template.slots[place[1]]

    def _own_shape(self, place: Place) -> Shape:
        return self._of(place[0]).shapes[place[1]]

    def _key(self, place: Place) -> str:
        column = self._to(place).column
        return "" if column is None else self.schema.key_of(column)

    def _steps(self) -> list[tuple[list[int], int]]:
        """The statements of each step, and how often it is sent; linked single ones share one."""
        steps: list[tuple[list[int], int]] = []
        for block in self.blocks:
            numbers = list(range(block.first, block.first + block.length))
            sources = {link.of_statement for link in self.links.values() if link.statement == block.first}
            if block.repeat == 1 and steps and steps[-1][1] == 1 and sources & {*steps[-1][0]}:
                steps[-1][0].extend(numbers)
            else:
                steps.append((numbers, block.repeat))
        return steps

    def _step_of(self, statement: int) -> int:
        return next(number for number, (statements, _) in enumerate(self.steps) if statement in statements)

    @cached_property
    def _alike(self) -> Mapping[Place, Sequence[Place]]:
        alike: dict[Place, list[Place]] = {}
        for place in self._places():
            alike.setdefault(self._root(place), []).append(place)
        return alike

    def _root(self, place: Place) -> Place:
        """The place whose value this one has in all transactions."""
        while (link := self.links.get(place)) and self._is_same(link):
            place = link.source
        return self._again(place)[0]

    def _source(self, place: Place) -> Place:
        """The place whose value this one has in some transactions."""
        while (link := self.links.get(place)) and not link.difference:
            place = link.source
        return self._again(place)[0]

    def _again(self, place: Place) -> list[Place]:
        for block in self.blocks:
            if 0 <= (offset := place[0] - block.first) < block.length * block.repeat:
                first = block.first + offset % block.length
                return [(first + number * block.length, place[1]) for number in range(block.repeat)]
        raise AssertionError(place)

    def _is_same(self, link: Link) -> bool:
        own, source = self._own_shape(link.place), self._own_shape(link.source)
        if link.difference or own.parameter is None or source.parameter is None:
            return False
        derivable = own.numeric and source.numeric
        return link.share >= SAME_MIN or (not derivable and link.share >= 0.8)

    def _replaces(self, place: Place) -> bool:
        """Whether the row of a key that is inserted was deleted before: such a key is not new."""
        return any(
            other[0] < place[0]
            and self._to(other).column == self._to(place).column
            and removes_rows(self._of(other[0]).template)
            and self._root(other) == self._root(place)
            for other in self._places()
        )

    def _is_look_up(self, number: int, slot: int) -> bool:
        """Whether a statement looks up the row of a whole unique key; the slot is its most varied part."""
        statement, slots = self._of(number), self._of(number).template.slots
        if statement.template.sql[:6].upper() != "SELECT" or any(each.sizes for each in slots):
            return False
        parts = {
            (to.column.table, to.column.name): at
            for at, to in enumerate(statement.bindings)
            if to.use == "equal" and to.column is not None
        }
        keys = ([(table, name) for name in key] for (table, _), key in self.schema.keys.items())
        return len({table for table, _ in parts}) == 1 and any(
            parts.keys() >= {*key}
            and slot == max((parts[part] for part in key), key=lambda at: slots[at].distinct)
            for key in keys
        )

    def _telling(self, root: Place) -> Place:
        """The place that says most of a value: the same key in the rarest statement."""
        own, key, shape = self._to(root), self._key(root), self._own_shape(root)

        def tells(place: Place) -> bool:
            other = self._own_shape(place)
            return (
                self._to(place).use == own.use == "equal"
                and key == self._key(place) != ""
                and self._of(place[0]).template.count >= TELLS_MIN
                and None not in (shape.parameter, other.parameter)
                and shape.numeric == other.numeric
            )

        rarest = filter(tells, self._alike[root])
        return min(rarest, key=lambda place: self._of(place[0]).template.count, default=root)

    def _comes_once(self, root: Place) -> bool:
        """Whether a value must be another in each row of a transaction: the rest of their key is the same."""
        statement, to = self._of(root[0]), self._to(root)
        again = self.sequence.statements.count(self.sequence.statements[root[0]]) > 1
        if to.use != "insert" or to.column is None or not (again or self._slot(root).sizes):
            return False
        constant = {place for block in self.blocks for place in block.constant}
        for (table, _), key in self.schema.keys.items():
            if table != to.column.table or to.column.name not in key:
                continue
            free = [  # those whose value is another in each row
                place
                for slot, other in enumerate(statement.bindings)
                if other.column is not None and other.column.name in key
                if self._root(place := (root[0], slot)) == place and place not in constant
            ]
            most = max(free, key=lambda place: self._slot(place).distinct, default=None)
            if most == root and not any(place in self._new for place in free):
                return True
        return False
