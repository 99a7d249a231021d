"""The schema of a kind of document as text: a line for each field, as golden files have it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

WORDS = ("title", "description", "discriminator")  # may change without a new number


def fields(type: Any) -> list[str]:
    """The fields that documents of this type may have: the path, `?` if it may be missing, what it holds."""
    schema = msgspec.json.schema(type)
    return sorted(set(_fields(schema, schema.get("$defs", {}), "")))


def _fields(schema: Any, defs: Any, path: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]] | schema
    own = {name: value for name, value in schema.items() if name not in (*WORDS, "$ref", "$defs")}
    options = own.pop("anyOf", ())
    tagged = schema.get("discriminator", {}).get("mapping", {})
    for tag, reference in tagged.items():
        yield from _fields({"$ref": reference}, defs, f"{path}<{tag}>")
    for option in () if tagged else options:
        yield from _fields(option, defs, path)
    properties, required = own.pop("properties", {}), own.pop("required", ())
    if properties:
        assert own.pop("additionalProperties", True) is False, f"{path} ignores unknown fields"
    for name, value in properties.items():
        yield from _fields(value, defs, f"{path}.{name}" + ("" if name in required else "?"))
    inner = {"[]": own.pop("items", False), ".*": own.pop("additionalProperties", False)}
    inner |= {f"[{place}]": each for place, each in enumerate(own.pop("prefixItems", ()))}
    for step, value in inner.items():
        if value:
            yield from _fields(value, defs, path + step)
    if own not in ({}, {"type": "array"}, {"type": "object"}):
        yield f"{path} {json.dumps(own, sort_keys=True)}"


def require_unchanged(kind: str, number: int, type: Any, folder: Path, made: Path) -> None:
    """Compare the schema with its golden file in `folder`; `made`: where to write what is there now."""
    golden, new = folder / f"{kind}-{number}.txt", made / f"{kind}-{number}.txt"
    new.write_text("\n".join(fields(type)) + "\n")
    assert golden.exists(), f"a new number: cp {new} {golden}, and say in docs/documents.md what changed"
    same = new.read_text() == golden.read_text()
    assert same, f"diff {golden} {new}: documents changed, so they need a new number and a way up"
