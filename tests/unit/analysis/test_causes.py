"""Causes of a change of throughput."""

from __future__ import annotations

import msgspec
import pytest

from shootout.analysis import causes, metrics
from shootout.analysis.pairs import Pair
from shootout.analysis.verdicts import Decision
from shootout.model.plan import Metric, Policy
from shootout.model.run import Samples
from shootout.model.verdict import Cause, Interval, MetricComparison, MetricVerdict, StatementTime, Verdict
from tests.support.analysis.builders import a_document, head_of, starts_of, with_samples
from tests.support.builders import a_block, a_samples

CPUS = 2


def a_pair(base: Samples | None = None, threads: int = 1) -> Pair:
    """One thread at 1000 transactions/s: about 0.95 ms each."""
    block = a_block(threads=threads)
    starts = {n: base or a_samples(tps=1000.0, threads=threads) for n in (1, 2)}
    base_cell, head = block.cells
    return Pair(head, base_cell, starts, starts, throughput=None, changes=())


def about(value: float, half: float = 0.001) -> Interval:
    return Interval(estimate=value, low=value - half * abs(value), high=value + half * abs(value))


def work(name: str, base: float, head: float, p_value: float = 0.0001) -> MetricComparison:
    ratio = about(head / base) if base else None
    return MetricComparison(
        name=name, base=base, head=head, difference=about(head - base), ratio=ratio, p_value=p_value
    )


def statement(kind: str, base_ms: float, head_ms: float, half: float = 0.1) -> StatementTime:
    by = about((head_ms - base_ms) / 1000, half)
    return StatementTime(kind=kind, base_s=base_ms / 1000, head_s=head_ms / 1000, difference_s=by)


def causes_found(
    *parts: MetricComparison | StatementTime,
    verdict: Verdict = Verdict.REGRESSED,
    decided_by: Metric = "throughput",
    cells: int = 10,
    pair: Pair | None = None,
) -> tuple[Cause, ...]:
    judged = MetricVerdict(
        metric=decided_by, verdict=verdict, ratio=about(0.9), p_value=0.0, margin=0.02, spread=0.01,
        floor=None, detectable=None, confirmed=None,
    )  # fmt: skip
    return causes.of_cell(
        pair or a_pair(),
        Decision(verdict, "", (judged,)),
        [each for each in parts if isinstance(each, MetricComparison)],
        [each for each in parts if isinstance(each, StatementTime)],
        Policy(),
        cpus=CPUS,
        cells=cells,
    )


def names(*parts: MetricComparison | StatementTime, **how: object) -> list[str]:
    return [each.name for each in causes_found(*parts, **how)]  # type: ignore[arg-type]


CPU = work("server_cpu", 0.0005, 0.0006)
READ = statement("read", 0.1, 0.1)


def test_a_single_statement_and_its_cpu_time_are_no_cause_of_themselves() -> None:
    rows, update = work("rows_read", 100.0, 2000.0), statement("update", 0.5, 0.6)
    assert names(CPU, rows, update) == ["rows_read"]
    assert {*names(CPU, rows, update, READ)} == {"rows_read", "update", "server_cpu"}


def test_causes_are_ranked_by_how_much_of_a_transaction_they_take() -> None:
    """0.1 ms of CPU, 0.3 ms of updates, two waits of 1 ms, and 0.1 ms of reads, all of about 1 ms."""
    update, reads = statement("update", 0.5, 0.8), statement("select", 0.1, 0.15)
    waits, pages = work("lock_waits", 1.0, 3.0), work("buffer_pool_reads", 1.0, 3.0)
    ranked = causes_found(CPU, reads, update, pages, waits)
    assert [(each.kind, each.name) for each in ranked] == [
        ("work", "lock_waits"), ("statement", "update"), ("work", "buffer_pool_reads"),
        ("work", "server_cpu"), ("statement", "select"),
    ]  # fmt: skip
    shares = {each.name: each.share for each in ranked}
    assert shares["update"] == pytest.approx(0.3, rel=0.1)
    assert shares["server_cpu"] == pytest.approx(0.1, rel=0.1)
    assert (ranked[1].base, ranked[1].head) == pytest.approx((0.0005, 0.0008))


def test_of_a_regression_only_what_became_more_is_a_cause() -> None:
    parts = (
        CPU,
        work("rows_read", 1000.0, 800.0),
        statement("update", 0.5, 0.4),
        statement("select", 0.1, 0.15),
    )
    assert names(*parts) == ["server_cpu", "select"]
    assert names(*parts, verdict=Verdict.IMPROVED) == ["update", "rows_read"]


