"""Findings of the history are bisected by hand: several steps, or none; test_weekly.py has one step."""

from __future__ import annotations

import html
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import commits
from tests.support import builders
from tests.support.bisect.builders import weeks
from tests.support.report.github.github_server import GitHub
from tests.support.runs import SHOOTOUT, Lab

pytest_plugins = ["tests.support.runs", "tests.support.report.github.github_server"]
COUNTED = """\
description = "Point selects of a small table, counted"
workloads = ["oltp_point_select"]
threads = [1]
settings = "{settings}"

[dataset]
tables = 1
rows = 200

[sampling]
starts_min = 3
starts_max = 3

[policy]
margin = 0.02
"""
GOOD, BAD = 8, 5  # weeks
PATIENCE_S = 1800.0  # for what takes two minutes on an idle machine


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

    def bisected(self) -> subprocess.CompletedProcess[str]:
        profile = self.folder / "counted.toml"
        profile.write_text(COUNTED.format(settings=self.lab.folder / "small.toml"), "utf-8")
        command = (
            *(SHOOTOUT, "bisect", "--since-history", "--count", "--repo", str(self.repository)),
            *(*commits.BUILDING, "--profile", str(profile), "--json"),
            *("--out", str(self.folder / "out"), "--url", "https://github.com/me/it/commit/{commit}"),
        )
        return subprocess.run(
            command, env=self.lab.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    def issues(self, *more: str) -> list[str]:
        return synced(self.lab, self.hub, self.results, *more)

    def slower(self, good: str, bad: str, newest: str, **changes: object) -> None:
        """Weeks of which the newest are 5 % slower."""
        weeks(self.results, [good] * GOOD, [1.0] * GOOD)
        weeks(self.results, [bad, *[newest] * (BAD - 1)], [0.95] * BAD, first=GOOD, **changes)


def synced(lab: Lab, hub: GitHub, results: Path, *more: str) -> list[str]:
    """Update the issues; return the lines about them."""
    command = (SHOOTOUT, "github", "issues", "--results", str(results), "--json", *more)
    environment = lab.environment | hub.environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split()[0] for line in json.loads(done.stdout)["done"]]


@pytest.fixture
def place(lab: Lab, hub: GitHub, tmp_path: Path) -> Place:
    return Place(lab, hub, tmp_path)


@pytest.mark.parametrize("same", [True, False])
def test_what_no_commit_changed_is_held_back_or_says_what_changed_instead(place: Place, same: bool) -> None:
    good, bad = commits.repository(place.repository, [0, 0])
    settings = builders.a_server().settings[1:]
    place.slower(good, good if same else bad, good if same else bad, settings=settings)
    done = place.bisected()
    assert done.returncode == (0 if same else 3), done.stderr
    found = json.loads(done.stdout)
    assert [each["answer"] for each in found["bisections"]] == []
    assert len(found["failed"]) == (0 if same else 1)
    assert place.issues("--hold") == ["held"]
    assert place.hub.issues == []
    assert place.issues() == ["opened"]
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    changed = "trunk: buffer_pool_bytes 536870912 → –"
    if same:
        found = f"Not in the server: trunk had the same commit {good[:12]} in the last good and the"
        assert f"{found} first bad run. What changed: {changed}." in said
        assert found in done.stderr
    else:
        assert f"it is the same program as {good[:10]}, byte for byte" in said
        assert f"What else changed: {changed}." in said


def test_an_end_that_does_not_build_is_said_and_fails(place: Place) -> None:
    good, bad = commits.repository(place.repository, [None, 0])
    place.slower(good, bad, bad)
    done = place.bisected()
    assert done.returncode == 3
    (reason,) = json.loads(done.stdout)["failed"]
    assert f"{good[:10]}, an end of the history, cannot be measured: build of {good[:12]}" in reason
    assert place.issues() == ["opened"]
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    assert f"not bisected, as {good[:10]} cannot be measured" in said
    assert "no step" not in said
