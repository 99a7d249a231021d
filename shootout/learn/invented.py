"""Invented values of a column: as many as the real ones, in their order, range and length."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from shootout.errors import InputError
from shootout.measure.columns import INTEGERS, is_bytes

Key = Any  # of one column: values that sort as the column does

_DIGITS = string.digits + string.ascii_lowercase  # in the order of bytes, and of every collation
_EPOCH = datetime(1, 1, 1)
_TIME = re.compile(r"(?P<sign>-?)(?P<h>\d+):(?P<m>\d\d):(?P<s>\d\d)(?:\.(?P<fraction>\d+))?")
_SPARSE = 10  # so many times as wide as its values are many
_DAY = 86_400_000_000  # microseconds
_OBJECT = '{{"v":"{}"}}'
_POOL = 1 << 16  # characters that texts are cut from


@dataclass(frozen=True)
class Kind:
    """How columns of a type are read, and what stands in for their values.

    `sql`: an expression with `{}` for the column. `key`: makes of its value one that sorts like the column.
    `literals`: from a column's name and its distinct keys in order, an SQL literal for each.
    """

    sql: str
    key: Callable[[Any], Key]
    literals: Callable[[str, Sequence[Key]], list[str]]


def kind(name: str, type: str) -> Kind:
    """That of a column. Raises InputError with its name if no values of this type can be invented."""
    known = _BYTES if is_bytes(type) and type != "bit" else _KINDS.get(type)
    if known is None:
        raise InputError(f"{name}: values of type {type} cannot be invented")
    return known


# --- numbers and times ----------------------------------------------------------------------------


def _named(_: str, ordered: Sequence[int]) -> list[str]:
    """Values that the schema has, as they are."""
    return [str(number) for number in ordered]


def _integers(_: str, ordered: Sequence[int]) -> list[str]:
    return [str(number) for number in _lattice(ordered)]


def _floats(_: str, ordered: Sequence[float]) -> list[str]:
    last = len(ordered) - 1
    if not last:
        return [repr(ordered[0])]
    step = (ordered[-1] - ordered[0]) / (last + 2)
    return [repr(ordered[0] + step * (rank + 1)) for rank in range(last + 1)]


def _lattice(ordered: Sequence[int]) -> list[int]:
    """As many different integers from the same range, evenly spaced."""
    last = len(ordered) - 1
    low, high = _ends(ordered[0], ordered[-1], len(ordered))
    return [low + (high - low) * rank // max(last, 1) for rank in range(last + 1)]


def _ends(low: int, high: int, count: int) -> tuple[int, int]:
    """The range's ends; where values are sparse, rounded to two digits inwards, so that they are nobody's."""
    if high - low < _SPARSE * count:
        return low, high
    unit = 10 ** (len(str(high - low)) - 2)
    return -(-low // unit) * unit, high // unit * unit


def _decimals(_: str, ordered: Sequence[Decimal]) -> list[str]:
    scale = max(-int(number.as_tuple().exponent) for number in ordered)
    units = _lattice([int(number.scaleb(scale)) for number in ordered])
    return [f"{Decimal(number).scaleb(-scale):f}" for number in units]


def _lattice_of(ordered: Sequence[int], unit: int) -> list[int]:
    return [unit * number for number in _lattice([number // unit for number in ordered])]


def _unit(microseconds: Sequence[int]) -> int:
    """The largest power of ten that divides all: a column's resolution."""
    units: tuple[int, ...] = tuple(10**power for power in range(6, -1, -1))
    return next(unit for unit in units if not any(moment % unit for moment in microseconds))


def _dates(_: str, ordered: Sequence[str]) -> list[str]:
    """Dates with or without times of day; those of no calendar, such as 0000-00-00, stay as they are."""
    moments = {text: moment for text in ordered if (moment := _moment(text)) is not None}
    unit = _DAY if len(ordered[0]) == len("2000-01-01") else _unit([*moments.values()])
    invented = iter(_lattice_of([*moments.values()], unit) if moments else ())
    texts = (
        str(_EPOCH + timedelta(microseconds=next(invented))) if text in moments else text for text in ordered
    )
    return [f"'{text}'" for text in texts]


