"""How throughput scales with threads: the universal scalability law, fitted.

X(N) = λ N / (1 + σ (N - 1) + κ N (N - 1)): λ is one thread's throughput, σ what must go one at a time, κ what
each pair of threads costs the others (Gunther, "Guerrilla Capacity Planning", chapter 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

POINTS_MIN = 4  # three parameters, and one that can contradict them


class Law(NamedTuple):
    """A fitted law."""

    one: float  # λ, transactions/s
    contention: float  # σ
    coherency: float  # κ

    @property
    def peak_threads(self) -> float:
        """Where throughput is highest; endless where pairs cost nothing."""
        if self.coherency == 0 or self.contention >= 1:
            return math.inf
        return math.sqrt((1 - self.contention) / self.coherency)

    def throughput(self, threads: float) -> float:
        """Transactions/s at a number of threads."""
        return self.one * threads / _slowed(threads, self.contention, self.coherency)


def fit(threads: Sequence[int], tps: Sequence[float]) -> Law | None:
    """The law that misses the measured throughputs least, in squares; no parameter is negative.

    So the `usl` package for R fits it (Möding), and so its figures can be held against ours. None with fewer
    than `POINTS_MIN` numbers of threads, or where nothing ran.
    """
    counts, measured = np.asarray(threads, dtype=float), np.asarray(tps, dtype=float)
    if len(set(threads)) < POINTS_MIN or not np.all(measured > 0):
        return None
    scale = float(measured.max())

    def misses(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        one, contention, coherency = parameters
        found: NDArray[np.float64] = one * counts / _slowed(counts, contention, coherency) - measured / scale
        return found

    def slopes(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        one, contention, coherency = parameters
        pairs, slowed = counts * (counts - 1), _slowed(counts, contention, coherency)
        squared = slowed**2
        return np.column_stack([counts / slowed, -one * pairs / squared, -one * counts * pairs / squared])

    first = (float((measured / counts).max()) / scale, 0.05, 1e-4)
    bounds = ([0, 0, 0], [np.inf, 1, 1])
    found = least_squares(misses, first, slopes, bounds, x_scale=(first[0], 0.01, 1e-4), xtol=1e-9, ftol=1e-9)
    one, contention, coherency = map(float, found.x)
    return Law(one * scale, contention, coherency)


Threads = TypeVar("Threads", float, NDArray[np.float64])


def _slowed(threads: Threads, contention: float, coherency: float) -> Threads:
    """By how much waiting slows each thread down."""
    return 1 + contention * (threads - 1) + coherency * threads * (threads - 1)
