"""Reads users' TOML files into values; an invalid file gets a message of a line or two."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shootout import files
from shootout.errors import InputError

T = TypeVar("T")

LONG = 160  # characters of a message
_WRONG = re.compile(r"(?:unknown field `|value ')(.*)[`']$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NUMBERS = range(-(2**63), 2**64)  # TOML's integers, and a server's unsigned ones


def load(path: Path, type: type[T]) -> T:
    """Read the file as a value of this type. Raises InputError naming file and field."""
    with files.reading(path, "TOML"):
        data = tomllib.loads(path.read_text("utf-8"))
    try:
        loaded: T = value(data, type)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return loaded


def value(data: Any, type: Any) -> Any:
    """Convert `data` to this type. Raises InputError naming the field."""
    try:
        for oversized in _oversized("", data):
            raise InputError(f"{oversized}: expected a number of at most 64 bits")
        return msgspec.convert(data, type)
    except msgspec.ValidationError as error:
        raise InputError(_message(str(error), type)) from None
    except RecursionError:
        raise InputError("the file: nested too deeply") from None


def find(name_or_file: str, folder: Path, kind: str) -> Path:
    """Find a name's file (NAME.toml in `folder`), or a file by itself. Raises InputError, with a hint."""
    if "/" in name_or_file or name_or_file.endswith((".toml", ".sql")):
        return Path(name_or_file)
    known = sorted(path.stem for path in folder.glob("*.toml"))
    if name_or_file not in known:
        file = f"{name_or_file}.toml"
        known = [file] if Path(file) in Path().glob("*.toml") else known  # is_file raises for a long name
        raise InputError(f"unknown {kind} {name_or_file!r}{hint(name_or_file, known)}")
    return folder / f"{name_or_file}.toml"


def hint(name: str, known: Iterable[str]) -> str:
    """Write the end of a message about an unknown name: the nearest known one, or all of them."""
    known = tuple(known)
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(known)}" if known else "; there are none"


def _message(message: str, type: Any) -> str:
    """Begin msgspec's message with the field, and end it with the nearest name that the type knows."""
    what, _, where = message.partition(" - at `")
    what = " ".join(what.split())
    wrong = _WRONG.search(what)
    near = difflib.get_close_matches(wrong[1], sorted(_names(type) - {wrong[1]}), n=1) if wrong else []
    kind, _, field = where.rpartition("$")
    field = field.strip("`.") or "the file"
    if len(what) > LONG:
        what = f"{what[:LONG]}…"
    of = "a name in " if kind else ""
    return f"{of}{field}: {what}" + (f"; did you mean {near[0]!r}?" if near else "")


def _names(type: Any) -> set[str]:
    names: set[str] = set()
    rest: list[Any] = [msgspec.json.schema(type)]
    while rest:
        node = rest.pop()
        if isinstance(node, dict):
            names |= {*node.get("properties", ()), *map(str, node.get("enum", ()))}
            rest += node.values()
        elif isinstance(node, list):
            rest += node
    return names


def _oversized(where: str, data: Any) -> Iterator[str]:
    """Fields with numbers too large for any type; Python cannot even print one of 4,300 digits."""
    if isinstance(data, int) and data not in _NUMBERS:
        yield where
    elif isinstance(data, dict):
        for key, inner in data.items():
            name = key if _BARE.fullmatch(key) else repr(key)  # quoted as TOML requires, and on one line
            yield from _oversized(f"{where}.{name}".lstrip("."), inner)
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            yield from _oversized(f"{where}[{index}]", inner)
