"""How the values of a slot spread over its column, without the values themselves."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

from msgspec.structs import replace

from shootout.inputs.placeholders import NUMBERS
from shootout.learn.binding import Binding
from shootout.learn.values import Slot
from shootout.measure import columns
from shootout.model.program import Numbers, ProgramColumn
from shootout.model.workload import Learned

Form = Literal["number", "text", "bytes"]
Spread = tuple[tuple[tuple[float, float], ...], tuple[float, ...]]  # frequent positions, and a curve

HOT_SHARE = 0.03  # a value with less of the draws has no entry of its own
HOT_MAX = 64  # values of a column that has so few are all frequent
PATTERNS_MAX = 100  # of LIKE that are looked for in a column
STRUCTURAL_MAX = 100  # a smaller number that belongs to no column may stay, as part of the statement
LIMIT_MAX = 10_000  # of LIMIT and OFFSET
NUMBER_MAX = NUMBERS[-1]  # its negative is the least that is learned
_UNLIMITED = (2**31 - 1, 2**32 - 1, NUMBER_MAX)  # as LIMIT: all rows
_DIGITS = 19  # of a made-up number: any of so many fits 64 bits without a sign
STRUCTURAL_VALUES = 20  # a slot with more of them has data
_KS = 1.36  # Kolmogorov and Smirnov's bound at 95 % for the distance of a sample's curve, times sqrt(size)

_FORMAT = re.compile(r"(?:%[A-Za-z%]|[^A-Za-z0-9%])*")  # '%Y-%m', ', '
_DATE = re.compile(r"(\d{4})-\d\d-\d\d(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?")


@dataclass(frozen=True)
class Values:
    """A column's distinct values in order, as parameters are drawn from them."""

    column: ProgramColumn
    type: str
    present: Callable[[Sequence[bytes]], Iterable[str]] | None = None  # asks the column, if there are more

    @property
    def count(self) -> int:
        values = self.column.values
        if isinstance(values, Numbers):
            return values.max - values.min + 1
        return len(values or ())

    @property
    def numeric(self) -> bool:
        """Whether they are integers of the engine; greater ones are texts."""
        return self.type in columns.INTEGERS and self.column.next is not None

    @cached_property
    def _keys(self) -> dict[Any, int]:
        values: Sequence[int | str] = (
            () if isinstance(self.column.values, Numbers) else self.column.values or ()
        )
        return {self._key(value): index for index, value in enumerate(values)}

    @cached_property
    def _ordered(self) -> list[Any]:
        return sorted(self._keys)

    @cached_property
    def _text(self) -> bytes:
        values = self.column.values
        if isinstance(values, Numbers):
            return b""
        if columns.is_bytes(self.type):
            return b"\n".join(bytes.fromhex(str(value)) for value in values or ())
        return "\n".join(map(str, values or ())).casefold().encode()

    def contain(self, pattern: bytes) -> bool:
        """Whether some of them may be LIKE this: they have all its parts."""
        if self.present is not None or isinstance(self.column.values, Numbers):
            return True
        folded = pattern if columns.is_bytes(self.type) else _decoded(pattern).casefold().encode()
        return all(part in self._text for part in re.split(b"[%_]", folded))

    def held(self, literals: Sequence[bytes]) -> frozenset[bytes]:
        """Those of the literals that the column has beyond the values here."""
        if self.present is None:
            return frozenset()
        known = {self._key(value) for value in self.present(literals)}
        return frozenset(literal for literal in literals if self._key(literal) in known)

    def rank(self, literal: bytes) -> int | None:
        """The index of a literal; None if it is none of the values here."""
        key = self._key(literal)
        if isinstance(self.column.values, Numbers):
            low, high = self.column.values.min, self.column.values.max
            return key - low if isinstance(key, int) and low <= key <= high else None
        return self._keys.get(key)

    def nearest(self, literal: bytes) -> int:
        """The index of the value next to a literal in the column's order."""
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
        """The indexes that stand for integers greater than all of them: the last ones, in order."""
        beyond = sorted((self._key(literal), literal) for literal in literals if self.is_beyond(literal))
        first = self.count - len(beyond)
        return {literal: max(first + at, 0) for at, (_, literal) in enumerate(beyond)}

    def is_beyond(self, literal: bytes) -> bool:
        """Whether an integer is greater than all of them."""
        key = self._key(literal)
        return isinstance(key, int) and self.column.next is not None and key >= self.column.next

    def _key(self, value: bytes | str | int) -> Any:
        """What equal values share, whatever their spelling."""
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


