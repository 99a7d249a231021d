"""Pages made in two processes: those of a run of hundreds of cells keep one CPU busy for seconds."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from shootout.site.shelf import File

Files = Callable[[], Iterable[File]]


@contextmanager
def aside(made: Files, really: bool) -> Iterator[Files]:
    """Begin to make files in a copy of this process; what is given waits for them, and returns them.

    Where it is not worth it, or the copy fails, they are made when they are asked for, here: what went wrong
    goes wrong again.
    """
    if not really or len(os.sched_getaffinity(0)) < 2:
        yield made
        return
    copies = multiprocessing.get_context("fork")  # nothing needs to be handed over
    ours, theirs = copies.Pipe(duplex=False)
    process = copies.Process(target=_send, args=(made, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield lambda: _received(ours, made)
    finally:
        ours.close()
        process.kill()
        process.join()


def _send(made: Files, to: Connection) -> None:
    to.send(list(made()))


def _received(from_: Connection, made: Files) -> Iterable[File]:
    try:
        files: list[File] = from_.recv()
    except EOFError:
        return made()
    return files
