"""Functions are found in C and C++ as their symbols name them, and on their own lines."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis import function_names
from shootout.coverage import sources
from shootout.errors import InputError

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
    (source,) = sources.read([text.encode()])
    return {*source.functions}


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
    (source,) = sources.read([SOURCE.encode()])
    assert {name: form.text for name, (form,) in source.macros.items()} == {
        "TWICE": ["#define TWICE(x) \\", "  ((x) + (x))"]
    }


def test_code_is_that_of_linux_without_comments() -> None:
    """MySQL 8.0 begins `mysqld_main` so, and a return type may have a line of its own."""
    begins = b"#ifdef _WIN32\nint win_main(int a)\n#else\n/* // */ int\nunix_main(int a)\n#endif\n"
    (source,) = sources.read([begins + b'{ // one\n  a( "//" );\n}\n'])
    assert {name: " ".join(form.code) for name, (form,) in source.functions.items()} == {
        "unix_main": 'int unix_main ( int a ) # endif { a ( "//" ) ; }'
    }


def test_another_program_named_ctags_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install universal-ctags"):
        sources.read([b""])
    (tmp_path / "ctags").write_text("#!/bin/sh\necho unknown option >&2; exit 1\n")
    (tmp_path / "ctags").chmod(0o755)
    with pytest.raises(InputError, match="unknown option"):
        sources.read([b""])


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


@given(st.text(alphabet="{}()\"'/*\\#\n<>:;~, abdefinptvor", max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    (source,) = sources.read([text.encode()])
    forms = [*source.functions.values(), *source.macros.values()]
    assert sum(len(form.text) for every in forms for form in every) <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a :: b<c> ::  d", "a::b::d"),
        ("flatten_operator_tree", "flatten_operator_tree"),
        ("T<int>::operator ( )", "T::operator()"),
        ("operator  const char *", "operator const char *"),
        ("A::operator->", "A::operator->"),
        ("B :: ~ B", "B::~B"),
        ("operator", "operator"),
    ],
)
def test_names_are_written_as_profiles_have_them(written: str, name: str) -> None:
    assert sources.normal(written) == name
