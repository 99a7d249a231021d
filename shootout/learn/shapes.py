"""How the values of a slot spread over its column, without the values themselves."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_shape
from decimal import Decimal, InvalidOperation
from string import ascii_lowercase
from typing import Literal

from msgspec.structs import replace

from shootout.inputs.placeholders import NUMBERS
from shootout.learn.binding import Binding
from shootout.learn.keys import Inserted, is_child
from shootout.learn.ranks import Values
from shootout.learn.schema import Schema
from shootout.learn.spreads import Spread, curve, fits, rounded, spread
from shootout.learn.values import Slot
from shootout.measure import columns
from shootout.model.workload import Learned

Form = Literal["number", "text", "bytes"]

TOLD_MIN = 10  # values that tell a share
WHOLE_MIN = 0.8  # share of patterns that are a whole value, from which on all are
PATTERNS_MAX = 100  # of LIKE that are looked for in a column
STRUCTURAL_MAX = 100  # a smaller number that belongs to no column may stay, as part of the statement
LIMIT_MAX = 10_000  # of LIMIT and OFFSET
NUMBER_MAX = NUMBERS[-1]  # its negative is the least that is learned
_UNLIMITED = (2**31 - 1, 2**32 - 1, NUMBER_MAX)  # as LIMIT: all rows
_DIGITS = 19  # of a made-up number: any of so many fits 64 bits without a sign
STRUCTURAL_VALUES = 20  # a slot with more of them has data

_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_FORMAT = re.compile(r"(?:%[A-Za-z%]|[^A-Za-z0-9%])*")  # '%Y-%m', ', '
_DATE = re.compile(r"(\d{4})-\d\d-\d\d(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?")


@dataclass(frozen=True)
class Shape:
    """How a slot is filled: a parameter, or text that stays in the statement."""

    parameter: Learned | None
    text: str = ""
    numeric: bool = False  # the engine draws a number that others can be derived from
    own: float = 0.0  # share of values that the log inserted, into the parameter's `keys`


@dataclass(frozen=True)
class Learner:
    """Makes shapes of slots. `grown`: columns that got new rows while the log was written."""

    values: Callable[[str], Values]  # by table.column
    grown: frozenset[str]
    keep: bool  # the literals themselves
    schema: Schema = field(default_factory=lambda: Schema({}, {}))
    inserted: Mapping[str, Inserted] = field(default_factory=dict)  # by table.column
    _spreads: dict[str, list[Spread]] = field(default_factory=dict, init=False)  # by column
    # Stand-ins for a few literals that a column lacks, by column.
    _stand_ins: dict[str, dict[bytes, bytes]] = field(default_factory=dict, init=False)

    def shape(self, slot: Slot, binding: Binding, executions: int) -> Shape:
        """Find the shape of a slot of a template that was executed so often."""
        if binding.use == "table":
            return _table(slot, binding.family)
        if slot.kind == "null" or not slot.sample:
            return Shape(None, "NULL")
        weighed = _weighed(slot)
        counts = curve([(float(size), count) for size, count in slot.sizes])
        total = sum(size * count for size, count in slot.sizes) if slot.sizes else executions
        nulls = min(1.0, slot.nulls / total) if total else 0.0
        if self.keep:
            return _kept(slot, weighed, nulls, counts)
        shape = self._of_column(slot, binding, weighed) if binding.column else None
        shape = shape or self._unbound(slot, binding, weighed)
        if shape.parameter is None:
            if not slot.nulls and not slot.sizes:
                return shape
            shape = _kept(slot, weighed, nulls, counts)
        assert shape.parameter is not None
        return replace_shape(
            shape,
            parameter=replace(shape.parameter, nulls=rounded(nulls), counts=counts),
            numeric=shape.numeric and not counts,
        )

    def _of_column(
        self, slot: Slot, binding: Binding, weighed: Sequence[tuple[bytes, float]]
    ) -> Shape | None:
        column = binding.column
        assert column is not None
        name = column.parent if is_child(binding) else column.full_name
        values = self.values(name)
        if binding.use == "like":
            return _pattern(column.full_name, weighed, values)
        few = name in self.inserted and self.inserted[name].few and values.type in _TEXTS
        if few and slot.kind == "text" and all(values.rank(literal) is None for literal, _ in weighed):
            stand_ins = [(self._stand_in(name, literal), weight) for literal, weight in weighed]
            return _kept(slot, stand_ins, 0.0, ())
        if not values.count and not (values.numeric and column.key):
            return None  # nothing to draw from: like the log's own
        literals = [literal for literal, _ in weighed]
        held = values.held(literals)
        newest = values.newest(literals) if binding.use == "equal" or is_child(binding) else {}

        def rank(literal: bytes) -> int | None:
            place = self._place(values, binding, literal)
            if place is None and (few or literal in held) and not _renews(binding):
                return values.nearest(literal)
            return place if place is None else newest.get(literal, place)

        ranked = [(rank(literal), literal, weight) for literal, weight in weighed]
        places = [(place, weight) for place, _, weight in ranked if place is not None]
        absent = [(literal, weight) for place, literal, weight in ranked if place is None]
        missing = sum(weight for _, weight in absent) / sum(weight for _, weight in weighed)
        form: Form = "number" if slot.kind == "number" else "text"
        form = "bytes" if columns.is_bytes(values.type) else form
        fresh = bool(absent) and (_renews(binding) or (binding.use == "insert" and column.key))
        own = 0.0 if few else self._own(slot, binding, weighed, values, held)
        lengths = () if values.numeric else _lengths(absent, form)
        if not places and not values.numeric and (fresh or (form != "number" and not own)):  # made up
            column_name = name if fresh else None
            return Shape(Learned(column=column_name, form=form, absent=1.0, fresh=fresh, lengths=lengths))
        hot, positions = self._known_spread(name, places, values.count, len(slot.sample))
        gone = 1.0 if not places else rounded(missing)
        return Shape(
            Learned(
                column=name,
                form=form,
                positions=positions,
                hot=hot,
                absent=gone,
                fresh=fresh,
                lengths=lengths,
            ),
            numeric=values.numeric,
            own=own,
        )

    def _own(
        self,
        slot: Slot,
        binding: Binding,
        weighed: Sequence[tuple[bytes, float]],
        values: Values,
        held: frozenset[bytes],
    ) -> float:
        """The share of a slot's values that were inserted while the log was written."""
        assert binding.column is not None
        key = self.schema.key_of(binding.column)
        if slot.sizes or not (binding.use == "equal" or is_child(binding)):
            return 0.0
        total = sum(weight for _, weight in weighed)
        if values.numeric:
            grown = key in self.grown
            return sum(weight for literal, weight in weighed if grown and values.is_beyond(literal)) / total
        lacking = [each for each in weighed if values.rank(each[0]) is None and each[0] not in held]
        if (known := self.inserted.get(key)) is None or not lacking:
            return 0.0
        told = [(has, weight) for literal, weight in lacking if (has := known.has(literal)) is not None]
        if len(told) >= TOLD_MIN or known.most is None:
            part = sum(weight for has, weight in told if has) / sum(weight for _, weight in told)
        else:
            part = min(1.0, known.share(slot) * len(weighed) / len(lacking))
        return part * sum(weight for _, weight in lacking) / total

    def _stand_in(self, column: str, literal: bytes) -> bytes:
        """A made-up text that stands for a literal everywhere, and is as long."""
        known = self._stand_ins.setdefault(column, {})
        if literal not in known:
            number, length = len(known), len(_decoded(literal))
            made = random.Random(f"{column} {number}").choices(ascii_lowercase, k=length)
            made[-1:] = ascii_lowercase[number % len(ascii_lowercase)][:length]
            known[literal] = "".join(made).encode()
        return known[literal]

    def _known_spread(
        self, column: str, places: Sequence[tuple[int, float]], count: int, size: int
    ) -> Spread:
        known = self._spreads.setdefault(column, [])
        fitting = next((one for one in known if fits(one, places, count, size)), None)
        if fitting is None:
            known.append(spread(places, count, size))
        return fitting or known[-1]

    def _place(self, values: Values, binding: Binding, literal: bytes) -> int | None:
        """The index that a literal stands for; None: a value that the column lacks."""
        column = binding.column
        assert column is not None
        place = values.rank(literal)
        if is_child(binding) and values.count:
            return values.nearest(literal) if place is None else place
        if _renews(binding) and (values.numeric or not _orders(values)):
            return None  # a row that is there already is not inserted again
        if place is not None or not values.count:
            return place
        if values.numeric:
            newer = values.is_beyond(literal) and column.full_name in self.grown
            lacks = (binding.use == "equal" and not newer) or (binding.use == "insert" and column.key)
        else:
            lacks = not _orders(values) and binding.use in ("insert", "set", "equal")
        return None if lacks else values.nearest(literal)

    def _unbound(self, slot: Slot, binding: Binding, weighed: Sequence[tuple[bytes, float]]) -> Shape:
        literals = [literal for literal, _ in weighed]
        if _is_structural(slot, binding, literals):
            if len(literals) == 1:
                return Shape(None, _written(slot, literals[0]))
            return _kept(slot, weighed, 0.0, ())
        if slot.kind == "number":
            return _numbers(slot)
        if slot.kind == "text" and all(_DATE.fullmatch(_decoded(literal)) for literal in literals):
            return _dates(weighed)
        form: Form = "bytes" if slot.kind == "bytes" else "text"
        return Shape(Learned(form=form, absent=1.0, lengths=_lengths(weighed, form)))


