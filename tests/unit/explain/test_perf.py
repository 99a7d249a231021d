"""Perf's output: stacks from any text, and names that versions share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
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


NOBODY = 65_534
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
REFUSAL = """\
Error:
Access to performance monitoring and observability operations is limited.
Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open
access to performance monitoring and observability operations for processes
without CAP_PERFMON, CAP_SYS_PTRACE or CAP_SYS_ADMIN Linux capability.
To make the adjusted perf_event_paranoid setting permanent preserve it
in /etc/sysctl.conf (e.g. kernel.perf_event_paranoid = <setting>)
"""
FORBIDDEN = "kernel.perf_event_paranoid = {} forbids sampling: sudo sysctl kernel.perf_event_paranoid=0"
CONTAINED = "perf may not sample CPUs here: containers need the capability CAP_PERFMON for that"


def refused(folder: Path) -> str:
    """Find out why perf does not record."""
    with pytest.raises(perf.UnavailableError) as error, perf.recording(folder) as recording:
        recording.begin()
    return str(error.value)


@pytest.fixture
def paranoid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for the kernel's file."""
    file = tmp_path / PARANOID.name
    monkeypatch.setattr(perf, "_PARANOID", file)
    return file


@pytest.mark.parametrize(
    ("words", "level", "user", "reason"),
    [
        (REFUSAL, 2, NOBODY, FORBIDDEN.format(2)),
        (REFUSAL, 3, NOBODY, FORBIDDEN.format(3)),
        (REFUSAL, 0, NOBODY, CONTAINED),
        (REFUSAL, 2, 0, CONTAINED),
        ("Warning:\nNo such event\n", 2, NOBODY, "perf record: No such event"),
        ("", 2, 0, "perf record: it gave no reason"),
    ],
)
def test_a_perf_that_ends_at_once_says_why(
    words: str, level: int, user: int, reason: str, *, paranoid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paranoid.write_text(f"{level}\n")
    program = paranoid.with_name("perf")
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{words}END\nexit 255\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert refused(program.parent) == perf.lack() == reason
