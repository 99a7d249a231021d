"""Kinds of statement by version."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from shootout.count import by_version, judge
from shootout.count.values import MIX, TRANSACTION, CountDocument
from shootout.model.execution_plan import ExecutionPlan, PlanStep
from tests.support.count.builders import BASE, document, server, times
from tests.unit.count.test_page import built, read

VERSIONS = {
    "new": ("mysql", "8.0.33"),
    "maria": ("mariadb", "11.8.1-MariaDB"),
    "middle": ("mysql", "5.7.22"),
    "old": ("mysql", "5.6.24"),
}


def counted() -> CountDocument:
    """Four servers, not in the order of their versions, that need 3, 1, 2 and 1 times as many."""
    of_server = {label: times(factor) for label, factor in zip(VERSIONS, (3.0, 1.0, 2.0, 1.0), strict=True)}
    servers = (
        structs.replace(server(label), family=family, version=version)
        for label, (family, version) in VERSIONS.items()
    )
    plans = tuple(a_plan(label, key) for label, key in zip(VERSIONS, ("k", "k", "k", "PRIMARY"), strict=True))
    return structs.replace(document(of_server), servers=tuple(servers), plans={"w": plans})


def a_plan(label: str, key: str) -> ExecutionPlan:
    step = PlanStep(select="SIMPLE", table="t", access="ref", key=key, key_length="4", ref="const", extra=())
    return ExecutionPlan(start=1, server=label, kind="select", sql="", steps=(step,), text="")


def test_each_server_stands_beside_the_version_before_it_in_its_family() -> None:
    kinds = by_version.costs(counted())
    assert {kind.kind for kind in kinds}.isdisjoint((TRANSACTION, MIX))
    (select,) = (kind for kind in kinds if kind.kind == "select")
    assert [cost.server for cost in select.costs] == ["old", "middle", "new", "maria"]
    steps = [cost.step and cost.step.ratio and round(cost.step.ratio.estimate, 2) for cost in select.costs]
    assert steps == [None, 2.0, 1.5, None]
    assert [cost.since and round(cost.since, 2) for cost in select.costs] == [0.5, None, 1.5, None]
    assert [cost.replanned for cost in select.costs] == [False, True, False, False]
    assert [round(cost.instructions or 0) for cost in select.costs] == [1000, 2001, 3001, 1000]


def test_the_page_marks_steps_and_plans(tmp_path: Path) -> None:
    folder = built([judge.compare(counted())], tmp_path).parent / "count"
    page = read(folder / "20261124T100000Z-000001-versions.html")
    assert "From version to version, 6 of 6 steps execute more, 0 fewer." in page.text
    assert "relative to middle and maria" in page.text
    assert page.text.count("another plan") == 1
    assert "20261124T100000Z-000001-versions.html" in " ".join(read(folder / "index.html").links)


def test_two_servers_have_no_page_of_their_own(tmp_path: Path) -> None:
    folder = built([judge.compare(document({"base": BASE, "head": times(2.0)}))], tmp_path).parent / "count"
    assert not [*folder.glob("*-versions.html")]
