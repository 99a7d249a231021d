"""Signals that stop the process as Ctrl-C does, so that it cleans up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupting(*signals: signal.Signals) -> Iterator[None]:
    """Raise KeyboardInterrupt for each of `signals` inside the block. Main thread only."""
    before = {each: signal.signal(each, _interrupt) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
