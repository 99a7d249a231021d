"""`shootout count` on real servers under the real Callgrind."""

from __future__ import annotations

import json
from pathlib import Path

from shootout.count.documents import COUNTS
from tests.real.count.test_command import MORE, SOON, Counted
from tests.support.runs import BASE, PYTEST, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]


def test_a_server_that_cannot_be_initialised_is_a_result(counted: Counted, lab: Lab, tmp_path: Path) -> None:
    refused = tmp_path / "refused.cnf"
    refused.write_text("[mysqld]\nno-such-option = 1\n", "utf-8")
    servers = ("--base", BASE, "--head", f"refused={BASE}@{refused}")
    profile = ("--profile", str(counted.out / "short.toml"), *SOON, "--out", str(tmp_path))
    done = lab.run(SHOOTOUT, "count", *servers, *profile)
    assert done.returncode == 3, done.stderr
    (file,) = COUNTS.find(tmp_path / "results")
    document = COUNTS.read(file)
    (failure,) = (failure for failure in document.failures if not failure.lacks)
    assert (failure.server, failure.workload) == ("refused", "")
    assert "no-such-option" in failure.reason
    assert {count.server for count in document.counts} == {BASE}
    assert [server.label for server in document.servers] == [BASE, "refused"]


def test_plain_pytest_runs_the_same_kinds(counted: Counted, lab: Lab, tmp_path: Path) -> None:
    servers = ("--servers", f"{BASE}@performance_schema=OFF,more={MORE}")
    options = ("--profile", str(counted.out / "short.toml"), *SOON, "--out", str(tmp_path), "-rA")
    stored = ("--benchmark-json", str(tmp_path / "benchmark.json"))
    done = lab.run(*PYTEST, "suites/test_count.py", *servers, *options, *stored)
    assert done.returncode == 1, done.stdout
    assert "FAILED suites/test_count.py::test_count[refused-one-more]" in done.stdout
    assert "instructions: +" in done.stdout
    assert "SKIPPED" in done.stdout
    (benchmark,) = (
        one
        for one in json.loads((tmp_path / "benchmark.json").read_text("utf-8"))["benchmarks"]
        if one["extra_info"]["kind"] == "one"
    )
    info = benchmark["extra_info"]
    assert info["verdict"] == "regressed"
    assert info["head"]["mean"] > info["base"]["mean"] > 5_000
