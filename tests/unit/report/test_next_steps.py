"""Next steps after a regression."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from shootout.analysis import acknowledgements
from shootout.inputs.texts import load_acknowledged
from shootout.model.plan import Metric
from shootout.model.verdict import Verdict
from shootout.report import next_steps
from shootout.report.run_answer import answer
from shootout.report.site.run import Run
from shootout.writers import markdown
from tests.support import builders
from tests.support.report.site.pages import Document, compared, rendered
from tests.support.screen import answered


@pytest.mark.parametrize("metric", ["throughput", "latency_p99"])
def test_what_is_pasted_acknowledges_this_regression_and_no_larger_one(
    metric: Metric, tmp_path: Path
) -> None:
    _, comparison = compared()
    cell = comparison.cells[1]
    if metric != "throughput":
        cell = builders.decided_by(cell, metric, 1.3)
    steps = next_steps.steps_after(comparison, cell)
    file = tmp_path / "acknowledged.toml"
    file.write_text(steps.acknowledgement, "utf-8")
    known = load_acknowledged(file)
    started = comparison.header.started
    assert acknowledgements.of_cell(cell, known, started).acknowledged == known[0]
    worse = builders.decided_by(cell, metric, 0.5 if metric == "throughput" else 2.0)
    assert acknowledgements.of_cell(worse, known, started).acknowledged is None
    other = structs.replace(cell, cell=structs.replace(cell.cell, threads=2))
    assert acknowledgements.of_cell(other, known, started).acknowledged is None


def test_a_regression_leads_on_everywhere() -> None:
    document, comparison = compared()
    worst = next_steps.worst(comparison)
    assert worst is comparison.cells[1]
    steps = next_steps.steps_after(comparison, worst)
    assert steps.compared == "mysql-5.7.22 (build 40aa8d13ce95) → mysql-8.0.12 (build 9b1f4c77d0e2)"
    assert "--workloads oltp_point_select --threads 1 --seed" in steps.again
    pages = rendered(Run(document, comparison))
    first, cell = (Document(pages[name]) for name in ("index.html", f"{_stem(pages)}.html"))
    comment, screen = markdown.write(answer(comparison)), answered(answer(comparison), 1000)
    for text in (first.text, cell.text, comment, screen):
        assert steps.again in text
        assert "mysql-5.7.22 " in text
        assert "build 40aa8d13ce95" in text
        assert "fixtures/acknowledged.toml" in text
        assert all(line in text for line in steps.acknowledgement.splitlines())


def test_without_an_open_regression_nothing_follows() -> None:
    _, comparison = compared()
    cells = tuple(structs.replace(c, verdict=Verdict.EQUIVALENT) for c in comparison.cells)
    equal = structs.replace(comparison, cells=cells)
    assert next_steps.worst(equal) is None
    assert "fixtures/acknowledged.toml" not in markdown.write(answer(equal))


def _stem(pages: dict[str, str]) -> str:
    (name,) = (name for name in pages if name.startswith("oltp_") and name.endswith(".html"))
    return name.removesuffix(".html")
