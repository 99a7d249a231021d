"""Verdicts as people read them."""

from typing import Literal

import pytest
from msgspec.structs import replace

from shootout.analysis import metrics
from shootout.model.plan import Metric, Policy
from shootout.model.verdict import Cause, FalseAlarms, Interval, Verdict
from shootout.report import commands, wording
from shootout.report.sections import Section
from tests.support import builders
from tests.support.analysis.builders import a_document, head_of, starts_of
from tests.support.report.compared import E, F, G, Q, R, a_comparison_of, an_interval, plain
from tests.unit.analysis.test_acknowledgements import known


def test_what_was_not_measured_is_not_called_measured() -> None:
    comparison = a_comparison_of((Verdict.UNJUDGED, None))
    assert wording.sentence(comparison.cells[1], comparison.policy) == "Not measured"


@pytest.mark.parametrize(
    ("verdict", "metric", "ratio", "expected"),
    [
        (R, "throughput", 0.9, "10 % slower than BASE"),
        (R, "latency_p99", 1.3, "99 % latency 30 % higher than on BASE"),
        (G, "server_cpu", 0.8, "Server CPU 20 % lower than on BASE"),
        (E, "latency_p50", 1.0, "Median latency the same as on BASE, within ±10 %"),
        (Q, "fsyncs", 1.05,
         "Inconclusive: the difference in fsyncs from BASE may be anywhere from +3 to +7 %"),
    ],
)  # fmt: skip
def test_a_verdict_names_the_metric_that_decided_it(
    verdict: Verdict, metric: Metric, ratio: float, expected: str
) -> None:
    comparison = a_comparison_of((verdict, 1.0))
    head = builders.decided_by(comparison.cells[1], metric, ratio)
    assert plain(wording.sentence(head, comparison.policy)) == expected


@pytest.mark.parametrize(
    ("effects", "size", "interval"),
    [(None, "19.7 %", "19.3 to 20.2 %"), ([8, -8, 6, -6, 2, -2, 0], "20 %", "15 to 24 %")],
)
def test_a_verdict_and_its_reason_round_one_change_alike(
    effects: list[float] | None, size: str, interval: str
) -> None:
    head = head_of(a_document(starts_of(-22, effects) if effects else starts_of(-22)))
    assert plain(wording.sentence(head, Policy())) == f"{size} slower than a"
    assert plain(head.reason).startswith(f"{size} slower, 95 % interval {interval}, in ")


def test_the_worst_comes_first() -> None:
    comparison = a_comparison_of((E, 1.0), (R, 0.9), (F, None), (R, 0.7), (Q, 0.97))
    judged = [c for c in comparison.cells if c.cell != c.base]
    assert [c.cell.threads for c in wording.worst_first(judged)] == [4, 2, 3, 5, 1]


GATE = Policy(false_alarms_max=0.05)
FEW = FalseAlarms(alarms=1, cells=20, comparisons=1, share=Interval(estimate=0.05, low=0.01, high=0.236))
MANY = FalseAlarms(alarms=5, cells=20, comparisons=1, share=Interval(estimate=0.25, low=0.11, high=0.47))


def test_it_is_said_which_regressions_fail_the_gate() -> None:
    comparison = builders.a_comparison()
    assert wording.explain_gate(comparison) == ""  # under this policy every regression does
    unknown = replace(comparison, policy=GATE)
    assert plain(wording.explain_gate(unknown)) == (
        "None of 6 regressions fails the gate: this runner's false-alarm rate is unknown until 598 A/A cells "
        "show no false alarm (shootout doctor --calibrate measures them); until then, only a confirmed "
        "regression whose whole interval lies beyond the margin counts"
    )
    assert plain(wording.explain_gate(replace(unknown, false_alarms=MANY))) == (
        "None of 6 regressions fails the gate: 5 false alarms in 20 A/A cells show that more than 5 % of "
        "gates alarm by chance, so only a confirmed regression whose whole interval lies beyond three "
        "margins counts"
    )
    alone = builders.a_comparison(builders.a_run(builders.a_header([builders.BASE])))
    assert wording.explain_gate(replace(alone, policy=GATE)) == ""


