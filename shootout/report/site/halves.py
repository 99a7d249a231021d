"""Work shared by this process and a copy of it: hundreds of cells' pages keep one CPU busy for seconds."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar("T")

FEW = 12  # tasks: for these a second process is not worth its start


def shared(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What each task returns, in their order; the two processes take one after the other.

    What a task returns must go through a pipe. What the copy could not do is done here: what went wrong goes
    wrong again, where somebody hears of it.
    """
    if len(tasks) <= FEW or len(os.sched_getaffinity(0)) < 2:
        return [task() for task in tasks]
    copies = multiprocessing.get_context("fork")  # nothing needs to be handed over
    ours, theirs = copies.Pipe(duplex=False)
    begun = copies.Value("i", 0)

    def numbers() -> Iterator[int]:
        while True:
            with begun.get_lock():
                number, begun.value = begun.value, begun.value + 1
            if number >= len(tasks):
                return
            yield number

    process = copies.Process(target=_help, args=(tasks, numbers(), theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        done = {number: tasks[number]() for number in numbers()}
        with suppress(EOFError):
            done |= ours.recv()
    finally:
        ours.close()
        process.kill()
        process.join()
    return [done[number] if number in done else task() for number, task in enumerate(tasks)]


def _help(tasks: Sequence[Callable[[], T]], numbers: Iterable[int], to: Connection) -> None:
    done = {}
    with suppress(Exception):
        for number in numbers:
            done[number] = tasks[number]()
    to.send(done)
