"""Numbers and sentences as people read them."""

from datetime import date
from typing import Literal

import msgspec
import pytest

from shootout import numbers
from shootout.analysis import compare, metrics
from shootout.model.plan import DatasetSize, Load, Metric, Policy
from shootout.model.value import DatasetKind
from shootout.model.verdict import (
    Acknowledgement,
    Cause,
    CellComparison,
    Comparison,
    FalseAlarms,
    Interval,
    Verdict,
)
from shootout.model.workload import Uniform, Zipfian
from shootout.report import wording
from tests import builders


def an_interval(estimate: float, half: float) -> Interval:
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half)


def plain(text: str) -> str:
    return text.replace(numbers.SPACE, " ").replace(numbers.MINUS, "-")


@pytest.mark.parametrize(
    ("estimate", "half", "expected"),
    [
        (18_912.3, 140, "18 910"),
        (18_912.3, 2400, "19 000"),
        (612.4, 3, "612"),
        (612.44, 0.3, "612.4"),
        (9.5, 0, "9.50"),
        (448.0, 1900.0, "400"),
        (0.0, 1900.0, "0"),
    ],
)
def test_digits_follow_the_interval(estimate: float, half: float, expected: str) -> None:
    assert plain(wording.estimate(an_interval(estimate, half))) == expected


def test_changes_are_signed_and_as_exact_as_their_interval() -> None:
    ratio = Interval(estimate=0.7581, low=0.745, high=0.772)
    assert plain(wording.change(ratio)) == "-24.2 %"
    assert plain(wording.change_range(ratio)) == "-25.5 to -22.8 %"
    assert plain(wording.change(an_interval(1.004, 0.05))) == "0 %"


def test_what_acts_on_a_display_becomes_visible() -> None:
    assert wording.visible("\x1b[31mred\x1b[0m\u202egnp\x00") == "␛[31mred␛[0m[U+202E]gnp␀"
    assert wording.visible("line\n\tnext") == "line\n\tnext"


def test_a_time_that_is_none_stays_as_it_is() -> None:
    assert wording.moment("2026-11-20T02:41:00+00:00") == "20 November 2026, 02:41 UTC"
    assert wording.moment("<b>soon") == "<b>soon"


def a_comparison_of(*verdicts: tuple[Verdict, float | None]) -> Comparison:
    """One block for each verdict, each with its ratio, at 1, 2, 3, … threads."""
    header = builders.a_header(workloads=["oltp_read_only"], threads=range(1, len(verdicts) + 1))
    cells: list[CellComparison] = []
    for block, (verdict, ratio) in zip(header.blocks, verdicts, strict=True):
        cells += [
            CellComparison(
                cell=cell,
                base=block.cells[0],
                verdict=verdict if cell != block.cells[0] else Verdict.UNJUDGED,
                figures=None,
                ratio=None if ratio is None or cell == block.cells[0] else an_interval(ratio, 0.025),
                p_value=None,
                per_start=(),
                reason="",
                warnings=(),
            )
            for cell in block.cells
        ]
    return Comparison(header=header, end=None, policy=header.profile.policy, cells=tuple(cells))


def leaning(comparison: Comparison, *sides: Literal["slower", "faster"] | None) -> Comparison:
    """The same with leanings of the compared cells."""
    found = iter(sides)
    cells = tuple(
        msgspec.structs.replace(c, leaning=next(found), per_start=(0.9, 0.9)) if c.cell != c.base else c
        for c in comparison.cells
    )
    return msgspec.structs.replace(comparison, cells=cells)


R, G, E, Q, F, U = (
    Verdict.REGRESSED, Verdict.IMPROVED, Verdict.EQUIVALENT, Verdict.INCONCLUSIVE, Verdict.FAILED,
    Verdict.UNJUDGED,
)  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([(R, 0.9), (R, 0.75), (E, 1.0)],
         "HEAD is slower than BASE in 2 of 3 cells: worst -25 % (oltp_read_only, 2 threads)"),
        ([(R, 0.9), (G, 1.2), (F, None)],
         "HEAD is slower than BASE in 1 of 3 cells: worst -10 % (oltp_read_only, 1 thread); "
         "faster in 1, best +20 % (oltp_read_only, 2 threads); 1 cell failed"),
        ([(G, 1.1), (G, 1.3)],
         "HEAD is faster than BASE in 2 of 2 cells: best +30 % (oltp_read_only, 2 threads); slower in none"),
        ([(G, 1.1), (F, None)],
         "HEAD is faster than BASE in 1 of 2 cells: best +10 % (oltp_read_only, 1 thread); slower in none; "
         "1 cell failed"),
        ([(E, 1.0)], "HEAD is as fast as BASE in its only cell: within ±2 %"),
        ([(E, 1.0), (Q, 0.98)],
         "No significant difference between HEAD and BASE: 1 of 2 cells inconclusive, 1 equivalent"),
        ([(F, None), (F, None)], "HEAD could not be measured: 2 of 2 cells failed"),
        ([(F, None), (U, None)], "No verdict on HEAD: 1 of 2 cells failed, 1 unjudged"),
    ],
)  # fmt: skip
def test_headlines(verdicts: list[tuple[Verdict, float | None]], expected: str) -> None:
    (headline,) = wording.headlines(a_comparison_of(*verdicts))
    expected = expected.replace("HEAD", builders.HEAD).replace("BASE", builders.BASE)
    assert plain(headline.text) == expected


