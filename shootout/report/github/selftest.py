"""Facts that only GitHub can show, tried in a repository."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from shootout.errors import MeasureError
from shootout.report.github.workflow import Answer, Run

_NAMED = "named from outside"  # by .github/actions/name-a-step


def examine(run: Run) -> Answer:
    """Sum up what works here."""
    sha, jobs = run.environment["GITHUB_SHA"], f"actions/runs/{run.id}/jobs"
    main, environment = run.event["repository"]["default_branch"], run.inputs["environment"]
    label, actor = run.inputs["label"], run.environment["GITHUB_ACTOR"]
    cached = f"actions/caches?ref=refs/heads/{main}&key=shootout-build-"
    tests: list[tuple[str, str, Callable[[Any], bool]]] = [
        ("seeing which files changed", f"compare/{sha}...{sha}", lambda found: "files" in found),
        ("finding the commits to compare", f"git/commits/{sha}", lambda found: "parents" in found),
        ("seeing who may ask by a comment", f"collaborators/{actor}/permission",
         lambda found: found["permission"] in ("admin", "write")),
        (f"asking by the label {label}", f"labels/{label}", lambda found: "name" in found),
        (f"workflows on {main} that answer requests and comment", "actions/workflows",
         lambda found: {"request", "comment"}
         <= {each["name"] for each in found["workflows"] if each["state"] == "active"}),
        (f"builds that gates find in the cache of {main}", cached, lambda found: found["total_count"] > 0),
        ("reviewers before a fork's code runs", f"environments/{environment}",
         lambda found: any(rule["type"] == "required_reviewers" for rule in found["protection_rules"])),
        ("verdicts on a fork's pull request", jobs,
         lambda found: any(re.fullmatch("Hand over artifact [0-9]+", name) for name in _steps(found))),
        ("steps that no other job can name", jobs, lambda found: _NAMED not in _steps(found)),
        ("telling GitHub's machines from yours", jobs,
         lambda found: any(job["runner_group_name"] == "GitHub Actions" for job in found["jobs"])),
    ]  # fmt: skip
    run.sum_up("| what | result |\n|---|---|")
    for what, path, test in tests:
        if path == "labels/":  # requests need no label
            continue
        try:
            result = "works" if test(run.api.get(path)) else "does not work"
        except MeasureError as error:
            result = f"does not work ({error})"
        run.sum_up(f"| {what} | {result} |")
    try:
        checks = list(run.api.entries(f"commits/{sha}/check-runs?filter=latest"))
        listed = ", then ".join(each["conclusion"] for each in checks if each["name"].endswith(" / Twice"))
    except MeasureError as error:
        listed = str(error)
    run.sum_up(f"| listed checks of one name, after a failed and a successful one | {listed} |")
    return {}


def _steps(found: Any) -> set[str]:
    return {step["name"] for job in found["jobs"] for step in job["steps"]}
