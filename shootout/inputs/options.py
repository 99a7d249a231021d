"""What the texts of command-line options mean; each raises InputError in the option's name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.value import Name, Size
from shootout.model.workload import Distribution

_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def items(flag: str, text: str) -> tuple[str, ...]:
    """`A,B,…`: at least one, none of them empty."""
    found = tuple(item.strip() for item in text.split(","))
    if not all(found):
        raise InputError(f"{flag} {text!r}: expected names separated by commas")
    return found


def whole(flag: str, text: str, allowed: range) -> int:
    """A whole number that is allowed."""
    if not (text.isascii() and text.isdigit() and int(text) in allowed):
        raise InputError(f"{flag} {text!r}: expected a number from {allowed[0]} to {allowed[-1]}")
    return int(text)


def decimal(flag: str, text: str, most: float) -> float:
    """A number from 0 to `most`, with or without a fraction."""
    if not (_DECIMAL.fullmatch(text) and float(text) <= most):
        raise InputError(f"{flag} {text!r}: expected a number from 0 to {most:.0f}")
    return float(text)


def word(flag: str, text: str, known: Sequence[str]) -> str:
    """One of the words."""
    if text not in known:
        raise InputError(f"{flag}: unknown {text!r}{toml.hint(text, known)}")
    return text


def shard(flag: str, text: str) -> tuple[int, int]:
    """`I/N`: the number of a shard, from 1, and how many there are."""
    number, slash, count = text.partition("/")
    numbers = all(each.isascii() and each.isdigit() and len(each) < 10 for each in (number, count))
    if not (slash and numbers and 1 <= int(number) <= int(count)):
        raise InputError(f"{flag} {text!r}: expected I/N, the number of a shard and how many there are: 1/3")
    return int(number), int(count)


def size(flag: str, text: str) -> str:
    """Bytes: `N`, or with one of the units K, M and G."""
    try:
        found: str = toml.value(text.upper(), Size)
    except InputError:
        raise InputError(f"{flag} {text!r}: expected a size, such as 512M or 8G") from None
    return found


def directory(flag: str, text: str) -> Path:
    """A directory that exists; it becomes absolute."""
    try:
        found = Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise InputError(f"{flag} {text!r}: {error}") from None
    if not found.is_dir():
        raise InputError(f"{flag} {text!r}: no such directory; expected one that exists")
    return found


def name(flag: str, text: str) -> str:
    """A name, of letters, digits and `._-`."""
    try:
        found: str = toml.value(text, Name)
    except InputError:
        raise InputError(f"{flag} {text!r}: expected a name") from None
    return found


def think(flag: str, text: str, most: float) -> tuple[str, float]:
    """`S` or `exponential:S`, in seconds."""
    *kinds, seconds = text.split(":")
    if kinds not in ([], ["exponential"], ["fixed"]):
        raise InputError(f"{flag} {text!r}: expected seconds, or exponential: and seconds")
    return (kinds or ["fixed"])[0], decimal(flag, seconds, most)


def numbers(flag: str, text: str) -> dict[str, int]:
    """`NAME=N,…`."""
    found: dict[str, int] = {}
    for item in items(flag, text):
        key, _, value = item.partition("=")
        if not (key and _WHOLE.fullmatch(value)):
            raise InputError(f"{flag} {text!r}: expected NAME=NUMBER, separated by commas; found {item!r}")
        if key in found:
            raise InputError(f"{flag} {text!r}: {key} is there twice")
        found[key] = int(value)
    return found


def distribution(flag: str, text: str) -> Distribution:
    """`NAME` or `NAME:PARAM=N,…`, by the names of the workload files."""
    kind, colon, rest = text.partition(":")
    values: dict[str, object] = {"type": kind}
    for item in items(flag, rest) if colon else ():
        key, _, value = item.partition("=")
        if not (key and _DECIMAL.fullmatch(value)):
            raise InputError(f"{flag} {text!r}: expected PARAM=NUMBER, separated by commas; found {item!r}")
        values[key] = float(value) if "." in value else int(value)
    try:
        found: Distribution = toml.value(values, Distribution)
    except InputError as error:
        raise InputError(f"{flag} {text!r}: {error}") from None
    return found
