"""Perf's output: stacks from any text, and names that versions share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shootout.explain import perf

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


@given(st.text())
def test_any_text_gives_stacks_of_names(text: str) -> None:
    for _, stack in perf.parse(text.splitlines(), range(10**10)):
        assert stack
        assert all(stack)
