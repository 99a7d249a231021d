"""A comment that asks for a measurement, and its answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from tests.support.analysis import builders as made_up
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY
from tests.support.runs import SHOOTOUT
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import WORKFLOWS, a_pull, asking, commit, example, written
from tests.unit.test_cli import saved

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


def test_a_comment_asks_and_is_answered(of_a_fork: Hub, ours: Hub, tmp_path: Path) -> None:
    """By a gate that hands over a document that was measured before."""
    document = saved(made_up.a_document(made_up.starts_of(-9)), tmp_path)
    command = next(of_a_fork.tools.glob("shootout/*/.venv/bin/shootout"))
    log, results = tmp_path / "log", '"${out#--out=}/results"'
    command.write_text(
        f"""#!/bin/sh
[ "$1" = gate ] || exec {SHOOTOUT} "$@"
echo "$@" >{log}
for word; do case $word in --out=*) out=$word ;; esac; done
mkdir -p {results} && cp {document} {results}
"""
    )
    caller = written(tmp_path, ours.sha, example("request"), build="")
    with github_server.running() as state:
        state.writers = {"ann"}
        changed = ".github/workflows/gate.yml"
        state.pulls.append(a_pull("owner:faster", commit(of_a_fork, "^2"), changed, repository=REPOSITORY))
        hub = asked(of_a_fork, "/shootout head=mysql-9.7 threads=2\r\nPlease.")
        hub = replace(hub, environment=asking(state, of_a_fork))
        state.artifacts, state.jobs = hub.service.records, lambda: actions.records(hub.done)
        jobs = actions.run(hub, caller)
    assert jobs["request/gate/build-base"].result == jobs["request/gate/build-head"].result == "skipped"
    words = ["gate", "--base=path:base/build", "--head=mysql-9.7", "--threads=2", "--budget=10"]
    assert log.read_text().split()[:5] == words
    assert jobs["request/answer/comment"].result == "success", jobs["request/answer/comment"].log
    (posted,) = state.comments
    assert state.reactions == ["eyes"]
    assert "is slower than" in posted["body"]
    assert "Asked" not in posted["body"]
    assert "(https://github.example/owner/servers/actions/runs/1/artifacts/12)" in posted["body"]
