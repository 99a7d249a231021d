"""Processes that are stopped."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE_S = 60.0


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    """Stop a process; it continues afterwards.

    The signal only asks: on a busy machine a thread may still answer before it is stopped as the others are.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    os.kill(pid, signal.SIGSTOP)
    try:
        while _states(pid) != {"T"}:
            assert time.monotonic() < deadline_s, _states(pid)
            time.sleep(0.001)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _states(pid: int) -> set[str]:
    """Read the states of all threads."""
    states = set()
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread may end meanwhile
            states.add(stat.read_text().rpartition(")")[2].split()[0])
    return states
