"""A change is held against a map, and what it reaches is said in words."""

from __future__ import annotations

import html

import msgspec
import pytest

from shootout.coverage import judge, report
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


def test_what_is_reached_is_said() -> None:
    coverage = covered(touched("fts_sync"), touched("flush"), touched("Item::second", "other signature"))
    assert report.headline(coverage).replace(SPACE, " ") == (
        "The change touches 3 functions: 1 executed by 3 kinds of statement (most: Item::second, "
        "91 % of w, transaction), 2 by none."
    )
    text = plain(report.judged(coverage).markdown)
    assert "| Item::second | a.cc | other signature | 3 | 91 % of w, transaction; 50 % of w, point;" in text
    assert "| flush | a.cc | changed | 0 | threads without a connection |" in text
    assert coverage.workloads == {"w"}


def test_nothing_is_reached() -> None:
    assert report.headline(covered(touched("x", "new"))).endswith(f"1 function: {report.NOTHING}.")
    assert report.headline(covered()) == "The change touches no function in C or C++."


def test_what_cannot_be_told_is_said() -> None:
    macros = (("TWICE", "a.h"),)
    coverage = judge.coverage(a_map(), Touches((), macros, ("a.h",), ("third",), ("README",)))
    said = " ".join(report.remarks(coverage))
    for part in (
        "Macros are touched: TWICE",
        "in a.h: types",
        "Only comments or spaces differ in third",
        "1 file",
    ):
        assert part in said
    assert coverage.elsewhere


def test_a_run_says_which_of_its_workloads_execute_none_of_it() -> None:
    coverage = covered(touched("Item::second"))
    assert report.of_run(coverage, ["w"]) == report.headline(coverage)
    assert report.of_run(coverage, ["w", "unknown"]).endswith(" The map does not know unknown.")
    assert report.of_run(covered(touched("x")), ["w"]).endswith(" w executes none of it.")


def test_a_run_names_the_functions_that_are_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = covered(touched("x"), touched("Item::second"), touched("y"))
    first, *others = map(plain, report.touched(coverage))
    assert first.startswith("Item::second (a.cc; changed): 91 % of w, transaction; 50 % of w, point;")
    assert others == [f"{name} (a.cc; changed): none" for name in "xy"]
    monkeypatch.setattr(report, "TOUCHED_MAX", 1)
    assert [*report.touched(coverage)][-1] == "1 more function, by none"


def test_a_map_says_what_it_covers() -> None:
    judged = report.coverage(a_map())
    text = plain(judged.markdown)
    assert "base: 300 of 3 001 of its own functions are executed (10 %)." in text
    assert "| InnoDB | 3 000 | 300 | 2 048 | 12.5 % | row_ 153 |" in text
    msgspec.json.encode(judged.value)
