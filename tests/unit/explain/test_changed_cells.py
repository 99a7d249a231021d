"""Changed cells are explained after a run, and one that cannot be costs the others nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shootout.conclusion import Conclusion
from shootout.explain import changed_cells, measure
from shootout.explain.measure import Question
from shootout.model.plan import Cell
from tests.support import builders


@pytest.fixture
def conclusion() -> Conclusion:
    """A judged run that changed in several cells."""
    document = builders.a_run()
    return Conclusion(document, builders.a_comparison(document), (), Path("results/run.jsonl"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """The cells whose explanation was planned; it fails, as a defect in it would."""
    planned: list[Cell] = []

    def fail(question: Question, budget_s: float, environment: object, passwords: Mapping[str, str]) -> Any:
        planned.append(question.cell)
        raise RuntimeError("no such thing")

    monkeypatch.setattr(measure, "plan", fail)
    return planned


def test_an_explanation_that_fails_costs_no_other_cell_its_own(
    conclusion: Conclusion, asked: list[Cell]
) -> None:
    changed = changed_cells.changed(conclusion.comparison)
    assert len(changed) > 1
    skipped: list[str] = []
    changed_cells.explain(conclusion, 60.0, lambda progress: None, skipped.append)
    assert asked == changed
    assert skipped == [f"explanation of {cell.name}: RuntimeError: no such thing" for cell in changed]


def test_a_short_budget_explains_the_worst_cells(conclusion: Conclusion, asked: list[Cell]) -> None:
    worst, *others = changed_cells.changed(conclusion.comparison)
    skipped: list[str] = []
    changed_cells.explain(conclusion, 0.5, lambda progress: None, skipped.append)
    assert asked == [worst]
    assert skipped[: len(others)] == [
        f"explanation of {cell.name}: the budget allows 1 cell" for cell in others
    ]
