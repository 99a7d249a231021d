"""The universal scalability law, fitted to throughput over threads.

X(N) = λ N / (1 + σ (N - 1) + κ N (N - 1)), with the throughput λ of one thread, contention σ (the serial
share) and coherency κ (the cost of each pair of threads): Gunther, "Guerrilla Capacity Planning", chapter 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

POINTS_MIN = 4  # one more than parameters


class Law(NamedTuple):
    """A fitted law."""

    one: float  # λ, transactions/s
    contention: float  # σ
    coherency: float  # κ

    @property
    def peak_threads(self) -> float:
        """The thread count with the highest throughput; infinite if it has no peak."""
        if self.coherency == 0 or self.contention >= 1:
            return math.inf
        return math.sqrt((1 - self.contention) / self.coherency)

    def throughput(self, threads: float) -> float:
        """Transactions/s at this many threads."""
        return self.one * threads / _slowed(threads, self.contention, self.coherency)


def fit(threads: Sequence[int], tps: Sequence[float]) -> Law | None:
    """Fit the law by least squares, with parameters of at least 0; contention and coherency are at most 1.

    The `usl` package for R (Möding) fits it the same way, so its results can be compared with ours. None with
    fewer than `POINTS_MIN` thread counts, or if a throughput is 0.
    """
    counts, measured = np.asarray(threads, dtype=float), np.asarray(tps, dtype=float)
    if len(set(threads)) < POINTS_MIN or not np.all(measured > 0):
        return None
    scale = float(measured.max())

    def residuals(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        one, contention, coherency = parameters
        off: NDArray[np.float64] = one * counts / _slowed(counts, contention, coherency) - measured / scale
        return off

    def jacobian(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        one, contention, coherency = parameters
        pairs, slowed = counts * (counts - 1), _slowed(counts, contention, coherency)
        squared = slowed**2
        return np.column_stack([counts / slowed, -one * pairs / squared, -one * counts * pairs / squared])

    first = (float((measured / counts).max()) / scale, 0.05, 1e-4)
    bounds = ([0, 0, 0], [np.inf, 1, 1])
    fitted = least_squares(
        residuals, first, jacobian, bounds, x_scale=(first[0], 0.01, 1e-4), xtol=1e-9, ftol=1e-9
    )
    one, contention, coherency = map(float, fitted.x)
    return Law(one * scale, contention, coherency)


Threads = TypeVar("Threads", float, NDArray[np.float64])


def _slowed(threads: Threads, contention: float, coherency: float) -> Threads:
    """The factor by which waiting slows each thread down."""
    return 1 + contention * (threads - 1) + coherency * threads * (threads - 1)
