"""Kinds of statement by version."""

from __future__ import annotations

from shootout.count import by_version, judge
from shootout.count.values import MIX, TRANSACTION
from tests.support.count import builders
from tests.support.count.builders import BASE, document, times


def test_each_server_stands_beside_the_version_before_it_in_its_family() -> None:
    kinds = by_version.costs(builders.by_version())
    assert {kind.kind for kind in kinds}.isdisjoint((TRANSACTION, MIX))
    (select,) = (kind for kind in kinds if kind.kind == "select")
    assert [cost.server for cost in select.costs] == ["old", "middle", "new", "maria"]
    steps = [cost.step and cost.step.ratio and round(cost.step.ratio.estimate, 2) for cost in select.costs]
    assert steps == [None, 2.0, 1.5, None]
    assert [cost.since and round(cost.since, 2) for cost in select.costs] == [0.5, None, 1.5, None]
    assert [cost.replanned for cost in select.costs] == [False, True, False, False]
    assert [round(cost.instructions or 0) for cost in select.costs] == [1000, 2001, 3001, 1000]


def test_fewer_than_three_versions_or_another_base_have_no_table_by_version() -> None:
    assert by_version.heat(judge.compare(builders.by_version()))
    assert by_version.heat(judge.compare(builders.by_version(), base="old")) is None
    alike = document({"base": BASE, **{f"old-{number}": times(2.0) for number in range(3)}})
    assert by_version.heat(judge.compare(alike)) is None
