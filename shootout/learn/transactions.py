"""Sequences of templates as a workload's transactions: repetitions folded, parameters shared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from shootout.learn import writing
from shootout.learn.binding import pieces
from shootout.learn.blocks import SAME_MIN, Block, Place, blocks
from shootout.learn.keys import adds_rows, is_child, removes_rows
from shootout.learn.shapes import STRUCTURAL_MAX, Learner, Shape
from shootout.learn.spreads import rounded
from shootout.learn.statements import LINKED_MIN, Statement, strongest
from shootout.learn.values import Link, LogSequence
from shootout.model.workload import (
    Group,
    Learned,
    Parameter,
    Repetition,
    Result,
    Step,
    Transaction,
    WorkloadStatement,
)

OWN_MIN = 0.01  # a smaller share of own keys is chance
SURE = 1000  # values of a sample that leaves no doubt
_ROWS = re.compile(r"\b(?:VALUES?\s*|IN\s*\()(?=\()", re.IGNORECASE)  # before rows
_LIST = re.compile(r"\bIN\s*\(\{\w+\}\)", re.IGNORECASE)

Sizes = Sequence[tuple[int, int]]  # of lists: length, how often


@dataclass
class Builder:
    """Makes transactions; equal parameters of different transactions share a name."""

    statements: Sequence[Statement]  # by index of the template
    learner: Learner
    parameters: dict[str, Parameter] = field(default_factory=dict)
    new: dict[tuple[int, int], int] = field(default_factory=dict)  # executions by slot that repeat a new key

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The columns whose new keys later transactions use."""
        schema = self.learner.schema
        return frozenset(
            schema.key_of(to.column)
            for statement in self.statements
            for shape, to in zip(statement.shapes, statement.bindings, strict=True)
            if shape.own >= OWN_MIN and to.column is not None
        )

    def find_new(self, sequences: Sequence[LogSequence]) -> None:
        """Count how often slots repeat a key that their own transaction inserts."""
        for sequence in sequences:
            links = strongest(sequence, self.statements, self.learner.schema)
            for number, slot in _Writer(
                self, sequence, links, blocks(sequence.statements, links)
            ).repeat_new():
                place = sequence.statements[number], slot
                self.new[place] = self.new.get(place, 0) + sequence.count

    def transaction(self, sequence: LogSequence, weight: int) -> Transaction:
        """The transaction of a sequence whose templates are all to be sent."""
        links = strongest(sequence, self.statements, self.learner.schema)
        return _Writer(self, sequence, links, blocks(sequence.statements, links)).transaction(weight)

    def name(self, label: str, parameter: Parameter, taken: set[str]) -> str:
        """A name for this parameter that is not taken; equal parameters reuse theirs."""
        for name, known in self.parameters.items():
            if name not in taken and known == parameter and re.fullmatch(rf"{re.escape(label)}(_\d+)?", name):
                return name
        number, name = 1, label
        while name in self.parameters:
            number += 1
            name = f"{label}_{number}"
        self.parameters[name] = parameter
        return name


