"""The headline of each head, and the one of all heads."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from shootout.analysis import compare
from shootout.model.plan import Policy
from shootout.model.verdict import Comparison, Verdict
from shootout.report import headlines, run_answer, wording
from tests.support import builders
from tests.support.report.compared import (
    E,
    F,
    G,
    Q,
    R,
    Shown,
    U,
    a_comparison_of,
    an_interval,
    changed,
    comparison_of,
    plain,
)


def leaning(comparison: Comparison, *sides: Literal["slower", "faster"] | None) -> Comparison:
    """The same with leanings of the compared cells."""
    return changed(comparison, ({"leaning": side, "per_start": (0.9, 0.9)} for side in sides))


def headline(comparison: Comparison) -> str:
    (only,) = headlines.of_heads(comparison)
    return plain(only.text)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([(R, 0.9), (R, 0.75), (E, 1.0)],
         "HEAD is slower than BASE in 2 of 3 cells, unconfirmed: worst -25 % (oltp_read_only, 2 threads)"),
        ([(R, 0.9), (G, 1.2), (F, None)],
         "HEAD is slower than BASE in 1 of 3 cells, unconfirmed: worst -10 % (oltp_read_only, 1 thread); "
         "faster in 1, best +20 % (oltp_read_only, 2 threads); 1 cell failed"),
        ([(G, 1.1), (G, 1.3)],
         "HEAD is faster than BASE in 2 of 2 cells, unconfirmed: best +30 % (oltp_read_only, 2 threads); "
         "slower in none"),
        ([(G, 1.1), (F, None)],
         "HEAD is faster than BASE in 1 of 2 cells, unconfirmed: best +10 % (oltp_read_only, 1 thread); "
         "slower in none; 1 cell failed"),
        ([(R, 0.9), (U, None)],
         "HEAD is slower than BASE in 1 of 1 cell, unconfirmed: worst -10 % (oltp_read_only, 1 thread); "
         "1 more cell not measured"),
        ([(E, 1.0)], "HEAD is as fast as BASE in its only cell: within ±2 %"),
        ([(E, 1.0), (Q, 0.98)],
         "No significant difference between HEAD and BASE: 1 of 2 cells inconclusive, 1 equivalent"),
        ([(E, 1.0), (Q, 0.98), (U, None)],
         "No significant difference between HEAD and BASE: 1 of 2 cells inconclusive, 1 equivalent; "
         "1 more cell not measured"),
        ([(F, None), (F, None)], "HEAD could not be measured: 2 of 2 cells failed"),
        ([(F, None), (U, None)], "No verdict on HEAD: 1 of 1 cell failed; 1 more cell not measured"),
    ],
)  # fmt: skip
def test_headlines(verdicts: list[tuple[Verdict, float | None]], expected: str) -> None:
    assert headline(a_comparison_of(*verdicts)) == expected


def test_what_is_likely_or_was_hardly_measured_is_no_absence_of_a_difference() -> None:
    undecided = a_comparison_of((Q, 0.8), (Q, 1.05), (Q, 0.99))
    too_few = "Too few starts for a verdict on HEAD and BASE: "
    assert headline(undecided).startswith(too_few)
    assert headline(a_comparison_of((Q, 0.8), (F, None))).startswith(too_few)
    likely = leaning(undecided, "slower", "faster", None)
    assert headline(likely).startswith(
        "HEAD is likely slower than BASE in 1 and faster than BASE in 1 of 3 cells, unproven: "
    )
    assert str(run_answer.mark(likely.cells[1])) == "▽ likely slower, unproven"
    equal = leaning(undecided, None, None, None)
    assert headline(equal).startswith("No significant difference")


def test_without_a_base_there_is_no_verdict() -> None:
    measured = builders.figures([builders.a_samples()])
    comparison = changed(a_comparison_of((U, None)), [{"figures": measured, "reason": "its base failed"}])
    assert headline(comparison) == "No verdict on HEAD: its base failed"


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((0.3, 0.105, 0.01), "Too noisy to compare HEAD with BASE: 2 of 3 cells inconclusive, 1 equivalent; "
                            "2 cells could hide a change of 10 to 30 %"),
        ((0.3, 0.04, 0.01), "No significant difference between HEAD and BASE: 2 of 3 cells inconclusive, "
                            "1 equivalent"),
    ],
)  # fmt: skip
def test_noise_is_no_absence_of_a_difference(losses: tuple[float, ...], expected: str) -> None:
    comparison = leaning(a_comparison_of((Q, 0.99), (Q, 0.98), (E, 1.0)), None, None, None)
    ratios = [an_interval(1.0, loss) for loss in losses]
    turned = [replace(ratio, low=1 / ratio.high, high=1 / ratio.low) for ratio in ratios]  # by another base
    for each in (ratios, turned):
        assert headline(changed(comparison, ({"ratio": ratio} for ratio in each))) == expected


def test_a_headline_names_the_metric_and_ranks_by_it() -> None:
    comparison = a_comparison_of((R, 0.95), (R, 1.0))
    cells = (*comparison.cells[:3], builders.decided_by(comparison.cells[3], "server_cpu", 1.4))
    assert headline(replace(comparison, cells=cells)) == (
        "HEAD is worse than BASE in 2 of 2 cells, unconfirmed: "
        "worst server CPU +40 % (oltp_read_only, 2 threads)"
    )


@pytest.mark.parametrize(
    ("confirmed", "said"), [((True, True), ""), ((True, None), ", 1 of them unconfirmed")]
)
def test_a_headline_says_what_no_fresh_start_has_confirmed(
    confirmed: tuple[bool | None, ...], said: str
) -> None:
    comparison = a_comparison_of((R, 0.9), (R, 0.8))
    _, one, _, two = comparison.cells
    heads = [
        builders.decided_by(c, "throughput", 0.9, confirmed=of)
        for c, of in zip((one, two), confirmed, strict=True)
    ]
    text = headline(replace(comparison, cells=(comparison.cells[0], heads[0], comparison.cells[2], heads[1])))
    assert text.startswith(f"HEAD is slower than BASE in 2 of 2 cells{said}: worst")


# --- all heads --------------------------------------------------------------------------------------


def said_of_all(comparison: Comparison) -> tuple[str, ...]:
    one = headlines.overall(comparison)
    return tuple(map(plain, (one.claim, *one.details)))


def test_each_family_says_what_is_slower_or_faster_where_and_by_how_much() -> None:
    reads, writes = "oltp_read_only", "oltp_read_write"
    comparison = comparison_of(
        {
            "m8": {reads: [(G, 1.14), (G, 1.2)], writes: [(Q, 0.97), (Q, 1.02)]},
            "m9": {reads: [(Q, 1.0), "faster"], writes: [(R, 0.9), (R, 0.71)]},
            "d10": {reads: [(G, 1.4), (G, 1.61)], writes: [(E, 1.0), (F, 1.0)]},
            "d11": {reads: [(G, 1.5), (G, 1.5)], writes: [(Q, 1.0), "slower"]},
        }
    )
    assert said_of_all(comparison) == (
        "1 of 4 servers is slower than BASE in 2 of 16 cells, unconfirmed",
        "MySQL's reads +14 to +20 % in 2 of 4 cells (m8), likely faster in 1",
        "MySQL's writes -29 to -10 % in 2 of 4 cells (m9)",
        "MariaDB's reads +40 to +61 % in 4 of 4 cells",
        "MariaDB's writes likely slower in 1 of 4 cells, within ±2 % in 1, failed in 1",
    )


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (((G, 1.1), (G, 1.1)), ("2 of 2 servers are faster than BASE in 2 of 2 cells, unconfirmed",
                                "MySQL's reads +10 % in 2 of 2 cells")),
        (((G, 1.005), (E, 1.0)), ("1 of 2 servers is faster than BASE in 1 of 2 cells, unconfirmed",
                                  "MySQL's reads +0.5 % in 1 of 2 cells (m1), within ±2 % in 1")),
        (((E, 1.0), (E, 1.0)), ("All 2 servers are as fast as BASE",
                                "MySQL's reads within ±2 % in 2 of 2 cells")),
        (((F, 1.0), (F, 1.0)), ("None of the 2 servers could be measured",
                                "MySQL's reads failed in 2 of 2 cells")),
        (((R, 0.9), (U, 0.0)), ("1 of 2 servers is slower than BASE in 1 of 1 cell, unconfirmed",
                                "MySQL's reads -10 % in 1 of 1 cell", "1 more cell not measured")),
        (("slower", (Q, 1.0)), ("No proven difference between BASE and the other 2 servers",
                                "MySQL's reads likely slower in 1 of 2 cells")),
        (((Q, 1.0), (Q, 1.0)), ("No significant difference between BASE and the other 2 servers",
                                "MySQL's reads undecided")),
    ],
)  # fmt: skip
def test_a_claim_follows_from_all_cells(shown: tuple[Shown, Shown], expected: tuple[str, ...]) -> None:
    first, second = shown
    assert (
        said_of_all(comparison_of({"m1": {"oltp_read_only": [first]}, "m2": {"oltp_read_only": [second]}}))
        == expected
    )


@pytest.mark.parametrize("first", [U, F])
def test_without_a_base_there_is_no_verdict_on_any_head(first: Verdict) -> None:
    comparison = comparison_of(
        {"m1": {"oltp_read_only": [(first, 1.0)]}, "m2": {"oltp_read_only": [(U, 1.0)]}}
    )
    cells = tuple(replace(c, reason="its base failed") for c in comparison.cells)
    claim, why, *_ = said_of_all(replace(comparison, cells=cells))
    assert (claim, why) == ("No verdict on BASE and the other 2 servers", "its base failed")


def test_a_block_in_which_a_server_stands_in_for_the_base_is_none_of_its_cells() -> None:
    comparison = comparison_of({name: {"oltp_read_only": [(E, 1.0), (E, 1.0)]} for name in ("m1", "m2")})
    base, stand_in, *others = comparison.cells
    cells = (
        replace(stand_in, base=stand_in.cell, verdict=U),
        replace(base, base=stand_in.cell, verdict=F, figures=None),
        *others,
    )
    claim, line = said_of_all(replace(comparison, cells=cells))
    assert claim == "All 2 servers are as fast as BASE"
    assert line == "MySQL's reads within ±2 % in 3 of 3 cells"


def test_servers_that_are_not_available_are_not_counted() -> None:
    header = builders.a_header([builders.BASE, "m1", "m2", "m3"], ["oltp_read_only"], [1])
    measured = builders.a_run(header, failing=False)
    one = compare.compare(builders.without(measured, "m1"))
    claim, *lines = said_of_all(one)
    assert claim == "2 of 2 servers are slower than BASE in 2 of 2 cells, unconfirmed"
    assert [line.partition(" ")[0] for line in lines] == ["MySQL's"]
    two = compare.compare(builders.without(builders.without(measured, "m1"), "m2"))
    assert said_of_all(two)[0] == "m3 is slower than BASE in 1 of 1 cell, unconfirmed"


def test_margins_are_those_of_the_cells() -> None:
    policy = Policy(workloads={"oltp_read_only": {"throughput": 0.05}})
    comparison = replace(a_comparison_of((E, 1.0), (E, 1.0)), policy=policy)
    assert headline(comparison).endswith("within ±5 %")
    judged = builders.decided_by(comparison.cells[1], "throughput", 1.0)
    assert plain(wording.margins([judged, comparison.cells[3]], policy)) == "5 % to 10 %"


def test_changes_of_other_metrics_are_counted_and_not_mixed_with_throughput() -> None:
    comparison = comparison_of({"m1": {"oltp_read_only": [(R, 0.9)]}, "m2": {"oltp_read_only": [(R, 0.9)]}})
    cells = [*comparison.cells[:2], builders.decided_by(comparison.cells[2], "server_cpu", 1.4)]
    assert said_of_all(replace(comparison, cells=tuple(cells))) == (
        "2 of 2 servers are worse than BASE in 2 of 2 cells, unconfirmed",
        "MySQL's reads worse in 2 of 2 cells",
    )
