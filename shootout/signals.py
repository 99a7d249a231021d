"""Signals that end this process: as an exception, and put off."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupting(*signals: signal.Signals) -> Iterator[None]:
    """Raise KeyboardInterrupt for each of `signals` inside the block. Main thread only."""
    before = {number: signal.signal(number, _interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def put_off() -> Iterator[list[int]]:
    """Raise signals that end us only after the block, which sees those that came. Main thread only."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda sent, _: came.append(sent)) for number in _ENDING}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def end_quietly() -> None:
    """Let signals end this process at once: its parent says why."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
