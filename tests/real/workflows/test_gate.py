"""A gate measures what a pull request builds; its own steps run here, with real servers for measurements."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from lab.commits import git
from shootout import paths
from shootout.document import journal
from shootout.report.github import request
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY, GitHub
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub, Job
from tests.support.workflows.repositories import (
    COPIED,
    WORKFLOWS,
    a_pull,
    asking,
    example,
    pull_request,
    written,
)

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


@pytest.fixture(scope="module")
def gate(
    hub_of: Hub, ours: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, Path, dict[str, Job]]:
    """The finished gate of a pull request that changes a server's build and its settings."""
    inputs = {
        "base": "path:base/build@base/my.toml",
        "head": "path:head/build@head/my.toml",
        "build": COPIED,
        "profile": str(profile),
        "threads": "1",
        "acknowledged": "head/known.toml",
        "options": "--set=distribution.type=uniform\n--seed=7",
    }
    caller = written(hub_of.origin / REPOSITORY, ours.sha, example("gate"), **inputs)
    with github_server.running() as state:
        state.changed = ["docs/README.md", "sql/sql_parse.cc"]
        hub = replace(
            hub_of,
            folder=tmp_path_factory.mktemp("gate"),
            environment=asking(state, hub_of),
            event_name="pull_request",
            event=pull_request(hub_of),
            scope="pull-3",
        )
        return hub, caller, actions.run(hub, caller)


def test_a_gate_measures_what_a_repository_builds(gate: tuple[Hub, Path, dict[str, Job]]) -> None:
    hub, _, jobs = gate
    for name in ("decide", "build-base[0]", "build-head[0]"):
        assert jobs[f"build/{name}"].result == "success", jobs[f"build/{name}"].log
    measure = jobs["build/measure"]
    artifact = hub.artifacts / "shootout-build"
    (path,) = (artifact / "results").glob("*.jsonl.xz")
    found = journal.read(path)
    assert [each.label for each in found.header.servers] == [
        "mysql-5.7.22 (path)@base-my.toml",
        "mysql-8.0.12 (path)@head-my.toml",
    ]
    assert [each.version.partition("-")[0] for each in found.header.servers] == ["5.7.22", "8.0.12"]
    before = git(hub.origin / REPOSITORY, "rev-parse", f"{hub.sha}^")
    assert [each.commit for each in found.header.servers] == [before, hub.sha]
    flushes = [
        next(each.effective for each in server.settings if each.name == "flush_log_at_trx_commit")
        for server in found.header.servers
    ]
    assert flushes == ["0", "2"]
    assert [block.key for block in found.header.blocks] == ["oltp_point_select-t1"]
    assert (found.header.given["--set distribution.type"], found.header.seed) == ("uniform", 7)
    assert found.header.profile.sampling.budget_s == 600
    assert (artifact / "site" / "index.html").exists()
    assert (artifact / "junit.xml").exists()
    assert "| oltp_point_select | 1 |" in measure.summary
    assert "[The report](https://github.example/report-shootout-build.html)" in measure.summary
    report = hub.artifacts / "report-shootout-build.html" / "report-shootout-build.html"
    assert "<style>" in report.read_text("utf-8")
    log = measure.log
    assert log.index("::stop-commands::") < log.rindex("report        file://")
    assert measure.result == ("failure" if "::error" in log else "success"), log
    assert jobs["build/verdict"].result == measure.result


def test_only_its_own_label_or_another_base_starts_a_measurement_again(
    orchestrated: Hub, hub_of: Hub, tmp_path: Path
) -> None:
    """Any other label or edit leaves alone what runs, and the check that stands."""
    inputs = {"base": "a", "head": "b", "label": "measure"}
    begun = replace(hub_of, event=pull_request(hub_of, labels=["measure"]))
    group = actions.concurrency(WORKFLOWS / "gate.yml", begun, inputs)
    caller = written(tmp_path, orchestrated.sha, example("gate", 1))
    labelled = pull_request(hub_of, labels=["measure", "documentation"])
    for number, (event, again) in enumerate(
        (
            (pull_request(hub_of, labels=["measure"], label="measure"), True),
            (labelled | {"action": "labeled", "label": {"name": "documentation"}}, False),
        ),
        1001,
    ):
        folder = tmp_path / f"{number}"
        hub = replace(begun, event=event, run_id=number, folder=folder, event_name="pull_request")
        assert (actions.concurrency(WORKFLOWS / "gate.yml", hub, inputs) == group) == again
        with github_server.running() as state:
            environment = asking(state, hub_of)
            state.changed = ["README.md"]
            jobs = actions.run(replace(hub, environment=environment), caller)
        checks = [each["name"] for each in actions.records(jobs)]
        assert ("gate / Verdict" in checks) == again, checks
        assert jobs["gate/measure"].result == "skipped"


def test_each_gate_is_of_one_branch_and_measures_again_when_its_base_changes() -> None:
    """A check belongs to a commit: one that a pull request into another branch got would count."""
    page = (paths.ROOT / "docs" / "ci.md").read_text()
    gates = [yaml.safe_load(on) for on in re.findall(r"^    on: (.*\bpull_request\b.*)$", page, re.M)]
    assert len(gates) == 3
    for on in gates:
        assert on["pull_request"]["branches"] == ["main"]
        assert {"opened", "synchronize", "reopened", "edited"} <= set(on["pull_request"]["types"])


@pytest.fixture(scope="module")
def comment(
    gate: tuple[Hub, Path, dict[str, Job]], ours: Hub, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """The comment on the gate of a fork's branch, which tampered with the summary in its artifact."""
    measured, _, before = gate
    folder = tmp_path_factory.mktemp("comment")
    event = {
        "workflow_run": {
            "id": 1,
            "event": "pull_request",
            "head_sha": measured.sha,
            "head_branch": "$(touch injected)",
            "head_repository": {"owner": {"login": "someone"}, "full_name": "someone/servers"},
        }
    }
    copied_artifacts(measured, folder)
    (folder / "artifacts" / "shootout-build" / "summary.md").write_text("@everyone trust me")
    for entries in (folder / "artifacts" / "shootout-build" / "results" / "ledger").glob("*.jsonl"):
        entries.write_text("no ledger\n")
    with github_server.running() as state:
        state.pulls.append(a_pull("someone:$(touch injected)", measured.sha, "sql/sql_parse.cc"))
        environment = asking(state, measured)
        hub = replace(
            measured, folder=folder, event_name="workflow_run", event=event, environment=environment
        )
        state.artifacts, state.jobs = hub.service.records, lambda: actions.records(before)
        jobs = actions.run(hub, written(folder, ours.sha, example("comment")))
    return hub, state, jobs


def copied_artifacts(hub: Hub, folder: Path) -> None:
    shutil.copytree(hub.artifacts, folder / "artifacts")
    shutil.copy2(hub.artifacts.with_name("artifacts.json"), folder)


def test_a_comment_comes_of_the_gates_document_alone(comment: tuple[Hub, GitHub, dict[str, Job]]) -> None:
    hub, state, jobs = comment
    assert jobs["comment/comment"].result == "success", jobs["comment/comment"].log
    (posted,) = state.comments
    assert posted["body"].startswith(request.MARKER)
    (job,) = (each for each in state.jobs() if each["name"] == "build / Measure")
    assert f"(https://github.example/owner/servers/actions/runs/1/job/{job['id']})" in posted["body"]
    assert "trust me" not in posted["body"]
    assert list(hub.folder.rglob("injected")) == []
    (document,) = hub.folder.rglob("documents/0/*.jsonl.xz")
    assert "gate" not in document.with_name("ledger").readlink().parts  # not the artifact's
