"""Figures fit each other: throughputs are as measured, and near the change that is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from shootout.analysis import compare
from shootout.document import journal
from shootout.paths import REPORTS

RECORDED = sorted((REPORTS / "showcase" / "verdict").glob("bias-*.jsonl.xz"))


@pytest.mark.parametrize("path", RECORDED[:3], ids=lambda path: path.name)
def test_figures_of_a_recorded_run_agree(path: Path) -> None:
    cells = compare.compare(journal.read(path)).cells
    compared = [cell for cell in cells if cell.ratio is not None]
    assert compared
    for cell in compared:
        base, head, ratio = cell.base_figures, cell.figures, cell.ratio
        assert base is not None
        assert head is not None
        assert ratio is not None
        assert head.tps.estimate / base.tps.estimate == pytest.approx(ratio.estimate, rel=0.05)
        for metric in cell.metrics:
            assert metric.head - metric.base == pytest.approx(metric.difference.estimate)
            if metric.ratio is not None:
                assert metric.head / metric.base == pytest.approx(metric.ratio.estimate)
            if metric.name == "server_cpu":
                assert base.server_cpu_s == pytest.approx(metric.base)
                assert head.server_cpu_s == pytest.approx(metric.head, rel=0.05)  # measured, not base × ratio
