from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from shootout.site import halves
from shootout.site.shelf import File


def by_process() -> Iterator[File]:
    yield "pid", str(os.getpid())
    yield "bytes", b"\0\xff"


def fails_aside(here: int) -> Iterator[File]:
    if os.getpid() != here:
        os._exit(3)
    yield "made", "here"


def fails() -> list[File]:
    raise ValueError("not a histogram")


def test_files_come_from_another_process_where_it_is_worth_it() -> None:
    with halves.aside(by_process, really=True) as others:
        (_, pid), rest = others()
    assert rest == ("bytes", b"\0\xff")
    assert (pid != str(os.getpid())) == (len(os.sched_getaffinity(0)) > 1)
    with halves.aside(by_process, really=False) as others:
        (_, pid), _ = others()
    assert pid == str(os.getpid())


def test_what_a_copy_could_not_make_is_made_here() -> None:
    here = os.getpid()
    with halves.aside(lambda: fails_aside(here), really=True) as others:
        assert list(others()) == [("made", "here")]


def test_what_goes_wrong_goes_wrong_here_too(capfd: pytest.CaptureFixture[str]) -> None:
    with halves.aside(fails, really=True) as others, pytest.raises(ValueError, match="not a histogram"):
        list(others())


def test_a_copy_that_nobody_waits_for_ends() -> None:
    with halves.aside(by_process, really=True):
        pass
