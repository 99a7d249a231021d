"""A setting: its options in each version, and how its value is read back from a server."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation, Overflow
from functools import partial
from pathlib import PurePath
from typing import Literal, NamedTuple

from shootout.model.value import Family, Version

Scalar = bool | int | float | str
Kind = Literal["bytes", "number", "switch", "text", "share"]

EVERY: tuple[Family, ...] = ("mysql", "percona", "mariadb")
ALWAYS: Version = (0, 0, 0)
NEVER: Version = (1000, 0, 0)

_UNITS = {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
# Prefixes that turn a switch off or on. Some variables are themselves called skip_….
_TURNED = re.compile(
    r"(?:(?P<off>skip|disable)|enable)_"
    r"(?P<name>(?!(?:external_locking|name_resolve|networking|show_database|(?:parallel_)?replication)$).+)"
)
_UTF8MB3 = re.compile(r"^utf8(?=_|$)")  # its name in newer servers
_SWITCH = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


class Row(NamedTuple):
    """The options of a setting in versions with since ≤ version < before.

    In an option's form `{}` is the value and `{half}` half of it. Without options, the version behaves that
    way anyway. `lacks` is the reason why the version lacks the setting; the options are then the nearest
    substitute.
    """

    options: Mapping[str, str] = {}
    since: Version = ALWAYS
    before: Version = NEVER
    families: tuple[Family, ...] = EVERY
    when: Scalar | None = None  # for this value only; a string may contain wildcards
    plugin: str = ""  # only for servers with this plugin file
    lacks: str = ""

    def fits(self, value: Scalar, family: Family, version: Version, plugins: Collection[str]) -> bool:
        """Whether the row applies to this value on this server."""
        if family not in self.families or not self.since <= version < self.before:
            return False
        if self.plugin and self.plugin not in plugins:
            return False
        if isinstance(self.when, str):
            return fnmatch.fnmatchcase(str(value).casefold(), self.when.casefold())
        return self.when is None or self.when == value

    def options_for(self, value: Scalar) -> dict[str, str]:
        """Write the my.cnf options for this value; an empty string is an option without a value."""
        half = str(value // 2) if isinstance(value, int) else ""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        return {option: form.format(text, half=half) for option, form in self.options.items()}


class Reading(NamedTuple):
    """How to read the value from a server that has all these variables."""

    variables: tuple[str, ...]
    combine: Callable[[Sequence[str]], str] = lambda values: values[0]
    synonyms: Mapping[str, str] = {}  # from the server's normalised values to ours


class Setting(NamedTuple):
    """A setting's meaning, rows and readings; the first matching row and reading apply."""

    kind: Kind
    meaning: str
    rows: tuple[Row, ...] = ()
    readings: tuple[Reading, ...] = ()
    choices: tuple[str, ...] = ()  # possible values of a string; empty: any
    step: int = 1  # servers round other values to a multiple of this
    minimum: int = 0  # servers raise smaller values to this
    at_least: bool = False  # a larger value on the server satisfies the request
    in_files: bool = False  # affects the data files: another value needs another template

    def row(self, value: Scalar, family: Family, version: Version, plugins: Collection[str] = ()) -> Row:
        """Find the row for this value on this server; a lacking one if there is none."""
        # MySQL 6.0 branched off 5.1 and was abandoned before 5.5.
        branch = (5, 1, 30) if version[:2] == (6, 0) else version
        fitting = (row for row in self.rows if row.fits(value, family, branch, plugins))
        return next(fitting, Row(lacks="no option of that version is known for it"))

    def reading(self, variables: Mapping[str, str]) -> Reading | None:
        """Find the reading for a server with these variables; None if it cannot be read."""
        fitting = (reading for reading in self.readings if variables.keys() >= {*reading.variables})
        return next(fitting, None)

    def read(self, variables: Mapping[str, str]) -> str | None:
        """Read the value in a server's variables, in the form of `display`; None if it cannot be read."""
        reading = self.reading(variables)
        if reading is None:
            return None
        value = reading.combine([variables[name] for name in reading.variables])
        return self.display(reading.synonyms.get(normalise(value), value))

    def display(self, value: Scalar) -> str:
        """Show a value as reports do: ON, OFF, digits, or a string spelled as in `choices`."""
        text = str(value)
        plain = normalise(text)
        if self.kind == "switch":
            return {"0": "OFF", "1": "ON"}.get(plain, text)
        if self.kind == "text":
            return next((choice for choice in self.choices if choice.casefold() == text.casefold()), text)
        return plain

    @property
    def variables(self) -> set[str]:
        """The variables to read it from, over all versions."""
        return {name for reading in self.readings for name in reading.variables}


def normalise(value: str) -> str:
    """Normalise spellings: 1/ON, 512M/536870912, dir/ and ./dir, 90.000, utf8_bin and utf8mb3_bin."""
    text = value.strip().strip("'\"").casefold()
    if text in _SWITCH:
        return _SWITCH[text]
    sized = re.fullmatch(r"([+-]?\d{1,20})([kmgtpe])", text)
    if sized:
        return str(int(sized[1]) * _UNITS[sized[2].upper()])
    try:
        number = Decimal(text).normalize()
    except (InvalidOperation, Overflow):
        return str(PurePath(text)) if "/" in text else _UTF8MB3.sub("utf8mb3", text)
    return format(number, "f") if number.is_finite() else text


def variable(option: str) -> str:
    """Name the variable that a my.cnf option sets, in whatever spelling."""
    return option.replace("-", "_").casefold().removeprefix("loose_")


def meant(option: str, value: str) -> tuple[str, str]:
    """Read the variable that a my.cnf option sets, and its value: skip-log-bin is log_bin, OFF."""
    name = variable(option)
    turned = _TURNED.fullmatch(name)
    if turned is None:
        return name, value
    return turned["name"], "OFF" if (turned["off"] is None) == (value.strip() == "0") else "ON"


def _combined(combine: Callable[[list[int]], int], values: Sequence[str]) -> str:
    plain = [normalise(value) for value in values]
    return str(combine([int(value) for value in plain])) if all(map(str.isdecimal, plain)) else values[0]


product = partial(_combined, math.prod)  # of sizes and counts
smallest = partial(_combined, min)  # the effective limit
