from __future__ import annotations

import pytest
from msgspec import structs

from shootout.analysis import compare, lineage
from shootout.model.plan import Block
from shootout.model.run import RunDocument
from shootout.model.verdict import Verdict
from tests.analysis import builders

SPEEDS = {"a": 1000.0, "b": 1100.0, "c": 990.0, "d": 1200.0}
FAMILIES = {"a": "mysql", "b": "mysql", "c": "mysql", "d": "mariadb"}


def a_run() -> RunDocument:
    """Three versions of MySQL, the second of which is fastest, and one MariaDB."""
    block = Block(workload="reads", dataset="d", threads=4, servers=tuple(SPEEDS))
    starts = [
        builders.a_start(
            number,
            *(
                builders.a_sample(label, [tps * (1 + 0.001 * ((number + place) % 3)) for place in range(10)])
                for label, tps in SPEEDS.items()
            ),
            block=block,
        )
        for number in range(1, 6)
    ]
    document = builders.a_document(starts, blocks=(block,))
    servers = tuple(
        structs.replace(builders.a_server(label), family=family) for label, family in FAMILIES.items()
    )
    return structs.replace(document, header=structs.replace(document.header, servers=servers))


def test_each_server_stands_beside_the_one_before_it_in_its_family() -> None:
    document = a_run()
    (step,) = lineage.steps(document, document.header.profile.policy)
    assert (step.server, step.before) == ("c", "b")  # b stands beside the base anyway, and d alone
    (cell,) = step.cells
    assert cell.verdict is Verdict.REGRESSED
    assert cell.ratio is not None
    assert cell.ratio.estimate == pytest.approx(0.9)


def test_it_is_judged_like_a_comparison_with_that_base() -> None:
    document = a_run()
    (step,) = lineage.steps(document, document.header.profile.policy)
    whole = compare.compare(document, base="b")
    (same,) = [each for each in whole.cells if each.cell.server == "c"]
    (cell,) = step.cells
    assert (cell.verdict, cell.ratio, cell.p_value) == (same.verdict, same.ratio, same.p_value)