def test_what_is_not_certain_or_hardly_anything_is_no_cause() -> None:
    assert names(work("server_cpu", 0.0005, 0.0006, p_value=0.06)) == []
    assert names(work("rows_read", 1000.0, 1010.0)) == []  # certain, and less than the margin
    assert names(work("rows_read", 100.0, 200.0)) == []  # certain, and 2 % of a transaction's time
    assert names(CPU, statement("update", 0.5, 0.6, half=1.1), READ) == ["server_cpu"]  # its interval holds 0
    assert names(CPU, statement("update", 0.5, 0.505), READ) == ["server_cpu"]


def test_cpu_that_is_busy_on_both_sides_stands_at_its_share() -> None:
    """Either server uses 1.9 of its two CPUs, so throughput is what CPU time allows."""
    samples = a_samples(tps=1000.0, threads=4)
    busy = msgspec.structs.replace(
        samples, server_cpu_s=tuple(0.00190 * count for count in samples.completed)
    )
    cpu, update = work("server_cpu", 0.0019, 0.0028), statement("update", 0.5, 0.8)
    assert names(cpu, update, READ, pair=a_pair(samples, threads=4)) == ["server_cpu", "update"]
    assert names(cpu, update, READ, pair=a_pair(busy, threads=4)) == ["server_cpu", "update"]


def test_what_is_to_be_explained_is_no_cause_of_itself() -> None:
    assert names(CPU, work("latency_p99", 0.002, 0.004)) == ["server_cpu"]
    assert names(CPU, work("lock_waits", 1.0, 2.0), decided_by="lock_waits") == ["server_cpu"]


@pytest.mark.parametrize("name", ["context_switches", "disk_written", "fsyncs"])
@pytest.mark.parametrize("verdict", [Verdict.REGRESSED, Verdict.INCONCLUSIVE])
def test_what_background_threads_also_do_is_no_cause(name: str, verdict: Verdict) -> None:
    """It falls to fewer transactions on a slower server."""
    assert metrics.BY_NAME[name].background
    assert names(CPU, work(name, 1e6, 2e6), verdict=verdict) == ["server_cpu"]


def test_what_began_from_nothing_has_no_ratio_and_is_a_cause() -> None:
    assert names(work("lock_waits", 0.0, 0.5)) == ["lock_waits"]
    assert names(verdict=Verdict.UNJUDGED) == []


@pytest.mark.parametrize("verdict", [Verdict.EQUIVALENT, Verdict.INCONCLUSIVE])
def test_work_that_changed_is_told_where_throughput_is_not(verdict: Verdict) -> None:
    """Both ways; but as nobody asked for it, it must be certain among the figures of all cells."""
    less, update = work("rows_read", 100.0, 50.0), statement("update", 0.5, 0.8)
    assert names(CPU, less, update, verdict=verdict) == ["server_cpu", "rows_read"]
    assert names(work("rows_read", 0.1, 10.0), verdict=verdict) == []  # of little that becomes more
    doubtful = work("server_cpu", 0.0005, 0.0006, p_value=0.01)
    assert names(doubtful, verdict=verdict, cells=4) == ["server_cpu"]
    assert names(doubtful, verdict=verdict, cells=6) == []
    assert names(doubtful) == ["server_cpu"]


def test_where_many_wait_for_the_cpu_its_time_weighs_as_much_as_throughput_says() -> None:
    """32 threads on two CPUs: a tenth of the CPU's time is a tenth of throughput, not of a latency."""
    busy = a_pair(a_samples(tps=4000.0, threads=32), threads=32)
    (cause,) = causes_found(CPU, pair=busy)
    assert cause.share == pytest.approx(0.0001 * 4000 / CPUS, rel=0.05)


def test_more_work_is_the_likely_cause_of_a_regression() -> None:
    """A tenth slower, and twice as many waits; an equivalent cell lists it all the same."""
    waits = {server: {"Innodb_row_lock_waits": count} for server, count in (("a", 1200.0), ("b", 2400.0))}
    for change, verdict in ((-10, Verdict.REGRESSED), (0, Verdict.EQUIVALENT)):
        starts = with_samples(starts_of(change), lambda samples: {"counters": waits[samples.server]})
        head = head_of(a_document(starts))
        assert head.verdict is verdict
        assert [(each.kind, each.name) for each in head.causes] == [("work", "lock_waits")]
        assert head.causes[0].head == pytest.approx(2 * head.causes[0].base, rel=0.15)
    assert head_of(a_document(starts_of(-10))).causes == ()
