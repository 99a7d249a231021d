"""`shootout count` on real servers under the real Callgrind."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from shootout.count.documents import COUNTS
from shootout.count.values import CountDocument
from tests.support.runs import BASE, EVERY_STEP, SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs"]

SHORT = """\
description = "Starts of a small table"
workloads = ["oltp_update_index", "{refused}"]
threads = [1]

[dataset]
tables = 1
rows = 1_000

[sampling]
starts_min = 3

[policy]
margin = 0.02
"""
REFUSED = """\
title = "One statement that old servers lack"
description = "And one that all have"
may_lack = true
[[transactions]]
skip_trx = 1

[[transactions.steps]]
statements = [{ name = "numbered", sql = "SELECT ROW_NUMBER() OVER (ORDER BY id) FROM {table}" }]

[[transactions.steps]]
statements = [{ name = "one", sql = "SELECT 1" }]
"""
MORE = f"{BASE}@performance_schema=ON"
LABELS = (f"{BASE}@performance_schema=OFF", "more")
SOON = ("--budget", "0.01")  # for two of the starts


@dataclass(frozen=True)
class Counted:
    """A count of a server with and without one setting."""

    out: Path
    done: subprocess.CompletedProcess[str]

    @property
    def file(self) -> Path:
        (file,) = COUNTS.find(self.out / "results")
        return file

    @property
    def document(self) -> CountDocument:
        return COUNTS.read(self.file)


@pytest.fixture(scope="module")
def counted(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Counted:
    out = tmp_path_factory.mktemp("reports")
    profile = out / "short.toml"
    refused = out / "refused.toml"
    refused.write_text(REFUSED, "utf-8")
    profile.write_text(SHORT.format(refused=refused), "utf-8")
    servers = ("--base", f"{BASE}@performance_schema=OFF", "--head", f"more={MORE}")
    options = ("--profile", str(profile), "--seed", "1", *SOON, "--out", str(out))
    markdown = ("--markdown", str(out / "count.md"))
    return Counted(out, lab.run(*EVERY_STEP, "count", *servers, *options, *markdown))


def test_a_setting_that_costs_instructions_regresses(counted: Counted) -> None:
    assert counted.done.returncode == 1, counted.done.stderr
    assert "more executes more instructions than" in counted.done.stdout
    assert "▼ regressed" in counted.done.stdout
    assert "▼ regressed" in (counted.out / "count.md").read_text("utf-8")


def test_the_document_has_counts_and_functions(counted: Counted) -> None:
    document = counted.document
    assert all(failure.lacks for failure in document.failures)
    assert {count.start for count in document.counts} == {1, 2}
    of_updates = [count for count in document.counts if count.kind == "index_update"]
    for count in of_updates:
        assert max(count.instructions) < 1.2 * min(count.instructions)
        assert 20_000 < min(count.instructions) / document.kinds[0].units < 2_000_000
    (planned, *_) = document.plans["oltp_update_index"]
    assert (planned.kind, planned.steps[0].key) == ("index_update", "PRIMARY")
    (profile, _) = (profile for profile in document.profiles if profile.kind == "index_update")
    assert 2 <= profile.system_calls < 100
    assert 1 <= profile.allocations < 1000
    named = dict(zip((document.functions[name] for name in profile.names), profile.inclusive, strict=True))
    assert named["do_command(THD*)"] > 20_000
    assert "row_upd_step(que_thr_t*)" in named


def test_the_budget_ends_after_whole_starts_and_progress_says_how_far_it_is(counted: Counted) -> None:
    assert "counted in 2 of 3 starts" in counted.done.stdout
    assert (counted.document.starts, {count.start for count in counted.document.counts}) == (3, {1, 2})
    said = counted.done.stderr
    assert f"\n3 kinds in 3 starts of {', '.join(LABELS)}\n" in said
    assert "another start would exceed the budget: counted in 2 of 3\n" in said
    shares = [int(share) for share in re.findall(r"(\d+)% done, ≤ ", said)]
    assert shares == sorted(shares)
    assert len(shares) > 2
    assert "index_update (3/3), round " in said


def test_a_kind_that_a_server_lacks_costs_nothing_else(counted: Counted) -> None:
    lacking = [failure for failure in counted.document.failures if failure.lacks]
    assert [(each.server, each.kind) for each in lacking] == [(label, "numbered") for label in LABELS]
    assert all("(1064)" in failure.reason for failure in lacking)
    assert {count.kind for count in counted.document.counts} == {"index_update", "one"}
    assert "○ lacks it" in counted.done.stdout
    assert "more lacks refused, numbered: " in counted.done.stdout.replace("\n", " ")


def test_a_document_is_judged_again(counted: Counted, lab: Lab) -> None:
    done = lab.run(SHOOTOUT, "compare", str(counted.file), "--base", "more", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    (change,) = (each for each in answer["changes"] if (each["kind"], each["server"]) == ("one", LABELS[0]))
    assert change["verdict"] == "improved"


def test_history_has_a_line_for_each_kind(counted: Counted, lab: Lab) -> None:
    done = lab.run(SHOOTOUT, "history", "--results", str(counted.out / "results"), "--json")
    assert done.returncode == 0, done.stderr
    assert ("index_update", "more") in [(each["kind"], each["server"]) for each in json.loads(done.stdout)]
    assert "index_update" in lab.run(SHOOTOUT, "history", "--results", str(counted.out / "results")).stdout