def _numbers(slot: Slot) -> Shape:
    every = ((_integer(literal), weight) for literal, weight in _weighed(slot))
    numbers = [(number, weight) for number, weight in every if number is not None]
    if not numbers:
        return Shape(Learned(min=0, max=9))
    low = min(0, -_magnitude(-min(numbers)[0]))
    high = max(0, _magnitude(max(numbers)[0]))
    places = [(number - low, weight) for number, weight in numbers]
    _, positions = spread(places, high - low + 1, len(slot.sample))
    rounded = tuple(round(place, 2) for place in positions)
    return Shape(Learned(min=low, max=high, positions=rounded), numeric=True)


def _table(slot: Slot, family: Sequence[str]) -> Shape:
    """The digits that end a table's name: a number, unless some begin with 0 or are missing."""
    places = [
        (family.index(digits), weight)
        for literal, weight in _weighed(slot)
        if (digits := _decoded(literal)) in family
    ]
    hot, positions = spread(places, len(family), len(slot.sample))
    low, high = int(family[0]), int(family[-1])
    if [*family] == [str(number) for number in range(low, high + 1)]:
        return Shape(Learned(min=low, max=high, positions=positions, hot=hot), numeric=True)
    return Shape(Learned(values=tuple(family), form="number", positions=positions, hot=hot))


