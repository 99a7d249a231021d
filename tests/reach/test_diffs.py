"""A diff touches functions, whatever git's hunk headers name; macros and what is outside are said as such."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shootout.errors import InputError
from shootout.reach import diffs
from shootout.reach.diffs import Touches
from tests.reach.builders import a_repository, git

BODY = "".join(f"  step({n});\n" for n in range(12))
FIRST = f"int first(int a)\n{{\n{BODY}  return a;\n}}\n"
SECOND = f"\nint Item::second(int a, char b)\n{{\n{BODY}  return a;\n}}\n"
THIRD = f"\nstatic void third(void)\n{{\n{BODY}}}\n"
PLAIN = FIRST + SECOND + THIRD


def changed(before: str, after: str, text: str = PLAIN) -> str:
    assert text.count(before) == 1
    return text.replace(before, after)


def both(folder: Path, before: dict[str, str], after: dict[str, str]) -> list[Touches]:
    """What the repository says, and what its diff alone says."""
    repository = a_repository(folder, before, after)
    text = git(repository, "diff", "before", "after")
    return [diffs.of_repository(repository, "before", "after"), diffs.touches(diffs.parse(text))]


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
    for found in both(tmp_path, {"a.cc": before}, {"a.cc": after}):
        assert {each.name: each.how for each in found.functions} == expected
        assert (found.macros, found.outside) == ((), ())


def test_a_renamed_file_touches_what_changed_in_it(tmp_path: Path) -> None:
    for found in both(tmp_path, {"a.cc": PLAIN}, {"b.cc": in_second(PLAIN)}):
        assert [(each.name, each.file, each.how) for each in found.functions] == [
            ("Item::second", "b.cc", "changed")
        ]


def test_a_function_that_moves_to_another_file_is_one(tmp_path: Path) -> None:
    before, after = {"a.cc": PLAIN, "b.cc": NEW}, {"a.cc": FIRST + THIRD, "b.cc": NEW + SECOND}
    for found in both(tmp_path, before, after):
        assert [(each.name, each.file, each.how) for each in found.functions] == [
            ("Item::second", "b.cc", "moved")
        ]


MACRO = "#define TWICE(x) \\\n  ((x) + \\\n   (x))\n"


def test_macros_headers_and_declarations_are_said_as_such(tmp_path: Path) -> None:
    header = MACRO + "struct Row {\n  int length;\n};\ninline int width(int n) {\n  return n;\n}\n"
    after = (
        header.replace("   (x))", "   (1))")
        .replace("int length", "long length")
        .replace("return n", "return 2 * n")
    )
    for found in both(tmp_path, {"a.h": header, "x.txt": "1"}, {"a.h": after, "x.txt": "2"}):
        assert found.macros == (("TWICE", "a.h"),)
        assert found.outside == ("a.h",)
        assert [(each.name, each.header) for each in found.functions] == [("width", True)]
        assert found.others == ("x.txt",)


def test_methods_have_their_classes_and_comments_change_nothing(tmp_path: Path) -> None:
    before = (
        "namespace n {\nclass C {\n  int one() { return 1; }\n  int two() { return 2; /* two */ }\n};\n}\n"
    )
    after = before.replace("return 1", "return 11").replace("/* two */", "/* zwei */")
    repository = a_repository(tmp_path, {"a.h": before}, {"a.h": after})
    found = diffs.of_repository(repository, "before", "after")
    assert [(each.name, each.lines) for each in found.functions] == [("n::C::one", ((3,), (3,)))]
    assert (found.comments, found.outside) == (("n::C::two",), ())


@pytest.mark.parametrize("name", ["ä b.cc", 'quo"te.cc', "tab\t.cc"])
def test_files_have_any_name(name: str, tmp_path: Path) -> None:
    for found in both(tmp_path, {name: PLAIN}, {name: in_second(PLAIN)}):
        assert [each.file for each in found.functions] == [name]


def test_a_diff_that_git_did_not_make(tmp_path: Path) -> None:
    text = "--- a.c\t26\n+++ a.c\t26\n@@ -3,2 +3,2 @@ int first(int a)\n-  two();\n+  three();\n   four();\n"
    (one,) = diffs.touches(diffs.parse(text)).functions
    assert (one.name, one.file, one.how) == ("first", "a.c", "changed")


@pytest.mark.parametrize("text", ["hello\n", "@@ -1 +1 @@\n-a\n+b\n"])
def test_what_is_no_diff_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a diff"):
        diffs.parse(text)


def test_a_revision_that_is_not_there(tmp_path: Path) -> None:
    repository = a_repository(tmp_path, {"a.c": ""}, {"a.c": ""})
    with pytest.raises(InputError, match="no commit --nowhere"):
        diffs.of_repository(repository, "before", "--nowhere")
    with pytest.raises(InputError, match="not a git repository"):
        diffs.of_repository(tmp_path.parent, "before", "after")


LINES = (
    *("@@ -1,2 +1,3 @@ int f(int a)", "--- a/x.c", '+++ "b/\\303x.c', "+int g()", "-{", " }", "\\", "+;"),
    *("diff --git a/x.c b/x.c", "rename from x.h", "@@ -1 +0,0 @@", "+#define A \\", "+}", "+++ b/y.cc"),
)


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_any_diff_is_read_or_refused(pieces: list[str]) -> None:
    with suppress(InputError):
        diffs.touches(diffs.parse("\n".join(pieces)))


PIECES = (
    "static int {}(int a)",
    "void *Item::{}(int a, char *b)",
    "bool\n{}(int a)",
    "int n_{}()\n  noexcept",
)
EDITS = st.sampled_from(["first line", "last line", "deleted", "new before", "new after", "signature"])


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(forms=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4), edit=EDITS, data=st.data())
def test_a_diff_alone_says_what_its_repository_says(
    forms: list[str], edit: str, data: st.DataObject, tmp_path: Path
) -> None:
    """One function among others of any form is edited: whole files and hunks name it, and no other."""

    def text(name: str, form: str) -> str:
        return form.format(name) + f"\n{{\n  first();\n{BODY}  last();\n}}\n\n"

    before = [text(f"f{number}", form) for number, form in enumerate(forms)]
    at = data.draw(st.integers(0, len(forms) - 1))
    own = before[at]
    new = text("added", PIECES[0])
    after = {
        "first line": own.replace("first()", "first(1)"),
        "last line": own.replace("last()", "last(1)"),
        "deleted": "",
        "new before": new + own,
        "new after": own + new,
        "signature": own.replace("(", "(long c, ", 1),
    }[edit]
    files = [{"a.cc": "".join(pieces)} for pieces in (before, [*before[:at], after, *before[at + 1 :]])]
    shutil.rmtree(tmp_path / "r", ignore_errors=True)
    found = both(tmp_path / "r", *files)
    how = {"deleted": "deleted", "signature": "other signature", "new before": "new", "new after": "new"}
    for touches in found:
        (one,) = touches.functions
        assert one.how == how.get(edit, "changed")
        assert one.name.rpartition("::")[2] == ("added" if edit.startswith("new") else own_name(own))


def own_name(text: str) -> str:
    match = re.search(r"(\w+)\(", text)
    assert match is not None
    return match[1]
