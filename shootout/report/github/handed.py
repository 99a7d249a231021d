"""The hand-over of a gate's measuring jobs, for the comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shootout.report.github.workflow import HOSTED, Answer, Record, Run

_STEP = re.compile(r"Hand over (.+) as artifact ([0-9]+) for pull request ([0-9]+) into (\S+)")
_GROUP = "GitHub Actions"  # of GitHub's own runners


def find(run: Run) -> Answer:
    """Find for comment.yml what gate.yml's job has measured; no `ids` if that is nothing.

    A fork's builds run unreviewed, and could upload anything. GitHub tells a job's name, times and steps, of
    which one is named after the artifact, the pull request and its base. On GitHub's machines unreviewed code
    could name a step itself: of forks, and of bots, what ran there does not count.
    """
    gate = run.of_event("workflow_run")
    number = gate.get("id") or run.id
    artifacts = list(run.api.entries(f"actions/runs/{number}/artifacts"))
    jobs = list(run.api.entries(f"actions/runs/{number}/jobs"))
    measured = [(job, *each) for job in jobs for each in _handed_over(job, artifacts)]
    ours = not gate or gate["head_repository"]["full_name"] == run.repository
    if ours and measured:
        ours = run.api.get(f"pulls/{measured[0][2]}")["user"]["type"] != "Bot"
    if ours:
        pages = [f"/artifacts/{each['id']}" for each in artifacts if each["name"].startswith("report-")]
    else:
        measured = [each for each in measured if not _is_hosted(each[0])]
        pages = [f"/job/{job['id']}" for job, *_ in measured]  # a build could write to the run's own page
    pull, into = measured[0][2:] if measured else ("", "")
    ids = ",".join(artifact for _, artifact, *_ in measured)
    return {"ids": ids, "ours": ours, "pull": pull, "into": into, "page": pages[0] if len(pages) == 1 else ""}


def _handed_over(job: Record, artifacts: Sequence[Record]) -> Iterator[tuple[str, str, str]]:
    """Yield the id of each artifact that a measuring job made and named, its pull request, and its base."""
    ended = job["conclusion"] in ("success", "failure")  # a regression fails it
    if not f" / {job['name']}".endswith(" / Measure") or not ended:
        return
    for step in job["steps"]:
        said = _STEP.fullmatch(step["name"])
        if said is None or step["conclusion"] != "success":
            continue
        name, number, pull, into = said.groups()
        for artifact in artifacts:
            during = job["started_at"] <= artifact["created_at"] <= job["completed_at"]
            if (artifact["name"], str(artifact["id"])) == (name, number) and during:
                yield number, pull, into


def _is_hosted(job: Record) -> bool:
    labels = job.get("labels") or ()
    return (job.get("runner_group_name") or _GROUP) == _GROUP or not HOSTED.isdisjoint(labels)
