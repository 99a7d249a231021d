"""Latency percentiles over all starts, with intervals from a bootstrap of whole starts.

One start's tail is a guess: the 99.9th percentile of a thousand transactions is a single one of them. So
percentiles are read from the merged histograms of all starts. Their intervals come from resampling starts
with replacement, base and head together. Nothing is resampled within a start: resampling whole groups gives
the variance of grouped data, including that within groups (Davison and Hinkley 1997, "Bootstrap Methods and
their Application", section 3.8). So one histogram per start is enough, and the number of starts limits the
interval.
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

Counts = NDArray[np.float64]  # whole numbers; a row per start, a column per latency

RESAMPLES = 200  # enough for a standard error, to within 5 % (Efron and Tibshirani 1993, section 6.4)
# A histogram bucket is this wide, or this share of the latency if that is more (engine/src/histogram.rs).
BUCKET_S = 64e-9
BUCKET = 1 / 1024


class Percentile(NamedTuple):
    """A percentile of a base and a head."""

    base_s: float
    head_s: float
    difference_s: stats.Effect  # head less base
    log_ratio: stats.Effect  # of head over base


def compare(
    base: Sequence[Histogram], head: Sequence[Histogram], percents: Sequence[float], confidence: float
) -> tuple[Percentile, ...]:
    """Compare each percentile over at least two starts; no histogram may be empty."""
    of_base, of_head = _of_starts((*base,), (*percents,)), _of_starts((*head,), (*percents,))
    starts = len(base)
    return tuple(
        from_draws(base_s, head_s, starts, confidence)
        for base_s, head_s in zip(of_base, of_head, strict=True)
    )


def from_draws(
    base_s: NDArray[np.float64], head_s: NDArray[np.float64], starts: int, confidence: float
) -> Percentile:
    """Compare one percentile, given its values in the order of `of_draws`."""
    at = base_s[0], head_s[0]
    # A latency is known only to its bucket, and uniform within it.
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


@lru_cache(4)  # a base is compared with several heads
def _of_starts(histograms: tuple[Histogram, ...], percents: tuple[float, ...]) -> NDArray[np.float64]:
    return of_draws(*_counted(histograms), percents)


def _counted(histograms: Sequence[Histogram]) -> tuple[NDArray[np.float64], Counts]:
    """All latencies that occur, ascending, and their counts by start."""
    pairs = (np.fromiter(chain.from_iterable(histogram.buckets()), float) for histogram in histograms)
    buckets = [each.reshape(-1, 2).T for each in pairs]
    starts = np.repeat(np.arange(len(buckets)), [len(middles_s) for middles_s, _ in buckets])
    every_s = np.concatenate([middles_s for middles_s, _ in buckets])
    latencies_s, places = np.unique(every_s, return_inverse=True)
    counts = np.zeros((len(buckets), len(latencies_s)))
    counts[starts, places] = np.concatenate([of_start for _, of_start in buckets])
    return latencies_s, counts


def of_draws(
    latencies_s: NDArray[np.float64], counts: Counts, percents: Sequence[float]
) -> NDArray[np.float64]:
    """Percentiles by draw: a row per percentile, a column per draw: all starts, each one, the resamples."""
    of_starts = counts.cumsum(axis=1)
    below = np.vstack([of_starts.sum(axis=0), of_starts, _resamples(len(counts)) @ of_starts])
    totals = below[:, -1:]
    return np.array([latencies_s[(below >= p / 100 * totals).argmax(axis=1)] for p in percents])


@cache
def _resamples(starts: int) -> Counts:
    """Draw how often each resample (a row) has each start; the seed is fixed: verdicts are reproducible."""
    return np.random.default_rng(0).multinomial(starts, [1 / starts] * starts, RESAMPLES).astype(float)
