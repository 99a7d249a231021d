from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial

import pytest

from shootout.report.site import halves

TASKS = 3 * halves.FEW


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is shared where there are two CPUs; that it is shared right does not need them."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


def by_process(number: int) -> tuple[int, int]:
    time.sleep(0.002)
    return number, os.getpid()


def dies_elsewhere(here: int, number: int) -> int:
    if os.getpid() != here and number > halves.FEW:
        os._exit(3)
    return by_process(number)[0]


def fails_at(wrong: int, number: int) -> int:
    if number == wrong:
        raise ValueError("not a histogram")
    return by_process(number)[0]


def many(task: Callable[[int], object]) -> list[Callable[[], object]]:
    return [partial(task, number) for number in range(TASKS)]


def test_two_processes_share_the_work_and_its_order_is_kept() -> None:
    found = halves.shared([partial(by_process, number) for number in range(TASKS)])
    assert [number for number, _ in found] == list(range(TASKS))
    assert len({process for _, process in found}) == 2


def test_little_work_is_done_here() -> None:
    found = halves.shared([partial(by_process, number) for number in range(halves.FEW)])
    assert found == [(number, os.getpid()) for number in range(halves.FEW)]


def test_what_a_copy_could_not_do_is_done_here() -> None:
    assert halves.shared(many(partial(dies_elsewhere, os.getpid()))) == list(range(TASKS))


@pytest.mark.parametrize("wrong", [0, 1, TASKS // 2, TASKS - 1])
def test_what_goes_wrong_goes_wrong_here_too(wrong: int) -> None:
    with pytest.raises(ValueError, match="not a histogram"):
        halves.shared(many(partial(fails_at, wrong)))


def test_what_has_no_end_in_a_copy_ends_with_this_one() -> None:
    """As where this process is interrupted while the other works."""
    here = os.getpid()

    def task() -> None:
        if os.getpid() != here:
            time.sleep(60)
        raise KeyboardInterrupt

    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        halves.shared([task] * TASKS)
    assert time.monotonic() - began_s < 30
