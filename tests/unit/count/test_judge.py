"""Verdicts on counts."""

from __future__ import annotations

import pytest
from msgspec import structs

from shootout.analysis.interval_verdict import interval_verdict
from shootout.count import judge
from shootout.count.answer import answer
from shootout.count.values import (
    FRAME,
    MIX,
    TRANSACTION,
    CountChange,
    CountFailure,
    KindCount,
)
from shootout.errors import InputError
from shootout.model.verdict import Verdict
from tests.support.count.builders import BASE, document, times


def changes(head: dict[str, list[int]]) -> dict[str, CountChange]:
    compared = judge.compare(document({"base": BASE, "head": head}))
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
    assert answer(judge.compare(document({"base": BASE, "head": times(factor)}))).exit_code == code


def test_starts_that_disagree_are_inconclusive() -> None:
    found = changes({**times(1.0), "select": [1000, 1020, 1040]})
    assert found["select"].verdict is Verdict.INCONCLUSIVE
    assert found["select"].reason == "starts differ by 1.96 %: too noisy for the bar"


def test_noise_above_the_bar_is_no_change_though_its_interval_excludes_none() -> None:
    found = changes({**times(1.0), "select": [1012, 1018, 1024]})["select"]
    assert found.ratio is not None
    assert found.ratio.low > 1
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "too noisy" in found.reason
    clear = changes({**times(1.0), "select": [2012, 2018, 2024]})["select"]
    assert (clear.verdict, clear.reason) == (Verdict.REGRESSED, "")


def test_starts_that_agree_by_chance_are_as_wide_as_their_repetitions() -> None:
    logs = [[-0.01, 0.006, 0.02], [-0.02, 0.006, 0.01], [0.0, 0.006, 0.03]]
    found = judge.effect_of(logs, 0.95)
    assert found.spread > 0.005
    assert found.low < 0.0 < found.high


def test_a_single_repetition_that_is_off_does_not_count() -> None:
    logs = [[0.0101, 0.0099, 0.7, 0.01, 0.0102], [0.01, 0.0099, 0.0101, 0.6, 0.01]]
    found = judge.effect_of(logs, 0.95)
    assert found.spread < 0.0003
    assert interval_verdict(found.ratio, 0.005, worse="higher") is Verdict.REGRESSED


def test_repetitions_are_compared_with_those_of_the_same_statements() -> None:
    costly = KindCount(
        server="base", workload="w", kind="select", start=1, instructions=(100_000, 400_000, 900_000)
    )
    more = structs.replace(costly, server="head", instructions=(101_000, 404_000, 909_000))
    counts = [structs.replace(count, start=start) for count in (costly, more) for start in (1, 2)]
    sound = structs.replace(document({"base": BASE, "head": BASE}), counts=tuple(counts))
    (found,) = (each for each in judge.compare(sound).changes if each.ratio)
    assert found.ratio is not None
    assert found.ratio.low == pytest.approx(1.01)
    assert found.ratio.high == pytest.approx(1.01)


def test_a_transaction_is_put_together_from_its_kinds() -> None:
    """And BEGIN with COMMIT are what remains of one."""
    found = changes(times(1.0))
    for kind, mean in ((MIX, 10 * 1000.33 + 5000.33), (FRAME, (3000 + 2996 + 3003) / 3)):
        head = found[kind].head  # the updates are in both
        assert head is not None
        assert head.mean == pytest.approx(mean, rel=1e-4)
        assert head.starts == 3


def test_a_start_without_one_of_the_subtracted_kinds_does_not_count() -> None:
    found = changes({**times(1.0), "update": [2000, 2004]})
    for kind in (FRAME, MIX):
        head = found[kind].head
        assert head is not None
        assert head.starts == 2


def test_one_start_has_no_verdict() -> None:
    found = changes({kind: values[:1] for kind, values in times(2.0).items()})
    assert {change.verdict for change in found.values()} == {Verdict.UNJUDGED}


@pytest.mark.parametrize("workload", ["", "w"])
def test_a_server_that_crashes_midway_has_failed(workload: str) -> None:
    one_start = {kind: values[:1] for kind, values in BASE.items()}
    failure = CountFailure(server="x", workload=workload, reason="it crashed")
    compared = judge.compare(document({"base": BASE, "x": one_start}, [failure]))
    assert {(each.verdict, each.reason) for each in compared.changes if each.server == "x"} == {
        (Verdict.FAILED, "it crashed")
    }
    assert answer(compared).exit_code == 3
    compared = judge.compare(document({"x": one_start, "head": BASE}, [failure]))
    assert {(each.server, each.verdict, each.reason) for each in compared.changes} == {
        ("x", Verdict.FAILED, "it crashed"),
        ("head", Verdict.UNJUDGED, "its base, x, failed: it crashed"),
    }
    assert answer(compared).exit_code == 3


