"""Warnings for the reader of a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from shootout.analysis import compare
from shootout.model.plan import Load, Sampling
from shootout.model.run import JUMPED_S, REOPENED, STOOD_S, STOPPED_S, EndRecord, Warning
from shootout.model.verdict import Verdict
from tests.support import builders
from tests.support.analysis.builders import (
    APART,
    CLOSE,
    READS,
    WRITES,
    a_document,
    a_sample,
    a_server,
    a_start,
    codes,
    head_of,
    starts_of,
    with_header,
    with_profile,
)


@pytest.mark.parametrize(
    ("spread", "most", "expected"),
    [
        (APART, 12, "the 12 that the profile allows would give ± 3.0 %"),
        (APART, 100, "about 41 starts are needed, 5 were steady"),
        (CLOSE, 12, None),
    ],
)
def test_a_wide_interval_names_the_starts_it_needs(
    spread: Sequence[float], most: int, expected: str | None
) -> None:
    """Starts that differ by 4.74 %, or a tenth of that; ± 1.5 % is asked for."""
    document = a_document(starts_of(-1.8, spread))
    head = head_of(with_profile(document, sampling=Sampling(starts_max=most)))
    assert head.verdict is Verdict.INCONCLUSIVE
    assert codes(head) == ([] if expected is None else ["wide"])
    if expected is not None:
        assert head.warnings[0].text.startswith("± 5.9 %, but the profile asks for ± 1.5 %: about 41 starts")
        assert head.warnings[0].text.endswith(expected)


def test_two_starts_are_judged_under_a_warning() -> None:
    head = head_of(a_document(starts_of(-20, [-0.1, 0.1])))
    assert head.verdict is Verdict.REGRESSED
    assert codes(head) == ["few-starts", "noise-floor-unknown", "not-confirmed"]


def test_a_run_cut_short() -> None:
    for end in (None, EndRecord(finished="", elapsed_s=1, interrupted=True)):
        for cell in compare.compare(a_document(starts_of(-10), blocks=(READS, WRITES), end=end)).cells:
            assert "interrupted" in codes(cell)


@pytest.mark.parametrize(
    ("base", "head", "count", "warned"),
    [(130.0, 130.0, 5, True), (130.0, 1100.0, 5, False), (600.0, 130.0, 5, False), (130.0, 130.0, 2, False)],
)
def test_a_start_in_which_all_servers_collapsed_is_a_warning(
    base: float, head: float, count: int, warned: bool
) -> None:
    starts = [
        a_start(
            n,
            a_sample("a", (base if n == 1 else 1100.0,) * 10),
            a_sample("b", (head if n == 1 else 1100.0,) * 10),
        )
        for n in range(1, count + 1)
    ]
    found = [warning.text for warning in head_of(a_document(starts)).warnings if warning.code == "collapsed"]
    said = (
        "In start 1 all servers fell below half of their median over the starts (a 130 instead of 1100 tps, "
    )
    assert [text.startswith(said) for text in found] == [True] * warned


def test_what_trimming_hides_is_a_warning() -> None:
    """A head that stalls in one slice of ten loses that one alone; a base that does so gains it."""
    still = (0.0, *(1000.0,) * 9)
    for a, b, expected in (
        ((1000.0,) * 10, still, "10 % slower"),
        (still, (1000.0,) * 10, "11 % faster"),
        (still, still[::-1], None),
    ):
        starts = [a_start(n, a_sample("a", a), a_sample("b", b)) for n in range(1, 6)]
        head = head_of(a_document(starts))
        assert head.verdict is Verdict.EQUIVALENT
        assert [*dict.fromkeys(codes(head))] == ["stood-still", *([] if expected is None else ["uneven"])]
        if expected is not None:
            assert f"it is {expected}" in head.warnings[-1].text


@pytest.mark.parametrize(("count", "expected"), [(11, []), (13, ["errors"])])
def test_retries_of_more_than_one_percent_are_a_warning(count: int, expected: list[str]) -> None:
    """1200 transactions each start."""
    starts = [a_start(n, a_sample("a"), a_sample("b", errors={"1213": count})) for n in (1, 2, 3)]
    head = head_of(a_document(starts))
    assert codes(head) == expected
    if expected:
        text = "1.1 % of transactions were rolled back and retried (error 1213: 39)"
        assert head.warnings[0].text == text


def test_lost_and_closed_connections_are_warnings() -> None:
    """They are counted over three starts."""
    spoilt = a_sample("b", errors={"2013": 1, "1213": 2}, counters={REOPENED: 2.0})
    base, head = compare.compare(a_document([a_start(n, a_sample("a"), spoilt) for n in (1, 2, 3)])).cells
    assert codes(base) == []
    assert [(warning.code, warning.text) for warning in head.warnings] == [
        ("lost", "Connections were lost, or could not be reopened at once (error 2013: 3)"),
        ("reopened", "The server closed the suite's own connection 6 times; it was opened again"),
    ]


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ({STOOD_S: 3.04}, "b stood still for 6.1 s"),
        (
            {STOPPED_S: 20.0},
            "This process stood still for 40.0 s beside b's slices: it was stopped, or the machine was",
        ),
        (
            {JUMPED_S: 20.0},
            "The clock jumped by 40.0 s beside b's slices: it was set, or the machine was paused",
        ),
    ],
)
def test_what_stood_still_is_a_warning(counters: dict[str, float], expected: str) -> None:
    starts = [a_start(n, a_sample(), a_sample("b", counters=counters)) for n in (1, 2)]
    assert expected in [warning.text for warning in head_of(a_document(starts)).warnings]


@pytest.mark.parametrize(
    ("usual", "least", "told"), [(5000.0, 40.0, True), (5000.0, 60.0, False), (500.0, 0.0, False)]
)
def test_slices_that_did_next_to_nothing_are_a_warning(usual: float, least: float, told: bool) -> None:
    starts = [a_start(n, a_sample("a", (usual,) * 9 + (least,)), a_sample("b")) for n in (1, 2)]
    texts = [warning.text for warning in head_of(a_document(starts)).warnings]
    assert ("a stood still: it did next to nothing in 2 of its slices" in texts) == told


def test_a_busy_client_is_a_warning() -> None:
    """A slice lasts 0.1 s of window, 0.02 s of ramp and 2.5 ms to its end."""
    for share, expected in ((0.79, []), (0.81, ["client-bound"])):
        busy = a_sample("b", client_cpu_s=(share * 0.1225,) * 10)
        starts = [a_start(n, a_sample("a"), busy) for n in (1, 2, 3)]
        assert codes(head_of(a_document(starts))) == expected
        assert codes(head_of(a_document(starts, client=(0, 2)))) == []


@pytest.mark.parametrize(
    ("load", "sent", "expected"),
    [
        (Load(), "text", []),
        (Load(protocol="prepared"), "prepared", []),
        (Load(protocol="prepared"), "text", ["protocol"]),
        (Load(), "prepared", ["protocol"]),
        (Load(rate=9), "text", ["fixed-rate"]),
        (Load(think_s=1), "text", []),
    ],
)
def test_a_load_that_is_not_what_it_seems_is_a_warning(load: Load, sent: str, expected: list[str]) -> None:
    records = (builders.a_record("reads", protocol=sent), builders.a_record("writes"))
    document = with_header(with_profile(a_document(starts_of(0)), load=load), workloads=records)
    for cell in compare.compare(document).cells:
        assert codes(cell) == expected


def test_warnings_about_a_server_and_its_base_travel_with_the_cell() -> None:
    differs = Warning(code="settings-differ", text="innodb_doublewrite is ON, not OFF")
    servers = (a_server("a", differs), a_server("b"))
    base, head = compare.compare(a_document(starts_of(0), servers=servers)).cells
    expected = Warning(code="settings-differ", text="a: innodb_doublewrite is ON, not OFF")
    assert base.warnings == head.warnings == (expected,)
