import math

import numpy as np
import pytest

from shootout.analysis import compare
from shootout.model.plan import Block
from shootout.model.run import RunDocument, StartRecord
from shootout.model.verdict import CurveComparison
from tests.support.analysis.builders import READS, a_document, a_sample, a_start

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
