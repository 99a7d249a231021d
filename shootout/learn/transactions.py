"""Sequences of templates as a workload's transactions: repetitions folded, parameters shared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from shootout._engine import value_hash
from shootout.learn import rows, writing
from shootout.learn.binding import pieces
from shootout.learn.blocks import SAME_MIN, Place, blocks
from shootout.learn.keys import REPEATS_MIN, is_child, removes_rows
from shootout.learn.places import Places
from shootout.learn.schema import Column
from shootout.learn.shapes import STRUCTURAL_MAX, Learner, Shape
from shootout.learn.spreads import rounded
from shootout.learn.statements import LINKED_MIN, Statement, strongest
from shootout.learn.values import LogSequence
from shootout.model.workload import (
    Learned,
    Parameter,
    Repetition,
    Result,
    Step,
    Transaction,
    WorkloadStatement,
)

FOUND_NEAR = 0.03  # a smaller difference of the share of look-ups that find a row is chance
FIXED_MIN = 0.05  # a smaller share of values that other kinds of transactions always have changes nothing
OWN_MIN = 0.01  # a smaller share of own keys is chance
SURE = 1000  # values of a sample that leaves no doubt


@dataclass
class Builder:
    """Makes transactions; equal parameters of different transactions share a name."""

    statements: Sequence[Statement]  # by index of the template
    learner: Learner
    parameters: dict[str, Parameter] = field(default_factory=dict)
    new: dict[tuple[int, int], int] = field(default_factory=dict)  # executions by slot that repeat a new key
    repeats: dict[str, str] = field(default_factory=dict)  # columns whose new keys are those of another one
    # By slot: what some kinds of transactions always have there, and how often; the shapes that others have.
    fixed: dict[tuple[int, int], Counter[bytes]] = field(default_factory=dict)
    _varied: dict[tuple[int, int], Shape] = field(default_factory=dict)

    @cached_property
    def wanted(self) -> frozenset[str]:
        """The columns whose new keys later transactions use."""
        return frozenset(
            self.key_of(to.column)
            for statement in self.statements
            for shape, to in zip(statement.shapes, statement.bindings, strict=True)
            if shape.own >= OWN_MIN and to.column is not None
        )

    def key_of(self, column: Column) -> str:
        """Find the column whose keys a column has: its parent's, or the one whose new keys it repeats."""
        key = self.learner.schema.key_of(column)
        return self.repeats.get(key, key)

    def find_new(self, sequences: Sequence[LogSequence]) -> None:
        """Count how often slots repeat a key that their own transaction inserts."""
        inserts: Counter[str] = Counter()  # executions, by column
        repeated: Counter[tuple[str, str]] = Counter()  # by column and the one whose new key it has
        for sequence in sequences:
            writer = self._writer(sequence)
            for (number, slot), new in writer.inserted():
                place = sequence.statements[number], slot
                to = self.statements[place[0]].bindings[slot]
                if new is not None:
                    self.new[place] = self.new.get(place, 0) + sequence.count
                if (literal := writer.constant((number, slot))) is not None:
                    self.fixed.setdefault(place, Counter())[literal] += sequence.count
                if to.use == "insert" and to.column is not None:
                    inserts[self.key_of(to.column)] += sequence.count
                    if new is not None:
                        repeated[self.key_of(to.column), self.key_of(new)] += sequence.count
        self.repeats |= {
            key: of
            for (key, of), count in repeated.items()
            if key != of and count >= REPEATS_MIN * inserts[key]
        }

    def transaction(self, sequence: LogSequence, weight: int) -> Transaction:
        """Write the transaction of a sequence whose templates are all to be sent."""
        return self._writer(sequence).transaction(weight)

    def _writer(self, sequence: LogSequence) -> _Writer:
        links = strongest(sequence, self.statements, self.learner.schema)
        return _Writer(
            statements=self.statements,
            schema=self.learner.schema,
            sequence=sequence,
            links=links,
            blocks=blocks(sequence.statements, links),
            builder=self,
        )

    def varied(self, template: int, slot: int) -> Shape:
        """Find the shape of a slot in transactions that have no constant there."""
        statement, fixed = self.statements[template], self.fixed.get((template, slot), Counter())
        count, known = statement.template.count, statement.template.slots[slot]
        if fixed.total() < FIXED_MIN * count or fixed.total() >= count:
            return statement.shapes[slot]
        if (template, slot) not in self._varied:
            scale = len(known.sample) / count
            left = Counter(known.sample) - Counter({each: round(n * scale) for each, n in fixed.items()})
            top = tuple((each, rest) for each, n in known.top if (rest := n - fixed[each]) > 0)
            others = replace(known, top=top, sample=tuple(left.elements()))
            if others.distinct <= len(known.top):
                others = replace(others, distinct=len(top))
            shape = self.learner.shape(others, statement.bindings[slot], count - fixed.total())
            self._varied[template, slot] = shape if shape.parameter else statement.shapes[slot]
        return self._varied[template, slot]

    def name(self, label: str, parameter: Parameter, taken: set[str]) -> str:
        """Make a name for this parameter that is not taken; equal parameters reuse theirs."""
        for name, known in self.parameters.items():
            if name not in taken and known == parameter and re.fullmatch(rf"{re.escape(label)}(_\d+)?", name):
                return name
        number, name = 1, label
        while name in self.parameters:
            number += 1
            name = f"{label}_{number}"
        self.parameters[name] = parameter
        return name


