from __future__ import annotations

import pytest

from shootout import app


class Clock:
    """Stands in for `time`; advances only by `advance`."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def advance(self, seconds: float) -> None:
        self.now_s += seconds


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


def test_a_run_that_fails_is_the_last() -> None:
    codes = iter([0, 1, 3, 0])
    assert app.repeated(lambda _: next(codes), 60, 9) == 3
    assert next(codes) == 0
