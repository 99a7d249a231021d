"""Facts that only GitHub can show, tried in a repository."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from shootout.errors import MeasureError
from shootout.report.github.workflow import Answer, Run

_NAMED = "named from outside"  # by .github/actions/name-a-step
_Test = Callable[[Any], bool]


def examine(run: Run) -> Answer:
    """Sum up what works here."""
    sha, jobs = run.environment["GITHUB_SHA"], f"actions/runs/{run.id}/jobs"
    main, environment = run.event["repository"]["default_branch"], run.inputs["environment"]
    run.sum_up("| what | result |\n|---|---|")

    def sum_up(what: str, path: str, test: _Test) -> None:
        try:
            result = "works" if test(run.get(path)) else "does not work"
        except MeasureError as error:
            result = f"does not work ({error})"
        run.sum_up(f"| {what} | {result} |")

    sum_up("seeing which files changed", f"compare/{sha}...{sha}", lambda found: "files" in found)
    sum_up("finding the commits to compare", f"git/commits/{sha}", lambda found: "parents" in found)
    sum_up(
        "telling when a request is answered",
        "actions/runs?status=queued",
        lambda found: "workflow_runs" in found,
    )
    actor = run.environment["GITHUB_ACTOR"]
    sum_up(
        "seeing who may ask by a comment",
        f"collaborators/{actor}/permission",
        lambda found: found["permission"] in ("admin", "write"),
    )
    if label := run.inputs["label"]:
        sum_up(f"asking by the label {label}", f"labels/{label}", lambda found: "name" in found)
    sum_up(
        f"workflows on {main} that answer requests and comment",
        "actions/workflows",
        lambda found: {"request", "comment"} <= _active(found["workflows"]),
    )
    cached = f"actions/caches?ref=refs/heads/{main}&key=shootout-build-"
    sum_up(f"builds that gates find in the cache of {main}", cached, lambda found: found["total_count"] > 0)
    sum_up(
        "reviewers before a fork's code runs",
        f"environments/{environment}",
        lambda found: any(rule["type"] == "required_reviewers" for rule in found["protection_rules"]),
    )
    sum_up(
        "verdicts on a fork's pull request",
        jobs,
        lambda found: any(re.fullmatch("Hand over artifact [0-9]+", name) for name in _steps(found)),
    )
    sum_up("steps that no other job can name", jobs, lambda found: _NAMED not in _steps(found))
    sum_up(
        "telling GitHub's machines from yours",
        jobs,
        lambda found: any(job["runner_group_name"] == "GitHub Actions" for job in found["jobs"]),
    )
    try:
        checks = list(run.api.entries(f"commits/{sha}/check-runs?filter=latest"))
        listed = ", then ".join(each["conclusion"] for each in checks if each["name"].endswith(" / Twice"))
    except MeasureError as error:
        listed = str(error)
    run.sum_up(f"| listed checks of one name, after a failed and a successful one | {listed} |")
    return {}


def _active(workflows: Any) -> set[str]:
    return {each["name"] for each in workflows if each["state"] == "active"}


def _steps(found: Any) -> set[str]:
    return {step["name"] for job in found["jobs"] for step in job["steps"]}
