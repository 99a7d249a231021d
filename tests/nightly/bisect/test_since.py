"""Findings of the history are bisected by hand: several steps, or none; test_weekly.py has one step."""

from __future__ import annotations

import html
import json

from lab import commits
from tests.real.bisect.test_since import Place
from tests.support.bisect.builders import STEP

pytest_plugins = ["tests.support.runs", "tests.support.report.github.github_server"]


def test_of_a_drift_the_steps_are_named(place: Place) -> None:
    good, _, _, bad = commits.repository(place.repository, [0, 2 * STEP, 4 * STEP, 4 * STEP])
    place.slower(good, bad, bad)
    done = place.bisected()
    assert done.returncode == 1, done.stderr
    assert [each["answer"] for each in json.loads(done.stdout)["bisections"]] == ["several"]
    assert place.issues("--hold") == ["opened"]
    said = html.unescape(place.hub.issues[0]["body"]).replace("\u200b", "")
    assert "more than one step, or a drift, between" in said
    assert f"- {bad[:10]}" not in said
