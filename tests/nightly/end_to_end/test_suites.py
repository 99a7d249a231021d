"""The performance suites under pytest: what they list and select, and what reaches pytest-benchmark."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from shootout.analysis import compare, gate
from shootout.document import journal
from shootout.model.plan import Block
from tests.support.runs import BASE, HEAD, PYTEST, Lab, document_in

pytest_plugins = ["tests.support.runs"]


def test_samples_reach_pytest_benchmark(lab: Lab, tmp_path: Path) -> None:
    options = [*PYTEST, "suites", "--profile", str(lab.profile), "-k", "point_select and t2"]
    exported, out = tmp_path / "benchmarks.json", tmp_path / "out"
    first = lab.run(*options, f"--benchmark-json={exported}", f"--out={out}")
    run = journal.read(document_in(out))
    assert first.returncode == gate.exit_code(compare.compare(run)) in (0, 1), first.stdout
    assert (
        "2 passed" if first.returncode == 0 else "1 failed, 1 passed"
    ) in first.stdout  # what has regressed
    assert "report        file://" in first.stdout
    (block,) = run.header.blocks
    assert block == Block(
        workload="oltp_point_select",
        dataset=run.header.profile.dataset.of_kind("sbtest").key,
        threads=2,
        servers=(BASE, HEAD),
    )
    assert {record.block for record in run.starts} == {block.key}
    assert lab.left() == ([], [])

    benchmarks = json.loads(exported.read_text())["benchmarks"]
    assert [each["name"] for each in benchmarks] == [
        f"test_oltp[oltp_point_select-{server}-t2]" for server in (BASE, HEAD)
    ]
    for each, server in zip(benchmarks, (BASE, HEAD), strict=True):
        slices = [
            (window_s, transactions)
            for record in run.starts
            for samples in record.samples
            if samples.server == server
            for window_s, transactions in zip(samples.window_s, samples.transactions, strict=True)
            if transactions  # none in a slice in which the server stood still
        ]
        durations_s = [window_s / transactions for window_s, transactions in slices]
        assert each["group"] == "oltp_point_select, 2 threads"
        assert each["stats"]["rounds"] == len(durations_s) >= 12
        assert each["stats"]["data"] == pytest.approx(durations_s)
        assert each["stats"]["mean"] == pytest.approx(statistics.fmean(durations_s))
        assert each["extra_info"]["cell"]["server"] == server
        tps = each["extra_info"]["figures"]["tps"]["estimate"]
        assert 1 / max(durations_s) < tps < 1 / min(durations_s)
