from __future__ import annotations

import random

import pytest

from shootout.analysis import compare, lineage
from shootout.model.plan import Block
from shootout.model.run import RunDocument
from shootout.model.verdict import Verdict
from tests.analysis import builders

SPEEDS = {"a": 1000.0, "b": 1100.0, "c": 990.0, "d": 1200.0}
FAMILIES = {"a": "mysql", "b": "mysql", "c": "mysql", "d": "mariadb"}


def a_run() -> RunDocument:
    """Three versions of MySQL, the second of which is fastest, and one MariaDB.

    Their rounds vary, so every pair of servers trims others.
    """
    block = Block(workload="reads", dataset="d", threads=4, servers=tuple(SPEEDS))
    starts = []
    for number in range(1, 6):
        dice = random.Random(number)
        samples = [
            builders.a_sample(label, [tps * dice.gauss(1, 0.01) for _ in range(10)])
            for label, tps in SPEEDS.items()
        ]
        starts.append(builders.a_start(number, *samples, block=block))
    servers = [builders.a_server(label, family=family) for label, family in FAMILIES.items()]
    return builders.a_document(starts, blocks=(block,), servers=servers)


def test_each_server_stands_beside_the_one_before_it_in_its_family() -> None:
    document = a_run()
    comparison = compare.compare(document)
    (step,) = lineage.steps(document, comparison)
    assert (step.server, step.before) == ("c", "b")  # b stands beside the base anyway, and d alone
    (cell,) = step.cells
    assert cell.verdict is Verdict.REGRESSED
    assert cell.ratio is not None
    ratios = {c.cell.server: c.ratio.estimate for c in comparison.cells if c.ratio is not None}
    assert cell.ratio.estimate == cell.judged[0].ratio.estimate == pytest.approx(ratios["c"] / ratios["b"])
    # As in a comparison with that base, moved to what the run's own changes give.
    whole = compare.compare(document, base="b")
    (same,) = [compared for compared in whole.cells if compared.cell.server == "c"]
    assert (cell.verdict, cell.p_value) == (same.verdict, same.p_value)
    assert same.ratio is not None
    by = cell.ratio.estimate / same.ratio.estimate
    assert by != 1
    assert cell.ratio.low == pytest.approx(min(1, by) * same.ratio.low)
    assert cell.ratio.high == pytest.approx(max(1, by) * same.ratio.high)
