"""Cached decoding of the histograms in run documents."""

from __future__ import annotations

from functools import lru_cache

from shootout._engine import Histogram

CACHED = 256  # histograms of a block's servers, some 130 kB each


@lru_cache(CACHED)
def decoded(text: str) -> Histogram:
    """Decode what `Histogram.encode` wrote. Read-only: callers share it. Raises ValueError."""
    return Histogram.decode(text)


@lru_cache(CACHED // 4)
def merged(texts: tuple[str, ...]) -> Histogram:
    """Add these histograms, shared likewise. Raises ValueError."""
    total = Histogram()
    for text in texts:
        total.add(decoded(text))
    return total
