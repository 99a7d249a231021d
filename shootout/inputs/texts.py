"""Parsers of option texts. Each takes a flag and its text, and raises InputError naming the flag."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shootout.errors import InputError
from shootout.inputs import toml
from shootout.model.plan import Policy
from shootout.model.value import Value
from shootout.model.verdict import Acknowledgement

_THREADS = range(1, 65_536)  # model.value.Threads
_SHARDS = range(1, 10**9)
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


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
            expected = f"numbers from {_THREADS[0]} to {_THREADS[-1]}, separated by commas"
            raise InputError(f"{flag} {text}: expected {expected}; found {item!r}")
        if int(item) in counts:
            raise InputError(f"{flag} {text}: {item} appears twice")
        counts.append(int(item))
    return tuple(counts)


def integer(flag: str, text: str, allowed: range) -> int:
    """Parse an integer within `allowed`."""
    if not _is_in(text, allowed):
        raise InputError(f"{flag} {text!r}: expected a number from {allowed[0]} to {allowed[-1]}")
    return int(text)


def decimal(flag: str, text: str, maximum: float, minimum: float = 0, unit: str = "minutes") -> float:
    """Parse a number from `minimum` to `maximum`; a fraction is allowed."""
    if not (_DECIMAL.fullmatch(text) and minimum <= float(text) <= maximum):
        raise InputError(f"{flag} {text!r}: expected {unit}, a number from {minimum:g} to {maximum:.0f}")
    return float(text)


def shard(flag: str, text: str) -> tuple[int, int]:
    """`I/N`: shard `I`, counted from 1, of `N`."""
    number, slash, count = text.partition("/")
    if not (slash and _is_in(count, _SHARDS) and _is_in(number, range(1, int(count) + 1))):
        raise InputError(f"{flag} {text!r}: expected I/N, shard I of N, such as 1/3")
    return int(number), int(count)


def directory(flag: str, text: str) -> Path:
    """Find the absolute path of an existing directory."""
    folder = Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 (of a user without home: as it is)
    if not folder.is_dir():
        raise InputError(f"{flag} {text!r}: no such directory")
    return folder


def keys(flag: str, written: Sequence[str]) -> dict[str, Any]:
    """Parse keys of a profile, each `KEY=VALUE` as in its file; a text needs no quotes."""
    tree: dict[str, Any] = {}
    for item in written:
        key, equals, value = item.partition("=")
        table = _table(item) or _table(f"{key}={json.dumps(value)}")
        if not (equals and table):
            raise InputError(f"{flag} {item!r}: expected KEY=VALUE, such as dataset.rows=1000")
        tree = merged(tree, table)
    return tree


def _table(line: str) -> dict[str, Any]:
    try:
        return tomllib.loads(line)
    except (ValueError, RecursionError):
        return {}


def by_key(written: Iterable[str]) -> dict[str, str]:
    """Return the values of `KEY=VALUE` by the flag and key that run documents have."""
    parts = (item.partition("=") for item in written)
    return {f"--set {key.strip()}": value for key, _, value in parts}


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge both tables; the one above wins, and is alone where it is of another `type`."""
    if below.get("type", above.get("type")) != above.get("type", below.get("type")):
        return dict(above)
    tables = (key for key in below if isinstance(below[key], dict) and isinstance(above.get(key), dict))
    return {**below, **above, **{key: merged(below[key], above[key]) for key in tables}}


def policy(flag: str, text: str) -> Policy:
    """Read the policy in a .toml file."""
    if not text.endswith(".toml"):
        raise InputError(f"{flag} {text}: expected a .toml file")
    return toml.load(Path(text), Policy)


class _Acknowledged(Value):
    change: tuple[Acknowledgement, ...] = ()


def load_acknowledged(file: Path) -> tuple[Acknowledgement, ...]:
    """Read the regressions that are known and accepted. Raises InputError."""
    return toml.load(file, _Acknowledged).change


def _is_in(text: str, allowed: range) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19 and int(text) in allowed
