"""A run as templates see it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shootout.model.run import Warning
from shootout.model.verdict import Interval
from shootout.report import wording
from shootout.report.site.run import Run
from tests.support import builders
from tests.support.report.site.pages import Document, compared, rendered


def test_a_workload_sums_the_warnings_that_stand_with_all_cells() -> None:
    document, comparison = compared([1, 8], [builders.BASE, "a", "b"])
    cells = tuple(
        replace(cell, warnings=(Warning(code="wide", text=f"± {number} %"),))
        for number, cell in enumerate(comparison.cells)
    )
    made = rendered(Run(document, replace(comparison, cells=cells)))
    workload = made["workload-oltp_point_select.html"]
    assert workload.count("<code>wide</code>") == 1
    assert f"{len(cells)} cells,<wbr> for instance</strong> ± 0 %" in workload
    assert 'cells.html#warnings"' in workload
    assert made["cells.html"].count("<code>wide</code>") == len(cells)


def test_bands_are_the_intervals_of_verdicts_around_the_lines() -> None:
    (cells,) = Run(*compared([1, 8])).sets
    for drawn, c in zip(cells.with_change_intervals, cells.cells, strict=True):
        assert drawn.figures
        tps, ratio = drawn.figures.tps, c.ratio or Interval.exactly(1)
        ends = ratio.low / ratio.estimate, ratio.high / ratio.estimate
        assert (tps.low / tps.estimate, tps.high / tps.estimate) == pytest.approx(ends)


def test_a_server_alone_is_not_called_the_base_of_others() -> None:
    made = rendered(Run(*compared(servers=[builders.BASE])))
    (cell,) = (text for name, text in made.items() if name.startswith("oltp_point_select-t1"))
    assert wording.ALONE in Document(cell).text
    assert "workload-oltp_point_select.html" in made["index.html"]


def test_without_a_base_bands_are_the_throughputs_own() -> None:
    (cells,) = Run(*compared([1, 8], [builders.BASE])).sets
    assert cells.with_change_intervals == cells.cells
