"""A transaction's values: where each is, and which places have the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.learn.blocks import SAME_MIN, Block, Place
from shootout.learn.keys import adds_rows, is_child, removes_rows
from shootout.learn.schema import Column, Schema
from shootout.learn.statements import Statement
from shootout.learn.values import Link, LogSequence

TELLS_MIN = 20  # executions of a statement that tell what values it has


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
            statement = self._of(place[0])
            to, known = statement.bindings[place[1]], statement.shapes[place[1]].parameter
            if (
                to.use == "insert"
                and known
                and known.fresh
                and not is_child(to)
                and adds_rows(statement.template)
                and not self._replaces(place)
            ):
                self._new.setdefault(self._root(place), place)

    def _is_look_up(self, number: int, slot: int) -> bool:
        """Whether a statement looks up the row of a whole unique key; the slot is its most varied part."""
        statement = self._of(number)
        if statement.template.sql[:6].upper() != "SELECT" or any(
            each.sizes for each in statement.template.slots
        ):
            return False
        parts = {
            to.column: at
            for at, to in enumerate(statement.bindings)
            if to.use == "equal" and to.column is not None
        }
        names = {column.name: at for column, at in parts.items()}
        if len({column.table for column in parts}) != 1:
            return False
        (table,) = {column.table for column in parts}
        return any(
            of == table
            and names.keys() >= {*key}
            and slot
            == max((names[each] for each in key), key=lambda at: statement.template.slots[at].distinct)
            for (of, _), key in self.schema.keys.items()
        )

    def _steps(self) -> list[tuple[list[int], int]]:
        """The statements of each step, and how often it is sent; linked single ones share one."""
        steps: list[tuple[list[int], int]] = []
        for block in self.blocks:
            numbers = list(range(block.first, block.first + block.length))
            if block.repeat == 1 and steps and steps[-1][1] == 1 and self._linked(block.first, steps[-1][0]):
                steps[-1][0].extend(numbers)
            else:
                steps.append((numbers, block.repeat))
        return steps

    def _linked(self, statement: int, others: Sequence[int]) -> bool:
        links = (link for link in self.links.values() if link.statement == statement)
        return any(link.of_statement in others for link in links)

    def _step_of(self, statement: int) -> int:
        return next(number for number, (statements, _) in enumerate(self.steps) if statement in statements)

    def _places(self) -> Iterator[Place]:
        for number in range(len(self.sequence.statements)):
            yield from ((number, slot) for slot in range(len(self._of(number).shapes)))

    def _replaces(self, place: Place) -> bool:
        """Whether the row of a key that is inserted was deleted before: such a key is not new."""
        column = self._of(place[0]).bindings[place[1]].column
        return any(
            number < place[0]
            and self._of(number).bindings[slot].column == column
            and removes_rows(self._of(number).template)
            and self._root((number, slot)) == self._root(place)
            for number, slot in self._places()
        )

    def inserted(self) -> Iterator[tuple[Place, Column | None]]:
        """Yield all places, and the column of the new key that each repeats; None: no new key."""
        for place in self._places():
            new = self._new.get(self._root(place))
            yield place, new and self._of(new[0]).bindings[new[1]].column

    @cached_property
    def _alike(self) -> Mapping[Place, Sequence[Place]]:
        """The places whose value is the same, by their root."""
        alike: dict[Place, list[Place]] = {}
        for place in self._places():
            alike.setdefault(self._root(place), []).append(place)
        return alike

    def _of(self, number: int) -> Statement:
        return self.statements[self.sequence.statements[number]]

    def _root(self, place: Place) -> Place:
        """The place whose value this one has in all transactions."""
        while (link := self.links.get(place)) and self._is_same(link):
            place = (link.of_statement, link.of_slot)
        return self._first(place)

    def _first(self, place: Place) -> Place:
        """The place in the repetition that stands for all."""
        return self._again(place)[0]

    def _again(self, place: Place) -> list[Place]:
        """The place in each repetition."""
        for block in self.blocks:
            if 0 <= (offset := place[0] - block.first) < block.length * block.repeat:
                first = block.first + offset % block.length
                return [(first + number * block.length, place[1]) for number in range(block.repeat)]
        raise AssertionError(place)

    def _is_same(self, link: Link) -> bool:
        own = self._of(link.statement).shapes[link.slot]
        source = self._of(link.of_statement).shapes[link.of_slot]
        if link.difference or own.parameter is None or source.parameter is None:
            return False
        derivable = own.numeric and source.numeric
        return link.share >= SAME_MIN or (not derivable and link.share >= 0.8)

    def _source(self, place: Place) -> Place:
        """The place whose value this one has in some transactions."""
        while (link := self.links.get(place)) and not link.difference:
            place = (link.of_statement, link.of_slot)
        return self._first(place)

    def _telling(self, root: Place) -> Place:
        """The place that says most of a value: the same key in the rarest statement."""
        own, key = self._of(root[0]).bindings[root[1]], self._key(root)

        def tells(place: Place) -> bool:
            statement = self._of(place[0])
            shapes = statement.shapes[place[1]], self._of(root[0]).shapes[root[1]]
            return (
                statement.bindings[place[1]].use == own.use == "equal"
                and key == self._key(place) != ""
                and statement.template.count >= TELLS_MIN
                and all(shape.parameter for shape in shapes)
                and shapes[0].numeric == shapes[1].numeric
            )

        rarest = filter(tells, self._alike[root])
        return min(rarest, key=lambda place: self._of(place[0]).template.count, default=root)

    def _key(self, place: Place) -> str:
        column = self._of(place[0]).bindings[place[1]].column
        return "" if column is None else self.schema.key_of(column)

    def _comes_once(self, root: Place) -> bool:
        """Whether a value must be another in each row of a transaction: the rest of their key is the same."""
        statement = self._of(root[0])
        to = statement.bindings[root[1]]
        again = self.sequence.statements.count(self.sequence.statements[root[0]]) > 1
        if to.use != "insert" or to.column is None or not (again or statement.template.slots[root[1]].sizes):
            return False
        for (table, _), key in self.schema.keys.items():
            if table != to.column.table or to.column.name not in key:
                continue
            free = [
                (root[0], slot)
                for slot, other in enumerate(statement.bindings)
                if other.column is not None and other.column.name in key and self._is_free((root[0], slot))
            ]
            most = max(free, key=lambda place: statement.template.slots[place[1]].distinct, default=None)
            if most == root and not any(place in self._new for place in free):
                return True
        return False

    def _is_free(self, place: Place) -> bool:
        """Whether each row that a statement inserts has a value of its own there."""
        return self._root(place) == place and not any(place in block.constant for block in self.blocks)