def _renews(binding: Binding) -> bool:
    """Whether a written value must be one that no row has."""
    return binding.use in ("insert", "set") and binding.column is not None and binding.column.unique


def _orders(values: Values) -> bool:
    return values.type in ("decimal", "float", "double", "date", "datetime", "timestamp", "time")


def _is_structural(slot: Slot, binding: Binding, literals: Sequence[bytes]) -> bool:
    """Whether a slot's values are part of the statement, and say nothing about anybody."""
    if binding.column is not None or max(slot.distinct, len(literals)) > STRUCTURAL_VALUES:
        return False
    if slot.kind == "number":
        largest, kept = (LIMIT_MAX, _UNLIMITED) if binding.use == "limit" else (STRUCTURAL_MAX, ())
        numbers = map(_integer, literals)
        return all(number is not None and (abs(number) < largest or number in kept) for number in numbers)
    return slot.kind == "text" and all(_FORMAT.fullmatch(_decoded(literal)) for literal in literals)


def _weighed(slot: Slot) -> list[tuple[bytes, float]]:
    """The values with their shares of the executions: the frequent ones, then the sample's others."""
    exact = dict(slot.top) if slot.distinct <= len(slot.top) else {}
    return [(literal, float(count)) for literal, count in (exact or Counter(slot.sample)).items()]


