"""The weekly workflow in a repository of forty commits: its issue names commit and function, with proof."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path

import pytest

from lab import commits
from lab.commits import git
from shootout.bisect.documents import BISECTIONS
from shootout.commands.bisect import CAPABILITY
from tests.real.bisect.test_since import BAD, COUNTED, GOOD, synced
from tests.support.bisect.builders import a_history, weeks
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY
from tests.support.runs import BASE, Lab
from tests.support.workflows import actions
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import OURS, a_profile, asking, committed, example, written

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def test_the_weekly_run_names_the_commit_and_proves_it(ours: Hub, lab: Lab, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    history = a_history(origin / REPOSITORY)
    (origin / OURS).parent.mkdir(exist_ok=True)
    (origin / OURS).symlink_to(ours.origin / OURS)
    results = tmp_path / "before" / "results"
    weeks(results, [history.good] * GOOD, [1.0] * GOOD)
    weeks(results, [history.bad, *[history.newest] * (BAD - 1)], [0.95] * BAD, first=GOOD)
    committed(results.parent, "Weeks before")
    git(results.parent, "push", "--quiet", str(origin / REPOSITORY), "HEAD:shootout-data")
    for name, text in (
        ("profile", a_profile(lab, 1)),
        ("counted", COUNTED.format(settings=lab.folder / "small.toml")),
    ):
        (tmp_path / f"{name}.toml").write_text(text)
    inputs = {
        "profile": str(tmp_path / "profile.toml"),
        "servers": f"{BASE},trunk=path:{commits.TREE}",
        "shards": "1",
        "build": commits.BUILD,
        "built": commits.TREE,
        "bisect-options": f"--count\n--profile={tmp_path / 'counted.toml'}",
        "hold": "true",
    }
    caller = written(tmp_path, ours.sha, example("weekly"), **inputs)
    hub = replace(ours, folder=tmp_path / "run", origin=origin, repository=REPOSITORY, sha=history.newest)
    with github_server.running() as state:
        hub = replace(hub, environment=asking(state, hub))
        jobs = actions.run(hub, caller)
        for name in ("bisect", "keep-bisections", "issues"):
            assert jobs[f"weekly/{name}"].result == "success", jobs[f"weekly/{name}"].log
        (issue,) = state.issues
        number = {"issue": str(issue["number"]), "build": commits.BUILD, "built": commits.TREE}
        asked = written(tmp_path, ours.sha, example("bisect"), **number)
        again = actions.run(replace(hub, folder=tmp_path / "again"), asked)
    said = html.unescape(issue["body"]).replace("\u200b", "")
    for part in (
        " more instructions (", f" since {history.step[:10]}.", "pull/12)", " in extra_work [extra].",
        f", {history.newest[:10]} without {history.step[:10]} ",
    ):  # fmt: skip
        assert part in said
    assert f"since {history.step[:10]}." in again["bisect/bisect"].log
    assert "counting" not in again["bisect/bisect"].log  # everything is known

    git(tmp_path, "clone", "--quiet", "--branch=shootout-data", str(origin / REPOSITORY), "kept")
    kept = tmp_path / "kept" / "results"
    (path,) = BISECTIONS.find(kept)
    answer = CAPABILITY.judge(path).value
    assert (answer["answer"], answer["first"], answer["last"]) == ("step", *[history.step[:10]] * 2)
    assert answer["size"].low > 1
    assert answer["proof"].ratio.estimate > 1.04
    assert answer["proof"].without.estimate == pytest.approx(1, abs=0.02)
    assert len(answer["documents"]) == 1  # builds of the same files are counted once
    weeks(kept, [history.newest] * BAD, [1.0] * BAD, first=GOOD + BAD)  # fixed
    with github_server.running() as state:
        state.issues.append(issue)
        assert synced(lab, state, kept, "--hold") == ["closed"]
    assert issue["state_reason"] == "completed"
