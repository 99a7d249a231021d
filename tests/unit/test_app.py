from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from shootout import app
from shootout.analysis import compare
from shootout.conclusion import Conclusion, Request
from shootout.errors import InputError, MeasureError
from shootout.inputs.options import Selection
from shootout.measure import campaign
from shootout.measure.plan import Plan
from shootout.report import headlines
from tests.support.analysis.builders import a_document, starts_of


class Clock:
    """Stands in for `time`; advances only by `advance`."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_selected_cell_is_measured_beside_its_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Plan] = []

    def measure(plan: Plan, *_: object, **__: object) -> NoReturn:
        measured.append(plan)
        raise MeasureError("enough")

    monkeypatch.setattr(campaign, "measure", measure)
    prepared = app.prepare(Request(Selection.read(), tmp_path))
    base, head, *_ = prepared.plan.cells
    with pytest.raises(MeasureError):
        app.run(prepared, lambda progress: None, lambda reason: None, [head])
    assert [plan.cells for plan in measured] == [(base, head)]


def test_the_verdict_is_said_before_an_explanation_begins(tmp_path: Path) -> None:
    """Nothing changed, so nothing is explained."""
    document = a_document(starts_of(0))
    said: list[str] = []
    conclusion = Conclusion(document, compare.compare(document), (), tmp_path / "run.jsonl")
    app.explain(conclusion, 1.5, lambda step: said.append(step.detail), said.append)
    assert said == [headline.text for headline in headlines.of_heads(conclusion.comparison)]


@pytest.mark.parametrize(
    ("budget_s", "each_max_s", "takes_s", "given"),
    [
        (35.0, 20.0, 10.0, [20.0, 20.0, 15.0]),  # a fourth run does not fit
        (35.0, 20.0, 12.0, [20.0, 20.0]),
        (1.0, 600.0, 10.0, [1.0]),  # one at least
    ],
)
def test_runs_repeat_while_another_one_fits_the_budget(
    monkeypatch: pytest.MonkeyPatch, budget_s: float, each_max_s: float, takes_s: float, given: list[float]
) -> None:
    clock = Clock()
    monkeypatch.setattr(app, "time", clock)
    budgets: list[float] = []

    def run(budget: float) -> int:
        budgets.append(budget)
        clock.advance(takes_s)
        return len(budgets) % 2

    assert app.repeated(run, budget_s, each_max_s) == len(given) % 2
    assert budgets == given


def test_a_run_that_fails_is_the_last_and_one_with_undecided_cells_is_not() -> None:
    codes = iter([0, 1, 4, 3, 0])
    assert app.repeated(lambda _: next(codes), 60, 9) == 3
    assert next(codes) == 0


@pytest.mark.parametrize("field", ["markdown", "junit_xml"])
def test_where_a_summary_goes_is_looked_at_before_anything_is_measured(field: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "summary"
    for path, reason in ((tmp_path, "Is a directory"), (Path(__file__) / "summary", "Not a directory")):
        request = Request(Selection.read(), tmp_path, **{field: path})  # type: ignore[arg-type]
        with pytest.raises(InputError, match=rf"^{path}: cannot be written: {reason}$"):
            app.prepare(request)
    app.prepare(Request(Selection.read(), tmp_path, **{field: missing}))  # type: ignore[arg-type]
    assert not missing.parent.exists()
