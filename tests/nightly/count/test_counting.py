"""Counts of real servers: the same whatever was counted before, and wherever the server works."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median

import pytest

from shootout import steps
from shootout.count import measure
from shootout.count.documents import COUNTS
from shootout.count.values import CountDocument
from shootout.inputs.options import Selection

SERVER = "mysql-8.0.33"  # scans for COUNT(*) on threads of their own
PROFILE = """
description = "One start of a small table"
servers = ["{server}"]
workloads = ["{workload}"]
threads = [1]
dataset = {{ tables = 1, rows = {rows} }}
sampling = {{ starts_min = 1 }}
policy = {{ margin = 0.005 }}
"""
ROWS = 2_000
LATER = {
    "update": "UPDATE {table} SET k = k + 1 WHERE id = {id}",
    "count": "SELECT COUNT(*) FROM {table}",
}
EARLIER = {"insert": "INSERT INTO {table} (k, c, pad) VALUES (5, 'x', 'y')"}


def counted(folder: Path, sent: Mapping[str, str]) -> CountDocument:
    lines = ["title = 'Steps'", "description = 'Steps'", "parameters.id = { type = 'row_id' }"]
    lines += ["[[transactions]]", "skip_trx = 1"]
    for name, sql in sent.items():
        lines += ["[[transactions.steps]]", f'statements = [{{ name = "{name}", sql = "{sql}" }}]']
    workload, profile = folder / "steps.toml", folder / "once.toml"
    workload.write_text("\n".join(lines), "utf-8")
    profile.write_text(PROFILE.format(server=SERVER, workload=workload, rows=ROWS), "utf-8")
    chosen = Selection.read(profile=str(profile), seed="1")
    document = COUNTS.read(measure.measure(steps.plan(chosen), folder, lambda progress: None))
    assert not document.failures
    return document


def of_one(document: CountDocument, kind: str) -> float:
    """Instructions of one execution."""
    (units,) = (each.units for each in document.kinds if each.name == kind)
    return fmean(median(each.instructions) for each in document.counts if each.kind == kind) / units


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> CountDocument:
    return counted(tmp_path_factory.mktemp("alone"), LATER)


def test_a_count_does_not_depend_on_the_kinds_before_it(alone: CountDocument, tmp_path: Path) -> None:
    after = counted(tmp_path, EARLIER | LATER)
    for kind in LATER:
        assert of_one(after, kind) == pytest.approx(of_one(alone, kind), rel=0.02), kind


def test_a_scan_is_counted_though_a_server_has_threads_for_it(alone: CountDocument) -> None:
    assert alone.options["loose-innodb-parallel-read-threads"] == "1"
    counts = [each.instructions for each in alone.counts if each.kind == "count"]
    assert of_one(alone, "count") > 100 * ROWS
    assert max(map(max, counts)) < 1.01 * min(map(min, counts))


def test_a_repetition_has_fewer_of_what_takes_much(alone: CountDocument) -> None:
    units = {kind.name: kind.units for kind in alone.kinds}
    assert units["count"] < 5 < units["update"]


def test_a_count_that_was_cut_goes_on_with_the_same_values(tmp_path: Path) -> None:
    """And one that holds a budget of nothing still counts its first kinds, in two starts."""
    profile = tmp_path / "twice.toml"
    text = PROFILE.format(server=SERVER, workload="oltp_point_select", rows=ROWS)
    profile.write_text(
        text.replace("starts_min = 1", "starts_min = 2").replace('select"]', 'select", "oltp_read_only"]')
    )

    def measured(cut: bool, before: CountDocument | None = None) -> Path:
        def kept(path: Path) -> None:
            if cut:
                raise KeyboardInterrupt

        plan = steps.plan(Selection.read(profile=str(profile), budget="0.01"))
        return measure.measure(
            plan, tmp_path, lambda progress: None, before=before, own=["oltp_point_select"], kept=kept
        )

    with pytest.raises(KeyboardInterrupt):
        measured(cut=True)
    (path,) = COUNTS.find(tmp_path)
    first = COUNTS.read(path)
    assert measured(cut=False, before=first) == path
    whole = COUNTS.read(path)
    assert (whole.run, whole.seed, whole.started) == (first.run, first.seed, first.started)
    assert [count.start for count in first.counts] == [1, 2]
    assert {*first.counts} < {*whole.counts}
    assert [(count.workload, count.start) for count in whole.counts] == [
        (workload, start) for start in (1, 2) for workload in ("oltp_point_select", "oltp_read_only")
    ]
    assert {each.reason for each in whole.failures} == {"left out: the budget has no time for it"}
    assert whole.profiles
    assert whole.plans["oltp_point_select"]
