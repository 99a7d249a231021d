"""Values that are nearly right: JSON or TOML with some places dropped, doubled, renamed, moved, replaced."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

Table = dict[str, Any]


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


def mutations(
    files: Sequence[Any], names: st.SearchStrategy[str], anything: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    """One of the files with up to four places changed; new keys are drawn from `names`."""

    @st.composite
    def mutated(draw: st.DrawFn) -> Any:
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

    return mutated()
