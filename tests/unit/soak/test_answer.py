"""The answer to a soak, as it was approved, and its curves."""

from __future__ import annotations

from pathlib import Path

from shootout.soak import charts, judge
from shootout.soak.answer import answer
from shootout.soak.charts import POINTS_MAX
from shootout.soak.values import Gauge, SoakFailure
from tests.support import goldens
from tests.support.screen import answered
from tests.support.soak.builders import document, faulty, slices

GOLDEN = Path(__file__).parent / "golden" / "answer.txt"


def test_it_is_as_it_was_approved(tmp_path: Path) -> None:
    failed = document(["a"], slices("a", [9.0] * 5), [SoakFailure(server="a", reason="crashed")])
    alone = document(["a"], slices("a", [1000.0 + second % 7 for second in range(600)]))
    every = (answered(answer(judge.judge(each)), 1000) for each in (faulty(), alone, failed))
    goldens.check("".join(every), GOLDEN, tmp_path)


def test_no_curve_is_heavier_than_a_page_can_be() -> None:
    built = sum(len(drawn.chart.lines[0].points) for drawn in charts.drawn_of(faulty(7200)))
    assert built <= 4 * POINTS_MAX


def test_servers_whose_gauges_were_read_at_other_times_have_readouts_in_common() -> None:
    def gauges(first: int) -> list[dict[Gauge, float]]:
        return [{"memory": 5e8} if second % 10 == first else {} for second in range(600)]

    taken = [slices(name, [1000.0] * 600, gauges=gauges(first)) for name, first in (("a", 2), ("b", 7))]
    every = charts.drawn_of(document(["a", "b"], [*taken[0], *taken[1]]))
    (chart,) = (drawn.chart for drawn in every if drawn.title.startswith("resident memory"))
    first, second = ([x for x, _ in line.points] for line in chart.lines)
    assert first == second
    assert len(first) == 60
    assert all("a: " in text and "b: " in text for _, text in chart.readouts)
