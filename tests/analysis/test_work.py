"""Verdicts on counted work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shootout.analysis import work
from shootout.model.verdict import Interval, Verdict
from shootout.model.work import FRAME, WorkChange, WorkFailure
from tests.work import BASE, document, times


def changes(head: dict[str, list[int]]) -> dict[str, WorkChange]:
    compared = work.compare(document({"base": BASE, "head": head}))
    return {change.kind: change for change in compared.changes if change.server == "head"}


@pytest.mark.parametrize(
    ("factor", "verdict", "code"),
    [
        (1.02, Verdict.REGRESSED, 1),
        (1.0, Verdict.EQUIVALENT, 0),
        (1.002, Verdict.EQUIVALENT, 0),
        (0.98, Verdict.IMPROVED, 0),
    ],
)
def test_verdicts(factor: float, verdict: Verdict, code: int) -> None:
    found = changes(times(factor))
    assert {change.verdict for change in found.values()} == {verdict}
    ratio = found["select"].ratio
    assert ratio is not None
    assert ratio.estimate == pytest.approx(factor, abs=1e-3)
    assert work.exit_code(work.compare(document({"base": BASE, "head": times(factor)}))) == code


def test_starts_that_disagree_are_inconclusive() -> None:
    found = changes({**times(1.0), "select": [1000, 1020, 1040]})
    assert found["select"].verdict is Verdict.INCONCLUSIVE


def test_begin_and_commit_are_what_remains_of_a_transaction() -> None:
    found = changes(times(1.0))[FRAME].head
    assert found is not None
    assert found.mean == pytest.approx((3000 + 2996 + 3003) / 3, abs=0.1)
    assert found.starts == 3


def test_a_start_without_one_of_the_subtracted_kinds_does_not_count() -> None:
    found = changes({**times(1.0), "update": [2000, 2004]})[FRAME]
    assert found.head is not None
    assert found.head.starts == 2


def test_one_start_has_no_verdict() -> None:
    found = changes({kind: values[:1] for kind, values in times(2.0).items()})
    assert {change.verdict for change in found.values()} == {Verdict.UNJUDGED}


def test_a_server_that_failed_has_its_reason() -> None:
    failure = WorkFailure(server="head", workload="", reason="it crashed")
    compared = work.compare(document({"base": BASE, "head": {}}, [failure]))
    failed = [change for change in compared.changes if change.verdict is Verdict.FAILED]
    assert {(change.server, change.reason) for change in failed} == {("head", "it crashed")}
    assert work.exit_code(compared) == 3


def test_another_base_reverses_the_change() -> None:
    found = work.compare(document({"a": BASE, "b": times(1.25)}), base="b")
    ratios = {change.ratio.estimate for change in found.changes if change.server == "a" and change.ratio}
    assert all(ratio == pytest.approx(0.8, abs=1e-3) for ratio in ratios)
    assert len(found.changes) == 8


@given(st.floats(0.5, 2.0), st.floats(1.0, 1.1), st.floats(1.0, 1.1), st.floats(0.001, 0.1))
def test_swapping_base_and_head_mirrors_a_verdict(middle: float, up: float, down: float, bar: float) -> None:
    ratio = Interval(estimate=middle, low=middle / down, high=middle * up)
    swapped = Interval(estimate=1 / middle, low=1 / (middle * up), high=down / middle)
    mirror = {Verdict.REGRESSED: Verdict.IMPROVED, Verdict.IMPROVED: Verdict.REGRESSED}
    edges = (middle, ratio.low, ratio.high)
    if any(abs(edge - end) < 1e-9 for edge in edges for end in (1, 1 + bar, 1 / (1 + bar))):
        return
    found = work.verdict(ratio, bar)
    assert work.verdict(swapped, bar) is mirror.get(found, found)
