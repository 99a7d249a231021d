"""A run as templates see it."""

from __future__ import annotations

import msgspec

from shootout.model.run import Warning
from shootout.report.site.run import Run
from tests import builders
from tests.report.site.pages import (
    rendered,
)


def test_a_workload_sums_the_warnings_that_stand_with_all_cells() -> None:
    header = builders.a_header([builders.BASE, "a", "b"], ["oltp_point_select"], [1, 8])
    document = builders.a_run(header, failing=False)
    found = builders.a_comparison(document)
    cells = tuple(
        msgspec.structs.replace(cell, warnings=(Warning(code="wide", text=f"± {number} %"),))
        for number, cell in enumerate(found.cells)
    )
    run = Run(document, msgspec.structs.replace(found, cells=cells))
    made = rendered(run)
    workload = made["workload-oltp_point_select.html"]
    assert workload.count("<code>wide</code>") == 1
    assert f"{len(cells)} cells,<wbr> for instance</strong> ± 0 %" in workload
    assert 'cells.html#warnings"' in workload
    assert made["cells.html"].count("<code>wide</code>") == len(cells)
