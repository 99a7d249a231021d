"""The rule: from the changes of a cell to its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shootout.analysis import compare
from shootout.model.plan import Block, Load, Policy
from shootout.model.run import RunDocument
from shootout.model.verdict import Verdict
from tests.support.analysis.builders import (
    APART,
    CLOSE,
    READS,
    a_document,
    an_entry,
    codes,
    confirming,
    head_of,
    histogram,
    made_unsteady,
    starts_of,
    with_profile,
    with_samples,
)


def test_a_slower_head_has_regressed_and_a_faster_one_improved() -> None:
    head = head_of(a_document(starts_of(-10)))
    assert head.verdict is Verdict.REGRESSED
    assert head.reason == "9.5 % slower, 95 % interval 9.0 to 10.0 %, in 5 starts"
    assert head.ratio is not None
    # By hand: mean -10 %, t(4) = 2.776, standard deviation sqrt(2 * (0.6**2 + 0.3**2) / 4) = 0.4743.
    half = 0.01 * 2.7764 * 0.4743416 / math.sqrt(5)
    expected = [math.exp(-0.1 + x) for x in (0.0, -half, half)]
    assert [head.ratio.estimate, head.ratio.low, head.ratio.high] == pytest.approx(expected, rel=1e-5)
    assert head.per_start == pytest.approx([math.exp((-10 + x) / 100) for x in CLOSE])
    assert head.p_value is not None
    assert head.p_value < 0.001
    assert codes(head) == ["noise-floor-unknown", "not-confirmed"]
    faster = head_of(a_document(starts_of(10)))
    assert faster.verdict is Verdict.IMPROVED
    assert faster.reason == "10.5 % faster, 95 % interval 9.9 to 11.2 %, in 5 starts"


def test_an_interval_inside_the_margin_is_equivalent() -> None:
    head = head_of(a_document(starts_of(0.5)))
    assert head.verdict is Verdict.EQUIVALENT
    assert head.reason == (
        "0.5 % faster, 95 % interval 0.1 % slower to 1.1 % faster, in 5 starts, all within the margin of 2 %"
    )
    assert codes(head) == []
    certain = head_of(a_document(starts_of(-1)))
    assert certain.ratio is not None
    assert (certain.ratio.high < 1, certain.verdict) == (True, Verdict.EQUIVALENT)


def test_starts_that_are_not_alike_are_not_equivalent() -> None:
    """Eleven starts within 0.2 %, and one that is slower by more than chance and the margin explain."""
    alike = [0.1, -0.1, 0.2, -0.2, 0.0]
    head = head_of(a_document(starts_of(0, [*alike, *alike[::-1], -6.0, 0.0])))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason == (
        "0.5 % slower, 95 % interval 1.6 % slower to 0.6 % faster, in 12 starts, "
        "all within the margin of 2 %; but not all starts are alike"
    )
    (warning,) = head.warnings
    assert (warning.code, warning.text) == (
        "unlike",
        "Beyond chance, start 11 was 5.8 % slower than the others: the server may have two states",
    )


@pytest.mark.parametrize(
    ("change", "effects", "reason"),
    [
        (-3, APART, "in 5 starts: neither beyond zero nor within the margin of 2 %"),
        (-1.8, CLOSE, "a change, but possibly below the margin of 2 %"),
        (-20, [0.0], "in 1 start; a verdict needs at least two starts"),
    ],
    ids=["wide", "about the margin", "one start"],
)
def test_what_is_inconclusive_says_why(change: float, effects: Sequence[float], reason: str) -> None:
    head = head_of(a_document(starts_of(change, effects)))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason.endswith(reason)
    assert ("few-starts" in codes(head)) is (len(effects) == 1)


def test_many_comparisons_ask_for_more_evidence() -> None:
    """p is 0.009 for the cell alone; among ten it no longer carries a verdict."""
    one = starts_of(-8, [x * 0.8 for x in APART])
    alone = head_of(a_document(one))
    assert alone.verdict is Verdict.REGRESSED
    assert alone.p_value == pytest.approx(0.011, abs=0.002)
    others = [Block(workload=f"w{i}", dataset="d", threads=4, servers=("a", "b")) for i in range(9)]
    starts = one + [start for block in others for start in starts_of(0, APART, block)]
    among = compare.compare(a_document(starts, blocks=(READS, *others))).cells[1]
    assert among.ratio == alone.ratio
    assert alone.p_value is not None
    assert among.p_value == pytest.approx(10 * alone.p_value)
    assert among.verdict is Verdict.INCONCLUSIVE
    assert "not significant among 10 comparisons (p = 0.09" in among.reason


def test_starts_that_lie_closer_than_their_rounds_allow_carry_no_verdict() -> None:
    """Five starts alike to 0.5 %, in which single rounds differ by 40 %: a start by 13 %, chance aside."""
    rng = np.random.default_rng(4)
    jitter = rng.normal(0, 0.4, 10)
    starts = starts_of(-5)
    for number, start in enumerate(starts):
        a, b = start.samples
        noisy = tuple(float(x) for x in np.array(a.transactions) * np.exp(rng.permutation(jitter)))
        starts[number] = structs.replace(start, samples=(structs.replace(a, transactions=noisy), b))
    quiet, noisy_ = head_of(a_document(starts_of(-5))), head_of(a_document(starts))
    assert quiet.verdict is Verdict.REGRESSED
    assert noisy_.verdict is Verdict.INCONCLUSIVE
    assert noisy_.judged[0].spread < 0.01
    assert noisy_.ratio is not None
    assert math.log(noisy_.ratio.high / noisy_.ratio.low) > 2 * 1.96 * 0.1 / math.sqrt(5)
    assert quiet.judged[0].detectable is not None
    assert noisy_.judged[0].detectable is not None
    assert quiet.judged[0].detectable < 0.03
    assert noisy_.judged[0].detectable > 0.1


@given(st.floats(-30, 30), st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.floats(0.005, 0.2))
def test_verdicts_are_what_the_rule_says(change: float, effects: list[float], margin: float) -> None:
    head = head_of(a_document(starts_of(change, effects)), Policy(margin=margin))
    assert head.ratio is not None
    low, estimate, high = head.ratio.low, head.ratio.estimate, head.ratio.high
    if head.verdict is Verdict.REGRESSED:
        assert high < 1
        assert estimate <= 1 / (1 + margin)
    elif head.verdict is Verdict.IMPROVED:
        assert low > 1
        assert estimate >= 1 + margin
    elif head.verdict is Verdict.EQUIVALENT:
        assert 1 / (1 + margin) <= low * (1 + 1e-12)
        assert high <= (1 + margin) * (1 + 1e-12)
    else:
        assert head.verdict is Verdict.INCONCLUSIVE


@given(st.floats(-30, 30), st.lists(st.floats(-5, 5), min_size=2, max_size=6))
def test_swapping_base_and_head_swaps_the_verdict(change: float, effects: list[float]) -> None:
    swapped = {Verdict.REGRESSED: Verdict.IMPROVED, Verdict.IMPROVED: Verdict.REGRESSED}
    document = a_document(starts_of(change, effects))
    head = head_of(document)
    mirror = compare.compare(document, base="b").cells[1]
    assert mirror.cell.server == "a"
    assert mirror.verdict is swapped.get(head.verdict, head.verdict)
    assert mirror.ratio is not None
    assert head.ratio is not None
    assert mirror.ratio.estimate == pytest.approx(1 / head.ratio.estimate)


def test_what_holds_again_is_confirmed() -> None:
    head = head_of(a_document(starts_of(-10) + confirming(starts_of(-9, (-0.3, 0.0, 0.3)))))
    assert head.verdict is Verdict.REGRESSED
    assert head.judged[0].confirmed is True
    assert head.reason.endswith("in 8 starts, the last 3 starts made to confirm it")
    assert codes(head) == ["noise-floor-unknown"]


@pytest.mark.parametrize("later", [0, 10], ids=["nothing", "the other way"])
def test_what_does_not_hold_again_is_no_verdict(later: float) -> None:
    head = head_of(a_document(starts_of(-10) + confirming(starts_of(later, (-0.3, 0.0, 0.3)))))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.judged[0].confirmed is None


def test_a_change_must_rise_above_what_nothing_looks_like_here() -> None:
    """1.5 floors of 1.96 · 0.1 / √5 are 13.1 %: a drop of 10 % is not enough, one of 15 % is."""
    for change, verdict in ((-10, Verdict.INCONCLUSIVE), (-15, Verdict.REGRESSED)):
        found = compare.compare(a_document(starts_of(change)), ledger_entries=[an_entry(0.1)])
        head = found.cells[1]
        assert head.verdict is verdict
        assert head.judged[0].floor == pytest.approx(1.96 * 0.1 / math.sqrt(5), rel=1e-3)
        assert "noise-floor-unknown" not in codes(head)
        assert ("not above 1.5 times the A/A noise floor" in head.reason) is (change == -10)


def test_an_interval_beyond_the_margin_without_significance_leans() -> None:
    """From 2 to 12 % slower, but p is above 0.01, above the 0.01 that confirmed changes need."""
    for change, leaning in ((-7, "slower"), (7, "faster")):
        starts = starts_of(change, APART) + confirming(starts_of(change, (-6.0, 6.0)))
        head = head_of(a_document(starts))
        assert (head.verdict, head.leaning) == (Verdict.INCONCLUSIVE, leaning)
    assert head_of(a_document(starts_of(-10))).leaning is None  # it regressed
    assert head_of(a_document(starts_of(0))).leaning is None
    assert head_of(a_document(starts_of(-10)[:1])).leaning is None  # a single start
    floor = compare.compare(a_document(starts_of(-10)), ledger_entries=[an_entry(0.1)])
    assert floor.cells[1].leaning is None


def test_a_change_that_no_steady_start_confirms_is_no_verdict() -> None:
    again = confirming(starts_of(-10, (-0.3, 0.0, 0.3)))
    head = head_of(a_document(starts_of(-10) + made_unsteady(again, "b", 0, 1, 2)))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.judged[0].confirmed is False
    assert head.reason.endswith("in 5 starts: no confirming start was steady")
    assert head_of(a_document(starts_of(-10) + made_unsteady(again, "b", 0, 1))).verdict is Verdict.REGRESSED


def test_any_metric_can_be_judged() -> None:
    """The same throughput, a quarter more CPU for each transaction."""
    costly = [
        structs.replace(
            start,
            samples=(base, structs.replace(head, server_cpu_s=[1.25 * s for s in base.server_cpu_s or ()])),
        )
        for start in starts_of(0)
        for base, head in [start.samples]
    ]
    assert head_of(a_document(costly)).verdict is Verdict.EQUIVALENT
    head = head_of(a_document(costly), Policy(judged=("throughput", "server_cpu")))
    assert head.verdict is Verdict.REGRESSED
    assert [(each.metric, each.verdict) for each in head.judged] == [
        ("server_cpu", Verdict.REGRESSED),
        ("throughput", Verdict.EQUIVALENT),
    ]
    assert head.reason.startswith("server CPU 24.9 % more, 95 % interval")
    assert head.ratio is not None
    assert head.ratio.estimate == pytest.approx(1, abs=0.01)  # of throughput, whatever decided
    lenient = Policy(judged=("throughput", "server_cpu"), workloads={"reads": {"server_cpu": 0.3}})
    assert head_of(a_document(costly), lenient).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        (0.0, 0.0, Verdict.EQUIVALENT),
        (600.0, 600.0, Verdict.EQUIVALENT),
        (0.0, 600.0, Verdict.INCONCLUSIVE),
        (600.0, None, Verdict.INCONCLUSIVE),
    ],
    ids=["always 0", "the same", "from 0", "not visible"],
)
def test_a_metric_that_cannot_be_judged_passes_nothing(
    base: float, head: float | None, verdict: Verdict
) -> None:
    counters = {
        server: {} if count is None else {"Innodb_buffer_pool_reads": count}
        for server, count in (("a", base), ("b", head))
    }
    policy = Policy(judged=("throughput", "buffer_pool_reads"))
    for change in (0, -10):
        starts = with_samples(starts_of(change), lambda samples: {"counters": counters[samples.server]})
        found = head_of(a_document(starts), policy)
        assert found.verdict is (Verdict.REGRESSED if change else verdict)
        refused = (
            "but buffer pool reads could not be compared: not visible, or 0, in some start" in found.reason
        )
        assert refused is (verdict is Verdict.INCONCLUSIVE and not change)


def at_a_rate(document: RunDocument) -> RunDocument:
    return with_profile(document, load=Load(rate=100.0))


def test_one_start_has_no_verdict_at_a_fixed_rate_either() -> None:
    head = head_of(at_a_rate(a_document(starts_of(-20)[:1])))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason.endswith("1 start; a verdict needs at least two starts")


def test_a_metric_that_is_0_in_some_start_cannot_be_compared() -> None:
    locks = Policy(judged=("lock_waits",))
    starts = starts_of(-20, counters={"Innodb_row_lock_waits": 5.0})
    head = head_of(a_document(starts), locks)
    assert head.verdict is Verdict.UNJUDGED
    assert head.reason == "none of the policy's metrics could be compared: not visible, or 0, in some start"


def test_at_a_fixed_rate_the_latency_is_judged() -> None:
    head = head_of(at_a_rate(a_document(starts_of(0, latencies=histogram(2, 4, 6, 8)))))
    assert head.judged[0].metric == "latency_p95"
    assert head.verdict is Verdict.REGRESSED
    assert head.reason.startswith("95 % latency 100.0 % more")
