import time

from shootout import app


def test_the_budget_is_used_up_by_runs_of_the_usual_length() -> None:
    given: list[float] = []

    def run(budget_s: float) -> int:
        given.append(budget_s)
        time.sleep(0.1)
        return 3 if budget_s == 9 else len(given) % 2

    app.repeated(run, 0.35, 0.2)
    assert 2 <= len(given) <= 3  # each takes a tenth of a second, or longer on a busy machine
    assert given[0] == 0.2
    assert given[-1] < 0.2
    given.clear()
    assert app.repeated(run, 60, 9) == 3
    assert given == [9]
    given.clear()
    assert app.repeated(run, 0.01, 600) == 1  # one at least
    assert len(given) == 1
    assert 0 < given[0] <= 0.01
