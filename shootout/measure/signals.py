"""Signals that end what is going on as Ctrl-C does, so that it can end well."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupting(*signals: signal.Signals) -> Iterator[None]:
    """Meanwhile each of `signals` is a KeyboardInterrupt, too. Only in the main thread."""
    before = {each: signal.signal(each, _interrupt) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