@dataclass(frozen=True)
class Shape:
    """How a slot is filled: a parameter, or text that stays in the statement."""

    parameter: Learned | None
    text: str = ""
    numeric: bool = False  # the engine draws a number that others can be derived from


@dataclass(frozen=True)
class Learner:
    """Makes shapes of slots. `grown`: columns that got new rows while the log was written."""

    values: Callable[[str], Values]  # by table.column
    grown: frozenset[str]
    keep: bool  # the literals themselves
    _spreads: dict[str, list[Spread]] = field(default_factory=dict, init=False)  # by column

    def shape(self, slot: Slot, binding: Binding, executions: int) -> Shape:
        """The shape of a slot of a template that was executed so often."""
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
        return Shape(
            replace(shape.parameter, nulls=_rounded(nulls), counts=counts), "", shape.numeric and not counts
        )

    # --- bound ------------------------------------------------------------------------------------

    def _of_column(
        self, slot: Slot, binding: Binding, weighed: Sequence[tuple[bytes, float]]
    ) -> Shape | None:
        column = binding.column
        assert column is not None
        name = column.parent if is_child(binding) else column.full_name
        values = self.values(name)
        if binding.use == "like":
            return _pattern(column.full_name, weighed, values)
        if not values.count and not (values.numeric and column.key):
            return None  # nothing to draw from: like the log's own
        places: list[tuple[int, float]] = []
        absent: list[tuple[bytes, float]] = []
        literals = [literal for literal, _ in weighed]
        held = values.held(literals)
        newest = values.newest(literals) if binding.use == "equal" or is_child(binding) else {}
        for literal, weight in weighed:
            place = self._place(values, binding, literal)
            if place is not None:
                place = newest.get(literal, place)
            if place is None and literal in held and not (binding.use == "insert" and column.unique):
                place = values.nearest(literal)
            if place is None:
                absent.append((literal, weight))
            else:
                places.append((place, weight))
        total = sum(weight for _, weight in weighed)
        missing = sum(weight for _, weight in absent) / total
        form = _form(slot, values)
        if not places and not values.numeric and form != "number":  # made up: the column is not needed
            return Shape(Learned(form=form, absent=1.0, lengths=_lengths(absent, form)))
        fresh = values.numeric and binding.use == "insert" and column.key and bool(absent)
        hot, positions = self._known_spread(name, places, values.count, len(slot.sample))
        return Shape(
            Learned(
                column=name,
                form=form,
                positions=positions,
                hot=hot,
                absent=1.0 if not places else _rounded(missing),
                fresh=fresh,
                lengths=_lengths(absent, form) if not values.numeric else (),
            ),
            numeric=values.numeric,
        )

    def _known_spread(
        self, column: str, places: Sequence[tuple[int, float]], count: int, size: int
    ) -> Spread:
        """A spread that was learned of this column before, if it fits; else a new one."""
        known = self._spreads.setdefault(column, [])
        weights = _summed(places)
        for hot, positions in known:
            near = _KS * math.sqrt(2 / max(size, 1))
            if weights and _distance(positions, weights, count, hot) <= near:
                return hot, positions
        known.append(spread(places, count, size))
        return known[-1]

    def _place(self, values: Values, binding: Binding, literal: bytes) -> int | None:
        """The index that a literal stands for; None: a value that the column lacks."""
        column = binding.column
        assert column is not None
        place = values.rank(literal)
        if is_child(binding) and values.count:
            return values.nearest(literal) if place is None else place
        if binding.use == "insert" and column.unique and (values.numeric or not _orders(values)):
            return None  # a row that is there already is not inserted again
        if place is not None or not values.count:
            return place
        writes = binding.use in ("insert", "set")
        if (
            values.numeric
            and binding.use == "equal"
            and not (values.is_beyond(literal) and column.full_name in self.grown)
        ):
            return None
        if values.numeric and binding.use == "insert" and column.key:
            return None
        if not values.numeric and not _orders(values) and (writes or binding.use == "equal"):
            return None
        return values.nearest(literal)

    # --- unbound ----------------------------------------------------------------------------------

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
    """Numbers of the log's magnitude."""
    numbers = [
        (number, weight) for literal, weight in _weighed(slot) if (number := _integer(literal)) is not None
    ]
    if not numbers:
        return Shape(Learned(min=0, max=9))
    low = min(0, -_magnitude(-min(number for number, _ in numbers)))
    high = max(0, _magnitude(max(number for number, _ in numbers)))
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


def is_child(binding: Binding) -> bool:
    """Whether a foreign key allows only values of its parent."""
    return binding.use in ("insert", "set") and binding.column is not None and bool(binding.column.parent)


