"""Resolves the placeholders in a workload's SQL: parameters, options and dataset sizes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec.structs import replace

from shootout.inputs import toml
from shootout.model.plan import Dataset
from shootout.model.program import Numbers, ProgramColumn, ProgramLearned, ProgramParameter, ProgramResult
from shootout.model.workload import (
    Amount,
    Drawn,
    Group,
    Integer,
    LastName,
    Learned,
    NuRand,
    Parameter,
    RangeEnd,
    Remote,
    Repetition,
    Result,
    RowId,
    Sequence,
    Text,
    Thread,
    Workload,
)

Piece: TypeAlias = str | int

TABLE = "table"
THREAD = "thread"
FILES = "files"  # the folder for LOAD DATA and INTO OUTFILE
NUMBERS = range(-(2**63), 2**63)
NATURAL = range(2**31)
POSITIVE = range(1, 2**31)

_SIZES = {"sbtest": ("tables", "rows"), "tpcc": ("warehouses",), "own": (), "dump": ()}
_TABLE_NUMBER = -1
_COPIES = range(1, 100_001)
_LAST_NAMES = range(1_000)
_LIKE = {"prefix": ("", "%"), "suffix": ("%", ""), "part": ("%", "%")}
# Fields of a Learned parameter that the engine has, too.
_AS_WRITTEN = "per form positions absent nulls fresh own taken distinct share lengths counts".split()  # noqa: SIM905 (a list of them takes twelve lines)
_NUMBERED = (RowId, Integer, NuRand, Sequence, Thread, Repetition)
# The numbers that fields of a parameter may have, the parameters that its `of` may name, and what to say of
# others.
_AMOUNTS: Mapping[type, Mapping[str, range]] = {
    RangeEnd: {"size": POSITIVE, "distance": NATURAL},
    Integer: {"min": NUMBERS, "max": NUMBERS},
    NuRand: {"min": NATURAL, "max": NATURAL, "a": NATURAL, "c": NATURAL},
    Remote: {"min": NUMBERS, "max": NUMBERS, "percent": range(101)},
}
_SOURCES: Mapping[type, tuple[tuple[type[Parameter], ...], str]] = {
    RangeEnd: (_NUMBERED, "cannot start a range"),
    Remote: (_NUMBERED, "is not a number"),
    LastName: ((Integer, NuRand), "cannot select a last name"),
    Learned: ((*_NUMBERED, Learned), "is not a number"),
}

_PIECE = re.compile(r"(?P<escaped>\{\{|\}\})|\{(?P<name>[^{}]*)\}|(?P<stray>[{}])")
QUOTED = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`""", re.DOTALL)


