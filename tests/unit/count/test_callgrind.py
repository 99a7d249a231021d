"""Callgrind's files as it writes them, and damaged ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis.function_names import UNNAMED
from shootout.count import callgrind
from shootout.errors import InputError, MeasureError
from shootout.servers.sources import reference

# Written by callgrind-3.19.0 for one thread of mysqld; shortened, and the sums adapted.
FILE = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 21385
cmd:  /opt/mysql/bin/mysqld
part: 3
thread: 28

desc: Trigger: dump

positions: line
events: Ir
summary: 1500


ob=(2) /usr/lib/x86_64-linux-gnu/libc.so.6
fl=(66) ./nptl/./nptl/pthread_rwlock_common.c
fn=(1498) pthread_rwlock_rdlock@@GLIBC_2.34
298 100
fi=(67) ./nptl/./nptl/pthread_rwlock_rdlock.c
23 60
fe=(66)
+12 40

ob=(1) /opt/mysql/bin/mysqld
fl=(1) ???
fn=(7) do_command(THD*)
0 300
cfn=(8) mysql_parse(THD*, Parser_state*)
calls=10 0
0 900
cob=(2)
cfi=(66)
cfn=(1498)
calls=2 298
0 100

fn=(8)
* 700
cfn=(8)
calls=3 0
0 350
cob=(2)
cfi=(66)
cfn=(1498)
calls=2 298
0 100
cfn=(9) 0x0000000000cf4ba0
calls=1 0
-3 100

fn=(9)
0 100

fn=(10) sub_select'2
0 200

totals: 1500
"""


def test_functions_have_their_own_instructions_and_those_of_their_callees() -> None:
    found = callgrind.parse(FILE)
    assert found.exclusive == {
        "pthread_rwlock_rdlock@@GLIBC_2.34 [libc.so.6]": 200, "do_command(THD*)": 300,
        "mysql_parse(THD*, Parser_state*)": 700, "(unnamed)": 100, "sub_select": 200,
    }  # fmt: skip
    assert found.inclusive["do_command(THD*)"] == 1300
    assert found.inclusive["mysql_parse(THD*, Parser_state*)"] == 900  # its calls of itself do not count
    assert callgrind.totals(FILE) == (1500, 0)


def test_system_calls_and_allocations_are_counted() -> None:
    text = """\
events: Ir sysCount sysTime sysCpuTime

ob=(1) mysqld
fn=(1) do_command(THD*)
0 300
cob=(2) libc.so.6
cfn=(2) malloc
calls=7 0
0 70
cfn=(3) recv'2
calls=2 0
0 20 2 5

ob=(2)
fn=(2)
0 70

fn=(3)
0 20 2 5

totals: 390 2 5
"""
    assert callgrind.totals(text) == (390, 2)
    assert callgrind.parse(text).allocations == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not end with its totals"),
        (FILE.rpartition("totals")[0], "does not end with its totals"),
        (FILE[:-3], "sum to 1500 instead of 15"),
        (FILE.replace("0 300\n", ""), "sum to 1200 instead of 1500"),
        (FILE.replace("0 300", "0 x"), "damaged"),
        (FILE.replace("0 300", "0"), "damaged"),
        (FILE.replace("fn=(8)\n", "fn=(80)\n"), "damaged"),
        ("0 10\ntotals: 10\n", "of no function"),
    ],
)
def test_a_damaged_file_is_a_measure_error(text: str, message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        callgrind.parse(text)


def test_other_threads_have_functions_without_instructions() -> None:
    assert callgrind.Dump((FILE,)).beside() == set()
    named = {name.partition(" [")[0] for name in callgrind.parse(FILE).inclusive} - {UNNAMED}
    assert callgrind.Dump((), (FILE,)).beside() == named


def test_the_threads_of_several_connections_are_summed() -> None:
    one, both = callgrind.Dump((FILE,)), callgrind.Dump((FILE, FILE))
    assert one.functions() == callgrind.parse(FILE)
    assert (both.instructions, both.system_calls) == (2 * one.instructions, 2 * one.system_calls)
    assert both.functions().allocations == 2 * one.functions().allocations
    assert both.functions().inclusive == {name: 2 * cost for name, cost in one.functions().inclusive.items()}


@given(st.integers(0, len(FILE) - 1), st.integers(0, len(FILE) - 1), st.text(max_size=20))
def test_no_damage_raises_anything_else(begin: int, end: int, instead: str) -> None:
    text = FILE[: min(begin, end)] + instead + FILE[max(begin, end) :]
    try:
        found = callgrind.parse(text)
    except MeasureError:
        return
    assert sum(found.exclusive.values()) == callgrind.totals(text)[0]
    assert all(found.inclusive[name] >= cost for name, cost in found.exclusive.items())


@pytest.mark.parametrize("text", ["image:mysql:8.4", "dsn:mysql://u:p@localhost:3306"])
def test_only_programs_of_this_machine_can_be_counted(text: str) -> None:
    with pytest.raises(InputError, match="only a program on this machine"):
        callgrind.require_program(reference.parse(text))


def test_without_valgrind_the_message_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="apt-get install valgrind"):
        callgrind.version()