def test_an_interval_of_false_alarms_that_tells_nothing_is_not_printed_as_one() -> None:
    untold = FalseAlarms(alarms=0, cells=1, comparisons=1, share=Interval(estimate=0.0, low=0.0, high=0.999))
    assert plain(wording.false_alarms(untold, "such runs")) == (
        "0 false alarms in 1 A/A cell, servers compared with themselves: "
        "too few to say how many such runs would raise one"
    )
    told = plain(wording.false_alarms(FEW, "such runs"))
    assert told.endswith(": 1.0 % to 23.6 % of such runs would raise one")


def test_a_regression_that_fails_nothing_says_why() -> None:
    comparison = builders.a_comparison()
    worst, other, *others = wording.worst_first(comparison.cells)
    assert wording.gate_exemption(worst, comparison) == ""
    confirmed = builders.decided_by(worst, "latency_p99", 1.3, confirmed=True)
    few = replace(comparison, policy=GATE, false_alarms=FEW, cells=(confirmed, other, *others))
    assert plain(wording.explain_gate(few)).startswith("1 of 6 regressions fails the gate: this runner")
    assert wording.gate_exemption(confirmed, few) == ""
    assert wording.gate_exemption(other, few) == wording.explain_gate(few)
    exemption = wording.gate_exemption(replace(worst, acknowledged=known()), comparison)
    assert exemption == "acknowledged by ann until 2026-06-30: bug 1"


@pytest.mark.parametrize(
    ("name", "base", "head", "share", "expected"),
    [
        ("update", 0.0006, 0.00093, 0.21,
         "update: 930 µs per transaction instead of 600 µs (+55.0 %), about +21 % of transaction time"),
        ("fsyncs", 0.0112, 0.0213, 0.002,
         "fsyncs: 0.0213 per transaction instead of 0.0112 (+90.2 %), roughly +0.2 % of transaction time"),
        ("lock_waits", 0.0, 0.5, 0.3,
         "row lock waits: 0.500 per transaction instead of 0, roughly +30 % of transaction time"),
    ],
)  # fmt: skip
def test_a_cause_is_said_with_both_figures(
    name: str, base: float, head: float, share: float, expected: str
) -> None:
    kind: Literal["work", "statement"] = "work" if name in metrics.TITLES else "statement"
    by = an_interval(head - base, 0.0)
    cause = Cause(kind=kind, name=name, base=base, head=head, difference=by, share=share)
    assert plain(wording.cause(cause)) == expected


def test_an_explanation_leads_and_what_explains_little_says_so() -> None:
    """A loss of a fifth adds a quarter to a transaction's time."""
    cell = a_comparison_of((R, 0.8)).cells[1]
    command = commands.look_further("run", cell.cell)
    assert wording.leading_causes(cell, (), "run") == ("No cause found yet", (), command)
    by = an_interval(0.1, 0.0)
    some = [
        Cause(kind="statement", name=name, base=1.0, head=1.1, difference=by, share=share)
        for name, share in (("much", 0.07), ("little", 0.06), ("less", 0.05))
    ]
    cell = replace(cell, causes=tuple(some))
    title, (much, little), _ = wording.leading_causes(cell, (), "run")
    assert title == "Likely cause"
    assert much == wording.cause(some[0])
    assert little == f"{wording.cause(some[1])}, explains little"
    nothing, found = (Section("why", "", "", cause=cause) for cause in ("", "f() +1 µs"))
    assert wording.leading_causes(cell, (nothing,), "run")[0] == "Likely cause"
    assert wording.leading_causes(cell, (nothing, found), "run") == ("Cause", (much, "f() +1 µs"), "")
    vague = replace(cell, causes=tuple(some[1:]))
    assert wording.leading_causes(vague, (found,), "run") == ("Cause", ("f() +1 µs",), "")


def test_causes_have_a_title_that_claims_no_more_than_the_verdict() -> None:
    regressed, equal = (a_comparison_of((verdict, 1.0)).cells[1] for verdict in (R, E))
    assert wording.causes_title(regressed) == "Likely cause"
    assert wording.causes_title(equal) == "Changed without a verdict on throughput"
