"""Perf's output: stacks from any text, and names that versions share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.runner import perf

SCRIPT = """\
  417
\t    7f0012ab memcpy (/usr/lib/x86_64-linux-gnu/libc-2.31.so)
\tffffffff81 do_syscall_64 ([kernel.kallsyms])
\t      55ab rec_get_offsets_func(unsigned char const*, dict_index_t const*) (/opt/mysql/bin/mysqld)

    0
	ffffffff82 default_idle ([kernel.kallsyms])

  417
\t      0011 [unknown] (/opt/mysql/lib/plugin/ha_tokudb.so)
\t      0012 [unknown] ([unknown])

"""


def test_stacks_go_from_the_outermost_function_to_the_one_on_the_cpu() -> None:
    assert list(perf.parse(SCRIPT.splitlines(), {417})) == [
        (417, ("rec_get_offsets_func", "do_syscall_64 [kernel]", "memcpy [libc]")),
        (417, ("[unknown]", "[ha_tokudb]")),
    ]


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
    assert perf.plain(symbol) == name


@given(st.text())
def test_any_text_gives_stacks_of_names(text: str) -> None:
    for _, stack in perf.parse(text.splitlines(), range(10**10)):
        assert stack
        assert all(stack)


@given(st.text(min_size=1))
def test_a_plain_name_is_never_empty(symbol: str) -> None:
    assert perf.plain(symbol)
