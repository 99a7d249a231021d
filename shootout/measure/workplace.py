"""Where a measurement's servers live, what it holds until it ends, and the signals that end it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from shootout.paths import cache_folder
from shootout.servers.leftovers import working_directory


@contextmanager
def workplace(name: str, data: Path | None = None) -> Iterator[tuple[Path, ExitStack]]:
    """A directory for instances, in the cache or in `data`, and what is to be closed before it is removed.

    SIGTERM and SIGHUP end the block as Ctrl-C does. Main thread only. Raises as `working_directory` does.
    """
    with (
        interrupting(signal.SIGTERM, signal.SIGHUP),
        working_directory(cache_folder(), name, data) as directory,
        ExitStack() as held,
    ):
        yield directory, held


@contextmanager
def interrupting(*signals: signal.Signals) -> Iterator[None]:
    """Raise KeyboardInterrupt for each of `signals` inside the block. Main thread only."""
    before = {number: signal.signal(number, _interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