def _moment(text: str) -> int | None:
    """Microseconds since year 1; None if there is no such day."""
    try:
        since: timedelta = datetime.fromisoformat(text) - _EPOCH
    except ValueError:
        return None
    return since // timedelta(microseconds=1)


def _times(_: str, ordered: Sequence[int]) -> list[str]:
    return [_as_time(time) for time in _lattice_of(ordered, _unit(ordered))]


def _time(text: str) -> int:
    """Microseconds of a TIME, which may be negative."""
    time = _TIME.fullmatch(text)
    assert time is not None  # the server has written it
    whole = 3600 * int(time["h"]) + 60 * int(time["m"]) + int(time["s"])
    number = 1_000_000 * whole + int((time["fraction"] or "").ljust(6, "0"))
    return -number if time["sign"] else number


def _as_time(microseconds: int) -> str:
    seconds, fraction = divmod(abs(microseconds), 1_000_000)
    minutes, second = divmod(seconds, 60)
    sign = "-" if microseconds < 0 else ""
    return f"'{sign}{minutes // 60}:{minutes % 60:02}:{second:02}.{fraction:06}'"


# --- texts ----------------------------------------------------------------------------------------


def _binaries(name: str, ordered: Sequence[bytes]) -> list[str]:
    return [f"X'{text.encode().hex()}'" for text in _words(name, [*map(len, ordered)])]


def _texts(name: str, ordered: Sequence[bytes]) -> list[str]:
    if all(map(_is_object, ordered)):  # a check may want it
        return _objects(name, ordered)
    return [f"'{text}'" for text in _words(name, _characters(ordered))]


def _objects(name: str, ordered: Sequence[bytes]) -> list[str]:
    least = len(_digits(len(ordered) - 1, 0))
    lengths = [max(length - len(_OBJECT.format("")), least) for length in _characters(ordered)]
    return [f"'{_OBJECT.format(text)}'" for text in _words(name, lengths)]


def _characters(texts: Sequence[bytes]) -> list[int]:
    return [len(text.decode(errors="replace")) for text in texts]


def _words(name: str, lengths: Sequence[int]) -> list[str]:
    """Different texts in order, each as long as one of the real ones; an empty one stays empty."""
    width = len(_digits(len(lengths) - 1, 0))
    if width > max(lengths) and len(lengths) > 1:
        raise InputError(
            f"{name}: {len(lengths)} different texts of at most {max(lengths)} characters cannot be invented"
        )
    generator = random.Random(name)
    pool = "".join(generator.choices(string.ascii_lowercase, k=_POOL))
    empty = [length for length in lengths[:1] if not length]
    others = [*lengths[len(empty) :]]
    generator.shuffle(others)
    texts = [""] * len(empty)
    for rank, length in enumerate(others, len(empty)):
        head, start = _digits(rank, width), generator.randrange(_POOL)
        repeated = pool * (2 + length // _POOL)
        texts.append(head + repeated[start : start + length - len(head)] if length > len(head) else head)
    return texts


def _digits(number: int, width: int) -> str:
    """A number in base 36."""
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits.rjust(width, _DIGITS[0])


def _is_object(text: bytes) -> bool:
    """Whether a text is a JSON object or array."""
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


# --- by type --------------------------------------------------------------------------------------

_BYTES = Kind("HEX({})", bytes.fromhex, _binaries)
_AS_BYTES = "HEX(CONVERT({} USING utf8mb4))"
_AS_TEXT = "CAST({} AS CHAR)"
_KINDS = {
    **dict.fromkeys((*INTEGERS, "bit"), Kind("{} + 0", int, _integers)),
    **dict.fromkeys(("enum", "set"), Kind("{} + 0", int, _named)),
    **dict.fromkeys(("float", "double"), Kind("{} + 0e0", float, _floats)),
    "decimal": Kind(_AS_TEXT, Decimal, _decimals),
    **dict.fromkeys(("date", "datetime", "timestamp"), Kind(_AS_TEXT, str, _dates)),
    "time": Kind(_AS_TEXT, _time, _times),
    **dict.fromkeys(
        ("char", "varchar", "tinytext", "text", "mediumtext", "longtext"),
        Kind(_AS_BYTES, bytes.fromhex, _texts),
    ),
    "json": Kind(_AS_BYTES, bytes.fromhex, _objects),
}
