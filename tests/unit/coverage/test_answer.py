"""The coverage of a change, and of a map, as it was approved."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shootout.coverage import judge
from shootout.coverage.answer import answer, of_map
from shootout.coverage.diffs import Touched, Touches
from tests.support import goldens
from tests.support.coverage.builders import a_map
from tests.support.screen import answered

GOLDEN = Path(__file__).parent / "golden" / "answer.txt"


def test_it_is_as_it_was_approved(tmp_path: Path) -> None:
    """Changes are executed in part, by none, and outside of functions; there is a map, too."""
    names = ("fts_sync", "flush", "Item::second", "n::C::one")
    functions = tuple(Touched(name, f"{name[0]}.cc", "changed") for name in names)
    macros = (("TWICE", "a.h"),)
    touches = (
        Touches((*functions, Touched("x", "x.h", "new"))),
        Touches(functions[:1]),
        Touches((), macros, ("a.h",), ("third",), ("fourth",), ("README",)),
    )
    every = [*(answer(judge.coverage(a_map(), each)) for each in touches), of_map(a_map())]
    for each in every:
        msgspec.json.encode(each.value)
    goldens.check("".join(answered(each, 1000) for each in every), GOLDEN, tmp_path)
