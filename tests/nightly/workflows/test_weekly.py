"""The weekly matrix: built once, measured in shards, merged and kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from lab.commits import git
from shootout.analysis import baseline, compare
from shootout.document import baselines, journal
from shootout.report.github import issues
from tests.support import builders
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY, GitHub
from tests.support.runs import BASE
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub, Job
from tests.support.workflows.repositories import COPIED, KNOWN, asking, committed, example, written

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


@pytest.fixture(scope="module")
def weekly(
    hub_of: Hub, ours: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """The finished weekly matrix; the branch already held an old run and a baseline of another machine."""
    folder = tmp_path_factory.mktemp("weekly")
    before = folder / "before"
    measured = "oltp_point_select"
    header = structs.replace(
        builders.a_header(workloads=(measured,)), workloads=(builders.a_record(measured),)
    )
    accepted = baseline.baselines_of_run(compare.compare(builders.a_run(header, failing=False)))
    baselines.accept(before / "baselines", accepted)
    (before / "results" / "why" / "20200101T000000Z-0ld0").mkdir(parents=True)
    (before / "results" / "why" / "20200101T000000Z-0ld0" / "cell.json").write_text("{}")
    (before / "results" / "20200101T000000Z-0ld0.jsonl").write_text("old\n")
    committed(before, "A run before")
    git(before, "push", "--quiet", str(hub_of.origin / REPOSITORY), "HEAD:shootout-data")
    inputs = {
        "profile": str(profile),
        "servers": f"{BASE},trunk=path:build",
        "shards": "2",
        "acknowledged": "known.toml",
        "build": COPIED,
        "keep": "1",
        "runner": '[["perf-a"], ["perf-b"]]',
    }
    caller = written(folder, ours.sha, example("weekly"), **inputs)
    with github_server.running() as state:
        hub = replace(
            hub_of,
            folder=folder / "run",
            environment=asking(state, hub_of),
        )
        jobs = actions.run(hub, caller)
        about = state.open("Slower", f"{issues.MARKER}0123456789abcdef -->\n")
        with_number = {"issue": str(about["number"]), "build": COPIED, "built": "build"}
        by_number = written(folder, ours.sha, example("bisect"), **with_number)
        asked_for = actions.run(replace(hub, folder=folder / "again"), by_number)
    return hub, state, jobs | asked_for


def test_the_weekly_matrix_is_built_once_measured_in_shards_merged_and_kept(
    weekly: tuple[Hub, GitHub, dict[str, Job]], tmp_path: Path
) -> None:
    hub, state, jobs = weekly
    assert json.loads(jobs["weekly/shards"].outputs["shards"]) == [
        {"of": "1/2", "runner": ["perf-a"]},
        {"of": "2/2", "runner": ["perf-b"]},
    ]
    for name in ("build", "measure[0]", "measure[1]", "merge", "keep", "bisect", "keep-bisections", "issues"):
        assert jobs[f"weekly/{name}"].result == "success", f"{name}: {jobs[f'weekly/{name}'].log}"
    assert jobs["publish/build"].result == "success", jobs["publish/build"].log
    assert jobs["publish/deploy"].steps["Deploy"] == "skipped"  # it needs GitHub
    assert [request.split()[0] for request in state.asked] == ["GET"] * 3  # nothing has regressed
    for name in ("weekly/bisect", "bisect/bisect"):
        assert "no regression between two commits" in jobs[name].log
    assert jobs["bisect/find"].outputs == {"regression": "0123456789abcdef"}

    git(tmp_path, "clone", "--quiet", "--branch=shootout-data", str(hub.origin / REPOSITORY), "kept")
    kept = tmp_path / "kept"
    (path,) = (kept / "results").glob("*.jsonl.xz")  # the old run is removed, with what explained it
    assert not list((kept / "results").rglob("*0ld0*"))
    merged = journal.read(path)
    assert [block.key for block in merged.header.blocks] == [f"oltp_point_select-t{n}" for n in (1, 2)]
    assert sorted(start.block for start in merged.starts) == [block.key for block in merged.header.blocks]
    trunks = [part.servers[1] for part in merged.header.parts]
    assert len({trunk.reference for trunk in trunks}) == 2  # the same build, in two workspaces
    assert len({trunk.build for trunk in trunks}) == 1
    assert [(trunk.label, trunk.commit) for trunk in trunks] == [("trunk", hub.sha)] * 2
    assert len({part.seed for part in merged.header.parts}) == 1
    assert not (kept / "site").exists()
    assert not (kept / "results" / "judged").exists()
    assert (kept / "acknowledged.toml").read_text() == KNOWN
    assert (hub.artifacts / "github-pages-1" / "index.html").exists()


def test_baselines_are_held_against(weekly: tuple[Hub, GitHub, dict[str, Job]]) -> None:
    hub, _, jobs = weekly
    log = jobs["weekly/merge"].log
    held = log.index("--- Merge\n")
    assert log[held:].count("oltp_point_select") == 4, log  # merged, and compared
    assert not (
        hub.artifacts / "weekly-merged" / "baselines"
    ).exists()  # or storing the run would restore old ones
