"""The headline of a run with many servers."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from shootout.analysis import compare
from shootout.model.run import RunDocument
from shootout.model.verdict import Comparison, Interval, Verdict
from shootout.report import families, judgement_cache
from tests import builders
from tests.report.compared import E, F, G, Q, R, U, a_cell, plain

Shown = tuple[Verdict, float] | Literal["slower", "faster"]
FAMILIES = {"m": "mysql", "d": "mariadb"}


def comparison_of(by_server: dict[str, dict[str, list[Shown]]]) -> Comparison:
    """Servers with what they show by workload, at 1, 2, 3, … threads; `m…` is MySQL, `d…` MariaDB."""
    by_first = next(iter(by_server.values()))
    threads = range(1, 1 + max(map(len, by_first.values())))
    header = builders.a_header([builders.BASE, *by_server], list(by_first), threads)
    header = replace(
        header,
        servers=tuple(replace(server, family=FAMILIES[server.label[0]]) for server in header.servers),
    )
    measured = builders.figures([builders.a_samples()])
    cells = []
    for block in header.blocks:
        figures = replace(measured, writes=builders.EFFECTS[block.workload][1])
        for cell in block.cells:
            shown = by_server.get(cell.server, by_first)[block.workload][block.threads - 1]
            verdict, ratio = (Q, 1.1) if isinstance(shown, str) else shown
            cells.append(
                a_cell(
                    cell, block.cells[0], verdict, Interval.exactly(ratio),
                    figures=figures if ratio else None,
                    per_start=(ratio, ratio), leaning=shown if isinstance(shown, str) else None,
                )
            )  # fmt: skip
    return Comparison(header=header, end=None, policy=header.profile.policy, cells=tuple(cells))


def said(comparison: Comparison) -> tuple[str, ...]:
    headline = families.overall(comparison)
    return tuple(map(plain, (headline.claim, *headline.details)))


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
    assert said(comparison) == (
        "1 of 4 servers is slower than BASE in 2 of 16 cells, unconfirmed",
        "MySQL reads +14 to +20 % in 2 of 4 cells (m8), likely faster in 1",
        "MySQL writes -29 to -10 % in 2 of 4 cells (m9)",
        "MariaDB reads +40 to +61 % in 4 of 4 cells",
        "MariaDB writes likely slower in 1 of 4 cells, within ±2 % in 1, failed in 1",
    )


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (((G, 1.1), (G, 1.1)), ("2 of 2 servers are faster than BASE in 2 of 2 cells, unconfirmed",
                                "MySQL reads +10 % in 2 of 2 cells")),
        (((G, 1.005), (E, 1.0)), ("1 of 2 servers is faster than BASE in 1 of 2 cells, unconfirmed",
                                  "MySQL reads +0.5 % in 1 of 2 cells (m1), within ±2 % in 1")),
        (((E, 1.0), (E, 1.0)), ("All 2 servers are as fast as BASE",
                                "MySQL reads within ±2 % in 2 of 2 cells")),
        (((F, 1.0), (F, 1.0)), ("None of the 2 servers could be measured",
                                "MySQL reads failed in 2 of 2 cells")),
        (((R, 0.9), (U, 0.0)), ("1 of 2 servers is slower than BASE in 1 of 1 cell, unconfirmed",
                                "MySQL reads -10 % in 1 of 1 cell", "1 more cell not measured")),
        (("slower", (Q, 1.0)), ("No proven difference between BASE and the other 2 servers",
                                "MySQL reads likely slower in 1 of 2 cells")),
        (((Q, 1.0), (Q, 1.0)), ("No significant difference between BASE and the other 2 servers",
                                "MySQL reads undecided")),
    ],
)  # fmt: skip
def test_a_claim_follows_from_all_cells(shown: tuple[Shown, Shown], expected: tuple[str, ...]) -> None:
    first, second = shown
    assert (
        said(comparison_of({"m1": {"oltp_read_only": [first]}, "m2": {"oltp_read_only": [second]}}))
        == expected
    )


def test_changes_of_other_metrics_are_counted_and_not_mixed_with_throughput() -> None:
    comparison = comparison_of({"m1": {"oltp_read_only": [(R, 0.9)]}, "m2": {"oltp_read_only": [(R, 0.9)]}})
    cells = [*comparison.cells[:2], builders.decided_by(comparison.cells[2], "server_cpu", 1.4)]
    assert said(replace(comparison, cells=tuple(cells))) == (
        "2 of 2 servers are worse than BASE in 2 of 2 cells, unconfirmed",
        "MySQL reads worse in 2 of 2 cells",
    )


@pytest.mark.parametrize("first", [U, F])
def test_without_a_base_there_is_no_verdict(first: Verdict) -> None:
    comparison = comparison_of(
        {"m1": {"oltp_read_only": [(first, 1.0)]}, "m2": {"oltp_read_only": [(U, 1.0)]}}
    )
    cells = tuple(replace(c, reason="its base failed") for c in comparison.cells)
    claim, *_ = said(replace(comparison, cells=cells))
    assert claim == "No verdict on BASE and the other 2 servers: its base failed"


def test_a_block_in_which_a_server_stands_in_for_the_base_is_none_of_its_cells() -> None:
    comparison = comparison_of({name: {"oltp_read_only": [(E, 1.0), (E, 1.0)]} for name in ("m1", "m2")})
    base, stand_in, *others = comparison.cells
    cells = (
        replace(stand_in, base=stand_in.cell, verdict=U),
        replace(base, base=stand_in.cell, verdict=F, figures=None),
        *others,
    )
    claim, line = said(replace(comparison, cells=cells))
    assert claim == "All 2 servers are as fast as BASE"
    assert line == "MySQL reads within ±2 % in 3 of 3 cells"


def test_servers_that_are_not_available_are_not_counted() -> None:
    header = builders.a_header([builders.BASE, "m1", "m2", "m3"], ["oltp_read_only"], [1])
    measured = builders.a_run(header, failing=False)
    one = compare.compare(builders.without(measured, "m1"))
    claim, *lines = said(one)
    assert claim == "2 of 2 servers are slower than BASE in 2 of 2 cells, unconfirmed"
    assert [line.partition(" ")[0] for line in lines] == ["MySQL"]
    two = compare.compare(builders.without(builders.without(measured, "m1"), "m2"))
    assert said(two)[0] == "m3 is slower than BASE in 1 of 1 cell, unconfirmed"


def test_equal_cells_do_not_lack_starts_where_only_the_summary_of_a_run_is_read() -> None:
    comparison = comparison_of({"m1": {"oltp_read_only": [(E, 1.0)]}, "m2": {"oltp_read_only": [(F, 1.0)]}})
    document = RunDocument(header=comparison.header, starts=(), failures=(), end=None)
    claim, _ = said(judgement_cache.in_memory(document, comparison).comparison)
    assert claim == said(comparison)[0] == "No significant difference between BASE and the other 2 servers"


def test_too_few_starts_are_no_absence_of_a_difference() -> None:
    comparison = comparison_of({"m1": {"oltp_read_only": [(Q, 0.9)]}, "m2": {"oltp_read_only": [(Q, 0.9)]}})
    cells = tuple(replace(c, per_start=(0.9,)) for c in comparison.cells)
    claim, _ = said(replace(comparison, cells=cells))
    assert claim == "No verdict on BASE and the other 2 servers: too few starts"
