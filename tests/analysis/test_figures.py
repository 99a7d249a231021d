"""A cell's figures: those of all its starts together."""

from __future__ import annotations

import random

import pytest

from shootout._engine import Histogram
from shootout.analysis import figures, histograms
from shootout.model.plan import Policy
from tests import builders


def test_latencies_of_statements_are_those_of_all_starts_together() -> None:
    dice = random.Random(3)
    starts = {number: builders.a_samples("a", workload="oltp_read_only", dice=dice) for number in (1, 2)}
    found = figures.of_cell(starts, Policy())
    assert list(found.statements) == list(starts[1].statements)
    for kind, latency in found.statements.items():
        merged = Histogram()
        for samples in starts.values():
            merged.add(Histogram.decode(samples.statements[kind]))
        assert (latency.count, latency.mean_s, latency.max_s) == (merged.count, merged.mean_s, merged.max_s)
        assert latency.p95_s == merged.percentile(95)


def test_what_is_decoded_once_stays_as_it_was() -> None:
    one, other = Histogram(), Histogram()
    one.record(1_000_000)
    other.record(3_000_000)
    texts = one.encode(), other.encode()
    for _ in range(2):
        assert histograms.merged(texts).count == 2
        assert [histograms.decoded(text).count for text in texts] == [1, 1]
    with pytest.raises(ValueError, match="not a histogram"):
        histograms.merged((*texts, "nonsense"))
