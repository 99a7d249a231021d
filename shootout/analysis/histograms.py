"""Latencies as documents hold them: what is asked for again and again is decoded once."""

from __future__ import annotations

from functools import lru_cache

from shootout._engine import Histogram

TOGETHER = 256  # histograms of a block's servers; each takes some 130 kB


@lru_cache(TOGETHER)
def decoded(text: str) -> Histogram:
    """What `Histogram.encode` wrote, only to be read: others see the same one. Raises ValueError."""
    return Histogram.decode(text)


@lru_cache(TOGETHER // 4)
def merged(texts: tuple[str, ...]) -> Histogram:
    """All of them together, likewise."""
    total = Histogram()
    for text in texts:
        total.add(decoded(text))
    return total