@dataclass
class _Writer:
    """Writes one transaction."""

    builder: Builder
    sequence: LogSequence
    links: Mapping[Place, Link]
    blocks: Sequence[Block]
    _taken: dict[int, set[str]] = field(default_factory=dict)  # names by step; -1: in the whole transaction
    _chosen: dict[Place, str] = field(default_factory=dict)
    _into: dict[int, list[str]] = field(default_factory=dict)  # results by statement

    def transaction(self, weight: int) -> Transaction:
        texts = {number: self._statement(number) for statements, _ in self.steps for number in statements}
        for number in texts:
            if (key := self._of(number).numbers) in self.builder.wanted and number not in self._into:
                self._result(number, 0, writing.name(key.rpartition(".")[2]), Learned())
        steps = tuple(
            Step(
                statements=tuple(
                    replace(texts[number], into=tuple(self._into.get(number, ()))) for number in statements
                ),
                repeat=repeat,
            )
            for statements, repeat in self.steps
        )
        return Transaction(
            steps=steps,
            weight=weight,
            skip_trx=0 if self.sequence.explicit else 1,
            end=self.sequence.end,
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

    def __post_init__(self) -> None:
        self.steps = self._steps()
        self.constants = {(statement, slot): number for statement, slot, number in self.sequence.constants}
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

    def repeat_new(self) -> list[Place]:
        """The places that repeat a key which the transaction inserts."""
        return [place for place in self._places() if self._root(place) in self._new]

    def _linked(self, statement: int, others: Sequence[int]) -> bool:
        links = (link for link in self.links.values() if link.statement == statement)
        return any(link.of_statement in others for link in links)

    def _step_of(self, statement: int) -> int:
        return next(number for number, (statements, _) in enumerate(self.steps) if statement in statements)

    def _statement(self, number: int) -> WorkloadStatement:
        statement = self._of(number)
        texts: list[str] = []
        sizes: dict[str, Sizes] = {}
        slot = 0
        for piece in pieces(statement.template.sql, statement.template.slots):
            if piece not in ("?", "?+"):
                texts.append(piece.replace("{", "{{").replace("}", "}}"))
                continue
            shape = self._shape((number, slot))
            if shape.parameter is None:
                texts.append(shape.text.replace("{", "{{").replace("}", "}}"))
            else:
                name = self._name((number, slot))
                texts.append(f"{{{name}}}")
                sizes[name] = statement.template.slots[slot].sizes
            slot += 1
        return WorkloadStatement(name=statement.name, sql=self._rows("".join(texts), sizes))

    def _rows(self, sql: str, sizes: Mapping[str, Sizes]) -> str:
        """Many rows, of VALUES or IN, as groups; `sizes` are those of lists, by parameter."""
        for rows in reversed([*_ROWS.finditer(sql)]):
            row = whole = _balanced(sql[rows.end() :])
            names = re.findall(r"(?<!\{)\{(\w+)\}(?!\})", row)
            if not names or _LIST.search(row) or not all(map(sizes.get, names)):
                continue
            for name in names:
                parameter = self.builder.parameters[name]
                assert isinstance(parameter, Learned)
                own = self.builder.name(name, replace(parameter, counts=()), set(re.findall(r"\w+", row)))
                row = row.replace(f"{{{name}}}", f"{{{own}}}")
            lengths = sizes[names[0]]
            mean = sum(size * count for size, count in lengths) / sum(count for _, count in lengths)
            group = Group(sql=row, count=max(1, round(mean)))
            after = sql[rows.end() + len(whole) :]
            sql = f"{sql[: rows.end()]}{{{self.builder.name('rows', group, set())}}}{after}"
        return sql

    def _of(self, number: int) -> Statement:
        return self.builder.statements[self.sequence.statements[number]]

    def _root(self, place: Place) -> Place:
        """The place whose value this one has in all transactions."""
        while (link := self.links.get(place)) and self._is_same(link):
            place = (link.of_statement, link.of_slot)
        return self._first(place)

    def _first(self, place: Place) -> Place:
        """The place in the repetition that stands for all."""
        for block in self.blocks:
            if 0 <= (offset := place[0] - block.first) < block.length * block.repeat:
                return block.first + offset % block.length, place[1]
        raise AssertionError(place)

    def _is_same(self, link: Link) -> bool:
        own = self._of(link.statement).shapes[link.slot]
        source = self._of(link.of_statement).shapes[link.of_slot]
        if link.difference or own.parameter is None or source.parameter is None:
            return False
        derivable = own.numeric and source.numeric
        return link.share >= SAME_MIN or (not derivable and link.share >= 0.8)

    def _name(self, place: Place) -> str:
        """The name of the parameter for a slot."""
        root = self._root(place)
        if root in self._chosen:
            return self._chosen[root]
        statement = self._of(root[0])
        shape = self._shape(root)
        parameter = shape.parameter or statement.shapes[root[1]].parameter
        assert isinstance(parameter, Learned)
        if root in self._new:
            return self._named(root, self._fresh(*self._new[root]))
        if (first := self._counter(root)) is not None:
            return self._repetition(first)
        if (origin := self._origin(root)) is not None:
            name = self._chosen[root] = self._result(*origin, statement.labels[root[1]], parameter)
            return name
        parameter = self._owned(root, self._fitting(root, parameter))
        link = self.links.get(root)
        if link is not None:
            source = self._of(link.of_statement).shapes[link.of_slot]
            from_result = self._origin(self._root((link.of_statement, link.of_slot))) is not None
            if shape.numeric and source.numeric and not from_result:
                of = self._name((link.of_statement, link.of_slot))
                parameter = replace(
                    parameter,
                    of=of,
                    share=1.0 if link.share >= SAME_MIN else round(link.share, 3),
                    difference=link.difference,
                )
                if parameter.share == 1.0:  # nothing is drawn
                    plain = Learned(column=parameter.column, min=parameter.min, max=parameter.max)
                    parameter = replace(plain, form=parameter.form, of=of, difference=link.difference)
        return self._named(root, parameter)

    def _named(self, root: Place, parameter: Learned) -> str:
        """The name of a place's parameter, from now on."""
        whole = self._is_shared(root)
        if whole:
            parameter = replace(parameter, per="transaction")
        step = self._step_of(root[0])
        others = [names for of, names in self._taken.items() if whole or of in (step, -1)]
        taken = {name for names in others for name in names}
        name = self.builder.name(self._of(root[0]).labels[root[1]], parameter, taken)
        self._taken.setdefault(-1 if whole else step, set()).add(name)
        self._chosen[root] = name
        return name

    def _fresh(self, number: int, slot: int) -> Learned:
        """The parameter for a new key that a statement inserts."""
        parameter = self._of(number).shapes[slot].parameter
        assert parameter is not None
        return replace(parameter, absent=1.0, positions=(0.0, 1.0), hot=())

    def _owned(self, root: Place, parameter: Learned) -> Learned:
        """The parameter with its share of keys that earlier transactions inserted."""
        statement, slot = self._of(root[0]), root[1]
        to, raw = statement.bindings[slot], statement.shapes[slot].own
        if to.column is None or parameter.column is None or raw < OWN_MIN:
            return parameter
        place = self.sequence.statements[root[0]], slot
        new = self.builder.new.get(place, 0) / max(1, statement.template.count)
        left = max(1.0 - new, OWN_MIN)
        own = rounded(min(1.0, max(0.0, raw - new) / left))
        made_up = 0.0 if statement.shapes[slot].numeric or is_child(to) else raw
        absent = min(1.0, max(0.0, parameter.absent - made_up) / left)
        absent = min(1.0, absent / (1.0 - own)) if own < 1.0 - OWN_MIN else 0.0
        parameter = replace(parameter, absent=rounded(absent) if absent >= OWN_MIN else 0.0)
        key = self.builder.learner.schema.key_of(to.column)
        if own < OWN_MIN:
            return parameter
        taken = any(
            self._root(place) == root and self._of(place[0]).template.sql.upper().startswith("DELETE")
            for place in self._places()
        )
        return replace(parameter, own=own, taken=taken, keys=None if key == parameter.column else key)

    def _fitting(self, root: Place, parameter: Learned) -> Learned:
        """The parameter for all that repeat a value: a foreign key's, or one that has the patterns."""
        patterns = [parameter]
        for place, link in self.links.items():
            known = self._of(place[0]).shapes[place[1]].parameter
            if known is None or link.difference or self._source(place) != root:
                continue
            if is_child(self._of(place[0]).bindings[place[1]]):
                return known
            if parameter.like and known.like and self._root(place) == root:
                patterns.append(known)
        return min(patterns, key=lambda pattern: pattern.absent)

    def _source(self, place: Place) -> Place:
        """The place whose value this one has in some transactions."""
        while (link := self.links.get(place)) and not link.difference:
            place = (link.of_statement, link.of_slot)
        return self._first(place)

    def _shape(self, place: Place) -> Shape:
        """The shape of a slot; a constant slot gets its constant."""
        statement, slot = self._of(place[0]), place[1]
        template = statement.template
        known, constant = template.slots[slot], self.constants.get(place)
        if constant is None or known.distinct <= 1 or place in self.links or self._counter(place) is not None:
            return statement.shapes[slot]
        literal = str(constant).encode()
        only = replace(known, distinct=1, top=((literal, 1),), sample=(literal,) * SURE, nulls=0, sizes=())
        return self.builder.learner.shape(only, statement.bindings[slot], 1)

    def _counter(self, place: Place) -> int | None:
        """The number in the first repetition, if a slot counts repetitions."""
        block = next(
            (block for block in self.blocks if block.first <= place[0] < block.first + block.length), None
        )
        if block is None or block.repeat == 1 or self._of(place[0]).template.slots[place[1]].kind != "number":
            return None
        numbers = [self.constants.get((place[0] + n * block.length, place[1])) for n in range(block.repeat)]
        first = numbers[0]
        if (
            first is None
            or abs(first) >= STRUCTURAL_MAX
            or numbers != list(range(first, first + block.repeat))
        ):
            return None
        return first

    def _origin(self, place: Place) -> tuple[int, int] | None:
        """The statement and its column that a value comes from, as far as the log can show.

        An earlier SELECT of one row has read the column that the value is compared with.
        """
        binding, column = self._of(place[0]).bindings[place[1]], self._of(place[0]).bindings[place[1]].column
        if (number := self._inserted(place)) is not None:
            return number, 0
        known = place in self.links or place in self.constants
        known = known or bool(
            self._of(place[0]).template.slots[place[1]].sizes
        )  # a list is not what was read
        if binding.use != "equal" or column is None or not column.key or known:
            return None
        for number in self._sent_before(place[0]):
            template, outputs = self._of(number).template, self._of(number).outputs
            varied = any(
                slot.distinct > 1
                for slot, to in zip(template.slots, self._of(number).bindings, strict=True)
                if to.use == "limit"
            )
            if column in outputs and template.rows_sent == template.count and not varied:
                return number, outputs.index(column)
        return None

    def _inserted(self, place: Place) -> int | None:
        """The earlier statement whose new row's number a value is, as far as the log can show."""
        statement, slot = self._of(place[0]), place[1]
        to, schema = statement.bindings[slot], self.builder.learner.schema
        if to.column is None or to.use not in ("equal", "insert", "set") or place in self.links:
            return None
        if statement.shapes[slot].own < LINKED_MIN or statement.template.slots[slot].sizes:
            return None
        key = schema.key_of(to.column)
        numbers = (number for number in self._sent_before(place[0]) if self._of(number).numbers == key)
        return next(numbers, None)

    def _sent_before(self, number: int) -> Iterator[int]:
        """The earlier statements that a value can come from, the last first."""
        own = self._step_of(number)
        for step, (statements, repeat) in reversed([*enumerate(self.steps)]):
            if repeat == 1 or step == own:
                yield from (other for other in reversed(statements) if other < number)

    def _result(self, statement: int, column: int, label: str, parameter: Learned) -> str:
        """The name of a parameter that takes a column of a statement's row."""
        into = self._into.setdefault(statement, [])
        while len(into) <= column:
            into.append(writing.UNUSED)
        if into[column] == writing.UNUSED:
            taken = {name for names in self._into.values() for name in names}
            key = self._of(statement).numbers or None
            result = Result(number=parameter.form == "number", required=True, column=key)
            into[column] = self.builder.name(f"new_{label}" if key else f"read_{label}", result, taken)
        if writing.UNUSED in into:
            self.builder.parameters[writing.UNUSED] = Result()
        return into[column]

    def _repetition(self, first: int) -> str:
        """The name of a parameter that counts repetitions from `first`."""
        counter = self.builder.name("repetition", Repetition(), set())
        if first == 1:
            return counter
        plain = Learned(min=0, max=0)  # nothing is drawn
        return self.builder.name(f"{counter}_from", replace(plain, of=counter, difference=first - 1), set())

    def _is_shared(self, root: Place) -> bool:
        """Whether statements of several steps or repetitions use a value, or what is derived from it."""
        if any(root in block.constant for block in self.blocks):
            return True
        home = self._step_of(root[0])
        for place, link in self.links.items():
            if not any(place[0] in statements for statements, _ in self.steps):
                continue  # a repetition that its first stands for
            target = self._root((link.of_statement, link.of_slot))
            if target == root and place != root:
                if self._step_of(place[0]) != home:
                    return True
                if not self._is_same(link) and self._is_shared(place):
                    return True
        return False


def _balanced(text: str) -> str:
    """The text up to the parenthesis that closes its first."""
    depth = 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[: index + 1]
    return text
