from __future__ import annotations

from shootout.soak import judge, report
from tests.screen import lines_judged
from tests.soak.builders import document, slices


def test_a_soak_of_one_server_has_one_column_of_values() -> None:
    alone = document(["a"], slices("a", [1000.0 + second % 7 for second in range(600)]))
    lines = lines_judged(report.judged(judge.judge(alone)))
    (titles,) = (line for line in lines if line.startswith("finding "))
    assert titles.split() == ["finding", "a", "verdict"]
