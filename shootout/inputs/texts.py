"""Parsers of option texts. Each takes a flag and its text, and raises InputError naming the flag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.plan import Policy
from shootout.model.value import Name, Size
from shootout.model.workload import Distribution

_THREADS = range(1, 65_536)  # model.value.Threads
_SHARDS = range(1, 10**9)
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_INTEGER = re.compile(r"-?[0-9]{1,18}")


def items(flag: str, text: str) -> tuple[str, ...]:
    """`A,B,…`: one or more nonempty items."""
    names = tuple(item.strip() for item in text.split(","))
    if not all(names):
        raise InputError(f"{flag} {text!r}: expected names separated by commas")
    return names


def threads(flag: str, text: str) -> tuple[int, ...]:
    """Thread counts without repetition: `1,8,32`."""
    counts: list[int] = []
    for item in map(str.strip, text.split(",")):
        if not _is_in(item, _THREADS):
            raise InputError(
                f"{flag} {text}: expected numbers from {_THREADS[0]} to {_THREADS[-1]}, "
                f"separated by commas; found {item!r}"
            )
        if int(item) in counts:
            raise InputError(f"{flag} {text}: {item} appears twice")
        counts.append(int(item))
    return tuple(counts)


def integer(flag: str, text: str, allowed: range) -> int:
    """An integer within `allowed`."""
    if not _is_in(text, allowed):
        raise InputError(f"{flag} {text!r}: expected a number from {allowed[0]} to {allowed[-1]}")
    return int(text)


def decimal(flag: str, text: str, maximum: float, minimum: float = 0) -> float:
    """A number from `minimum` to `maximum`; a fraction is allowed."""
    if not (_DECIMAL.fullmatch(text) and minimum <= float(text) <= maximum):
        raise InputError(f"{flag} {text!r}: expected a number from {minimum:g} to {maximum:.0f}")
    return float(text)


def choice(flag: str, text: str, known: Sequence[str]) -> str:
    """One of the `known` words."""
    if text not in known:
        raise InputError(f"{flag}: unknown {text!r}{toml.hint(text, known)}")
    return text


def shard(flag: str, text: str) -> tuple[int, int]:
    """`I/N`: shard `I`, counted from 1, of `N`."""
    number, slash, count = text.partition("/")
    if not (slash and _is_in(count, _SHARDS) and _is_in(number, range(1, int(count) + 1))):
        raise InputError(f"{flag} {text!r}: expected I/N, shard I of N, such as 1/3")
    return int(number), int(count)


def size(flag: str, text: str) -> str:
    """A number of bytes, optionally with a unit: K, M or G."""
    if not toml.fits(text.upper(), Size):
        raise InputError(f"{flag} {text!r}: expected a size, such as 512M or 8G")
    return text.upper()


def directory(flag: str, text: str) -> Path:
    """The absolute path of an existing directory."""
    try:
        folder = Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise InputError(f"{flag} {text!r}: {error}") from None
    if not folder.is_dir():
        raise InputError(f"{flag} {text!r}: no such directory")
    return folder


def name(flag: str, text: str) -> str:
    """A name: letters, digits and `._-`."""
    if not toml.fits(text, Name):
        raise InputError(f"{flag} {text!r}: expected a name")
    return text


def think(flag: str, text: str, maximum: float) -> tuple[str, float]:
    """`S` or `exponential:S`, in seconds."""
    *kinds, seconds = text.split(":")
    if kinds not in ([], ["exponential"], ["fixed"]):
        raise InputError(f"{flag} {text!r}: expected seconds, or exponential:SECONDS")
    return (kinds or ["fixed"])[0], decimal(flag, seconds, maximum)


def numbers(flag: str, text: str) -> dict[str, int]:
    """`NAME=N,…`."""
    values: dict[str, int] = {}
    for item in items(flag, text):
        key, _, value = item.partition("=")
        if not (key and _INTEGER.fullmatch(value)):
            raise InputError(f"{flag} {text!r}: expected NAME=NUMBER, separated by commas; found {item!r}")
        if key in values:
            raise InputError(f"{flag} {text!r}: {key} appears twice")
        values[key] = int(value)
    return values


def distribution(flag: str, text: str) -> Distribution:
    """`NAME` or `NAME:PARAM=N,…`, with the names that workload files use."""
    kind, colon, rest = text.partition(":")
    values: dict[str, object] = {"type": kind}
    for item in items(flag, rest) if colon else ():
        key, _, value = item.partition("=")
        if not (key and _DECIMAL.fullmatch(value)):
            raise InputError(f"{flag} {text!r}: expected PARAM=NUMBER, separated by commas; found {item!r}")
        values[key] = float(value) if "." in value else int(value)
    try:
        return toml.value(values, Distribution)  # type: ignore[no-any-return]
    except InputError as error:
        raise InputError(f"{flag} {text!r}: {error}") from None


def policy(flag: str, text: str) -> Policy:
    """The policy in a .toml file."""
    path = Path(text)
    if path.suffix != ".toml":
        raise InputError(f"{flag} {text}: expected a .toml file")
    return toml.load(path, Policy)


def _is_in(text: str, allowed: range) -> bool:
    """Whether it is a number of that range, in a few ASCII digits."""
    return text.isascii() and text.isdigit() and len(text) < 19 and int(text) in allowed
