"""What a setting is made of: how versions write it, and how its value is read back from a server."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation, Overflow
from pathlib import PurePath
from typing import Literal, NamedTuple

from shootout.model.value import Family, Version

Scalar = bool | int | float | str
Kind = Literal["bytes", "number", "switch", "text", "share"]

EVERY: tuple[Family, ...] = ("mysql", "percona", "mariadb")

_UNITS = {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
_SWITCH = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


class Row(NamedTuple):
    """How a setting is written where since ≤ version < before.

    In an option's form `{}` is the value, `{half}` half of it. Without options the version is so anyway; with
    `lacks`, a reason, it has no such thing, and its options are what comes nearest.
    """

    options: Mapping[str, str] = {}
    since: Version = (0, 0, 0)
    before: Version = (1000, 0, 0)
    families: tuple[Family, ...] = EVERY
    when: Scalar | None = None  # for this value only; a text may have wildcards
    plugin: str = ""  # for servers that have this plugin's file
    lacks: str = ""

    def fits(self, value: Scalar, family: Family, version: Version, plugins: Collection[str]) -> bool:
        """Whether it is about that value on that server."""
        if family not in self.families or not self.since <= version < self.before:
            return False
        if self.plugin and self.plugin not in plugins:
            return False
        if isinstance(self.when, str):
            return fnmatch.fnmatchcase(str(value).casefold(), self.when.casefold())
        return self.when is None or self.when == value

    def written(self, value: Scalar) -> dict[str, str]:
        """Its my.cnf options for that value; an empty one is an option written bare."""
        half = str(value // 2) if isinstance(value, int) else ""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        return {option: form.format(text, half=half) for option, form in self.options.items()}


class Reading(NamedTuple):
    """How a server that has all these variables tells the value."""

    variables: tuple[str, ...]
    of: Callable[[Sequence[str]], str] = lambda values: values[0]
    words: Mapping[str, str] = {}  # what a word of the server's, normalised, means


class Setting(NamedTuple):
    """A setting's meaning, its rows and its readings: of either, the first that fits."""

    kind: Kind
    meaning: str
    rows: tuple[Row, ...] = ()
    readings: tuple[Reading, ...] = ()
    choices: tuple[str, ...] = ()  # what a text may be; empty: anything
    step: int = 1  # servers round what is no multiple of it
    least: int = 0  # servers raise what is less
    at_least: bool = False  # a server that has more has what was asked for
    in_files: bool = False  # shapes the data files: one made under another value is another one

    def row(self, value: Scalar, family: Family, version: Version, plugins: Collection[str] = ()) -> Row:
        """How that server writes that value; a row that lacks it where it cannot."""
        # MySQL 6.0 was a branch of 5.1, and ended; 5.5 came after it.
        known = (5, 1, 30) if version[:2] == (6, 0) else version
        fitting = (row for row in self.rows if row.fits(value, family, known, plugins))
        return next(fitting, Row(lacks="it is not known how that version expresses it"))

    def reading(self, variables: Mapping[str, str]) -> Reading | None:
        """How it is read from a server that has these variables; None: it cannot be."""
        fitting = (r for r in self.readings if all(each in variables for each in r.variables))
        return next(fitting, None)

    def read(self, variables: Mapping[str, str]) -> str | None:
        """The value that a server's variables tell, as `display` has it; None: they tell nothing."""
        reading = self.reading(variables)
        if reading is None:
            return None
        found = reading.of([variables[each] for each in reading.variables])
        return self.display(reading.words.get(normalise(found), found))

    def display(self, value: Scalar) -> str:
        """A value as reports have it: ON, OFF, digits, or a text as its choice is spelled."""
        text = str(value)
        plain = normalise(text)
        if self.kind == "switch":
            return {"0": "OFF", "1": "ON"}.get(plain, text)
        if self.kind == "text":
            return next((choice for choice in self.choices if choice.casefold() == text.casefold()), text)
        return plain

    @property
    def variables(self) -> set[str]:
        """What it is read from, in any version."""
        return {each for reading in self.readings for each in reading.variables}


def normalise(value: str) -> str:
    """One form for all ways to write a value: 1/ON/true, 512M/536870912, dir/ and ./dir, 90 and 90.000."""
    text = value.strip().strip("'\"").casefold()
    if text in _SWITCH:
        return _SWITCH[text]
    sized = re.fullmatch(r"([+-]?\d{1,20})([kmgtpe])", text)
    if sized:
        return str(int(sized[1]) * _UNITS[sized[2].upper()])
    try:
        number = Decimal(text).normalize()
    except (InvalidOperation, Overflow):
        return str(PurePath(text)) if "/" in text else text
    return format(number, "f") if number.is_finite() else text


def variable(option: str) -> str:
    """The variable that a my.cnf option is about, however it is spelled."""
    return option.replace("-", "_").casefold().removeprefix("loose_")


def product(values: Sequence[str]) -> str:
    """Of sizes and counts."""
    return _whole(math.prod, values)


def least(values: Sequence[str]) -> str:
    """The one that limits."""
    return _whole(min, values)


def _whole(of: Callable[[list[int]], int], values: Sequence[str]) -> str:
    plain = [normalise(value) for value in values]
    return str(of([int(value) for value in plain])) if all(map(str.isdecimal, plain)) else values[0]