@pytest.mark.parametrize(
    ("lacks", "reason", "of_base", "code"),
    [(True, "lacks it: no", "its base, x, lacks it: no", 0), (False, "no", "its base, x, failed: no", 3)],
)
def test_a_refused_kind_costs_only_what_needs_it(lacks: bool, reason: str, of_base: str, code: int) -> None:
    others = {kind: values for kind, values in BASE.items() if kind != "select"}
    failure = CountFailure(server="x", workload="w", kind="select", reason="no", lacks=lacks)
    compared = judge.compare(document({"base": BASE, "x": others}, [failure]))
    missing = [each for each in compared.changes if each.server == "x" and each.ratio is None]
    assert [(each.kind, each.reason) for each in missing] == [("select", reason), (MIX, reason)]
    assert {each.lacks for each in missing} == {lacks}
    assert answer(compared).exit_code == code
    compared = judge.compare(document({"x": others, "head": BASE}, [failure]))
    (head,) = (each for each in compared.changes if (each.kind, each.server) == ("select", "head"))
    assert (head.verdict, head.reason) == (Verdict.UNJUDGED, of_base)
    assert answer(compared).exit_code == code


def test_a_failure_counts_though_enough_starts_are_left() -> None:
    failure = CountFailure(server="head", workload="", reason="it crashed")
    compared = judge.compare(document({"base": BASE, "head": BASE}, [failure]))
    assert Verdict.FAILED not in {each.verdict for each in compared.changes}
    assert answer(compared).exit_code == 3


def test_another_base_reverses_the_change() -> None:
    found = judge.compare(document({"a": BASE, "b": times(1.25)}), base="b")
    ratios = {change.ratio.estimate for change in found.changes if change.server == "a" and change.ratio}
    assert all(ratio == pytest.approx(0.8, abs=1e-3) for ratio in ratios)
    assert len(found.changes) == 10
    assert found.base == "b"
    with pytest.raises(InputError, match="c is not in the document; its servers are a, b"):
        judge.compare(document({"a": BASE, "b": BASE}), base="c")


def test_history_has_the_steps_of_the_bar_or_more() -> None:
    counts = [
        document({"a": times(factor)}, run=f"20261{month}24T100000Z-000001")
        for month, factor in enumerate((1.0, 1.002, 1.012))
    ]
    found = judge.history(judge.compare(each) for each in reversed(counts))
    assert {series.kind for series in found} == {"select", "update", FRAME, MIX, TRANSACTION}
    for series in found:
        assert [point.run for point in series.points] == [each.run for each in counts]
        (step,) = series.steps
        assert step.run == counts[2].run
        assert step.step == pytest.approx(1.012 / 1.002, abs=1e-3)


def test_other_statements_have_a_history_of_their_own() -> None:
    other = structs.replace(document({"a": BASE}, run="r2"), digests={"w": "other"})
    found = judge.history(judge.compare(each) for each in (document({"a": BASE}), other))
    assert {len(series.points) for series in found} == {1}


def test_a_label_that_means_another_server_has_another_history() -> None:
    first = document({"a": BASE}, run="r1")
    (server,) = first.servers
    for changed in ({"reference": "path:other"}, {"settings_name": "durable"}):
        other = structs.replace(first, run="r2", servers=(structs.replace(server, **changed),))
        assert {len(series.points) for series in judge.history(map(judge.compare, (first, other)))} == {1}
    built = [
        structs.replace(first, run=run, servers=(structs.replace(server, reference=run, commit=run),))
        for run in ("r1", "r2")
    ]
    assert {len(series.points) for series in judge.history(map(judge.compare, built))} == {2}


def test_counts_are_those_counted_whatever_the_base_is() -> None:
    """+1 and +2 % of 1 000 and 2 000 instructions: a change is no quotient of means."""
    counts = [
        KindCount(server=server, workload="w", kind="select", start=start, instructions=(each, each, each))
        for start, base, head in ((1, 1000, 1010), (2, 2000, 2040))
        for server, each in (("base", base), ("head", head))
    ]
    varied = structs.replace(document({"base": BASE, "head": BASE}), counts=tuple(counts))
    for base, other in (("base", "head"), ("head", "base")):
        (found,) = (each for each in judge.compare(varied, base).changes if each.ratio)
        assert found.server == other
        assert [each and each.mean for each in (found.base, found.head)] == [
            {"base": 15.0, "head": 15.25}[label] for label in (base, other)
        ]