def test_what_is_likely_or_was_hardly_measured_is_no_absence_of_a_difference() -> None:
    undecided = a_comparison_of((Q, 0.8), (Q, 1.2), (Q, 0.99))
    (none,) = wording.headlines(undecided)
    assert plain(none.claim) == f"No verdict on {builders.HEAD} and {builders.BASE}: too few starts"
    (lost,) = wording.headlines(a_comparison_of((Q, 0.8), (F, None)))
    assert lost.claim == none.claim
    (likely,) = wording.headlines(leaning(undecided, "slower", "faster", None))
    assert plain(likely.claim) == (
        f"{builders.HEAD} is likely slower in 1 and faster in 1 of 3 cells than {builders.BASE}, unproven"
    )
    (equal,) = wording.headlines(leaning(undecided, None, None, None))
    assert equal.claim.startswith("No significant difference")
    cell = leaning(undecided, "slower", None, None).cells[1]
    assert wording.verdict(cell) == "▽ likely slower, unproven"


def test_what_was_not_measured_is_not_called_measured() -> None:
    comparison = a_comparison_of((Verdict.UNJUDGED, None))
    assert wording.sentence(comparison.cells[1], comparison.policy) == "Not measured"


def test_without_a_base_there_is_no_verdict() -> None:
    comparison = a_comparison_of((Verdict.UNJUDGED, None))
    document, _ = builders.a_result()
    figures = builders.figures([samples for start in document.starts for samples in start.samples][:1])
    cells = tuple(
        msgspec.structs.replace(c, figures=figures, reason="its base failed") for c in comparison.cells
    )
    (headline,) = wording.headlines(msgspec.structs.replace(comparison, cells=cells))
    assert headline.text == f"No verdict on {builders.HEAD}: its base failed"


def test_a_base_for_which_another_server_stands_in_is_no_head() -> None:
    comparison = a_comparison_of((U, None), (E, 1.0))
    base, head, *others = comparison.cells
    failed = msgspec.structs.replace(base, base=head.cell, verdict=F)
    stand_in = msgspec.structs.replace(head, base=head.cell)
    comparison = msgspec.structs.replace(comparison, cells=(stand_in, failed, *others))
    assert wording.heads(comparison) == (builders.HEAD,)
    (headline,) = wording.headlines(comparison)
    assert headline.claim == f"{builders.HEAD} is as fast as {builders.BASE} in its only cell"


def test_margins_are_those_of_the_cells() -> None:
    comparison = a_comparison_of((E, 1.0), (E, 1.0))
    policy = Policy(workloads={"oltp_read_only": {"throughput": 0.05}})
    (headline,) = wording.headlines(msgspec.structs.replace(comparison, policy=policy))
    assert headline.text.endswith(f"within ±5{numbers.SPACE}%")
    judged = builders.decided_by(comparison.cells[1], "throughput", 1.0)
    assert plain(wording.margins([judged, comparison.cells[3]], policy)) == "5 % to 10 %"


def test_noise_is_no_absence_of_a_difference() -> None:
    comparison = leaning(a_comparison_of((Q, 0.99), (Q, 0.98), (E, 1.0)), None, None, None)

    def losing(*losses: float) -> str:
        found = iter(losses)
        cells = tuple(
            msgspec.structs.replace(c, ratio=an_interval(1.0, next(found))) if c.cell != c.base else c
            for c in comparison.cells
        )
        (headline,) = wording.headlines(msgspec.structs.replace(comparison, cells=cells))
        return plain(headline.text).replace(builders.HEAD, "HEAD").replace(builders.BASE, "BASE")

    assert losing(0.3, 0.22, 0.01) == (
        "Too noisy to compare HEAD with BASE: 2 of 3 cells inconclusive, 1 equivalent; 2 could hide a loss "
        "of 10 %"
    )
    assert losing(0.3, 0.04, 0.01).startswith("No significant difference")


