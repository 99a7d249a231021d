"""A change touches functions; macros and what is outside are said as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.coverage import diffs, sources
from shootout.coverage.diffs import Touches
from shootout.errors import InputError
from tests.support.coverage.builders import a_repository

BODY = "".join(f"  step({n});\n" for n in range(12))
FIRST = f"int first(int a)\n{{\n{BODY}  return a;\n}}\n"
SECOND = f"\nint Item::second(int a, char b)\n{{\n{BODY}  return a;\n}}\n"
THIRD = f"\nstatic void third(void)\n{{\n{BODY}}}\n"
PLAIN = FIRST + SECOND + THIRD


def changed(before: str, after: str, text: str = PLAIN) -> str:
    assert text.count(before) == 1
    return text.replace(before, after)


def touched(folder: Path, before: dict[str, str], after: dict[str, str]) -> Touches:
    return diffs.of_repository(a_repository(folder, before, after), "before", "after")


def in_second(text: str) -> str:
    head, _, tail = text.partition("second(")
    return head + "second(" + tail.replace("step(6);", "step(60);", 1)


NEW = f"\nint fourth(void)\n{{\n{BODY}  return 4;\n}}\n"
CASES = {
    "a statement of the second": (PLAIN, in_second(PLAIN), {"Item::second": "changed"}),
    "its first statement, below its name": (
        PLAIN,
        PLAIN.replace("char b)\n{\n  step(0);", "char b)\n{\n  step(100);"),
        {"Item::second": "changed"},
    ),
    "an edited signature": (PLAIN, changed("char b", "char *b"), {"Item::second": "other signature"}),
    "a signature on several lines": (
        changed("int a, char b", "int a,\n                 char b"),
        changed("int a, char b", "int a,\n                 long b"),
        {"Item::second": "other signature"},
    ),
    "a new function between two": (PLAIN, FIRST + SECOND + NEW + THIRD, {"fourth": "new"}),
    "a new function at the end": (PLAIN, PLAIN + NEW, {"fourth": "new"}),
    "a deleted function": (PLAIN, FIRST + THIRD, {"Item::second": "deleted"}),
    "another name": (
        PLAIN,
        changed("Item::second", "Item::other"),
        {"Item::second": "deleted", "Item::other": "new"},
    ),
    "the first line of the file": (
        PLAIN,
        changed("first(int a)", "first(long a)"),
        {"first": "other signature"},
    ),
    "below what only looks like ends of lines": (
        f"/* \f \v \x1c */\n{PLAIN}",
        f"/* \f \v \x1c */\n{in_second(PLAIN)}",
        {"Item::second": "changed"},
    ),
    "two functions": (
        PLAIN,
        in_second(PLAIN).replace("return a;", "return -a;", 1),
        {"first": "changed", "Item::second": "changed"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_that_a_diff_touches(name: str, tmp_path: Path) -> None:
    before, after, expected = CASES[name]
    found = touched(tmp_path, {"a.cc": before}, {"a.cc": after})
    assert {each.name: each.how for each in found.functions} == expected
    assert (found.macros, found.outside) == ((), ())


def test_a_function_that_only_moves_within_its_file_is_said_as_such(tmp_path: Path) -> None:
    found = touched(tmp_path, {"a.cc": FIRST + SECOND + THIRD}, {"a.cc": FIRST + THIRD + SECOND})
    assert found == Touches(reordered=("third",))


def test_a_function_that_ctags_cannot_read_is_found_by_its_header(tmp_path: Path) -> None:
    """A brace in a branch of a condition that is not compiled hides what follows."""
    hides = "int before()\n{\n#if ONE\n  if (1) {\n#elif TWO\n  if (2) { {\n#endif\n  }\n"
    lost = f"MACRO_BEGIN(x y)\nint Item::lost(int a)\n{{\n{BODY}}}\n"
    found = touched(tmp_path, {"a.cc": hides + lost}, {"a.cc": hides + lost.replace("step(6)", "step(60)")})
    assert [(each.name, each.parsed) for each in found.functions] == [("Item::lost", False)]


TYPEDEFS = {
    "typedef class st_select_lex SELECT_LEX;\n": "SELECT_LEX",
    "typedef struct st_select_lex : public Base\n{\n  int a;\n} X, SELECT_LEX;\n": "SELECT_LEX",
    "using SELECT_LEX = n::st_select_lex;\n": "n::SELECT_LEX",
}


@pytest.mark.parametrize("text", TYPEDEFS)
def test_methods_of_a_typedef_have_the_names_of_its_class(text: str, tmp_path: Path) -> None:
    """As the symbols of MySQL 5.7 have them: JOIN_TAB::sort_table is st_join_table::sort_table."""
    body = "bool SELECT_LEX::prepare(int a)\n{\n  return a;\n}\n"
    files = {"a.cc": body, "a.h": text, "b.h": "typedef int other;\n"}
    (one,) = touched(tmp_path, files, files | {"a.cc": body.replace("return a", "return -a")}).functions
    expected = "n::st_select_lex" if "n::" in text else "st_select_lex"
    assert (one.name, one.aliases) == ("SELECT_LEX::prepare", (f"{expected}::prepare",))


@pytest.mark.parametrize(("name", "is_code"), [("a.inc", True), ("mysql-test/include/a.inc", False)])
def test_inc_files_are_code_but_for_test_scripts(name: str, is_code: bool) -> None:
    assert sources.is_source(name) is is_code


def test_a_renamed_file_touches_what_changed_in_it(tmp_path: Path) -> None:
    (one,) = touched(tmp_path, {"a.cc": PLAIN}, {"b.cc": in_second(PLAIN)}).functions
    assert (one.name, one.file, one.how) == ("Item::second", "b.cc", "changed")


def test_a_function_that_moves_to_another_file_is_one(tmp_path: Path) -> None:
    before, after = {"a.cc": PLAIN, "b.cc": NEW}, {"a.cc": FIRST + THIRD, "b.cc": NEW + SECOND}
    (one,) = touched(tmp_path, before, after).functions
    assert (one.name, one.file, one.how) == ("Item::second", "b.cc", "moved")


MACRO = "#define TWICE(x) \\\n  ((x) + \\\n   (x))\n"


def test_macros_headers_and_declarations_are_said_as_such(tmp_path: Path) -> None:
    header = MACRO + "struct Row {\n  int length;\n};\ninline int width(int n) {\n  return n;\n}\n"
    after = (
        header.replace("   (x))", "   (1))")
        .replace("int length", "long length")
        .replace("return n", "return 2 * n")
    )
    found = touched(tmp_path, {"a.h": header, "x.txt": "1"}, {"a.h": after, "x.txt": "2"})
    assert found.macros == (("TWICE", "a.h"),)
    assert found.outside == ("a.h",)
    assert [(each.name, each.header) for each in found.functions] == [("width", True)]
    assert found.others == ("x.txt",)


def test_methods_have_their_classes_and_comments_change_nothing(tmp_path: Path) -> None:
    before = (
        "namespace n {\nclass C {\n  int one() { return 1; }\n  int two() { return 2; /* two */ }\n};\n}\n"
    )
    after = before.replace("return 1", "return 11").replace("/* two */", "/* zwei */")
    found = touched(tmp_path, {"a.h": before}, {"a.h": after})
    assert [each.name for each in found.functions] == ["n::C::one"]
    assert (found.comments, found.outside) == (("n::C::two",), ())


@pytest.mark.parametrize("name", ["ä b.cc", 'quo"te.cc', "tab\t.cc"])
def test_files_have_any_name(name: str, tmp_path: Path) -> None:
    (one,) = touched(tmp_path, {name: PLAIN}, {name: in_second(PLAIN)}).functions
    assert one.file == name


def test_a_file_that_comes_or_goes(tmp_path: Path) -> None:
    found = touched(tmp_path, {"a.cc": FIRST}, {"b.cc": "int fourth() { go(); }"})
    assert {(each.name, each.file, each.how) for each in found.functions} == {
        ("first", "a.cc", "deleted"),
        ("fourth", "b.cc", "new"),
    }


def test_a_revision_that_is_not_there(tmp_path: Path) -> None:
    repository = a_repository(tmp_path, {"a.c": ""}, {"a.c": ""})
    with pytest.raises(InputError, match="no commit --nowhere"):
        diffs.of_repository(repository, "before", "--nowhere")
    with pytest.raises(InputError, match="not a git repository"):
        diffs.of_repository(tmp_path.parent, "before", "after")
