"""A comment has only what measuring jobs hand over, of all that a gate's run uploads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from shootout.report.github import handed, http
from shootout.report.github.workflow import Run
from tests.support.report.github.github_server import REPOSITORY, TOKEN, GitHub

pytest_plugins = ["tests.support.report.github.github_server"]

GITHUBS: dict[str, Any] = {"labels": ["ubuntu-24.04"], "runner_group_name": "GitHub Actions"}


def an_artifact(number: int = 11, name: str = "shootout-build", minute: int = 30) -> dict[str, Any]:
    return {"id": number, "name": name, "created_at": f"2026-01-01T10:{minute}:00Z"}


def a_measure(artifact: int | None = 11, **changes: object) -> dict[str, Any]:
    """GitHub's record of a job that has measured, with a regression, and has uploaded that artifact."""
    step = {"name": "Hand over shootout-build as artifact ${{ … }}", "conclusion": "skipped"}
    if artifact is not None:
        said = f"Hand over shootout-build as artifact {artifact} for pull request 3 into main"
        step = {"name": said, "conclusion": "success"}
    times = {"started_at": "2026-01-01T10:10:00Z", "completed_at": "2026-01-01T10:50:00Z"}
    runner = {"labels": ["self-hosted", "linux", "perf-ssd"], "runner_group_name": "Default"}
    job = {"id": 21, "name": "build / Measure", "conclusion": "failure", "steps": [step]}
    return job | times | runner | changes


@pytest.fixture
def find(hub: GitHub) -> Callable[..., dict[str, Any]]:
    """Find the hand-over of a run of that repository's branch."""

    def found(
        artifacts: Sequence[dict[str, Any]],
        *jobs: dict[str, Any],
        origin: str = "someone/servers",
        by: str = "User",
    ) -> dict[str, Any]:
        hub.artifacts, hub.jobs = lambda: list(artifacts), lambda: list(jobs)
        hub.pulls = [{"number": 3, "user": {"type": by}, "files": []}]
        event = {"workflow_run": {"id": 5, "head_repository": {"full_name": origin}}}
        api = http.Api(f"{hub.url}/repos/{REPOSITORY}", TOKEN)
        return handed.find(Run(api, event, {}, {"GITHUB_REPOSITORY": REPOSITORY}))

    return found


def test_a_regression_is_shown_with_its_base_wherever_its_artifact_is_in_the_list(
    find: Callable[..., dict[str, Any]],
) -> None:
    expected = {"ids": "11", "ours": False, "pull": "3", "into": "main", "page": "/job/21"}
    assert find([an_artifact()], a_measure()) == expected
    many = [an_artifact(100 + number, f"other-{number}") for number in range(100)]
    assert find([*many, an_artifact()], a_measure()) == expected


@pytest.mark.parametrize(
    ("artifact", "job"),
    [
        (an_artifact(), a_measure(None)),
        (an_artifact(), a_measure(10)),  # the right one was deleted, and this uploaded in its place
        (an_artifact(name="shootout-other"), a_measure()),
        (an_artifact(minute=9), a_measure()),
        (an_artifact(minute=51), a_measure()),
        (an_artifact(), a_measure(conclusion="cancelled")),
        (an_artifact(), a_measure(name="a / Measure\nb / Build head")),
        (an_artifact(), a_measure(labels=["ubuntu-24.04"])),  # where the code could name a step itself
        (an_artifact(), a_measure(runner_group_name="GitHub Actions")),
    ],
)
def test_what_a_forks_build_uploads_is_no_verdict(
    artifact: dict[str, Any], job: dict[str, Any], find: Callable[..., dict[str, Any]]
) -> None:
    """Whatever its name and time are, and whatever ran meanwhile."""
    assert find([artifact], job)["ids"] == ""


def test_of_a_bot_only_a_runner_of_ours_counts(find: Callable[..., dict[str, Any]]) -> None:
    artifacts = [an_artifact(), an_artifact(12, "report-shootout-build.html")]
    ours = find(artifacts, a_measure(**GITHUBS), origin=REPOSITORY)
    assert (ours["ids"], ours["ours"], ours["page"]) == ("11", True, "/artifacts/12")
    assert find(artifacts, a_measure(**GITHUBS), origin=REPOSITORY, by="Bot")["ids"] == ""
    bots = find(artifacts, a_measure(), origin=REPOSITORY, by="Bot")
    assert (bots["ids"], bots["ours"], bots["page"]) == ("11", False, "/job/21")