@pytest.mark.parametrize(
    ("verdict", "metric", "ratio", "expected"),
    [
        (R, "throughput", 0.9, "10 % fewer transactions per second than BASE"),
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
    said = wording.sentence(head, comparison.policy)
    assert plain(said) == expected.replace("BASE", builders.BASE)


def test_the_change_that_decided_stands_with_its_own_interval() -> None:
    base, head = a_comparison_of((R, 1.0)).cells
    by_throughput = builders.decided_by(head, "throughput", 0.9)
    assert plain(wording.decided_change(by_throughput)) == "-10 %"
    assert plain(wording.decided_range(by_throughput)) == "-12 to -8 %"
    by_latency = builders.decided_by(head, "latency_p99", 1.3)
    assert plain(wording.decided_change(by_latency)) == "99 % latency +30 %"
    assert plain(wording.decided_range(by_latency)) == "+28 to +32 %"
    assert (wording.decided_change(base), wording.decided_range(base)) == (wording.NONE, "")


def test_a_headline_names_the_metric_and_ranks_by_it() -> None:
    comparison = a_comparison_of((R, 0.95), (R, 1.0))
    cells = [*comparison.cells[:3], builders.decided_by(comparison.cells[3], "server_cpu", 1.4)]
    (headline,) = wording.headlines(msgspec.structs.replace(comparison, cells=tuple(cells)))
    assert plain(headline.text) == (
        f"{builders.HEAD} is worse than {builders.BASE} in 2 of 2 cells: "
        "worst server CPU +40 % (oltp_read_only, 2 threads)"
    )


def test_the_worst_comes_first() -> None:
    comparison = a_comparison_of((E, 1.0), (R, 0.9), (F, None), (R, 0.7), (Q, 0.97))
    judged = [c for c in comparison.cells if c.cell != c.base]
    assert [c.cell.threads for c in wording.worst_first(judged)] == [4, 2, 3, 5, 1]


OPTIONS = {"range_size": 10, "delta": 2}


@pytest.mark.parametrize(
    ("changes", "workload", "expected"),
    [
        ({}, None, ""),
        ({}, "oltp_read_only", ""),
        ({"load": Load(protocol="prepared")}, None, "prepared statements"),
        ({"load": Load(protocol="prepared")}, "oltp_read_only", "prepared statements"),
        ({"load": Load(protocol="prepared")}, "bulk_insert", ""),
        ({"load": Load(rate=250)}, None, "250 transactions/s with poisson arrivals"),
        ({"load": Load(think_s=0.5, think="exponential")}, None, "exponential think time of 0.5 s"),
        ({"load": Load(reconnect=True)}, None, "lost connections reopened"),
        ({"options": OPTIONS}, None, "range_size = 10, delta = 2"),
        ({"options": OPTIONS}, "oltp_read_only", "range_size = 10"),
        ({"distribution": Uniform()}, None, "uniform rows"),
        ({"distribution": Zipfian(exponent=1.5)}, None, "zipfian rows exponent = 1.5"),
    ],
)
def test_conditions_are_said_where_they_are_not_the_usual(
    changes: dict[str, object], workload: str | None, expected: str
) -> None:
    header = builders.a_header()
    profile = msgspec.structs.replace(header.profile, **changes)
    prepared = profile.load.protocol
    records = (
        builders.a_record("oltp_read_only", protocol=prepared, options={"range_size": 10}),
        builders.a_record("bulk_insert"),
    )
    header = msgspec.structs.replace(header, profile=profile, workloads=records)
    assert wording.conditions(header, workload) == expected


def test_it_is_said_which_regressions_fail_the_gate() -> None:
    gate = Policy(false_alarms_max=0.05)
    comparison = builders.a_comparison()
    assert wording.standing(comparison) == ""  # under this policy every regression does
    unknown = msgspec.structs.replace(comparison, policy=gate)
    assert plain(wording.standing(unknown)) == (
        "None of 6 regressions fail the gate: until 73 A/A cells without a false alarm are known, only a "
        "confirmed regression whose whole interval lies beyond the margin does; "
        "shootout doctor --calibrate measures A/A cells"
    )
    share = Interval(estimate=0.05, low=0.01, high=0.236)
    few = msgspec.structs.replace(
        unknown, false_alarms=FalseAlarms(alarms=1, cells=20, comparisons=1, share=share)
    )
    assert "until 90 more A/A cells without" in plain(wording.standing(few))
    worst, *others = wording.worst_first(comparison.cells)
    confirmed = builders.decided_by(worst, "latency_p99", 1.3, confirmed=True)
    cells = (confirmed, *others)
    doubtless = msgspec.structs.replace(few, cells=cells)
    assert plain(wording.standing(doubtless)).startswith("1 of 6 regressions fails the gate: until 90 more")
    assert wording.gate_exemption(cells[0], doubtless) == ""
    assert wording.gate_exemption(cells[1], doubtless) == wording.standing(doubtless)
    share = Interval(estimate=0.25, low=0.11, high=0.47)
    many = msgspec.structs.replace(
        unknown, false_alarms=FalseAlarms(alarms=5, cells=20, comparisons=1, share=share)
    )
    assert plain(wording.standing(many)) == (
        "None of 6 regressions fail the gate: after 5 false alarms in 20 A/A cells, more than 5 % of gates "
        "alarm by chance, so only a confirmed regression whose whole interval lies beyond three margins does"
    )
    alone = builders.a_comparison(builders.a_run(builders.a_header([builders.BASE])))
    assert wording.standing(msgspec.structs.replace(alone, policy=gate)) == ""


def test_a_regression_that_fails_nothing_says_why() -> None:
    comparison = builders.a_comparison()
    gate = msgspec.structs.replace(comparison, policy=Policy(false_alarms_max=0.05))
    cell = wording.worst_first(comparison.cells)[0]
    assert cell.verdict is Verdict.REGRESSED
    assert wording.gate_exemption(cell, comparison) == ""
    assert wording.gate_exemption(cell, gate) == wording.standing(gate) != ""
    known = Acknowledgement(
        workload="*", server="*", at_most=0.5, expires=date(2027, 3, 31), owner="ann", reason="bug 1"
    )
    acknowledged = msgspec.structs.replace(cell, acknowledged=known)
    assert wording.gate_exemption(acknowledged, comparison) == "acknowledged by ann until 2027-03-31: bug 1"


def test_a_test_report_has_what_the_table_has() -> None:
    base, head, *_ = compare.compare(builders.a_run()).cells
    assert wording.properties(base) == {"verdict": "○ unjudged", "reason": "the base"}
    said = wording.properties(head)
    assert said.keys() == {"verdict", "change", "detectable", "reason"}
    assert said["change"] == wording.decided_change(head)
    assert said["detectable"] == wording.detectable(head) != ""


@pytest.mark.parametrize(
    ("name", "base", "head", "share", "expected"),
    [
        ("update", 0.0006, 0.00093, 0.21,
         "update: 930 µs per transaction instead of 600 µs (+55.0 %), about +21 % of transaction time"),
        ("sum_range", 0.004, 0.002, -0.1,
         "sum_range: 2.00 ms per transaction instead of 4.00 ms (-50.0 %), "
         "about -10 % of transaction time"),
        ("fsyncs", 0.0112, 0.0213, 0.002,
         "fsyncs: 0.0213 per transaction instead of 0.0112 (+90.2 %), roughly +0.2 % of transaction time"),
        ("disk_written", 604.0, 906.0, 0.02,
         "bytes written: 906 bytes per transaction instead of 604 bytes (+50.0 %), "
         "roughly +2 % of transaction time"),
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


def test_causes_have_a_title_that_claims_no_more_than_the_verdict() -> None:
    regressed, equal = (a_comparison_of((verdict, 1.0)).cells[1] for verdict in (R, E))
    assert wording.causes_title(regressed) == "Likely causes"
    assert wording.causes_title(equal) == "Changes without a verdict on throughput"


@pytest.mark.parametrize(
    ("scale", "kind", "expected"),
    [
        (DatasetSize(), "sbtest", "4 tables of 25 000 rows, InnoDB, seed 1"),
        (DatasetSize(tables=1, rows=1, engine="MyISAM"), "sbtest", "1 table of 1 row, MyISAM, seed 1"),
        (DatasetSize(seed=7), "tpcc", "TPC-C with 1 warehouse, InnoDB, seed 7"),
        (DatasetSize(warehouses=1_200), "tpcc", "TPC-C with 1 200 warehouses, InnoDB, seed 1"),
        (DatasetSize(), "own", "the workload's own tables, InnoDB"),
    ],
)
def test_datasets_are_said_in_words(scale: DatasetSize, kind: DatasetKind, expected: str) -> None:
    assert plain(wording.dataset(scale.of(kind))) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, "0 B"), (999, "999 B"), (1_500, "1.50 kB"), (262_144_000, "262 MB"), (20 * 10**9, "20.0 GB")],
)
def test_sizes_have_a_unit_that_fits(size: int, expected: str) -> None:
    assert plain(wording.size(size)) == expected


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("buffer_pool_bytes", "536870912", "512M"),
        ("innodb_buffer_pool_chunk_size", "134217728", "128M"),
        ("redo_capacity_bytes", "1073741824", "1G"),
        ("redo_capacity_bytes", "104857601", "104857601"),
        ("query_cache_bytes", "0", "0"),
        ("query_cache_bytes", "5120", "5K"),
        ("max_connections", "1024", "1024"),
        ("flush_method", "O_DIRECT", "O_DIRECT"),
    ],
)
def test_a_size_is_shown_in_a_unit_that_does_not_round_it(name: str, value: str, shown: str) -> None:
    assert wording.setting(value, name) == shown
