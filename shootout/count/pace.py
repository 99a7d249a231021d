"""How much of a count is done, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from msgspec import structs

from shootout.model.run import Observe, Progress

START = 10.0  # what a start takes, in kinds that are warmed up or counted


@dataclass
class Pace:
    """Shows progress with an estimate of the time left, from several threads. The share done never falls."""

    observe: Observe
    total: float  # in what `done` adds up to
    clock: Callable[[], float] = time.monotonic
    _sum: float = 0.0
    _shown: float = 0.0  # share of the time
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._created_s = self._began_s = self.clock()

    def begin(self) -> None:
        """Note that the servers are loaded: what follows has one pace."""
        self._began_s = self.clock()

    def done(self, amount: float = 1.0) -> None:
        """Note that so much more is done."""
        with self._lock:
            self._sum += amount

    def show(self, progress: Progress) -> None:
        """Show what is being done."""
        with self._lock:
            self.observe(structs.replace(progress, left_s=self._left_s()))

    def _left_s(self) -> float | None:
        share = min(self._sum / self.total, 1.0)
        if not share:
            return None
        now_s = self.clock()
        elapsed_s = now_s - self._created_s
        left_s = (now_s - self._began_s) * (1 - share) / share
        if self._shown:
            left_s = min(left_s, elapsed_s * (1 - self._shown) / self._shown)
        self._shown = elapsed_s / (elapsed_s + left_s) if elapsed_s else 0.0
        return left_s
