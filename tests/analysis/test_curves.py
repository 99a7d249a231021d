import math

import numpy as np
import pytest
from msgspec import structs

from shootout.analysis import compare, curves
from shootout.model.plan import Block, Cell
from shootout.model.run import RunDocument, StartRecord
from shootout.model.verdict import CellComparison, CurveComparison, Interval
from tests import builders
from tests.analysis.builders import READS, a_document, a_sample, a_start

THREADS = (1, 8, 64)
BLOCKS = [Block(workload="reads", dataset="d", threads=n, servers=("a", "b")) for n in THREADS]


def a_curve(*changes_percent: float, starts: int = 6, spread: float = 0.003) -> RunDocument:
    """`b` is so much faster than `a` at each number of threads; a restart moves all of them alike."""
    rng = np.random.default_rng(2)
    records: list[StartRecord] = []
    for start in range(1, starts + 1):
        restart = rng.normal(0, spread)
        for block, change in zip(BLOCKS, changes_percent, strict=True):
            ratio = math.exp(change / 100 + restart + rng.normal(0, spread / 3))
            base = a_sample("a", [float(x) for x in rng.normal(1000, 1, 10)])
            head = a_sample("b", [float(x) for x in rng.normal(1000 * ratio, 1, 10)])
            records.append(a_start(start, base, head, block=block))
    return a_document(records, blocks=BLOCKS)


def curve(document: RunDocument) -> CurveComparison:
    (found,) = compare.compare(document).curves
    assert (found.workload, found.server, found.base, found.threads) == ("reads", "b", "a", THREADS)
    return found


def test_a_collapse_at_many_threads_is_a_tilt() -> None:
    found = curve(a_curve(3, 0, -9))
    assert found.tilt.high < 0.95
    assert found.p_value < 0.01


def test_a_curve_that_is_lower_everywhere_has_a_level_and_no_tilt() -> None:
    found = curve(a_curve(-2, -2, -2))
    assert found.level.estimate == pytest.approx(math.exp(-0.02), abs=0.004)
    assert found.level.high < 1
    assert found.tilt.low < 1 < found.tilt.high
    assert found.p_value < 0.05


def test_the_same_curve_twice_is_no_change() -> None:
    assert curve(a_curve(0, 0, 0)).p_value > 0.05


def test_small_losses_everywhere_add_up_to_one_clear_one() -> None:
    """Each cell alone is lost in its noise; all of them together are not."""
    rng = np.random.default_rng(8)
    blocks = [Block(workload="reads", dataset="d", threads=2**n, servers=("a", "b")) for n in range(8)]
    starts = []
    for start in range(1, 7):
        for block in blocks:
            base, head = (
                a_sample(server, [1000 * math.exp(change + rng.normal(0, 0.02))] * 10)
                for server, change in (("a", 0.0), ("b", -0.025))
            )
            starts.append(a_start(start, base, head, block=block))
    found = compare.compare(a_document(starts, blocks=blocks))
    assert min(cell.p_value for cell in found.cells if cell.p_value is not None) > 0.05
    assert found.curves[0].p_value < 0.05
    assert found.curves[0].level.high < 1


def test_a_curve_needs_two_starts_with_all_threads_in_them() -> None:
    document = a_curve(0, 0, 0, starts=1)
    assert compare.compare(document).curves == ()
    alone = a_document(document.starts[:1], blocks=(READS,))
    assert compare.compare(alone).curves == ()


def test_the_law_says_where_the_peak_is() -> None:
    measured = {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2}
    (law,) = curves.laws(a_server(measured))
    assert (law.workload, law.dataset, law.server) == ("w", "d", "a")
    assert law.peak_threads == pytest.approx(96.5, abs=0.1)
    (straight,) = curves.laws(a_server({1: 10.0, 2: 20.0, 4: 40.0, 8: 80.0}))
    assert straight.peak_tps is None or straight.peak_tps > 80
    assert curves.laws(a_server({1: 10.0, 2: 20.0})) == ()


def a_server(tps: dict[int, float]) -> list[CellComparison]:
    """Its cells of one workload, by threads."""
    some = next(c for c in builders.a_comparison().cells if c.figures)
    assert some.figures
    return [
        structs.replace(
            some,
            cell=Cell(workload="w", dataset="d", server="a", threads=threads),
            figures=structs.replace(some.figures, tps=Interval(estimate=mean, low=mean, high=mean)),
        )
        for threads, mean in tps.items()
    ]
