"""Explanations on disk: what is written is read again, and nothing damaged is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from shootout.errors import InputError
from shootout.explain import documents
from shootout.explain.documents import EXPLANATIONS
from shootout.explain.values import CallTree
from tests.support.explain.builders import an_explanation, written


def test_an_explanation_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, an_explanation())
    assert EXPLANATIONS.find(tmp_path) == (path,)
    assert EXPLANATIONS.read(path) == an_explanation()


def test_a_newer_one_takes_its_place_and_that_of_its_document(tmp_path: Path) -> None:
    path = written(tmp_path, an_explanation())
    newer = structs.replace(an_explanation(), document="20261122T024100Z-7f3a.jsonl")
    assert written(tmp_path, newer) == path
    assert sorted(file.name for file in path.parent.iterdir()) == [newer.document, path.name]


def a_profile(**changes: object) -> dict[str, object]:
    return {"profiles": (structs.replace(an_explanation().profiles[0], **changes),)}


def a_path(depth: int, functions: tuple[str, ...] = ("f",)) -> CallTree:
    """One call within another."""
    nodes = an_explanation().tree.parents
    depth = max(depth, len(nodes))
    return CallTree(
        functions=functions, parents=tuple(range(-1, depth)), function=(-1, *(0 for _ in range(depth)))
    )


@pytest.mark.parametrize(
    "changes",
    [
        a_profile(nodes=(99,), samples=(1,)),
        a_profile(nodes=(-1,), samples=(1,)),
        a_profile(nodes=(1, 2), samples=(1,)),
        a_profile(samples=(0,) * len(an_explanation().profiles[0].nodes)),
        a_profile(transactions=0),
        {"document": "../20261121T024100Z-7f3a.jsonl"},
        {"tree": structs.replace(an_explanation().tree, parents=(-1, 1), function=(-1, 0))},
        {"tree": structs.replace(an_explanation().tree, parents=(-1, 0), function=(-1, 99))},
        {"tree": structs.replace(an_explanation().tree, parents=(), function=())},
        {"tree": a_path(documents.DEPTH_MAX + 1)},
        {"tree": a_path(1, functions=("f",) * (documents.VALUES_MAX // 4))},  # times 8 profiles
    ],
)
def test_indexes_that_point_nowhere_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "cell.json"
    path.write_bytes(msgspec.json.encode(structs.replace(an_explanation(), **changes)))
    with pytest.raises(InputError, match="not an explanation"):
        EXPLANATIONS.read(path)
