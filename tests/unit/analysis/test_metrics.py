from __future__ import annotations

import random

import pytest
from msgspec import structs

from shootout.analysis import metrics
from shootout.model.run import Samples
from shootout.model.verdict import MetricComparison
from tests.support.builders import BASE, HEAD, a_histogram, a_samples


def server(
    label: str, *, starts: int = 4, latency_s: float = 0.001, cpu_s: float = 0.0005, **counters: float
) -> dict[int, Samples]:
    """One server's samples; `cpu_s` and `counters` are for each transaction, and differ a little by start."""
    found = {}
    for start in range(1, starts + 1):
        dice = random.Random(f"{label}/{start}")
        wobble = dice.gauss(1, 0.002)
        samples = a_samples(label, dice=dice)
        total = sum(samples.completed)
        found[start] = structs.replace(
            samples,
            latencies=a_histogram(latency_s * wobble, dice).encode(),
            statements={
                "update": a_histogram(0.6 * latency_s * wobble, dice).encode(),
                "select": a_histogram(0.0002, dice, count=1200).encode(),
            },
            server_cpu_s=tuple(cpu_s * wobble * completed for completed in samples.completed),
            counters={name: value * wobble * total for name, value in counters.items()},
        )
    return found


def compared(base: dict[int, Samples], head: dict[int, Samples]) -> dict[str, MetricComparison]:
    return {each.name: each for each in metrics.compare(base, head, 0.2, 0.95)}


def test_more_work_for_each_transaction_is_seen() -> None:
    base = server(BASE, cpu_s=0.0005, Innodb_data_fsyncs=0.02, Innodb_rows_read=100, Handler_read_rnd_next=9)
    head = server(HEAD, cpu_s=0.00055, Innodb_data_fsyncs=0.02, Innodb_rows_read=200, Handler_read_rnd_next=9)
    found = compared(base, head)
    cpu = found["server_cpu"]
    assert (cpu.base, cpu.head) == pytest.approx((0.0005, 0.00055), rel=0.01)
    assert cpu.ratio is not None
    assert 1.08 < cpu.ratio.low < 1.1 < cpu.ratio.high < 1.12
    assert cpu.difference.low < 0.00005 < cpu.difference.high
    assert cpu.p_value < 0.001
    assert (found["rows_read"].base, found["rows_read"].head) == pytest.approx((100, 200), rel=0.01)
    assert found["fsyncs"].p_value > 0.05
    assert {"lock_waits", "disk_written"}.isdisjoint(found)  # not visible


def test_a_flush_of_the_disk_has_a_latency_where_transactions_wait_for_it() -> None:
    base = server(BASE, disk_flushes=1.0, disk_flush_s=0.0007)
    head = server(HEAD, disk_flushes=2.0, disk_flush_s=0.0021)
    found = compared(base, head)["flush_latency"]
    assert (found.base, found.head) == pytest.approx((0.0007, 0.00105), rel=0.01)
    assert found.p_value < 0.001
    assert "flush_latency" not in compared(server(BASE, disk_flushes=0.001, disk_flush_s=1e-6), head)


def test_server_cpu_is_compared_round_by_round() -> None:
    """A round that the machine spoilt on one server weighs no more than any other."""
    base, head = server(BASE), server(HEAD, cpu_s=0.00055)
    for start, samples in head.items():
        spoilt = (9 * samples.server_cpu_s[0], *samples.server_cpu_s[1:]) if samples.server_cpu_s else None
        head[start] = structs.replace(samples, server_cpu_s=spoilt)
    cpu = compared(base, head)["server_cpu"]
    assert cpu.ratio is not None
    assert 1.08 < cpu.ratio.low < 1.1 < cpu.ratio.high < 1.12
    idle = {
        start: structs.replace(s, server_cpu_s=(0.0, *(s.server_cpu_s or ())[1:]))
        for start, s in base.items()
    }
    assert compared(idle, head)["server_cpu"].ratio is not None  # of whole starts


def test_latencies_are_compared_by_percentiles() -> None:
    found = compared(server(BASE, latency_s=0.001), server(HEAD, latency_s=0.0012))
    for name in ("latency_p50", "latency_p95", "latency_p99"):
        ratio = found[name].ratio
        assert ratio is not None
        assert ratio.low < 1.2 < ratio.high
    assert found["latency_p50"].base < found["latency_p95"].base < found["latency_p999"].base


def test_what_happens_on_one_side_only_has_a_difference_and_no_ratio() -> None:
    base, head = server(BASE, Innodb_row_lock_waits=0.0), server(HEAD, Innodb_row_lock_waits=0.5)
    waits = compared(base, head)["lock_waits"]
    assert waits.ratio is None
    assert waits.difference.estimate == pytest.approx(0.5, rel=0.01)
    assert waits.p_value < 0.001


def test_what_never_happens_or_cannot_be_seen_in_one_start_is_left_out() -> None:
    base, head = (server(label, Innodb_row_lock_waits=0.0) for label in (BASE, HEAD))
    head[2] = structs.replace(head[2], server_cpu_s=None)
    assert {"lock_waits", "server_cpu"}.isdisjoint(compared(base, head))


def test_one_start_says_nothing() -> None:
    one, more = server(BASE, starts=1), server(HEAD)
    assert metrics.compare(one, more, 0.2, 0.95) == ()
    assert metrics.statement_times(one, more, 0.95) == ()


def test_the_time_of_a_transaction_is_shared_out_among_its_statements() -> None:
    base, head = server(BASE, latency_s=0.001), server(HEAD, latency_s=0.0015)
    update, select = metrics.statement_times(base, head, 0.95)
    assert (update.kind, select.kind) == ("update", "select")
    assert update.difference_s.low < 0.5 * update.base_s < update.difference_s.high
    assert select.difference_s.low < 0 < select.difference_s.high
    assert select.base_s == pytest.approx(2 * 0.0002, rel=0.1)  # two of them in a transaction


def test_a_statement_that_only_one_side_has_counts_whole() -> None:
    base, head = server(BASE), server(HEAD)
    for start, samples in base.items():
        base[start] = structs.replace(samples, statements={"select": samples.statements["select"]})
    update = metrics.statement_times(base, head, 0.95)[0]
    assert (update.kind, update.base_s) == ("update", 0.0)
    assert update.difference_s.low > 0


def test_one_statement_has_one_mean_however_its_starts_differ() -> None:
    """The last start is half as fast, so it has half as many transactions."""
    base, head = server(BASE), server(HEAD)
    for starts, latency_s in ((base, 0.001), (head, 0.0014)):
        for start, samples in starts.items():
            slow = 2 if start == 4 else 1
            latencies = a_histogram(slow * latency_s, random.Random(start), count=600 // slow).encode()
            starts[start] = structs.replace(samples, latencies=latencies, statements={"select": latencies})
    (select,) = metrics.statement_times(base, head, 0.95)
    whole = [metrics.transaction_s(side) for side in (base, head)]
    assert [select.base_s, select.head_s] == pytest.approx(whole)
    assert select.difference_s.estimate == pytest.approx(whole[1] - whole[0])
