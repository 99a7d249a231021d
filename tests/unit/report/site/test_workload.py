"""The page of a workload."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from shootout import figures
from shootout.report.site.run import Run
from tests.support.report.site.pages import a_page, compared, rendered, rows_in, tables


def test_a_workload_page_has_the_classic_tables(built: Path) -> None:
    found = tables(a_page(built, "workload-oltp_read_write"))
    tps = rows_in(found["Throughput, transactions per second"])
    assert [row[0] for row in tps] == ["1", "8", "32"]
    assert re.fullmatch(r"6\d\d\.\d", tps[0][1])
    assert tps[2][2].startswith("error mysql-8.0.12 (pid 4711) died during round 3")
    latency = rows_in(found["Transaction latency, milliseconds"])
    assert len(latency) == 6
    assert all(len(row) == 9 and "–" not in row for row in latency)
    costs = rows_in(found["Cost per transaction"])
    assert costs[0][3] == figures.NOT_VISIBLE


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
