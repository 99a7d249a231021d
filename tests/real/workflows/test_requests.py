"""A comment that asks for a measurement, and its answer."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from shootout.document import journal
from shootout.report.github import markdown
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY, GitHub
from tests.support.runs import BASE, HEAD
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub, Job
from tests.support.workflows.repositories import ACTIONS, WORKFLOWS, a_pull, asking, commit, example, written

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def test_a_request_passes_on_what_a_gate_takes() -> None:
    gate, request = (yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text()) for name in ("gate", "request"))
    takes, asks = (actions.triggers(each)["workflow_call"]["inputs"] for each in (gate, request))
    passed = request["jobs"]["gate"]["with"].keys()
    of_events = {"label", "ignore", "environment", "base-artifact", "head-artifact"}
    assert passed == takes.keys() - of_events
    assert asks.keys() == passed - {"name", "pull", "sha"}
    assert all(each.get("default") == takes[name].get("default") for name, each in asks.items())


def asked(hub: Hub, body: str, author: str = "ann") -> Hub:
    comment = {"id": 77, "body": body, "user": {"login": author}}
    issue = {"number": 3, "pull_request": {"url": "https://github.example/pulls/3"}}
    event = {"issue": issue, "comment": comment}
    return replace(hub, event_name="issue_comment", event=event)


@pytest.fixture(scope="module")
def request_(
    hub_of: Hub, ours: Hub, profile: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hub, GitHub, dict[str, Job]]:
    """A finished request on a branch of the repository, which also changes a workflow."""
    folder = tmp_path_factory.mktemp("request")
    inputs = {
        "base": f"{BASE}@base/my.toml",
        "head": f"{BASE}@head/my.toml",
        "build": "",
        "profile": str(profile),
    }
    caller = written(folder, ours.sha, example("request"), **inputs)
    with github_server.running() as state:
        state.writers = {"ann"}
        state.pulls.append(
            a_pull("owner:faster", commit(hub_of, "^2"), ".github/workflows/gate.yml", repository=REPOSITORY)
        )
        hub = replace(
            asked(hub_of, f"/shootout head={HEAD}@head/my.toml threads=2\r\nPlease."),
            folder=folder / "run",
            environment=asking(state, hub_of),
        )
        state.artifacts, state.jobs = hub.service.records, lambda: actions.records(hub.done)
        jobs = actions.run(hub, caller)
    return hub, state, jobs


def test_a_comment_asks_and_is_answered(request_: tuple[Hub, GitHub, dict[str, Job]]) -> None:
    hub, state, jobs = request_
    assert jobs["request/read"].result == "success", jobs["request/read"].log
    assert jobs["request/gate/build-base"].result == jobs["request/gate/build-head"].result == "skipped"
    (path,) = (hub.artifacts / "shootout-request" / "results").glob("*.jsonl.xz")
    header = journal.read(path).header
    assert [each.reference for each in header.servers] == [f"{BASE}@base/my.toml", f"{HEAD}@head/my.toml"]
    assert [block.key for block in header.blocks] == ["oltp_point_select-t2"]
    assert jobs["request/answer/comment"].result == "success", jobs["request/answer/comment"].log
    (posted,) = state.comments
    assert state.reactions == ["eyes"]
    assert "| oltp&#95;point&#95;select | 2 |" in posted["body"]
    assert "Asked" not in posted["body"]
    assert "(https://github.example/owner/servers/actions/runs/1/artifacts/12)" in posted["body"]


def a_job(name: str, minutes: int | None = None) -> dict[str, object]:
    """GitHub's record of a job that took so long; None: that has not ended."""
    ended: dict[str, object] = {"status": "queued", "conclusion": None, "completed_at": None}
    if minutes is not None:
        ended = {"status": "completed", "conclusion": "success"}
        ended["completed_at"] = f"2026-01-01T{10 + minutes // 60}:{minutes % 60:02}:00Z"
    return {"name": f"request / Gate / {name}", "started_at": "2026-01-01T10:00:00Z"} | ended


def test_whoever_asks_learns_what_is_measured_and_when(of_a_fork: Hub, ours: Hub, tmp_path: Path) -> None:
    """Also that of a request before it nothing comes, and in the end that nothing came of this one."""
    inputs = {"base": "path:base/build", "head": "path:head/build", "build": "false", "budget": "7"}
    caller = written(tmp_path, ours.sha, example("request"), **inputs)
    built = [a_job("Build base", 20), a_job("Build head", 30)]
    with github_server.running() as state:
        state.writers = {"ann_octo"}
        sha = commit(of_a_fork, "^2")
        state.pulls.append(a_pull("owner:faster", sha, "sql/a.cc", repository=REPOSITORY))
        state.runs = [
            {"id": number, "status": "completed", "jobs": [*built, a_job("Measure", minutes)]}
            for number, minutes in enumerate((5, 10, 90), 2)
        ]
        own = {"id": 1, "status": "in_progress", "jobs": []}
        measures = {"id": 8, "status": "in_progress", "jobs": [a_job("Decide", 1), a_job("Measure")]}
        builds = {"id": 9, "status": "queued", "jobs": [a_job("Decide", 1)]}
        shards = {"id": 10, "status": "queued", "jobs": [a_job("Test"), a_job("Measure 1/3")]}
        state.runs += [own, measures, builds, shards]
        waiting = (
            f"{markdown.MARKER}\n<!-- shootout: waiting for run {{}} -->\nAsked\n<!-- shootout: before -->\n"
        )
        state.say(3, waiting.format(5) + "The verdicts before.")
        hub = asked(of_a_fork, "/shootout threads=1", "ann_octo")
        hub = replace(hub, environment=asking(state, of_a_fork), tools=ours.tools)
        jobs = actions.run(hub, caller)
        assert jobs["request/gate/build-head"].result == "failure", jobs["request/read"].log
        _, said, _ = state.said
        assert "`base=path:base/build` `head=path:head/build` `threads=1` `budget=7`, for " + sha in said
        assert (
            "3 measurements are before it, and by earlier runs the result comes in about 70 minutes." in said
        )
        assert "It replaces the request before it, which had not ended." in said
        assert said.endswith("\nThe verdicts before.")
        (posted,) = state.comments
        link = f"https://github.example/{REPOSITORY}/actions/runs/1"
        ended = (
            f"{markdown.MARKER}\nNothing was measured: [the run]({link}) says why.\n\nThe verdicts before."
        )
        assert posted["body"] == ended
        assert state.reactions == ["eyes"]

        posted["body"] = waiting.format(99)  # a newer request
        step = {
            "API": f"{state.url}/repos/{REPOSITORY}",
            "TOKEN": github_server.TOKEN,
            "RUN": "1",
            "LINK": link,
        }
        script = [str(ACTIONS / "request" / "request")]
        subprocess.run(script, env=os.environ | step | {"ENDED": str(posted["id"])}, check=True)
        assert posted["body"] == waiting.format(99)