@dataclass(kw_only=True)
class _Writer(Places):
    """Writes one transaction."""

    builder: Builder
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

    def _statement(self, number: int) -> WorkloadStatement:
        statement = self._of(number)
        texts: list[str] = []
        sizes: dict[str, rows.Sizes] = {}
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
        return WorkloadStatement(name=statement.name, sql=rows.grouped("".join(texts), sizes, self.builder))

    def _name(self, place: Place) -> str:
        """The name of the parameter for a slot."""
        root = self._root(place)
        if root in self._chosen:
            return self._chosen[root]
        telling = self._telling(root)
        shape = self._shape(telling)
        parameter = shape.parameter or self._of(telling[0]).shapes[telling[1]].parameter
        assert isinstance(parameter, Learned)
        if root in self._new:
            return self._named(root, self._fresh(*self._new[root]))
        if (first := self._counter(root)) is not None:
            return self._repetition(first)
        if (origin := self._origin(root)) is not None:
            name = self._chosen[root] = self._result(*origin, self._of(root[0]).labels[root[1]], parameter)
            return name
        parameter = self._found(root, self._owned(telling, self._fitting(root, parameter)))
        if self._comes_once(root):
            parameter = replace(parameter, distinct=True)
        if (anchor := self._beside(root)) is not None:
            of = self._name(anchor)
            known, plain = self.builder.parameters[of], Learned(column=parameter.column, form=parameter.form)
            if isinstance(known, Learned) and known.column and not known.fresh:
                return self._named(root, replace(plain, lengths=parameter.lengths, of=of, beside=True))
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

    def _beside(self, root: Place) -> Place | None:
        """The place of the first column of a foreign key of which this is another one."""
        for number, slot in self._alike[root]:
            children = {
                to.column.name: (at, to.column)
                for at, to in enumerate(self._of(number).bindings)
                if is_child(to) and to.column is not None
            }
            own = next((column for at, column in children.values() if at == slot), None)
            if own is not None and own.beside in children:
                anchor = self._root((number, children[own.beside][0]))
                return anchor if self._is_shared(anchor) or not self._is_shared(root) else None
        return None

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
        key = self.builder.key_of(to.column)
        if own < OWN_MIN:
            return parameter
        taken = any(removes_rows(self._of(place[0]).template) for place in self._alike[self._root(root)])
        return replace(parameter, own=own, taken=taken, keys=None if key == parameter.column else key)

    def _found(self, root: Place, parameter: Learned) -> Learned:
        """The parameter that finds rows as often as the log's, where it is looked up as a whole key."""
        finds = [self._finds(number) for number, slot in self._alike[root] if self._is_look_up(number, slot)]
        plain = (1 - parameter.own) * (1 - parameter.absent)
        hits = parameter.own + plain
        if not finds or finds[0] is None or hits < OWN_MIN or root in self.links or parameter.fresh:
            return parameter
        found = min(1.0, finds[0])
        if abs(found - hits) < FOUND_NEAR:
            return parameter
        own = rounded(parameter.own * found / hits)
        absent = rounded(1 - plain * found / hits / (1 - own)) if own < 1 else 0.0
        return replace(parameter, own=own, absent=max(0.0, absent))

    def _finds(self, number: int) -> float | None:
        """The rows that a statement finds in a transaction of this kind, mean; None: not known."""
        template = self._of(number).template
        if template.rows_sent is None:
            return None
        if self.sequence.rows_sent:
            return self.sequence.rows_sent[number] / self.sequence.count
        return template.rows_sent / max(1, template.count)

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

    def _shape(self, place: Place) -> Shape:
        """The shape of a slot; a constant slot gets its constant."""
        statement, slot = self._of(place[0]), place[1]
        template = statement.template
        known, literal = template.slots[slot], self.constant(place)
        if known.distinct <= 1 or place in self.links or self._counter(place) is not None:
            return statement.shapes[slot]
        if literal is None:
            return self.builder.varied(self.sequence.statements[place[0]], slot)
        only = replace(known, distinct=1, top=((literal, 1),), sample=(literal,) * SURE, nulls=0, sizes=())
        return self.builder.learner.shape(only, statement.bindings[slot], 1)

    def constant(self, place: Place) -> bytes | None:
        """Find the literal that a slot has in all transactions of this kind, as far as it is known."""
        told = {(self.constants.get(each), self._texts.get(each)) for each in self._again(place)}
        number, text = told.pop()
        if told:
            return None  # another one in each repetition
        if number is not None:
            return str(number).encode()
        slot = self._of(place[0]).template.slots[place[1]]
        every = dict.fromkeys((*(literal for literal, _ in slot.top), *slot.sample)) if text else ()
        return next((literal for literal in every if value_hash(literal) == text), None)

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
        schema = self.schema
        key = "" if column is None else schema.key_of(column)
        if binding.use != "equal" or known or not schema.is_key(key):
            return None
        for number in self._sent_before(place[0]):
            outputs = self._of(number).outputs
            varied = any(
                slot.distinct > 1
                for slot, to in zip(self._of(number).template.slots, self._of(number).bindings, strict=True)
                if to.use == "limit"
            )
            keys = ["" if output is None else schema.key_of(output) for output in outputs]
            if key in keys and self._finds(number) == 1 and not varied:
                return number, keys.index(key)
        return None

    def _inserted(self, place: Place) -> int | None:
        """The earlier statement whose new row's number a value is, as far as the log can show."""
        statement, slot = self._of(place[0]), place[1]
        to, schema = statement.bindings[slot], self.schema
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
