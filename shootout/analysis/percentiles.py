"""Percentiles of latencies, of all starts together, with intervals by a bootstrap of whole starts.

A start's own tail is a guess: the 99.9th percentile of a thousand transactions is one of them. So the
histograms of all starts are merged before a percentile is read, and what it could as well have been is seen
from starts drawn again, with replacement, a start's base and head together. Nothing is drawn inside a start:
drawing whole groups gives the variance of grouped data, that inside the groups included (Davison and Hinkley
1997, "Bootstrap Methods and their Application", section 3.8). So one histogram for each start is enough, and
what limits the interval is the number of starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shootout._engine import Histogram
from shootout.analysis import stats

Counts = NDArray[np.float64]  # of a start in each row, of a latency in each column; all of them whole

RESAMPLES = 200  # a standard error needs no more (Efron and Tibshirani 1993, section 6.4): it is within 5 %
BUCKET_S = 64e-9  # how wide a histogram's buckets are (engine/src/histogram.rs): so, or
BUCKET = 1 / 1024  # this share of the latency, whichever is more


class Percentile(NamedTuple):
    """A percentile of a base and a head."""

    base_s: float
    head_s: float
    difference_s: stats.Effect  # head less base
    log_ratio: stats.Effect  # of head over base


def compare(
    base: Sequence[Histogram], head: Sequence[Histogram], percents: Sequence[float], confidence: float
) -> tuple[Percentile, ...]:
    """What became of each percentile, over at least two starts; no histogram may be empty."""
    of_base, of_head = _of_starts((*base,), (*percents,)), _of_starts((*head,), (*percents,))
    starts = len(base)
    return tuple(
        compared(base_s, head_s, starts, confidence) for base_s, head_s in zip(of_base, of_head, strict=True)
    )


def compared(
    base_s: NDArray[np.float64], head_s: NDArray[np.float64], starts: int, confidence: float
) -> Percentile:
    """From one percentile in the order of `_draws`."""
    at = base_s[0], head_s[0]
    # A latency is known to its bucket; where in it, is uniform.
    errors_s = [max(BUCKET_S, BUCKET * latency_s) / math.sqrt(12) for latency_s in at]
    shares = [error_s / latency_s for error_s, latency_s in zip(errors_s, at, strict=True)]

    def effect(values: NDArray[np.float64], rounding: float) -> stats.Effect:
        estimate, own, replicates = float(values[0]), values[1 : 1 + starts], values[1 + starts :]
        return stats.resampled(estimate, replicates.tolist(), own.tolist(), rounding, confidence)

    return Percentile(
        base_s=float(base_s[0]),
        head_s=float(head_s[0]),
        difference_s=effect(head_s - base_s, math.hypot(*errors_s)),
        log_ratio=effect(np.log(head_s / base_s), math.hypot(*shares)),
    )


@lru_cache(4)  # a base is asked for beside each of its heads
def _of_starts(histograms: tuple[Histogram, ...], percents: tuple[float, ...]) -> NDArray[np.float64]:
    return seen(*_counted(histograms), percents)


def _counted(histograms: Sequence[Histogram]) -> tuple[NDArray[np.float64], Counts]:
    """All latencies there are, in order, and how often each start has them."""
    pairs = (np.fromiter(chain.from_iterable(histogram.buckets()), float) for histogram in histograms)
    buckets = [each.reshape(-1, 2).T for each in pairs]
    starts = np.repeat(np.arange(len(buckets)), [len(middles_s) for middles_s, _ in buckets])
    every_s = np.concatenate([middles_s for middles_s, _ in buckets])
    latencies_s, places = np.unique(every_s, return_inverse=True)
    counts = np.zeros((len(buckets), len(latencies_s)))
    counts[starts, places] = np.concatenate([of_start for _, of_start in buckets])
    return latencies_s, counts


def seen(latencies_s: NDArray[np.float64], counts: Counts, percents: Sequence[float]) -> NDArray[np.float64]:
    """Each percentile (a row) of each of the draws (a column)."""
    below = _draws(len(counts)) @ counts.cumsum(axis=1)
    totals = below[:, -1:]
    return np.array([latencies_s[(below >= p / 100 * totals).argmax(axis=1)] for p in percents])


@cache
def _draws(starts: int) -> Counts:
    """How often each start is in a draw: all of them once, each alone, then the resampled ones.

    These are the same for every cell, and every time: a document's verdicts stay what they are.
    """
    resampled = np.random.default_rng(0).multinomial(starts, [1 / starts] * starts, RESAMPLES)
    return np.vstack([np.ones((1, starts)), np.eye(starts), resampled])
