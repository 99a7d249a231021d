"""Findings of soaks: simulated curves without a difference, and with differences that must be found."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray
from scipy.stats import poisson

from lab.curves import SECONDS, curve, decided, in_turns, judged, sloping, stalled
from shootout.model.verdict import Verdict
from shootout.numbers import SPACE
from shootout.soak import judge
from shootout.soak.answer import answer, remarks
from shootout.soak.curves import curves
from shootout.soak.values import Gauge, Measure, SoakFailure
from tests.support.soak.builders import document, header, slices


def test_a_step_is_found_when_it_was() -> None:
    generator = np.random.default_rng(11)
    later = np.where(np.arange(SECONDS) < 200, 1.0, 0.88)
    for _ in range(20):
        base, head = in_turns(generator, SECONDS)
        found = judged(base, replace(head, tps=head.tps * later), turns=True)["step"]
        assert found.verdict is Verdict.REGRESSED
        assert found.difference is not None
        assert found.difference.low < -0.12 < found.difference.high
        assert abs(int(found.note.split()[1]) - 200) <= 30


def test_seven_stalls_against_none_are_proven() -> None:
    generator = np.random.default_rng(13)
    found = judged(curve(generator, 350), stalled(curve(generator, 350)))["stalls"]
    assert found.verdict is Verdict.REGRESSED
    assert found.note == "21 s in all, at most 3 s at once"
    assert found.difference is not None
    assert 0 < found.difference.low < found.difference.estimate < found.difference.high


def test_intervals_of_rates_hold_as_often_as_they_say() -> None:
    """By the chance of every pair of counts: an interval that ended at its estimate held in half of them."""
    pairs = [*product(range(60), repeat=2)]
    made = [judge.more_often((mine, 10.0), (theirs, 10.0), 0.98)[0] for mine, theirs in pairs]
    for of_head, of_base in ((2.0, 0.01), (8.0, 0.01), (10.0, 1.0), (20.0, 10.0), (5.0, 5.0)):
        chances = np.prod(poisson.pmf(pairs, (of_head, of_base)), axis=1)
        holds = [each.low <= (of_head - of_base) / 10 <= each.high for each in made]
        assert np.sum(chances * holds) >= 0.98


@pytest.mark.parametrize(("mine", "theirs"), [(9, 1), (13, 3), (16, 33), (6, 0), (7, 0), (0, 0), (0, 8)])
def test_a_difference_of_rates_excludes_zero_only_if_it_is_proven(mine: int, theirs: int) -> None:
    difference, test = judge.more_often((mine, 6.0), (theirs, 6.0), 0.98)
    excludes = [each.low > 0 or each.high < 0 for each in (difference, test)]
    assert excludes[0] is excludes[1]
    assert difference.low < difference.estimate < difference.high


def test_shares_of_throughput_end_at_all_of_it() -> None:
    """A depth of 80.9 % was said to be 43 to 118.8 %."""
    generator = np.random.default_rng(3)
    healthy, spoilt = curve(generator, 260), curve(generator, 260)
    dipping = np.where(np.arange(260) % 40 == 5, generator.uniform(-0.9, 1.0, 260).clip(0.0), 1.0)
    found = judged(healthy, replace(spoilt, tps=spoilt.tps * dipping))["dips"]
    for each in (found.base, found.head, found.difference):
        assert each is not None
        assert -1 <= each.low <= each.estimate <= each.high <= 1
    assert found.head is not None
    assert found.head.high == 1


def test_turns_say_what_they_find_and_whether_the_machine_was_the_same() -> None:
    tps = curve(np.random.default_rng(14), shifts=0).tps.tolist()
    others: dict[str, dict[Gauge, float]] = {"a": {"others": 0.1}, "b": {"others": 0.4}}
    used = {label: [each] * SECONDS for label, each in others.items()}
    taken = [each for label, gauges in used.items() for each in slices(label, tps, gauges=gauges)]
    whole = document(["a", "b"], taken)
    turns = structs.replace(whole, header=structs.replace(whole.header, turn_s=5.0))
    (only,) = judge.judge(turns).comparisons
    find, differs = remarks(only)
    assert find == f"Of five such soaks, four would find a loss of 5{SPACE}% that begins midway."
    assert differs.endswith("used 0.10 CPUs beside a, and 0.40 beside b.")
    assert [*remarks(judge.judge(whole).comparisons[0])] == [differs]


def test_what_the_base_has_and_the_head_has_not_is_better() -> None:
    generator = np.random.default_rng(3)
    healthy, spoilt = curve(generator), stalled(curve(generator))
    assert judged(spoilt, healthy)["stalls"].verdict is Verdict.IMPROVED


def test_a_stall_that_both_have_is_no_difference() -> None:
    generator = np.random.default_rng(4)
    findings = judged(stalled(curve(generator)), stalled(curve(generator)))
    assert not decided(findings)
    assert findings["dips"].note == "every 45 s"
    stalls = findings["stalls"].head
    assert stalls is not None
    assert stalls.estimate == pytest.approx(60 / 45, abs=0.1)
    assert "3 s at once" in findings["stalls"].note


@pytest.mark.parametrize(
    "grown",
    [1e8 * (np.arange(SECONDS) > 450), 3e8 * -np.expm1(-np.arange(SECONDS) / 180)],
    ids=["jumps once", "reaches a plateau"],
)
def test_memory_that_does_not_go_on_growing_is_no_leak(grown: NDArray[np.float64]) -> None:
    base = curve(np.random.default_rng(5))
    head = replace(base, gauges={"memory": base.gauges["memory"] + grown})
    assert judged(base, head)["memory"].verdict is not Verdict.REGRESSED


def test_intervals_of_a_known_slope_hold() -> None:
    generator = np.random.default_rng(6)
    slopes = [judged(curve(generator), sloping(curve(generator)))["slope"].difference for _ in range(100)]
    assert sum(each is not None and each.low <= -0.01 <= each.high for each in slopes) >= 95


def test_an_open_loop_is_judged_by_latency() -> None:
    base = curve(np.random.default_rng(7))
    steady = replace(base, tps=np.full(SECONDS, 100.0), open_loop=True)
    slower = replace(steady, latency_s=np.linspace(0.01, 0.02, SECONDS))
    assert decided(judged(steady, slower)) == ["level", "slope"]


def test_seconds_of_a_curve_hold_every_transaction() -> None:
    # Two seconds of silence from 2.5 s on: a slice of one second that takes until 4.5 s.
    taken = slices("a", [100, 100, 50, 100, 100], lasts=[1, 1, 2.5, 1, 1])
    curve = curves(header(["a"]), taken)["a"]
    assert curve.tps.round().tolist() == [100, 100, 50, 0, 50, 100]
    assert np.isfinite(curve.latency_s[:2]).all()


def test_a_failed_server_and_a_short_load_are_said() -> None:
    taken = slices("a", [100.0] * 10)
    result = judge.judge(document(["a", "b"], taken, failures=[SoakFailure(server="b", reason="crashed")]))
    assert [each.reason for each in result.comparisons] == ["b: crashed"]
    assert answer(result).exit_code == 3
    alone = judge.judge(document(["a"], taken))
    assert "180 s" in alone.comparisons[0].reason
    assert answer(alone).exit_code == 0


def test_a_soak_that_ended_early_is_compared_over_the_seconds_of_both() -> None:
    generator = np.random.default_rng(9)
    base = curve(generator, 1800)
    slow = replace(base, tps=np.where(np.arange(1800) % 300 < 20, 0.5, 1.0) * base.tps)
    head = curve(generator, 200)
    lengths = (len(slow.tps), len(head.tps))
    both = ([*slices("a", slow.tps[:seconds]), *slices("b", head.tps)] for seconds in lengths)
    found = [judge.judge(document(["a", "b"], taken, ends={"a": {}})).comparisons for taken in both]
    (only,), (alike,) = found
    assert only.findings
    assert (only.findings, only.levels) == (alike.findings, alike.levels)
    assert only.reason == "b: cut short"


def test_the_footprint_names_what_changed_beyond_its_margin() -> None:
    ends: dict[str, dict[Measure, float]] = {"a": {"memory": 100.0, "start": 1.0}}
    ends["b"] = {"memory": 107.0, "start": 1.4}
    result = judge.judge(document(["a", "b"], [*slices("a", [1.0] * 5), *slices("b", [1.0] * 5)], ends=ends))
    changed = {each.measure: each.changed for each in result.comparisons[0].footprint}
    assert changed == {"memory": True, "start": False}