def _kept(
    slot: Slot, weighed: Sequence[tuple[bytes, float]], nulls: float, counts: tuple[float, ...]
) -> Shape:
    form: Form = "number" if slot.kind == "number" else "bytes" if slot.kind == "bytes" else "text"
    ordered = sorted(weighed)
    texts = tuple(literal.hex().upper() if form == "bytes" else _decoded(literal) for literal, _ in ordered)
    places = [(index, weight) for index, (_, weight) in enumerate(ordered)]
    hot, positions = spread(places, len(texts), len(slot.sample))
    return Shape(
        Learned(values=texts, form=form, positions=positions, hot=hot, nulls=rounded(nulls), counts=counts)
    )


def _pattern(column: str, weighed: Sequence[tuple[bytes, float]], values: Values) -> Shape:
    """A LIKE pattern: the part of a value that it has; what is part of none is absent."""
    kinds: dict[Literal["prefix", "suffix", "part"], float] = {}
    for literal, weight in weighed:
        kind: Literal["prefix", "suffix", "part"] = (
            "prefix" if not literal.startswith(b"%") else "part" if literal.endswith(b"%") else "suffix"
        )
        kinds[kind] = kinds.get(kind, 0.0) + weight
    most = max(kinds, key=lambda kind: kinds[kind])
    form: Form = "bytes" if columns.is_bytes(values.type) else "text"
    total = sum(kinds.values())
    ranked = [(values.rank(literal.strip(b"%")), weight) for literal, weight in weighed]
    places = [(rank, weight) for rank, weight in ranked if rank is not None]
    if (whole := sum(weight for _, weight in places) / total) >= WHOLE_MIN:
        hot, positions = spread(places, values.count, len(weighed))
        gone = rounded(1 - whole)
        return Shape(Learned(column=column, form=form, like=most, positions=positions, hot=hot, absent=gone))
    looked_for = weighed[:PATTERNS_MAX]
    missing = sum(weight for literal, weight in looked_for if not values.contain(literal))
    absent = rounded(missing / sum(weight for _, weight in looked_for))
    lengths = _lengths([(literal.strip(b"%"), weight) for literal, weight in weighed], form)
    return Shape(Learned(column=column, form=form, like=most, absent=absent, lengths=lengths))


def _dates(weighed: Sequence[tuple[bytes, float]]) -> Shape:
    dates = [date for literal, _ in weighed if (date := _DATE.fullmatch(_decoded(literal)))]
    years = [int(date[1]) for date in dates]
    time = " 00:00:00" if dates[0][2] else ""
    months = (
        f"{year:04d}-{month:02d}-01" for year in range(min(years), max(years) + 1) for month in range(1, 13)
    )
    return Shape(Learned(values=tuple(f"{month}{time}" for month in months), form="text"))


def _written(slot: Slot, literal: bytes) -> str:
    text = _decoded(literal)
    return text if slot.kind == "number" else "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _lengths(literals: Iterable[tuple[bytes, float]], form: Form) -> tuple[float, ...]:
    most = _DIGITS if form == "number" else math.inf
    sizes = (
        (len(literal) if form == "bytes" else len(_decoded(literal)), weight) for literal, weight in literals
    )
    return curve([(float(min(size, most)), weight) for size, weight in sizes])


def _decoded(literal: bytes) -> str:
    return literal.decode(errors="replace")


def _integer(literal: bytes) -> int | None:
    try:
        return int(min(max(Decimal(_decoded(literal)), Decimal(-NUMBER_MAX)), Decimal(NUMBER_MAX)))
    except (InvalidOperation, ValueError, OverflowError):
        return None


def _magnitude(number: int) -> int:
    return 0 if number <= 0 else min(10 ** math.ceil(math.log10(number)), NUMBER_MAX)
