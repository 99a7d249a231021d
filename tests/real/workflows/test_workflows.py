"""All workflows, as files: limits, permissions, and who may start what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

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


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS.glob("own-*.yml")), ids=lambda path: path.stem)
def test_a_copy_of_this_repository_runs_nothing_by_itself(workflow: Path, orchestrated: Hub) -> None:
    jobs = actions.run(replace(orchestrated, variables={}), workflow)
    assert {job.result for job in jobs.values()} == {"skipped"}
