"""What the history confirms is bisected by real servers built of commits; its issue says what was found."""

from __future__ import annotations

import html
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.bisect import commits
from tests import builders
from tests.bisect.builders import weeks
from tests.report.github.github_server import GitHub
from tests.runs import SHOOTOUT, Lab

pytest_plugins = ["tests.runs", "tests.report.github.github_server"]
pytestmark = pytest.mark.real

COUNTED = """\
description = "Point selects of a small table, counted"
workloads = ["oltp_point_select"]
threads = [1]
settings = "{settings}"

[dataset]
tables = 1
rows = 200

[sampling]
starts_min = 2
starts_max = 2

[policy]
margin = 0.02
"""
STEP = 2_000  # pairs of instructions: some 6 % of a statement's
GOOD, BAD, AFTER = 8, 5, 3  # weeks


@dataclass
class Place:
    """A repository, its history, and its issues."""

    lab: Lab
    hub: GitHub
    folder: Path

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    @property
    def results(self) -> Path:
        return self.folder / "out" / "results"

    def bisected(self, *more: str) -> subprocess.CompletedProcess[str]:
        profile = self.folder / "counted.toml"
        profile.write_text(COUNTED.format(settings=self.lab.folder / "small.toml"), "utf-8")
        return self.lab.run(
            *(SHOOTOUT, "bisect", "--since-history", "--work", "--repo", str(self.repository)),
            *("--build", commits.BUILD, "--tree", commits.TREE, "--profile", str(profile), "--json"),
            *("--out", str(self.folder / "out"), "--url", "https://github.com/me/it/commit/{commit}", *more),
        )

    def issues(self, *more: str) -> list[str]:
        command = (SHOOTOUT, "github", "issues", "--results", str(self.results), "--json", *more)
        done = subprocess.run(
            command,
            env=self.lab.environment | self.hub.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [line.split()[0] for line in json.loads(done.stdout)["done"]]

    def slower(self, good: str, bad: str, newest: str, **changes: object) -> None:
        """Weeks of which the newest are 5 % slower."""
        weeks(self.results, [good] * GOOD, [1.0] * GOOD)
        weeks(self.results, [bad, *[newest] * (BAD - 1)], [0.95] * BAD, first=GOOD, **changes)


@pytest.fixture
def place(lab: Lab, hub: GitHub, tmp_path: Path) -> Place:
    return Place(lab, hub, tmp_path)


def continued(folder: Path, subjects: Sequence[tuple[str, int | None]]) -> dict[str, str]:
    return {subject: commits.commit(folder, subject, pairs) for subject, pairs in subjects}


def test_a_commit_is_found_explained_proven_and_its_issue_closed_after_the_mend(place: Place) -> None:
    folder = place.repository
    *_, good = commits.repository(folder, [0] * 27)
    commits.git(folder, "switch", "--quiet", "--create", "branch")
    commits.commit(folder, "on a branch", 0)
    commits.git(folder, "switch", "--quiet", "main")
    commits.commit(folder, "beside it", 0)
    commits.git(folder, "merge", "--quiet", "--no-ff", "--message", "Merge pull request #7", "branch")
    before = (("half a change", None), ("the other half", 0), ("a mistake", 0))
    continued(folder, before)
    found = continued(folder, [("Check each command (#12)", STEP), ("tidy", STEP), ("half again", None)])
    commits.git(folder, "revert", "--no-edit", "HEAD~3")  # the mistake
    found |= continued(folder, [("whole", STEP), ("more", STEP), ("newest", STEP)])
    assert int(commits.git(folder, "rev-list", "--count", "HEAD")) == 40
    place.slower(good, found["more"], found["newest"])

    assert place.issues("--hold") == ["held"]
    done = place.bisected()
    assert done.returncode == 1, done.stderr
    (answer,) = json.loads(done.stdout)["bisections"]
    step = found["Check each command (#12)"]
    assert (answer["answer"], answer["first"], answer["last"]) == ("step", step[:10], step[:10])
    assert answer["size"]["low"] > 1
    assert answer["proof"]["ratio"]["estimate"] > 1.04
    assert answer["proof"]["without"]["estimate"] == pytest.approx(1, abs=0.02)
    assert len(answer["documents"]) == 1  # builds of the same files are counted once

    assert place.issues("--hold", "--link", "https://github.com/me/it/actions/runs/1") == ["opened"]
    (issue,) = place.hub.issues
    print(issue["body"])
    said = html.unescape(issue["body"]).replace("\u200b", "")
    link = f"[{step[:10]}](https://github.com/me/it/commit/{step})"
    pull = "[pull request 12](https://github.com/me/it/pull/12)"
    assert f"- {link}: Check each command (#12), Some Engineer, " in said
    assert f": {pull}\n" in said
    assert " in extra_work [extra]." in said
    assert f"Proof by revert: {found['newest'][:10]} without it has " in said
    assert f"--good {good} --bad {found['more']}" in said

    again = place.bisected()  # the next week: nothing is built or counted again
    assert (json.loads(again.stdout)["bisections"], place.issues("--hold")) == ([answer], ["updated"])
    weeks(place.results, [found["newest"]] * BAD, [1.0] * BAD, first=GOOD + BAD)
    assert place.issues("--hold") == ["closed"]
    assert issue["state_reason"] == "completed"


def test_of_a_drift_the_steps_are_named(place: Place) -> None:
    good, _, _, bad = commits.repository(place.repository, [0, STEP // 2, STEP, STEP])
    place.slower(good, bad, bad)
    done = place.bisected()
    assert done.returncode == 1, done.stderr
    assert [each["answer"] for each in json.loads(done.stdout)["bisections"]] == ["several"]
    assert place.issues("--hold") == ["opened"]
    print(place.hub.issues[0]["body"])
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    assert "more than one step, or a drift, between" in said
    assert f"- {bad[:10]}" not in said


@pytest.mark.parametrize("same", [True, False])
def test_what_no_commit_changed_is_held_back_or_says_what_changed_instead(place: Place, same: bool) -> None:
    """Builds of the same files need no count."""
    good, bad = commits.repository(place.repository, [0, 0])
    settings = builders.a_server().settings[1:]
    place.slower(good, good if same else bad, good if same else bad, settings=settings)
    done = place.bisected()
    assert done.returncode == 0, done.stderr
    kinds = [each["answer"] for each in json.loads(done.stdout)["bisections"]]
    assert kinds == ([] if same else ["none"])
    assert place.issues("--hold") == ["held"]
    assert place.hub.issues == []
    assert place.issues() == ["opened"]
    print(place.hub.issues[0]["body"])
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    changed = "trunk: buffer_pool_bytes 536870912 → –"
    if same:
        found = f"Not in the server: trunk had the same commit {good[:12]} in the last good and the"
        assert f"{found} first bad run. What changed: {changed}." in said
        assert found in done.stderr
    else:
        assert f"So it is not in the server. It changed with: {changed}." in said
