"""Documents that are nearly right: JSON, TOML or bytes with places dropped, doubled, renamed or replaced."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st

from shootout.document import journal
from shootout.model.workload import Distribution, Parameter
from tests.support import builders

TAGGED = [*get_args(Parameter), *get_args(Distribution)]
# The limits of documents, of msgspec and of the compiler, and what lies beyond.
NUMBERS = st.integers(-3, 130) | st.sampled_from([
    0.5, -0.5, 1e-300, 5e-324, 1e-9, 1e-15, 1e9, 1e15, -1e15, 1e18, 1e20, 1e300, 1e308, -1e308, 1 - 1e-16,
    10**6, 10**15, -(2**63), 10**30, 10**400,
    *(2**n + d for n in (16, 31, 32, 53, 63, 64) for d in (-1, 0, 1)),
])  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from([
    "", "\x1b[31m", "a\nb", "\x00", "\u2028", 300 * "a", "/", "../../x", "*", "nan", "1e999", "2026",
    "0001-01-01", "9999-12-31T23:59:59+00:00", builders.BASE, builders.HEAD, "1\n2\n3\n4", "a\r", "{", "}}",
    "{id}", "'{id}'", "SELECT {id}", "-1", "512M", "99999E", "1e5000", "1e9999999999", "a.toml",
    "path:~nobody-at-all", "mysql-5.7.22@",
])  # fmt: skip
SCALARS = NUMBERS | TEXTS | st.booleans()
NESTED = st.sampled_from([[], {}, [[]], [{}], {"": {}}, [0], 3 * [0.0], 3 * [1e15], 3 * [1e-9], [1e15, 0, 0]])
ANYTHING = SCALARS | NESTED | st.recursive(SCALARS, lambda each: st.lists(each, max_size=3), max_leaves=4)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every table or array in the value, with each of its keys or indices."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places_in(inner)


def words_in(value: Any) -> set[str]:
    """The keys and texts of a value."""
    found = {key for _, key in places_in(value) if isinstance(key, str)}
    return found | {inner for at, key in places_in(value) if isinstance(inner := at[key], str)}


@st.composite
def mutated(draw: st.DrawFn, files: Sequence[Any], *, toml: bool = False) -> Any:
    """One of the files with up to four places changed."""
    words = st.sampled_from(sorted(set().union(*map(words_in, files))))
    names, anything = words | TEXTS, ANYTHING | (_of_toml(words) if toml else st.none())
    file = copy.deepcopy(draw(st.sampled_from(files)))
    for _ in range(draw(st.integers(1, 4))):
        spots = list(places_in(file))
        if not spots:
            break
        at, key = draw(st.sampled_from(spots))
        match draw(st.sampled_from(["drop", "double", "rename", "replace", "move"])):
            case "drop":
                del at[key]
            case "double" if isinstance(at, list):
                at.insert(key, copy.deepcopy(at[key]))
            case "double":
                at[draw(names)] = copy.deepcopy(at[key])
            case "rename" if isinstance(at, dict):
                at[draw(names)] = at.pop(key)
            case "move":
                other, its = draw(st.sampled_from(spots))
                at[key] = copy.deepcopy(other[its])
            case _:
                at[key] = copy.deepcopy(draw(anything))  # which is changed in place later
    return file


def _of_toml(words: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values that only TOML has, and those that workloads distinguish by their `type`."""
    leaves = SCALARS | words | st.floats() | st.dates() | st.times() | st.datetimes()

    def table_of(struct: Any) -> st.SearchStrategy[dict[str, Any]]:
        fields = {field.encode_name: leaves for field in msgspec.structs.fields(struct)}
        return st.fixed_dictionaries({"type": st.just(struct.__struct_config__.tag)}, optional=fields)

    return leaves | st.sampled_from(TAGGED).flatmap(table_of)


@st.composite
def corrupted(draw: st.DrawFn, content: bytes) -> bytes:
    """The content cut, or with a few bytes replaced by others."""
    start, end = sorted(draw(st.tuples(*2 * [st.integers(0, len(content))])))
    return content[:start] + draw(st.binary(max_size=9)) + content[draw(st.sampled_from([start, end])) :]


def sealed(lines: Sequence[Any]) -> bytes:
    """A run document of these records, with the digests that belong to them."""
    digest, written = b"", []
    for record in lines:
        unsealed = {k: v for k, v in record.items() if k != "digest"} if isinstance(record, dict) else record
        line, digest = journal.sealed(json.dumps(unsealed).encode(), digest)
        written.append(line)
    return b"".join(written)


def as_toml(value: Any) -> str:
    """A value as TOML, a table within as an inline one."""
    match value:
        case dict():
            return "{" + ", ".join(f"{as_toml(key)} = {as_toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_toml, value)) + "]"
        case str():  # JSON's escapes are TOML's but for characters beyond 16 bits, and DEL
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case float() if not math.isfinite(value):
            return str(value)
        case datetime() | time():
            return value.replace(fold=0).isoformat()  # TOML knows no fold
        case date():
            return value.isoformat()
        case _:
            return json.dumps(value)
