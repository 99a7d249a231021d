"""Names of functions, which versions and compilers write in different ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis import function_names


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("row_search_mvcc(unsigned char*, page_cur_mode_t, row_prebuilt_t*)", "row_search_mvcc"),
        ("void std::sort<int*, (anonymous namespace)::Less>(int*, int*)", "std::sort"),
        ("MYSQLparse(THD*) [clone .cold]", "MYSQLparse"),
        ("pthread_getspecific@@GLIBC_2.34", "pthread_getspecific"),
        ("btr_cur_search.part.12", "btr_cur_search"),
        ("rw_lock_s_lock_func.isra.0.constprop.3", "rw_lock_s_lock_func"),
        ("Item::operator()(int) const", "Item::operator()"),
        ("operator new(unsigned long)", "operator new"),
        ("std::operator<< <char>(std::ostream&)", "std::operator<<"),
    ],
)
def test_names_are_plain(symbol: str, name: str) -> None:
    assert function_names.plain(symbol) == name


@given(st.text(min_size=1))
def test_a_plain_name_is_never_empty(symbol: str) -> None:
    assert function_names.plain(symbol)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("do_command(THD*)", "do_command"),
        ("memcpy@@GLIBC_2.14 [libc-2.31.so]", "memcpy [libc]"),
        ("(unnamed) [libc.so.6]", "[libc]"),
        ("(unnamed)", "[mysqld]"),
        ("operator new[](unsigned long)", "operator new[]"),
    ],
)
def test_counted_functions_have_the_names_of_profiled_ones(title: str, name: str) -> None:
    assert function_names.counted(title) == name


MEMBERS = ("clear", "fill", "join")


@pytest.mark.parametrize("reverse", [False, True])
def test_a_new_class_has_the_members_of_one_old_class(reverse: bool) -> None:
    base = sorted((f"{old}::{member}" for old in "AB" for member in MEMBERS), reverse=reverse)
    found = function_names.renamed(base, [f"New::{member}" for member in MEMBERS])
    assert found == {f"A::{member}": f"New::{member}" for member in MEMBERS}


def test_a_member_of_no_renamed_class_is_no_function_outside_of_classes() -> None:
    assert function_names.renamed(["A::clear", "B::clear"], ["clear"]) == {}
    assert function_names.renamed(["A::clear"], ["clear"]) == {"A::clear": "clear"}


def test_a_function_of_another_file_is_the_same_function() -> None:
    """Its program may be wrapped, or a plugin; the kernel is everybody's."""
    before = ["do_command [server]", "row_search_mvcc [ha_innodb]", "read [kernel]", "free [a]", "free [b]"]
    assert function_names.renamed(before, ["do_command", "row_search_mvcc", "read", "free"]) == {
        "do_command [server]": "do_command",
        "row_search_mvcc [ha_innodb]": "row_search_mvcc",
    }
