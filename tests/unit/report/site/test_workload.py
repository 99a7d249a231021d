"""The page of a workload."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from shootout import figures
from shootout.model.run import RunDocument
from shootout.model.verdict import Verdict
from shootout.report.site.run import Run
from shootout.report.site.workload import WorkloadPage
from tests.support.report.compared import Shown, comparison_of
from tests.support.report.site.pages import a_page, compared, rendered, rows_in, tables


def test_a_workload_page_has_the_classic_tables(built: Path) -> None:
    found = tables(a_page(built, "workload-oltp_read_write"))
    tps = rows_in(found["Throughput, transactions per second"])
    assert [row[0] for row in tps] == ["1", "8", "32"]
    assert re.fullmatch(r"6\d\d\.\d", tps[0][1])
    assert tps[2][2].startswith("error mysql-8.0.12 (pid 4711) died during round 3")
    peaks = rows_in(
        found["Throughput with one thread, and peak throughput with the number of threads that reached it"]
    )
    assert [(row[0], row[4]) for row in peaks] == [("mysql-5.7.22", "8"), ("mysql-8.0.12", "8")]
    quotient = "Throughput of oltp_read_only divided by that of oltp_read_write, by threads and for the peaks"
    (first, _) = rows_in(found[quotient])
    assert [float(value) for value in first[1:]] == pytest.approx(
        [1020 / 612, 2140 / 1310, 2060 / 1240, 2140 / 1310], abs=0.03
    )
    latency = rows_in(found["Transaction latency, milliseconds"])
    assert len(latency) == 6
    assert all(len(row) == 9 and "–" not in row for row in latency)
    kinds = rows_in(found["Statements per second under load, by kind"])
    tps_, reads, writes, other, total = (float(text.replace(" ", "")) for text in kinds[0][2:])
    assert (reads / tps_, writes / tps_, other / tps_) == pytest.approx((14, 4, 2), rel=0.01)
    assert total == pytest.approx(reads + writes + other, rel=0.01)
    costs = rows_in(found["Cost per transaction, and the server's use of CPUs and disk under load"])
    assert costs[0][3] == figures.NOT_VISIBLE
    cpu_us, busy = (float(costs[0][at].replace(" ", "")) for at in (2, 5))
    assert busy == pytest.approx(cpu_us * tps_ / 1e6, rel=0.02)


def test_a_disks_flushes_have_a_chart_and_a_column_where_transactions_wait_for_them() -> None:
    document, comparison = compared([1, 8], workload="oltp_read_write")

    def page(flushes: float) -> str:
        counters = {"disk_flushes": flushes, "disk_flush_s": 0.7e-3 * flushes}
        cells = tuple(
            replace(c, figures=c.figures and replace(c.figures, counters=counters)) for c in comparison.cells
        )
        return rendered(Run(document, replace(comparison, cells=cells)))["workload-oltp_read_write.html"]

    flushing = page(1.0)
    assert "latency of a disk flush, ms</th>" in flushing  # in the table, too
    assert 'data-value="0.7' in flushing
    assert "latency of a disk flush, ms" not in page(0.001)


def test_a_base_that_failed_in_a_block_is_not_drawn_there() -> None:
    found: list[Shown] = [(Verdict.EQUIVALENT, 1.0), (Verdict.EQUIVALENT, 1.1)]
    comparison = comparison_of({name: {"oltp_read_only": found} for name in ("m1", "m2")})
    base, stand_in, other, *others = comparison.cells
    cells = (
        replace(base, base=stand_in.cell, verdict=Verdict.FAILED, figures=None),
        replace(stand_in, base=stand_in.cell, verdict=Verdict.UNJUDGED, ratio=None),
        replace(other, base=stand_in.cell),
        *others,
    )
    document = RunDocument(header=comparison.header, starts=(), failures=(), end=None)
    run = Run(document, replace(comparison, cells=cells))
    (of,) = run.sets
    assert of.heads == ("m1", "m2")
    chart = WorkloadPage(run, of).through_servers
    assert chart is not None
    (line,) = chart.lines  # of two threads
    assert [change for _, change in line.points if change is not None] == pytest.approx([0.0, 10.0, 10.0])
