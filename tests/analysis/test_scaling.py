import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis import scaling
from shootout.analysis.scaling import Law

# SPEC SDM91 throughput over load generators, of Gunther's "Guerrilla Capacity Planning", chapter 5.
SDM91 = ((1, 18, 36, 72, 108, 144, 216), (64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2))


def test_the_published_example_comes_out() -> None:
    law = scaling.fit(*SDM91)
    assert law is not None
    # As the usl package for R gives it: σ 0.02772985, κ 0.00010437, peak at 96.5.
    assert law.contention == pytest.approx(0.02773, abs=5e-5)
    assert law.coherency == pytest.approx(0.00010437, abs=5e-8)
    assert law.peak_threads == pytest.approx(96.5, abs=0.1)
    assert law.throughput(96.5) == pytest.approx(1883, abs=20)


@given(one=st.floats(1, 1e5), contention=st.floats(0, 0.5), coherency=st.floats(1e-7, 1e-2))
def test_a_law_is_found_again(one: float, contention: float, coherency: float) -> None:
    true = Law(one, contention, coherency)
    threads = (1, 2, 4, 8, 16, 64, 256, 1024)
    law = scaling.fit(threads, [true.throughput(n) for n in threads])
    assert law is not None
    for n in threads:
        assert law.throughput(n) == pytest.approx(true.throughput(n), rel=1e-2, abs=1e-3 * one)


def test_what_cannot_be_fitted_is_not() -> None:
    assert scaling.fit((1, 2, 4), (10, 20, 40)) is None
    assert scaling.fit((1, 2, 4, 8), (10, 20, 0, 80)) is None


def test_without_costs_of_pairs_there_is_no_peak() -> None:
    law = scaling.fit((1, 2, 4, 8, 16), (10, 20, 40, 80, 160))
    assert law is not None
    assert law.contention == pytest.approx(0, abs=1e-4)
    assert law.throughput(32) == pytest.approx(320, rel=5e-3)
    assert Law(10, 0.1, 0.0).peak_threads == math.inf
