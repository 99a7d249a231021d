"""A change is held against a map, and what it reaches is said in words."""

from __future__ import annotations

import html
from dataclasses import replace

import pytest
from msgspec import structs

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
    assert answer.of_run(covered(touched("y")), ["w"]).endswith(f"{answer.NOTHING}. w executes none of it.")
    assert answer.of_run(covered(touched("x")), ["w"]).endswith(" w executes none of what is known of it.")


@pytest.mark.parametrize(
    ("one", "unknown"),
    [
        (touched("C::two"), ""),
        (touched("x"), "no symbol"),
        (touched("C::three"), "no symbol"),
        (
            touched("JOIN_TAB::sort"),
            "no symbol, nor any of JOIN_TAB: new, inlined, or a typedef that was not resolved",
        ),
        (
            replace(touched("JOIN_TAB::sort"), aliases=("st_join_table::sort",)),
            "no symbol, nor any of JOIN_TAB: new, inlined, or a typedef of st_join_table",
        ),
        (replace(touched("JOIN_TAB::sort"), aliases=("C::two",)), ""),
        (replace(touched("two"), parsed=False), ""),  # its namespace is not in its header
        (
            replace(touched("three"), parsed=False),
            "its source cannot be parsed, and the program has no function of this name",
        ),
    ],
)
def test_not_executed_is_said_of_what_the_program_has_alone(one: Touched, unknown: str) -> None:
    coverage = covered(one)
    assert [each.unknown for each in coverage.functions] == [unknown]
    assert coverage.is_unseen is (not unknown)
    assert answer.headline(coverage).endswith("1 not known." if unknown else f"{answer.NOTHING}.")


def test_nothing_is_known_of_what_an_older_map_does_not_list() -> None:
    older = structs.replace(a_map(), symbols=())
    (one,) = judge.coverage(older, Touches((touched("C::two"),))).functions
    assert one.unknown == "the map does not say which functions the program has"


def test_a_typedef_executes_what_its_class_does() -> None:
    (one,) = covered(replace(touched("ITEM::second"), aliases=("Item::second",))).functions
    assert one.executions[0].share == 0.91


def test_what_a_macro_may_change_is_not_said_to_be_unseen() -> None:
    coverage = covered(touched("y"), macros=(("TWICE", "a.h"),))  # type: ignore[arg-type]
    assert answer.headline(coverage) == "The change touches 1 function: 1 not executed."


def test_a_run_names_the_functions_that_are_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = covered(touched("x"), touched("Item::second"), touched("y"))
    first, *others = map(plain, answer.touched(coverage))
    assert first.startswith("Item::second (a.cc; changed): 91 % of w, transaction; 50 % of w, point;")
    assert others == ["y (a.cc; changed): not executed", "x (a.cc; changed): not known: no symbol"]
    coverage = covered(touched("y"), touched("C::two"))
    monkeypatch.setattr(answer, "TOUCHED_MAX", 1)
    assert [*answer.touched(coverage)][-1] == "1 more function, not executed"