class FieldError(Exception):
    """A field, and what is wrong with it."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


@dataclass
class Scope:
    """The names in a workload file, resolved for one dataset; methods raise FieldError."""

    workload: Workload
    dataset: Dataset
    prepared: bool = False
    parameters: list[ProgramParameter] = field(default_factory=list)
    columns: list[ProgramColumn] = field(default_factory=list)
    _indexes: dict[str, int] = field(default_factory=dict)  # into parameters, by name
    _groups: dict[str, tuple[Piece, ...]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._check_names()
        declared = self.workload.parameters
        plain = {name: one for name, one in declared.items() if not isinstance(one, Group)}
        # The engine draws in this order: a derived parameter comes after its source.
        for name in sorted(plain, key=lambda name: self._depth(name, plain)):
            self._indexes[name] = self._add(self._compiled(f"parameters.{name}", plain[name]))

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers that describe the dataset, by name."""
        return {name: getattr(self.dataset, name) for name in _SIZES[self.dataset.kind]}

    @property
    def values(self) -> dict[str, int | str]:
        """The texts for placeholders that are the same in every statement."""
        files = {FILES: self.dataset.files} if self.dataset.kind == "own" else {}
        return {**files, **self.workload.options, **self.sizes}

    def amount(self, where: str, amount: Amount, allowed: range) -> int:
        """Return the number itself, or the value of the option or dataset size of that name."""
        if isinstance(amount, str):
            numbers = self.workload.options | self.sizes
            if amount not in numbers:
                raise FieldError(where, f"unknown option {amount!r}{toml.hint(amount, numbers)}")
            self._used.add(amount)
            if amount in self.workload.options:
                where = f"options.{amount}"
            amount = numbers[amount]
        if amount not in allowed:
            raise FieldError(where, f"expected {allowed[0]} to {allowed[-1]}, found {amount}")
        return amount

    def index(self, where: str, name: str, types: tuple[type[Parameter], ...], what: str) -> int:
        """Find the index of a parameter of one of these types; `what` is the message for another type."""
        declared = self.workload.parameters
        fitting = [other for other, parameter in declared.items() if isinstance(parameter, types)]
        if name not in fitting:
            wrong = what if name in declared else "is not a parameter"
            raise FieldError(where, f"{name!r} {wrong}{toml.hint(name, fitting)}")
        self._used.add(name)
        return self._indexes[name]

    def name(self, index: int) -> str:
        """Return the name of a parameter in the file."""
        return next(name for name, other in self._indexes.items() if other == index)

    def pieces(self, where: str, sql: str) -> tuple[Piece, ...]:
        """Return the statement's text, split at its parameters."""
        joined: list[Piece] = []
        pieces = self._pieces(where, sql, self._shared)
        for is_text, group in itertools.groupby(pieces, key=lambda piece: isinstance(piece, str)):
            same = [*group]
            joined += filter(None, ["".join(map(str, same))]) if is_text else same
        return tuple(joined)

    def text(self, where: str, sql: str, thread: int | None) -> str:
        """Fill in options, dataset sizes and, if given, `{thread}` in a statement without parameters."""
        numbers = self.values | ({} if thread is None else {THREAD: thread})

        def number(name: str, span: slice) -> Iterator[Piece]:
            if name not in numbers:
                raise _unknown(where, name, numbers)
            self._used.add(name)
            yield str(numbers[name])

        return "".join(map(str, _split(where, sql, number)))

    def check_all_used(self) -> None:
        """Reject names that nothing uses: they are likely typos."""
        for where, names in (("parameters", self.workload.parameters), ("options", self.workload.options)):
            if unused := [name for name in names if name not in self._used]:
                raise FieldError(f"{where}.{unused[0]}", "is not used by any statement or step")

    def _check_names(self) -> None:
        parameters, options = self.workload.parameters, self.workload.options
        if TABLE in parameters:
            raise FieldError(f"parameters.{TABLE}", f"{{{TABLE}}} is the table; rename the parameter")
        for name in options:
            if name in parameters:
                raise FieldError(f"options.{name}", "a parameter has that name; rename the option")
            if name in self.sizes:
                raise FieldError(f"options.{name}", "the dataset has a size of that name; rename the option")

    def _depth(self, name: str, plain: Mapping[str, Parameter]) -> int:
        sources = [name]
        while (of := getattr(parameter := plain.get(sources[-1]), "of", None)) is not None:
            if of in sources and isinstance(parameter, Learned):
                raise FieldError(f"parameters.{of}.of", "depends on itself")
            if of in sources:
                break  # its type cannot be a source
            sources.append(of)
        return len(sources)

    def _add(self, parameter: ProgramParameter) -> int:
        self.parameters.append(parameter)
        return len(self.parameters) - 1

    def _compiled(self, where: str, parameter: Parameter) -> ProgramParameter:
        match parameter:
            case RowId() if self.dataset.kind != "sbtest":
                what = f"row_id needs sbtest, the dataset is {self.dataset.kind}; use an integer"
                raise FieldError(where, what)
            # Escaping these would depend on the server's sql_mode.
            case Text(pattern=pattern) if wrong := set(pattern) & {"'", "\\", "\0"}:
                raise FieldError(f"{where}.pattern", f"must not contain {min(wrong)!r}")
            case Learned():
                return self._learned(where, parameter)
            case Result(number=number, required=required, column=column):
                index = None if column is None else self._of_dump(where, column)
                return ProgramResult(number=number, required=required, column=index)
            case Group():
                raise AssertionError(where)
        resolved: dict[str, Any] = {
            name: self.amount(f"{where}.{name}", amount, allowed)
            for name, allowed in _AMOUNTS.get(type(parameter), {}).items()
            if (amount := getattr(parameter, name)) is not None
        }
        if "min" in resolved and resolved["min"] > resolved["max"]:
            what = f"expected {resolved['min']} (its min) or more, found {resolved['max']}"
            raise FieldError(f"{where}.max", what)
        if isinstance(parameter, RangeEnd | Remote | LastName):
            resolved["of"] = self._source(where, parameter)
        if isinstance(parameter, LastName):
            source = self.parameters[resolved["of"]]
            assert isinstance(source, Integer | NuRand)
            if not {source.min, source.max} <= {*_LAST_NAMES}:
                raise FieldError(f"{where}.of", f"expected numbers from 0 to 999, found {parameter.of!r}")
        if isinstance(parameter, RangeEnd):
            if len({*resolved} - {"of"}) != 1:
                found = "both" if "size" in resolved else "neither"
                raise FieldError(where, f"expected size or distance, found {found}")
            resolved = {"size": resolved.pop("distance", -1) + 1, "distance": None} | resolved
        return replace(parameter, **resolved)

    def _learned(self, where: str, parameter: Learned) -> ProgramLearned:
        of = None if parameter.of is None else self._source(where, parameter)
        hot = tuple(itertools.accumulate((share for _, share in parameter.hot), initial=0.0))[1:]
        if hot and hot[-1] > 1 + 1e-9:
            raise FieldError(f"{where}.hot", f"expected shares of at most 1 in all, found {hot[-1]:g}")
        pair = self._beside(where, parameter) if parameter.beside else None
        column, beside = pair or (self._column(where, parameter), None)
        return ProgramLearned(
            column=column,
            hot=tuple((place, min(up_to, 1.0)) for (place, _), up_to in zip(parameter.hot, hot, strict=True)),
            keys=column if parameter.keys is None else self._of_dump(where, parameter.keys),
            of=of,
            difference=self.amount(f"{where}.difference", parameter.difference, NUMBERS),
            beside=beside,
            around=None if parameter.like is None else _LIKE[parameter.like],
            **{name: getattr(parameter, name) for name in _AS_WRITTEN},
        )

    def _column(self, where: str, parameter: Learned) -> int:
        column, low, high = parameter.column, parameter.min, parameter.max
        if (column is not None) + (low is not None or high is not None) + bool(parameter.values) > 1:
            raise FieldError(where, "expected one of column, min and max, or values")
        if column is not None:
            return self._of_dump(where, column, fresh=parameter.fresh)
        if low is not None and high is not None and low <= high:
            for end, number in (("min", low), ("max", high)):
                self.amount(f"{where}.{end}", number, NUMBERS)
            values = Numbers(min=low, max=high)
            self.columns.append(ProgramColumn(values=values, next=min(high + 1, NUMBERS[-1])))
        elif low is not None or high is not None:
            raise FieldError(where, "expected min and max, in order")
        else:
            self.columns.append(ProgramColumn(values=parameter.values))
        return len(self.columns) - 1

    def _beside(self, where: str, parameter: Learned) -> tuple[int, int]:
        """The indexes of a column that stands beside another one, and of that one."""
        source = self.workload.parameters.get(parameter.of or "")
        anchor, column = getattr(source, "column", None) or "", parameter.column or ""
        if not anchor or anchor.partition(".")[0] != column.partition(".")[0]:
            raise FieldError(f"{where}.beside", "expected an `of` with a column of the same table")
        self.columns.append(ProgramColumn(name=column, beside=anchor))
        return len(self.columns) - 1, self._of_dump(where, anchor)

    def _of_dump(self, where: str, column: str, *, fresh: bool = False) -> int:
        if self.dataset.kind != "dump":
            raise FieldError(f"{where}.column", f"needs a dump, the dataset is {self.dataset.kind}")
        if column.count(".") != 1:
            raise FieldError(f"{where}.column", f"expected TABLE.COLUMN, found {column!r}")
        for index, shared in enumerate(self.columns):
            if shared.name == column and not shared.beside:
                self.columns[index] = replace(shared, fresh=shared.fresh or fresh)
                return index
        self.columns.append(ProgramColumn(name=column, fresh=fresh))
        return len(self.columns) - 1

    def _source(self, where: str, parameter: RangeEnd | Remote | LastName | Learned) -> int:
        """The index of the parameter that another is derived from, which must not be redrawn more often."""
        name = str(parameter.of)
        of = self.index(f"{where}.of", name, *_SOURCES[type(parameter)])
        source = self.workload.parameters[name]
        changes = isinstance(source, Repetition) or (isinstance(source, Drawn) and source.per == "repetition")
        if parameter.per == "transaction" and changes:
            raise FieldError(f"{where}.per", f"{name!r} changes with each repetition")
        return of

    def _pieces(self, where: str, sql: str, find: Callable[[str], Collection[Piece]]) -> Iterator[Piece]:
        quoted = [match.span() for match in QUOTED.finditer(sql)] if self.prepared else []
        numbers = self.values
        known = [*([TABLE] if self.dataset.kind == "sbtest" else []), *self.workload.parameters, *numbers]

        def filled(name: str, span: slice) -> Iterator[Piece]:
            if name == TABLE and self.dataset.kind == "sbtest":
                yield "sbtest"
                yield _TABLE_NUMBER
                return
            if name in numbers:
                self._used.add(name)
                yield str(numbers[name])
                return
            if name not in self.workload.parameters:
                raise _unknown(where, name, known)
            around = sql[span.start - 1 : span.start], sql[span.stop : span.stop + 1]
            if self._is_text(name) and around == ("'", "'"):
                raise FieldError(where, f"remove the quotes around {{{name}}}: strings are quoted for you")
            unprepared = {
                "inside quotes": any(first < span.start < last for first, last in quoted),
                "a list": getattr(self.workload.parameters[name], "counts", ()),
                "part of a name": re.search(r"[\w$]\Z", sql[: span.start]),
            }
            if self.prepared and (why := [each for each, holds in unprepared.items() if holds]):
                what = f"{{{name}}} is {why[0]}, where a prepared statement takes no parameter"
                raise FieldError(where, what)
            self._used.add(name)
            yield from find(name)

        return _split(where, sql, filled)

    def _is_text(self, name: str) -> bool:
        parameter = self.workload.parameters[name]
        return isinstance(parameter, Text | LastName) or (
            (isinstance(parameter, Result) and not parameter.number)
            or (isinstance(parameter, Learned) and parameter.form != "number")
        )

    def _shared(self, name: str) -> Collection[Piece]:
        parameter = self.workload.parameters[name]
        if not isinstance(parameter, Group):
            return (self._indexes[name],)
        if name not in self._groups:
            self._groups[name] = tuple(self._copies(f"parameters.{name}", parameter))
        return self._groups[name]

    def _copies(self, where: str, group: Group) -> Iterator[Piece]:
        for number in range(self.amount(f"{where}.count", group.count, _COPIES)):
            own: dict[str, int] = {}

            def find(name: str, own: dict[str, int] = own) -> Collection[Piece]:
                if isinstance(self.workload.parameters[name], Group):
                    raise FieldError(f"{where}.sql", f"{{{name}}} is a group, and groups cannot be nested")
                return (self._own(name, own),)

            if number:
                yield group.separator
            yield from self._pieces(f"{where}.sql", group.sql, find)

    def _own(self, name: str, own: dict[str, int]) -> int:
        """The index of a parameter's copy in one repetition of a group; `own` caches the copies."""
        declared, shared = self.workload.parameters[name], self._indexes[name]
        if not isinstance(declared, Drawn) or declared.per == "transaction":
            return shared
        if name not in own:
            copy = self.parameters[shared]
            if (of := getattr(declared, "of", None)) is not None:
                copy = replace(copy, of=self._own(str(of), own))
            own[name] = self._add(copy)
        return own[name]


def _unknown(where: str, name: str, known: Iterable[str]) -> FieldError:
    printable = name if name.isprintable() else repr(name)
    return FieldError(where, f"unknown placeholder {{{printable}}}{toml.hint(name, known)}")


def _split(where: str, sql: str, filled: Callable[[str, slice], Iterator[Piece]]) -> Iterator[Piece]:
    """Replace each placeholder of `sql` by what `filled` yields for its name and position."""
    end = 0
    for match in _PIECE.finditer(sql):
        yield sql[end : match.start()]
        end = match.end()
        if match["escaped"]:
            yield match["escaped"][0]
        elif match["stray"]:
            brace = match["stray"]
            raise FieldError(
                where, f"unbalanced {brace!r} at character {match.start() + 1}; a brace is {brace * 2!r}"
            )
        else:
            yield from filled(match["name"], slice(match.start(), end))
    yield sql[end:]
