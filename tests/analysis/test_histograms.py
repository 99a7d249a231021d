"""Histograms of several samples as one."""

from __future__ import annotations

import pytest

from shootout._engine import Histogram
from shootout.analysis import histograms


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