def _orders(values: Values) -> bool:
    """Whether a value beside those of the column is as good as one of them: dates, amounts."""
    return values.type in ("decimal", "float", "double", "date", "datetime", "timestamp", "time")


def _form(slot: Slot, values: Values) -> Form:
    if columns.is_bytes(values.type):
        return "bytes"
    return "number" if slot.kind == "number" else "text"


def _is_structural(slot: Slot, binding: Binding, literals: Sequence[bytes]) -> bool:
    """Whether a slot's values are part of the statement, and say nothing about anybody."""
    if slot.distinct > STRUCTURAL_VALUES or len(literals) > STRUCTURAL_VALUES:
        return False
    if slot.kind == "number":
        largest = LIMIT_MAX if binding.use == "limit" else STRUCTURAL_MAX
        kept = _UNLIMITED if binding.use == "limit" else ()
        numbers = [_integer(literal) for literal in literals]
        return binding.column is None and all(
            each is not None and (abs(each) < largest or each in kept) for each in numbers
        )
    return (
        slot.kind == "text"
        and binding.column is None
        and all(_FORMAT.fullmatch(_decoded(each)) for each in literals)
    )


def _weighed(slot: Slot) -> list[tuple[bytes, float]]:
    """The values with their shares of the executions: the frequent ones, then the sample's others."""
    exact = dict(slot.top) if slot.distinct <= len(slot.top) else {}
    if exact:
        return [(literal, float(count)) for literal, count in exact.items()]
    counted: dict[bytes, float] = {}
    for literal in slot.sample:
        counted[literal] = counted.get(literal, 0.0) + 1
    return list(counted.items())


