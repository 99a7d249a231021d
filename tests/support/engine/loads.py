"""Engines that load servers, and what happens to a server meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shootout._engine import Engine
from shootout.measure.dataset import SCHEMAS
from shootout.measure.managed import connect
from shootout.servers.processes.instances import Instance

SCHEMA = SCHEMAS["sbtest"]


def an_engine(program: bytes, *servers: Instance, connections: int, workers: int = 1) -> Engine:
    engine = Engine(program, 1, workers)
    for server in servers:
        connect(engine, server, SCHEMA, connections)
    return engine


@contextmanager
def after(seconds: float, do: Callable[[], object]) -> Iterator[Callable[[], float]]:
    """Call `do` after some time, concurrently with the body; raises if it failed.

    Yields a clock of the seconds since it was called.
    """
    errors: list[BaseException] = []
    called_at = [float("nan")]

    def act() -> None:
        time.sleep(seconds)
        called_at[0] = time.monotonic()
        try:
            do()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield lambda: time.monotonic() - called_at[0]
    finally:
        thread.join()
    assert not errors
