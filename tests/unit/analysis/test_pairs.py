"""Each cell beside its base: which starts count."""

from __future__ import annotations

import math

import pytest
from msgspec import structs

from shootout.analysis import compare, pairs
from shootout.model.plan import Block, Policy
from shootout.model.run import Part, RunDocument, StartRecord
from shootout.model.verdict import Comparison, Verdict
from tests.support.analysis.builders import (
    APART,
    READS,
    WRITES,
    a_document,
    a_failure,
    a_sample,
    a_start,
    codes,
    head_of,
    made_unsteady,
    starts_of,
)


def verdicts(comparison: Comparison) -> dict[tuple[str, str], Verdict]:
    return {(cell.cell.workload, cell.cell.server): cell.verdict for cell in comparison.cells}


@pytest.mark.parametrize("unsteady", ["a", "b"])
def test_an_unsteady_start_is_left_out_of_the_judgement(unsteady: str) -> None:
    starts = starts_of(-10, [-0.2, -0.1, 30.0, 0.1, 0.2])  # the third is far off
    head = head_of(a_document(made_unsteady(starts, unsteady, 2)))
    assert head.verdict is Verdict.REGRESSED
    assert len(head.per_start) == 4
    assert "unsteady" in codes(head)


def test_nothing_is_judged_where_no_start_was_steady() -> None:
    starts = starts_of(-10)
    head = head_of(a_document(made_unsteady(starts, "b", *range(len(starts)))))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert head.reason.startswith("no verdict on unsteady samples: b was not steady in start 1")
    assert head.ratio is None
    assert codes(head) == ["unsteady"]


def test_a_standstill_counts() -> None:
    """A head that stalls in most slices is no less slow for it."""
    starts = [
        a_start(n, a_sample("a", (1000,) * 10), a_sample("b", (0,) * 8 + (1000 + n,) * 2))
        for n in range(1, 6)
    ]
    head = head_of(a_document(starts))
    assert head.verdict is Verdict.REGRESSED
    assert head.ratio is not None
    assert head.ratio.estimate < 0.05


def test_the_bases_own_cell_is_a_row() -> None:
    base, _ = compare.compare(a_document(starts_of(-10))).cells
    assert (base.cell, base.base) == (READS.cell("a"), READS.cell("a"))
    assert (base.verdict, base.reason, base.ratio, base.p_value) == (Verdict.UNJUDGED, "the base", None, None)
    assert base.figures is not None


def test_another_base_comes_first_in_its_block() -> None:
    comparison = compare.compare(a_document(starts_of(-10)), base="b")
    assert [cell.cell.server for cell in comparison.cells] == ["b", "a"]
    assert {cell.base.server for cell in comparison.cells} == {"b"}


def test_a_base_that_a_block_does_not_have() -> None:
    alone = Block(workload="writes", dataset="d", threads=4, servers=("a",))
    starts = [*starts_of(0), a_start(1, a_sample("a"), block=alone)]
    comparison = compare.compare(a_document(starts, blocks=(READS, alone)), base="b")
    assert comparison.cells[2].verdict is Verdict.UNJUDGED
    assert comparison.cells[2].reason == "nothing to compare with: b was not measured beside it"


def test_a_head_that_failed() -> None:
    document = a_document(starts_of(-10), a_failure("b"))
    head = head_of(document)
    assert (head.verdict, head.reason) == (Verdict.FAILED, "it died: [ERROR] no memory")
    assert (head.ratio, head.p_value, head.per_start) == (None, None, ())
    assert head.figures is not None
    assert head.figures.starts == 5


def test_a_head_that_never_started_failed_in_every_block() -> None:
    starts = [a_start(n, a_sample("a"), block=block) for block in (READS, WRITES) for n in (1, 2)]
    comparison = compare.compare(a_document(starts, a_failure("b"), blocks=(READS, WRITES)))
    assert verdicts(comparison) == {
        ("reads", "a"): Verdict.UNJUDGED,
        ("reads", "b"): Verdict.FAILED,
        ("writes", "a"): Verdict.UNJUDGED,
        ("writes", "b"): Verdict.FAILED,
    }
    assert comparison.cells[3].figures is None


def test_a_head_that_failed_in_one_block_is_judged_in_the_other() -> None:
    starts = [*starts_of(-10), *starts_of(-10, block=WRITES)]
    comparison = compare.compare(a_document(starts, a_failure("b", WRITES), blocks=(READS, WRITES)))
    assert [cell.verdict for cell in comparison.cells[1::2]] == [Verdict.REGRESSED, Verdict.FAILED]


