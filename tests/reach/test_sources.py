"""Functions are found in C and C++ as their symbols name them, and on their own lines."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis import function_names
from shootout.reach import sources

# Everything that a compiler makes a symbol of, and what only looks like it.
SOURCE = r"""
#define TWICE(x) \
  ((x) + (x))
using Size = decltype(sizeof 1);
struct Declared { Declared(); ~Declared(); bool operator()(int); operator bool() const; int later(int); };
enum { ONE = 1 };
static const char *text = "int quoted() {";  // int commented() {
/* void in_comment() { */
int plain_c(int a)
{
  return TWICE(a);
}
extern "C" { void *of_c(void *arg) try { return arg; } catch (...) { return 0; } }
Declared::Declared() { auto inner = [](int x) { return x; }; inner(1); }
Declared::~Declared() {}
bool Declared::operator()(int) { return true; }
Declared::operator bool() const { return '{' == 0; }
int Declared :: later (int x) { struct Local { int method() { return 2; } }; return Local().method() + x; }
namespace outer::inner { namespace deep {
int *array_of(int (*call)(int), int size[3]) noexcept { return call(1) ? size : nullptr; }
struct Value {
  int n; Value &operator[](int); bool operator==(const Value &) const; void *operator new(Size n);
};
Value &Value::operator [] (int) { return *this; }
bool Value::operator==(const Value &other) const { return n == other.n; }
void *Value::operator new(Size n) { return ::operator new(n); }
} }
namespace { int hidden(int n) { return n; } }
int uses_hidden() { return hidden(2); }
template <class T>
struct Box { T held; T get() { return held; } };
template struct Box<int>;
template <class T> T twice(T one) { return one + one; }
template int twice<int>(int);
#if 1
int chosen() { return 1; }
#else
int not_chosen() { return 2; }
#endif
"""


def names(text: str) -> set[str]:
    return {extent.name for extent in sources.read(text.encode()).functions}


@pytest.mark.slow
def test_functions_have_the_names_of_their_symbols(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    assert compiler, "no C++ compiler"
    (tmp_path / "x.cc").write_text(SOURCE)
    subprocess.run((compiler, "-std=c++17", "-c", "-O0", "x.cc"), cwd=tmp_path, check=True)
    listed = subprocess.run(
        ("nm", "-C", "--defined-only", "x.o"), cwd=tmp_path, check=True, capture_output=True
    )
    symbols = {
        function_names.plain(line.split(" ", 2)[2])
        for line in listed.stdout.decode().splitlines()
        if line.split(" ", 2)[1] in "tTwW"
    }
    compiled = {symbol for symbol in symbols if "{lambda" not in symbol and "_FUN" not in symbol}
    assert compiled == names(SOURCE) - {"not_chosen"}


def test_macros_have_their_lines() -> None:
    (macro,) = sources.read(SOURCE.encode()).macros
    assert (macro.name, macro.first, macro.last) == ("TWICE", 2, 3)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("UNIV_INLINE\nulint\nmach_read(const byte *b) /*!< in */\n{\n  return 1;\n}\n", "mach_read"),
        ("[[nodiscard]] static MY_ATTRIBUTE((unused)) bool foo(int a) { return a; }\n", "foo"),
        ("C_MODE_START\nint between(void)\n{ DBUG_RETURN(0); }\nC_MODE_END\n", "between"),
        ("void f() { int a; }\nint broken( { { \nvoid g() { }\n", "f"),
    ],
)
def test_what_macros_and_damage_leave_is_still_found(text: str, name: str) -> None:
    assert name in names(text)


DEFINED = st.sampled_from(
    (
        "int {} ( int a ) {{ return a; }}",
        "static void *{}() {{ /* }} */ char c = '}}'; }}",
        "T::{}() : a(1) {{}}",
    )
)


@given(st.lists(st.tuples(DEFINED, st.integers(0, 3)), max_size=6))
def test_each_function_is_on_its_own_lines(pieces: list[tuple[str, int]]) -> None:
    text, expected = "", []
    for number, (form, blank) in enumerate(pieces):
        text += blank * "\n// int no() {\n"
        first = text.count("\n") + 1
        text += form.format(f"f{number}").replace(" ", "\n", 1) + "\n"
        expected.append((f"f{number}", first, text.count("\n")))
    found = sources.read(text.encode()).functions
    assert [(re.sub(r"^T::", "", each.name), each.first, each.last) for each in found] == expected


@given(st.text(alphabet="{}()\"'/*\\#\n<>:;~, abdefinptvor", max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for extent in sources.read(text.encode()).functions:
        assert 1 <= extent.first <= extent.last <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a :: b<c> ::  d", "a::b::d"),
        ("flatten_operator_tree(", "flatten_operator_tree"),
        ("T<int>::operator ( ) (int", "T::operator()"),
        ("operator  const char *(", "operator const char *"),
        ("A::operator->(", "A::operator->"),
        ("B :: ~ B", "B::~B"),
        ("operator", "operator"),
    ],
)
def test_names_are_written_as_profiles_have_them(written: str, name: str) -> None:
    assert sources.normal(written) == name


def test_deep_expressions_are_read() -> None:
    (one,) = sources.read(f"int f() {{ return {'(1 + ' * 3000}1{')' * 3000}; }}\n".encode()).functions
    assert one.name == "f"
