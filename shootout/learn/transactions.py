"""Sequences of templates as a workload's transactions: repetitions folded, parameters shared."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from shootout._engine import value_hash
from shootout.learn import writing
from shootout.learn.binding import pieces
from shootout.learn.keys import REPEATS_MIN, is_child, removes_rows
from shootout.learn.places import LINKED_MIN, SAME_MIN, Place, Places, Statement, blocks, strongest
from shootout.learn.schema import Column
from shootout.learn.shapes import STRUCTURAL_MAX, Learner, Shape
from shootout.learn.spreads import rounded
from shootout.learn.values import LogSequence
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

FOUND_NEAR = 0.03  # a smaller difference of the share of look-ups that find a row is chance
FIXED_MIN = 0.05  # a smaller share of values that other kinds of transactions always have changes nothing
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
    new: Counter[tuple[int, int]] = field(default_factory=Counter)  # executions by slot that repeat a new key
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
        repeated: Counter[tuple[str, str]] = Counter()  # inserts, by column and the one whose new key it has
        for sequence in sequences:
            writer = self._writer(sequence)
            for (number, slot), new in writer.inserted():
                place = sequence.statements[number], slot
                to = self.statements[place[0]].bindings[slot]
                if new is not None:
                    self.new[place] += sequence.count
                if (literal := writer.constant((number, slot))) is not None:
                    self.fixed.setdefault(place, Counter())[literal] += sequence.count
                if to.use == "insert" and to.column is not None:
                    of = "" if new is None else self.key_of(new)
                    repeated[self.key_of(to.column), of] += sequence.count
        inserts: Counter[str] = Counter()
        for (key, _), count in repeated.items():
            inserts[key] += count
        self.repeats |= {
            key: of
            for (key, of), count in repeated.items()
            if of not in ("", key) and count >= REPEATS_MIN * inserts[key]
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
        names = (label if number == 1 else f"{label}_{number}" for number in itertools.count(1))
        name = next(name for name in names if name not in self.parameters)
        self.parameters[name] = parameter
        return name

    def grouped(self, sql: str, sizes: Mapping[str, Sizes]) -> str:
        """Write many rows in VALUES or IN as groups that repeat; `sizes` are those of lists, by parameter."""
        for rows in reversed([*_ROWS.finditer(sql)]):
            row = whole = _balanced(sql[rows.end() :])
            inner = re.findall(r"(?<!\{)\{(\w+)\}(?!\})", row)
            if not inner or _LIST.search(row) or not all(map(sizes.get, inner)):
                continue
            for name in inner:
                parameter = self.parameters[name]
                assert isinstance(parameter, Learned)
                own = self.name(name, replace(parameter, counts=()), set(re.findall(r"\w+", row)))
                row = row.replace(f"{{{name}}}", f"{{{own}}}")
            lengths = sizes[inner[0]]
            mean = sum(size * count for size, count in lengths) / sum(count for _, count in lengths)
            group = self.name("rows", Group(sql=row, count=max(1, round(mean))), set())
            sql = f"{sql[: rows.end()]}{{{group}}}{sql[rows.end() + len(whole) :]}"
        return sql


def _balanced(text: str) -> str:
    """The text up to the parenthesis that closes its first."""
    depths = itertools.accumulate({"(": 1, ")": -1}.get(character, 0) for character in text)
    return text[: next((index + 1 for index, depth in enumerate(depths) if depth == 0), len(text))]


@dataclass(kw_only=True)
class _Writer(Places):
    builder: Builder
    _taken: dict[int, set[str]] = field(default_factory=dict)  # names by step; -1: in the whole transaction
    _chosen: dict[Place, str] = field(default_factory=dict)
    _into: dict[int, list[str]] = field(default_factory=dict)  # results by statement

    def transaction(self, weight: int) -> Transaction:
        texts = {number: self._text(number) for statements, _ in self.steps for number in statements}
        for number in texts:
            if (key := self._of(number).numbers) in self.builder.wanted and number not in self._into:
                self._result(number, 0, writing.name(key.rpartition(".")[2]), Learned())
        made = {
            number: WorkloadStatement(
                name=self._of(number).name, sql=sql, into=tuple(self._into.get(number, ()))
            )
            for number, sql in texts.items()
        }
        return Transaction(
            steps=tuple(
                Step(statements=tuple(map(made.__getitem__, statements)), repeat=repeat)
                for statements, repeat in self.steps
            ),
            weight=weight,
            skip_trx=0 if self.sequence.explicit else 1,
            end=self.sequence.end,
        )

    def _text(self, number: int) -> str:
        template = self._of(number).template
        texts: list[str] = []
        sizes: dict[str, Sizes] = {}
        for at, piece in enumerate(pieces(template.sql, template.slots)):
            place, text = (number, at // 2), piece
            if at % 2:
                shape = self._shape(place)
                if shape.parameter is not None:
                    name = self._name(place)
                    texts.append(f"{{{name}}}")
                    sizes[name] = self._slot(place).sizes
                    continue
                text = shape.text
            texts.append(text.replace("{", "{{").replace("}", "}}"))
        return self.builder.grouped("".join(texts), sizes)

    def _name(self, place: Place) -> str:
        root = self._root(place)
        if root in self._chosen:
            return self._chosen[root]
        telling = self._telling(root)
        shape = self._shape(telling)
        parameter = shape.parameter or self._own_shape(telling).parameter
        assert isinstance(parameter, Learned)
        if root in self._new:
            fresh = self._own_shape(self._new[root]).parameter
            assert fresh is not None
            return self._named(root, replace(fresh, absent=1.0, positions=(0.0, 1.0), hot=()))
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
        derivable = link is not None and shape.numeric and self._own_shape(link.source).numeric
        if link is not None and derivable and self._origin(self._root(link.source)) is None:
            if link.share >= SAME_MIN:  # nothing is drawn
                kept = {each: getattr(parameter, each) for each in ("column", "min", "max", "form")}
                parameter = Learned(**kept)
            else:
                parameter = replace(parameter, share=round(link.share, 3))
            parameter = replace(parameter, of=self._name(link.source), difference=link.difference)
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

    def _owned(self, root: Place, parameter: Learned) -> Learned:
        to, raw = self._to(root), self._own_shape(root).own
        if to.column is None or parameter.column is None or raw < OWN_MIN:
            return parameter
        executions = self.builder.new[self.sequence.statements[root[0]], root[1]]
        new = executions / max(1, self._of(root[0]).template.count)
        left = max(1.0 - new, OWN_MIN)
        own = rounded(min(1.0, max(0.0, raw - new) / left))
        made_up = 0.0 if self._own_shape(root).numeric or is_child(to) else raw
        absent = min(1.0, max(0.0, parameter.absent - made_up) / left)
        absent = min(1.0, absent / (1.0 - own)) if own < 1.0 - OWN_MIN else 0.0
        parameter = replace(parameter, absent=rounded(absent) if absent >= OWN_MIN else 0.0)
        key = self.builder.key_of(to.column)
        if own < OWN_MIN:
            return parameter
        taken = any(removes_rows(self._of(place[0]).template) for place in self._alike[self._root(root)])
        return replace(parameter, own=own, taken=taken, keys=None if key == parameter.column else key)

    def _found(self, root: Place, parameter: Learned) -> Learned:
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
        template = self._of(number).template
        if self.sequence.rows_sent and template.rows_sent is not None:
            return self.sequence.rows_sent[number] / self.sequence.count
        return template.mean(template.rows_sent)

    def _fitting(self, root: Place, parameter: Learned) -> Learned:
        patterns = [parameter]
        for place, link in self.links.items():
            known = self._own_shape(place).parameter
            if known is None or link.difference or self._source(place) != root:
                continue
            if is_child(self._to(place)):
                return known
            if parameter.like and known.like and self._root(place) == root:
                patterns.append(known)
        return min(patterns, key=lambda pattern: pattern.absent)

    def _shape(self, place: Place) -> Shape:
        known, literal = self._slot(place), self.constant(place)
        if known.distinct <= 1 or place in self.links or self._counter(place) is not None:
            return self._own_shape(place)
        if literal is None:
            return self.builder.varied(self.sequence.statements[place[0]], place[1])
        only = replace(known, distinct=1, top=((literal, 1),), sample=(literal,) * SURE, nulls=0, sizes=())
        return self.builder.learner.shape(only, self._to(place), 1)

    def constant(self, place: Place) -> bytes | None:
        """Find the literal that a slot has in all transactions of this kind, as far as it is known."""
        told = {(self.constants.get(each), self._texts.get(each)) for each in self._again(place)}
        number, text = told.pop()
        if told:
            return None  # another one in each repetition
        if number is not None:
            return str(number).encode()
        slot = self._slot(place)
        every = dict.fromkeys((*(literal for literal, _ in slot.top), *slot.sample)) if text else ()
        return next((literal for literal in every if value_hash(literal) == text), None)

    def _counter(self, place: Place) -> int | None:
        again = self._again(place)
        first = self.constants.get(place)
        if again[0] != place or len(again) == 1 or self._slot(place).kind != "number" or first is None:
            return None
        counts = [self.constants.get(each) for each in again] == [*range(first, first + len(again))]
        return first if counts and abs(first) < STRUCTURAL_MAX else None

    def _origin(self, place: Place) -> tuple[int, int] | None:
        """The statement that has read or numbered a value, and its column, as far as the log can show."""
        if (number := self._inserted(place)) is not None:
            return number, 0
        known = place in self.links or place in self.constants or self._slot(place).sizes  # no list was read
        schema, key = self.schema, self._key(place)
        if self._to(place).use != "equal" or known or not schema.is_key(key):
            return None
        for number in self._sent_before(place[0]):
            statement = self._of(number)
            limits = (slot for slot, to in enumerate(statement.bindings) if to.use == "limit")
            varied = any(statement.template.slots[slot].distinct > 1 for slot in limits)
            keys = ["" if output is None else schema.key_of(output) for output in statement.outputs]
            if key in keys and self._finds(number) == 1 and not varied:
                return number, keys.index(key)
        return None

    def _inserted(self, place: Place) -> int | None:
        to, key = self._to(place), self._key(place)
        if not key or to.use not in ("equal", "insert", "set") or place in self.links:
            return None
        if self._own_shape(place).own < LINKED_MIN or self._slot(place).sizes:
            return None
        return next((each for each in self._sent_before(place[0]) if self._of(each).numbers == key), None)

    def _sent_before(self, number: int) -> Iterator[int]:
        own = self._step_of(number)
        for step, (statements, repeat) in reversed([*enumerate(self.steps)]):
            if repeat == 1 or step == own:
                yield from (other for other in reversed(statements) if other < number)

    def _result(self, statement: int, column: int, label: str, parameter: Learned) -> str:
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
            target = self._root(link.source)
            if target == root and place != root:
                if self._step_of(place[0]) != home:
                    return True
                if not self._is_same(link) and self._is_shared(place):
                    return True
        return False
