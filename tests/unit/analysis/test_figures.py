"""A cell's figures: those of the starts that its verdict rests on."""

from __future__ import annotations

import random

import pytest
from msgspec import structs

from shootout._engine import Histogram
from shootout.analysis import compare, figures
from shootout.errors import InputError
from shootout.model.plan import Policy
from shootout.model.run import Samples
from tests.support import builders
from tests.support.analysis.builders import READS, a_document, a_sample, a_start, head_of, histogram


def test_latencies_of_statements_are_those_of_all_starts_together() -> None:
    dice = random.Random(3)
    starts = {number: builders.a_samples("a", workload="oltp_read_only", dice=dice) for number in (1, 2)}
    found = figures.of_cell(starts, {1, 2}, Policy())
    assert found is not None
    assert list(found.statements) == list(starts[1].statements)
    for kind, latency in found.statements.items():
        merged = Histogram()
        for samples in starts.values():
            merged.add(Histogram.decode(samples.statements[kind]))
        assert (latency.count, latency.mean_s, latency.max_s) == (merged.count, merged.mean_s, merged.max_s)
        assert latency.p95_s == merged.percentile(95)


def test_figures_are_for_each_transaction() -> None:
    head = a_sample("b", counters={"fsyncs": 2400.0}, errors={"1213": 1, "1205": 2}, writes=1200)
    figures = head_of(a_document([a_start(n, a_sample("a"), head) for n in (1, 2)])).figures
    assert figures is not None
    assert figures.server_cpu_s == pytest.approx(0.0005)
    assert figures.client_cpu_s == pytest.approx(0.0001)
    assert (figures.reads, figures.writes, figures.other) == (14, 1, 2)
    assert figures.counters == {"fsyncs": 2.0}
    assert figures.errors == {"1205": 4, "1213": 2}
    assert (figures.starts, figures.rounds) == (2, 20)


def test_what_was_not_visible_in_each_start_is_not_there_and_not_zero() -> None:
    seen = a_sample("b", counters={"fsyncs": 2400.0, "reads": 1200.0})
    unseen = a_sample("b", counters={"reads": 1200.0}, server_cpu_s=None)
    for samples, counters in (((seen, unseen), {"reads": 1.0}), ((unseen, unseen), {"reads": 1.0})):
        starts = [a_start(n, a_sample("a"), each) for n, each in enumerate(samples)]
        figures = head_of(a_document(starts)).figures
        assert figures is not None
        assert figures.server_cpu_s is None
        assert figures.counters == counters


def test_latencies_of_all_starts_are_merged_before_percentiles() -> None:
    fast, slow = (a_sample("b", latencies=histogram(*x)) for x in ([1.0] * 98, [10.0, 100.0]))
    starts = [a_start(1, a_sample("a"), fast), a_start(2, a_sample("a"), slow)]
    figures = head_of(a_document(starts)).figures
    assert figures is not None
    latency = figures.latency
    assert latency.mean_s == pytest.approx((98 * 0.001 + 0.01 + 0.1) / 100, rel=2e-3)
    seconds = (latency.min_s, latency.p50_s, latency.p95_s, latency.p99_s, latency.p999_s, latency.max_s)
    assert seconds == pytest.approx((0.001, 0.001, 0.001, 0.01, 0.1, 0.1), rel=2e-3)


def test_figures_are_those_of_the_starts_that_the_verdict_rests_on() -> None:
    """Neither the first start of the base nor the last of the head was steady, and each differs."""

    def a_slow(label: str, n: int, *, steady: bool) -> Samples:
        return a_sample(label, [1000.0 / n] * 10, latencies=histogram(*[10.0**n] * 4), steady=steady)

    starts = [a_start(n, a_slow("a", n, steady=n != 1), a_slow("b", n, steady=n != 4)) for n in (1, 2, 3, 4)]
    base, head = compare.compare(a_document(starts)).cells
    assert base.figures is not None
    assert head.figures is not None
    assert (base.figures.tps, head.figures) == (head.figures.tps, head.base_figures)
    assert (head.figures.starts, head.figures.left_out) == (len(head.per_start), (1, 4)) == (2, (1, 4))
    assert head.figures.tps.estimate == pytest.approx((1000 / 2 + 1000 / 3) / 2)
    (p95,) = (each for each in head.metrics if each.name == "latency_p95")
    assert head.figures.latency.p95_s == pytest.approx(p95.head, rel=2e-3)
    (warning,) = (each.text for each in head.warnings if each.code == "unsteady")
    assert warning.endswith("excluded from the verdict and its figures")


def test_throughput_is_measured_in_the_starts_that_a_verdict_rests_on() -> None:
    """One head was not steady in two starts, in which the base was slower."""
    block = structs.replace(READS, servers=("a", "b", "c"))
    starts = [
        a_start(
            n,
            *(a_sample(label, [1000.0 + n] * 10, steady=label != "c" or n > 1) for label in "abc"),
            block=block,
        )
        for n in range(4)
    ]
    base, b, c = compare.compare(a_document(starts, blocks=(block,))).cells
    assert c.figures is not None
    assert c.figures.left_out == (0, 1)
    assert base.figures is not None
    assert b.base_figures is not None
    assert c.base_figures is not None
    assert (b.base_figures.tps, c.base_figures.starts) == (base.figures.tps, 2)
    assert [each.tps.estimate for each in (c.base_figures, c.figures)] == pytest.approx([1002.5, 1002.5])


def test_what_is_compared_with_nothing_has_figures_of_all_its_starts() -> None:
    starts = [a_start(n, a_sample("a", steady=n > 1)) for n in (1, 2, 3)]
    (alone,) = compare.compare(a_document(starts, blocks=(structs.replace(READS, servers=("a",)),))).cells
    assert alone.figures is not None
    assert (alone.figures.starts, alone.figures.left_out, alone.base_figures) == (3, (), None)
    (warning,) = (each.text for each in alone.warnings if each.code == "unsteady")
    assert warning.endswith(": excluded from the verdict")


def test_latencies_that_cannot_be_read() -> None:
    broken = a_document([a_start(7, a_sample("a"), a_sample("b", latencies="nonsense"))])
    with pytest.raises(InputError, match=r"^run r: start 7 of reads-t4, b: latencies cannot be read: "):
        compare.compare(broken)