def test_with_a_base_that_failed_on_the_way_nothing_is_judged() -> None:
    base, head = compare.compare(a_document(starts_of(-10), a_failure("a"))).cells
    assert base.verdict is Verdict.FAILED
    assert (head.verdict, head.ratio) == (Verdict.UNJUDGED, None)
    assert head.reason == "its base, a, failed: it died: [ERROR] no memory"


def test_the_next_server_stands_in_for_a_base_that_never_ran() -> None:
    block = structs.replace(READS, servers=("dead", "a", "b"))
    document = a_document(starts_of(-10), a_failure("dead", block), blocks=(block,))
    base, dead, head = compare.compare(document).cells
    assert (base.cell.server, base.reason) == ("a", "the base, in place of dead")
    assert (dead.cell.server, dead.verdict) == ("dead", Verdict.FAILED)
    assert (head.cell.server, head.verdict) == ("b", Verdict.REGRESSED)
    told = [[warning.text for warning in cell.warnings][:1] for cell in (base, dead, head)]
    assert told == [["a stands in for the base: dead was not measured"]] * 3


def test_a_head_alone_does_not_stand_in_for_its_base() -> None:
    starts = [a_start(number, a_sample("b")) for number in (1, 2)]
    base, head = compare.compare(a_document(starts, a_failure("a"))).cells
    assert (base.cell.server, base.verdict) == ("a", Verdict.FAILED)
    assert (head.base.server, head.verdict) == ("a", Verdict.UNJUDGED)
    assert head.reason == "its base, a, failed: it died: [ERROR] no memory"


def test_starts_in_which_only_one_was_measured_do_not_count() -> None:
    starts = [*starts_of(-10), a_start(6, a_sample("a", (5000.0,) * 10))]
    assert head_of(a_document(starts)).ratio == head_of(a_document(starts_of(-10))).ratio


def test_half_a_width_is_that_of_the_log_ratio() -> None:
    starts = starts_of(-10)
    assert pairs.half_width(starts, Policy()) == pytest.approx(
        0.01 * 2.7764 * 0.47434 / math.sqrt(5), rel=1e-4
    )
    assert pairs.half_width(starts, Policy(confidence=0.5)) < pairs.half_width(starts, Policy())
    wider = [
        a_start(n.start, *n.samples, structs.replace(w.samples[1], server="c"))
        for n, w in zip(starts_of(0), starts_of(0, APART), strict=True)
    ]
    widths = [pairs.half_width(each, Policy()) for each in (wider, starts_of(0))]
    assert widths[0] == pytest.approx(10 * widths[1], rel=1e-3)  # of the widest of the heads


@pytest.mark.parametrize(
    ("starts", "width"),
    [
        ([], math.inf),
        (starts_of(0)[:1], math.inf),
        ([a_start(1, a_sample("a"))], 0),  # no head is left to narrow
        ([*starts_of(0)[:1], a_start(2, a_sample("a"))], 0),
        ([a_start(1)], 0),
    ],
)
def test_a_width_needs_two_starts_and_a_head(starts: list[StartRecord], width: float) -> None:
    assert pairs.half_width(starts, Policy()) == width


def test_what_was_not_measured_has_its_own_reason() -> None:
    run = a_document(starts_of(-10), blocks=(READS, WRITES))

    def reason(document: RunDocument, **header: object) -> str:
        changed = structs.replace(document.header, **header)
        return compare.compare(structs.replace(document, header=changed)).cells[2].reason

    assert reason(run) == "not measured: the budget ended before it"
    assert reason(structs.replace(run, end=None)) == "not measured: the run was cut short before it"
    failed = structs.replace(run, failures=(a_failure("b", WRITES),))
    assert reason(failed) == "not measured: no other server was left in its block"
    shard = Part(
        run="r1", started="", finished="", elapsed_s=1.0, interrupted=False, seed=1,
        runner=run.header.runner, servers=run.header.servers, blocks=(READS.key,),
    )  # fmt: skip
    assert reason(run, parts=(shard,)) == "not measured: its shard is missing"
    both = structs.replace(shard, blocks=(READS.key, WRITES.key))
    assert reason(run, parts=(both,)) == "not measured: the budget ended before it"
    cut_short = structs.replace(both, interrupted=True)
    assert reason(run, parts=(cut_short,)) == "not measured: the run was cut short before it"