def _kept(
    slot: Slot, weighed: Sequence[tuple[bytes, float]], nulls: float, counts: tuple[float, ...]
) -> Shape:
    """The values themselves."""
    form: Form = "number" if slot.kind == "number" else "bytes" if slot.kind == "bytes" else "text"
    ordered = sorted(weighed)
    texts = tuple(each.hex().upper() if form == "bytes" else _decoded(each) for each, _ in ordered)
    places = [(index, weight) for index, (_, weight) in enumerate(ordered)]
    hot, positions = spread(places, len(texts), len(slot.sample))
    return Shape(
        Learned(values=texts, form=form, positions=positions, hot=hot, nulls=_rounded(nulls), counts=counts)
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
    looked_for = weighed[:PATTERNS_MAX]
    missing = sum(weight for literal, weight in looked_for if not values.contain(literal))
    absent = _rounded(missing / sum(weight for _, weight in looked_for))
    form: Form = "bytes" if columns.is_bytes(values.type) else "text"
    lengths = _lengths([(literal.strip(b"%"), weight) for literal, weight in weighed], form)
    return Shape(Learned(column=column, form=form, like=most, absent=absent, lengths=lengths))


def _dates(weighed: Sequence[tuple[bytes, float]]) -> Shape:
    """The first days of the months of the years that occur."""
    found = [match for literal, _ in weighed if (match := _DATE.fullmatch(_decoded(literal)))]
    years = [int(match[1]) for match in found]
    time = " 00:00:00" if found[0][2] else ""
    months = (
        f"{year:04d}-{month:02d}-01" for year in range(min(years), max(years) + 1) for month in range(1, 13)
    )
    return Shape(Learned(values=tuple(f"{month}{time}" for month in months), form="text"))


def _written(slot: Slot, literal: bytes) -> str:
    text = _decoded(literal)
    return text if slot.kind == "number" else "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _lengths(literals: Iterable[tuple[bytes, float]], form: Form) -> tuple[float, ...]:
    most = _DIGITS if form == "number" else math.inf
    sizes = ((len(each) if form == "bytes" else len(_decoded(each)), weight) for each, weight in literals)
    return curve([(float(min(size, most)), weight) for size, weight in sizes])


def _decoded(literal: bytes) -> str:
    return literal.decode(errors="replace")


def _integer(literal: bytes) -> int | None:
    """The number without its fraction, or the engine's nearest."""
    try:
        return int(min(max(Decimal(_decoded(literal)), Decimal(-NUMBER_MAX)), Decimal(NUMBER_MAX)))
    except (InvalidOperation, ValueError, OverflowError):
        return None


def _magnitude(number: int) -> int:
    """The next of 1, 10, 100, …, NUMBER_MAX; 0 for what is not positive."""
    return 0 if number <= 0 else min(10 ** math.ceil(math.log10(number)), NUMBER_MAX)


def _rounded(share: float) -> float:
    return min(1.0, float(f"{share:.3g}"))


# --- curves ---------------------------------------------------------------------------------------


def curve(sizes: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Quantiles of weighted sizes, at as many equal steps as tell them apart; empty if there are none."""
    if not sizes:
        return ()
    ordered = sorted(sizes)
    if ordered[0][0] == ordered[-1][0]:
        return (ordered[0][0],)
    return tuple(_quantiles(ordered, 10))


def _quantiles(ordered: Sequence[tuple[float, float]], steps: int) -> list[float]:
    totals = list(accumulate(weight for _, weight in ordered))
    whole = totals[-1]
    at = (min(bisect_left(totals, whole * step / steps), len(ordered) - 1) for step in range(steps + 1))
    return [ordered[index][0] for index in at]


def spread(places: Sequence[tuple[int, float]], count: int, size: int) -> Spread:
    """Frequent places, and the curve of the others, for weighed indexes below `count`.

    The curve has the fewest steps that stay as near to the sample as a sample of `size` is to what it is
    drawn from.
    """
    if not places or count < 1:
        return (), (0.0, 1.0)
    weights = _summed(places)
    whole = sum(weights.values())
    near = _KS / math.sqrt(max(size, 1)) + 1e-9
    if (plain := _fitted(weights, count, near, (1, 2, 4))) is not None:
        return (), plain
    digits = len(str(count)) + 2
    frequent = sorted(weights, key=lambda place: -weights[place])[:HOT_MAX]
    few = len(weights) <= HOT_MAX
    hot = [place for place in frequent if few or weights[place] / whole >= HOT_SHARE]
    rest = {place: weight for place, weight in weights.items() if place not in hot}
    steps = (1, 2, 4, 8, 16, 32, 64)
    left = (_fitted(rest, count, near, steps) or _steps(rest, count, 128)) if rest else (0.0, 1.0)
    shares = [
        (round((place + 0.5) / count, digits), _rounded(weights[place] / whole)) for place in sorted(hot)
    ]
    if not rest:  # the shares are all there is
        over = sum(share for _, share in shares)
        shares = [(place, math.floor(share / over * 1e6) / 1e6) for place, share in shares]
    return tuple((place, min(share, 0.999999)) for place, share in shares), left


def _summed(places: Iterable[tuple[int, float]]) -> dict[int, float]:
    weights: dict[int, float] = {}
    for place, weight in places:
        weights[place] = weights.get(place, 0.0) + weight
    return weights


def _fitted(
    weights: dict[int, float], count: int, near: float, numbers: Sequence[int]
) -> tuple[float, ...] | None:
    """The first curve with one of these numbers of steps that is near enough; None if there is none."""
    if _distance((0.0, 1.0), weights, count) <= near:
        return (0.0, 1.0)
    for steps in numbers:
        points = _steps(weights, count, steps)
        if _distance(points, weights, count) <= near:
            return points
    return None


def _steps(weights: dict[int, float], count: int, steps: int) -> tuple[float, ...]:
    """Quantiles of positions, each index spread over its own piece of the line."""
    ordered = sorted(weights)
    totals = list(accumulate(weights[place] for place in ordered))
    whole, found = totals[-1], []
    for step in range(steps + 1):
        wanted = whole * step / steps
        index = min(bisect_left(totals, wanted), len(ordered) - 1) if step else 0
        place = ordered[index]
        part = 1 - (totals[index] - wanted) / weights[place]
        found.append(round(min(max((place + part) / count, 0.0), 1.0), len(str(count)) + 2))
    return tuple(found)


def _distance(
    points: tuple[float, ...],
    weights: dict[int, float],
    count: int,
    hot: tuple[tuple[float, float], ...] = (),
) -> float:
    """The greatest distance between a spread's shares and those found, over all indexes."""
    rest = 1 - sum(share for _, share in hot)

    def below(position: float) -> float:
        frequent = sum(share for place, share in hot if place < position)
        return frequent + rest * _share_below(points, position)

    ordered = sorted(weights)
    totals = list(accumulate(weights[place] for place in ordered))
    worst, before = 0.0, 0.0
    for place, total in zip(ordered, totals, strict=True):
        found = total / totals[-1]
        worst = max(
            worst,
            abs(below((place + 1) / count) - found),
            abs(below(place / count) - before),
        )
        before = found
    return worst


def _share_below(points: tuple[float, ...], position: float) -> float:
    """The share of draws at positions up to this one."""
    if position >= points[-1]:
        return 1.0
    at = bisect_left(points, position)
    if at == 0:
        return 0.0
    low, high = points[at - 1], points[at]
    return (at - 1 + (position - low) / (high - low if high > low else 1.0)) / (len(points) - 1)
