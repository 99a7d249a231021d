"""All workflows, as files: limits, permissions, and who may start what."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.support.workflows import actions
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import WORKFLOWS, example, examples

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


def test_an_adopters_repository_is_clean_and_gives_a_reason_for_each_ignore(tmp_path: Path) -> None:
    """It is made of all examples of docs/ci.md."""
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    found = list(examples())
    for number, text in enumerate(found):
        assert all(
            re.search(r"ignore\[[a-z-]+\] \w+", line) for line in text.splitlines() if "zizmor" in line
        )
        (folder / f"{number}.yml").write_text(text.replace("OWNER", "maker").replace("COMMIT", "1" * 40))
    assert len(found) == 11
    words = ("--offline", "--quiet", "--strict-collection", str(tmp_path))
    zizmor = [str(Path(sys.executable).with_name("zizmor")), *words]
    done = subprocess.run(zizmor, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_adopter_writes_little() -> None:
    def lines(name: str, number: int = 0) -> int:
        return len(example(name, number).strip().splitlines())

    assert lines("gate") + lines("comment") <= 16
    assert lines("gate", 2) <= 12  # on GitHub's machines, with a my.cnf
    assert lines("weekly") <= 14  # with the site


def test_two_matrices_of_one_workflow_keep_apart(orchestrated: Hub) -> None:
    actions.run(orchestrated, WORKFLOWS / "own-weekly.yml", {})
    for name in ("weekly", "weekly-production"):
        merged = orchestrated.artifacts / f"{name}-merged" / "results" / "run.jsonl"
        asked = [line.split() for line in merged.read_text().splitlines()]
        assert [words[1] for words in asked] == [f"--profile={name}"] * 3
        assert sorted(words[2] for words in asked) == [f"--shard={n}/3" for n in (1, 2, 3)]
