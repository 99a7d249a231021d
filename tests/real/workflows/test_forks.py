"""A fork's gate: its build can neither replace the base's nor speak for the gate."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

from lab.commits import git
from shootout import paths
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub, Job
from tests.support.workflows.repositories import (
    FILES,
    WORKFLOWS,
    asking,
    commit,
    example,
    handed_over,
    pull_request,
    written,
)

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def taking_the_token(hub: Hub, *words: object) -> str:
    """A command that deletes or uploads an artifact of the run, as a build can that patches its machine."""
    program = f"PYTHONPATH={paths.ROOT} {sys.executable} -m tests.support.workflows.artifacts"
    return f"{program} {shlex.join(map(str, [hub.artifacts, *words]))}"


def test_what_a_push_to_main_has_built_a_gate_builds_no_more(
    of_a_fork: Hub, ours: Hub, tmp_path: Path
) -> None:
    """A fork's or a bot's gate does: it could have left a slower base in a cache of its own."""
    build = 'mkdir build && basename "$PWD" >build/server'
    push = written(tmp_path, ours.sha, example("main"), build=build)
    main = replace(of_a_fork, event={}, event_name="push", sha=commit(of_a_fork, "^1"))
    jobs = actions.run(replace(main, folder=tmp_path / "push"), push)
    assert jobs["main/build"].result == "success", jobs["main/build"].log
    assert jobs["main/keep"].result == "success", jobs["main/count"].log
    git(of_a_fork.origin / REPOSITORY, "branch", "--delete", "--force", "shootout-data")
    caller = written(tmp_path, ours.sha, example("gate"), build=build)
    for repository, author, outcome in (
        (REPOSITORY, "User", "skipped"),
        (REPOSITORY, "Bot", "success"),
        ("someone/servers", "User", "success"),
    ):
        event = pull_request(of_a_fork, repository)
        event["pull_request"]["user"] = {"type": author}  # type: ignore[index]
        folder = tmp_path / f"{repository}-{author}"
        hub = replace(of_a_fork, folder=folder, event=event, scope="pull-3")
        jobs = actions.run(hub, caller)
        assert jobs["build/verdict"].result == "success", jobs["build/measure"].log
        assert jobs["build/measure"].environment == ("" if outcome == "skipped" else "shootout-fork")
        assert jobs["build/build-base"].steps["Install"] == outcome  # what builds packs
        assert jobs["build/build-head"].steps["Install"] == "success"


def gate_with(hub: Hub, attack: str) -> dict[str, Job]:
    """The gate of a fork, whose head does this when it is built."""
    build = f'mkdir build && basename "$PWD" >build/server && if [ -z "${{PWD##*/head}}" ]; then {attack}; fi'
    inputs = {"base": "path:base/build", "head": "path:head/build", "build": build}
    return actions.run(hub, WORKFLOWS / "gate.yml", inputs)


def test_a_forks_gate_measures_what_each_side_built(of_a_fork: Hub) -> None:
    jobs = gate_with(of_a_fork, "true")
    assert jobs["measure"].result == "success", jobs["measure"].log
    measured = of_a_fork.artifacts / "shootout-gate" / "results" / "run.jsonl"
    assert measured.read_text() == "base\nhead\n"
    (job,) = (each for each in actions.records(jobs) if each["name"] == "Measure")
    (artifact,) = (each for each in of_a_fork.service.records() if each["name"] == "shootout-gate")
    assert job["started_at"] <= artifact["created_at"] <= job["completed_at"]
    assert {"name": handed_over("shootout-gate", artifact["id"]), "conclusion": "success"} in job["steps"]


def test_githubs_machines_count_without_a_review_and_then_without_a_comment(
    of_a_fork: Hub, ours: Hub, tmp_path: Path
) -> None:
    caller = written(tmp_path, ours.sha, example("gate", 2))
    with github_server.running() as state:
        state.changed = ["sql/a.cc"]
        for repository, shown in (("someone/servers", "skipped"), (REPOSITORY, "success")):
            event = pull_request(of_a_fork, repository)
            folder = tmp_path / repository
            hub = replace(of_a_fork, folder=folder, event=event, environment=asking(state, of_a_fork))
            jobs = actions.run(hub, caller)
            assert jobs["count/verdict"].result == "success", jobs["count/measure"].log
            asked = (hub.artifacts / "shootout-gate" / "results" / "count" / "run.json").read_text()
            server = "mysql-8.0.33@{}/deploy/my.cnf"
            words = ["count", f"--base={server.format('base')}", f"--head={server.format('head')}"]
            assert asked.split()[:3] == words
            steps = jobs["count/measure"].steps.items()
            assert [outcome for name, outcome in steps if name.startswith("Hand over")] == [shown]
            assert jobs["count/measure"].environment == ""


def test_a_head_cannot_replace_the_bases_server(of_a_fork: Hub, tmp_path: Path) -> None:
    (tmp_path / "server.tar").write_text("slower\n")
    delete = taking_the_token(of_a_fork, "delete", "server-gate-base")
    upload = taking_the_token(of_a_fork, "upload", "server-gate-base", tmp_path / "server.tar")
    jobs = gate_with(of_a_fork, f"{delete} && {upload}")
    assert (of_a_fork.artifacts / "server-gate-base" / "server.tar").read_text() == "slower\n"
    assert jobs["measure"].steps["Take the base's server"] == "failure", jobs["measure"].log
    assert "computed checksum did NOT match" in jobs["measure"].log
    assert not (of_a_fork.artifacts / "shootout-gate").exists()
    assert jobs["verdict"].result == "failure"


def test_a_build_puts_out_nothing_and_sums_up_nothing(of_a_fork: Hub) -> None:
    write = "; ".join(f'[ -z "${{{name}-}}" ] || echo sha256=forged >>"${name}"' for name in FILES)
    jobs = gate_with(of_a_fork, write)
    assert jobs["measure"].result == "success", jobs["measure"].log
    assert [job.summary for job in jobs.values() if "forged" in job.summary] == []
