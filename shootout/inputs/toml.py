"""Reads users' TOML files into values; an invalid file gets a message of a line or two."""

from __future__ import annotations

import difflib
import re
import reprlib
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from shootout.errors import InputError

T = TypeVar("T")

_ERROR = re.compile(r"(?P<what>.*?)(?: - at (?:`(?P<key>key)` in )?`\$(?P<where>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>\w+)|\[(?P<index>\d+)\]|\[\.\.\.\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NUMBERS = range(-(2**63), 2**64)  # TOML's integers, and a server's unsigned ones


def load(path: Path, type: type[T]) -> T:
    """Read the file as a value of this type. Raises InputError naming file and field."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        oversized = next(_oversized("", data), None)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except (ValueError, RecursionError) as error:  # syntax, too many digits, or too deep nesting
        raise InputError(f"{path}: not TOML: {error}") from None
    if oversized is not None:
        raise InputError(f"{path}: {oversized}: expected a number of at most 64 bits")
    try:
        loaded: T = value(data, type)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return loaded


def value(data: Any, type: Any) -> Any:
    """Convert `data` to this type. Raises InputError naming the field."""
    try:
        return msgspec.convert(data, type)
    except msgspec.ValidationError as error:
        raise InputError(_message(str(error), type, data)) from None


def find(name_or_file: str, folder: Path, kind: str) -> Path:
    """The path for a name (NAME.toml in `folder`) or a file (it contains a slash or ends with .toml).

    Raises InputError, which suggests a name, if `folder` has no such file; `kind` is for the message.
    """
    if "/" in name_or_file or name_or_file.endswith(".toml"):
        return Path(name_or_file)
    known = sorted(path.stem for path in folder.glob("*.toml"))
    if name_or_file not in known:
        file = f"{name_or_file}.toml"
        known = [file] if Path(file) in Path().glob("*.toml") else known  # is_file raises for a long name
        raise InputError(f"unknown {kind} {name_or_file!r}{hint(name_or_file, known)}")
    return folder / f"{name_or_file}.toml"


def hint(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or all of them."""
    known = tuple(known)
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(known)}" if known else "; there are none"


def _message(message: str, type: Any, data: Any) -> str:
    """Rewrite msgspec's message for users: the field, what was expected, what was found."""
    parts = _ERROR.match(message)
    assert parts is not None  # matches any text
    what = parts["what"]
    where, type, data = _locate(parts["where"] or "", type, data)
    if unknown := _UNKNOWN.fullmatch(what):
        key = unknown[1]
        return f"unknown key {_join(where, key)!r}{hint(key, _struct(type, data).__struct_encode_fields__)}"
    if missing := _MISSING.fullmatch(what):
        return f"key {_join(where, missing[1])!r} is missing"
    if what.startswith("Invalid"):  # a literal or a tag: msgspec does not list the choices
        return f"{where}: unknown {data!r}{hint(str(data), _choices(type))}"
    expected = what.partition(", got ")[0].replace("`", "").replace("object", "table")
    expected = expected[:1].lower() + expected[1:]
    if parts["key"]:
        wrong = next(key for key in data if not fits(key, get_args(type)[0]))
        return f"{where or 'the file'}: {expected} as each name in it, found {reprlib.repr(wrong)}"
    return f"{where}: {expected}, found {reprlib.repr(data)}"


def _locate(where: str, type: Any, data: Any) -> tuple[str, Any, Any]:
    """Follow msgspec's path into the file: the field's name, its type, and its value.

    A tag has no type of its own; its type is the union that it selects from.
    """
    name = ""
    for step in _STEP.finditer(where):
        type = _bare(type)
        if step["name"]:
            name = _join(name, step["name"])
            chosen = _struct(type, data)
            type = get_type_hints(chosen, include_extras=True).get(step["name"], type) if chosen else type
            data = data.get(step["name"])
        elif step["index"]:
            name += f"[{step['index']}]"
            type, data = get_args(type)[0], data[int(step["index"])]
        else:
            type = get_args(type)[1]
            key, data = next((key, value) for key, value in data.items() if not fits(value, type))
            name = _join(name, key)
    return name, _bare(type), data


def _oversized(where: str, data: Any) -> Iterator[str]:
    """Fields with numbers too large for any type; Python cannot even print one of 4,300 digits."""
    if isinstance(data, int) and data not in _NUMBERS:
        yield where
    elif isinstance(data, dict):
        for key, inner in data.items():
            yield from _oversized(_join(where, key), inner)
    elif isinstance(data, list):
        for index, inner in enumerate(data):
            yield from _oversized(f"{where}[{index}]", inner)


def fits(value: Any, type: Any) -> bool:
    """Whether the value is of this type."""
    try:
        msgspec.convert(value, type)
    except msgspec.ValidationError:
        return False
    return True


def _bare(type: Any) -> Any:
    return get_args(type)[0] if get_origin(type) is Annotated else type


def _structs(type: Any) -> list[Any]:
    """The structs that a field of this type can hold."""
    return [member for member in (type, *get_args(type)) if hasattr(member, "__struct_config__")]


def _struct(type: Any, data: Any) -> Any:
    """The struct that `data` selects by its tag; None if the tag is wrong or missing."""
    structs = _structs(type)
    if len(structs) == 1:
        return structs[0]
    chosen = (s for s in structs if data.get(s.__struct_config__.tag_field) == s.__struct_config__.tag)
    return next(chosen, None)


def _choices(type: Any) -> tuple[str, ...]:
    """The tags of a union, and the values of a literal, perhaps in a union with other types."""
    tags = (s.__struct_config__.tag for s in _structs(type))
    literals = (member for member in (type, *get_args(type)) if get_origin(member) is Literal)
    values = (value for literal in literals for value in get_args(literal))
    return tuple(str(choice) for choice in (*tags, *values) if choice is not None)


def _join(where: str, key: str) -> str:
    key = key if _BARE.fullmatch(key) else repr(key)  # quoted as TOML requires, and on one line
    return f"{where}.{key}" if where else key
