"""A change is held against a map, and what it reaches is said in words."""

from __future__ import annotations

import html

import pytest

from shootout.coverage import answer, judge
from shootout.coverage.diffs import How, Touched, Touches
from shootout.numbers import SPACE
from tests.support.coverage.builders import POINT, RANGE, WHOLE, a_map


def touched(name: str, how: How = "changed", file: str = "a.cc") -> Touched:
    return Touched(name, file, how)


def plain(text: str) -> str:
    return html.unescape(text).replace(SPACE, " ").replace("\u200b", "")


def covered(*functions: Touched, **others: tuple[str, ...]) -> judge.ChangeCoverage:
    return judge.coverage(a_map(), Touches(functions, **others))  # type: ignore[arg-type]


def test_kinds_execute_a_function_with_the_largest_share_of_any_server() -> None:
    (one,) = covered(touched("Item::second")).functions
    assert [(each.kind, each.server, each.share) for each in one.executions] == [
        (WHOLE, "head", 0.91),
        (POINT, "base", 0.5),
        (RANGE, "head", 0.12),
    ]


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("n::C::one", ("n::C::one", "n::C::one::{lambda#1}::operator()")),
        ("C::one", ()),  # another one than that of the namespace
        ("econd", ()),
    ],
)
def test_functions_are_found_by_their_names(name: str, symbols: tuple[str, ...]) -> None:
    (one,) = covered(touched(name)).functions
    assert one.symbols == symbols


def test_a_run_says_which_of_its_workloads_execute_none_of_it() -> None:
    coverage = covered(touched("Item::second"))
    assert answer.of_run(coverage, ["w"]) == answer.headline(coverage)
    assert answer.of_run(coverage, ["w", "unknown"]).endswith(" The map does not know unknown.")
    assert answer.of_run(covered(touched("x")), ["w"]).endswith(" w executes none of it.")


def test_a_run_names_the_functions_that_are_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = covered(touched("x"), touched("Item::second"), touched("y"))
    first, *others = map(plain, answer.touched(coverage))
    assert first.startswith("Item::second (a.cc; changed): 91 % of w, transaction; 50 % of w, point;")
    assert others == [f"{name} (a.cc; changed): none" for name in "xy"]
    monkeypatch.setattr(answer, "TOUCHED_MAX", 1)
    assert [*answer.touched(coverage)][-1] == "1 more function, by none"
