"""All workflows, as files: limits, permissions, and who may start what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.support.report.github.github_server import REPOSITORY
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import WORKFLOWS

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_every_job_has_a_limit_and_no_more_than_it_needs(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text())
    assert found["permissions"] == {}
    for job in found["jobs"].values():
        if "uses" in job:
            continue
        assert job["timeout-minutes"] <= 1440
        labels = job["runs-on"]
        if "self-hosted" in labels:  # jobs that run measured code get no token that can write
            assert job["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_a_failure_inside_a_pipe_fails_its_step(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text())
    if any("run" in step for job in found["jobs"].values() for step in job.get("steps", ())):
        assert found["defaults"] == {"run": {"shell": "bash"}}  # which has pipefail; no shell at all has not


def test_a_forks_code_reaches_a_runner_of_ours_by_an_environment_only() -> None:
    gate, comment = (yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text()) for name in ("gate", "comment"))
    assert set(actions.triggers(gate)) == {"workflow_call"}
    assert comment["env"]["HOSTED"] == gate["env"]["HOSTED"]
    outputs = gate["jobs"]["decide"]["outputs"]
    authors = (("someone/servers", "User"), (None, "User"), (REPOSITORY, "Bot"), (REPOSITORY, "User"))
    for theirs, author in authors:
        pull = {"head": {"repo": {"full_name": theirs} if theirs else None}, "user": {"type": author}}
        expected = "" if (theirs, author) == (REPOSITORY, "User") else "shootout-fork"
        for job, builder, environment in (
            ("measure", '["self-hosted"]', expected),
            ("measure", '"ubuntu-perf"', expected),
            ("measure", '"ubuntu-24.04"', ""),
            ("build-base", '"ubuntu-24.04"', ""),
            ("build-base", '["self-hosted"]', expected),
            ("build-base", '"ubuntu-perf"', expected),
            ("build-head", '"ubuntu-24.04"', ""),
            ("build-head", '["ubuntu-24.04", "self-hosted"]', expected),
            ("build-head", '"ubuntu-perf"', expected),
        ):
            context = {
                "github": {"repository": REPOSITORY, "event": {"pull_request": pull}},
                "inputs": {"environment": "shootout-fork", "build-runner": builder, "runner": builder},
            }
            context["env"] = {name: actions.filled(each, context) for name, each in gate["env"].items()}
            known = ("fork", "hosted-builds", "hosted-measures")
            decided = {name: str(actions.filled(outputs[name], context)).lower() for name in known}
            context["needs"] = {"decide": {"outputs": decided}}
            assert actions.filled(gate["jobs"][job]["environment"], context) == environment


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("own-*.yml")), ids=lambda path: path.stem)
def test_a_copy_of_this_repository_runs_nothing_by_itself(workflow: Path, orchestrated: Hub) -> None:
    jobs = actions.run(replace(orchestrated, variables={}), workflow)
    assert {job.result for job in jobs.values()} == {"skipped"}
