"""Whether a gate measures, which commits, and where."""

from __future__ import annotations

from fnmatch import fnmatchcase

from shootout.errors import InputError, MeasureError
from shootout.report.github.workflow import Answer, Record, Run, is_foreign, is_hosted

COMPARED_MAX = 300  # files that GitHub lists between two commits
PAUSES_S = (2, 4, 8, 16, 32)


def decide(run: Run) -> Answer:
    """Decide for gate.yml. Raises InputError if a fork's code would run unreviewed, or is not merged.

    A verdict on `other` than this pull request's commit would overwrite a check: it gets another name.
    """
    pull, given = run.of_event("pull_request"), run.inputs
    fork = bool(pull) and is_foreign(pull, run.repository)
    builds, measures = is_hosted(given["build-runner"]), is_hosted(given["runner"])
    answer: Answer = {
        "measure": False,
        "other": _asks_for_nothing(run),
        "fork": fork,
        "unreviewed": fork and measures,
        # GitHub's own machines may run a stranger's code; others only after a review.
        "build_in": given["environment"] if fork and not builds else "",
        "measure_in": given["environment"] if fork and not measures else "",
    }
    number = given["pull"] or str(pull.get("number", ""))
    group = run.of_event("merge_group")
    head = given["sha"] or (pull["head"]["sha"] if pull else group.get("head_sha", ""))
    if answer["other"]:
        why = "only the pull request's labels, title or text changed"
    elif given["label"] and not _has(pull, given["label"]):
        why = f"the pull request does not have the label {given['label']}"
        answer["other"] = bool(number) and _another_has(run, head)
    elif _are_ignored(run, head):
        why = f"only files that match {given['ignore']} changed"
    else:
        if fork:
            _check_fork(run, reviewed=not (builds and measures))
        return answer | _merge(run, number, head) | {"measure": True}
    run.sum_up(f"Nothing was measured: {why}.")
    return answer


def _asks_for_nothing(run: Run) -> bool:
    """Whether a pull request got another label, or an edit that leaves its base alone."""
    action = run.event.get("action")
    if action == "labeled":
        return not _has({"labels": [run.event["label"]]}, run.inputs["label"])
    return action == "edited" and "base" not in run.event.get("changes", ())


def _has(pull: Record, label: str) -> bool:
    return label.lower() in [str(each["name"]).lower() for each in pull.get("labels", ())]


def _another_has(run: Run, head: str) -> bool:
    """Whether another pull request of this commit has the label; GitHub's list of a commit's lacks forks'."""
    pulls = list(run.api.entries("pulls?state=open"))
    return any(each["head"]["sha"] == head and _has(each, run.inputs["label"]) for each in pulls)


def _are_ignored(run: Run, head: str) -> bool:
    """Whether every changed file is known, and matches a pattern."""
    pull, patterns = run.of_event("pull_request"), run.inputs["ignore"].split()
    base = pull["base"]["sha"] if pull else run.of_event("merge_group").get("base_sha")
    if not base or not patterns:
        return False
    try:
        files = run.api.get(f"compare/{base}...{head}").get("files") or ()
    except MeasureError:
        return False
    names = [name for file in files for name in (file["filename"], file.get("previous_filename")) if name]
    listed = 0 < len(files) < COMPARED_MAX
    return listed and all(any(fnmatchcase(name, each) for each in patterns) for name in names)


def _check_fork(run: Run, *, reviewed: bool) -> None:
    environment = run.inputs["environment"]
    if reviewed:
        try:
            rules = run.api.get(f"environments/{environment}")["protection_rules"]
        except MeasureError:
            rules = ()
        if not any(rule["type"] == "required_reviewers" for rule in rules):
            why = "a fork's code would run unreviewed"
            raise InputError(f"The environment {environment} has no required reviewers: {why}.")
    builds = run.inputs["build"] or run.inputs["base-artifact"]
    if not builds and run.inputs["base"].startswith("path:base/"):
        raise InputError(
            "Nothing builds the base: GitHub passes no variables to a fork's run. "
            "Write the build command into the workflow."
        )


def _merge(run: Run, number: str, head: str) -> Answer:
    """Return the commits that all jobs take; for a while after a push GitHub has an earlier merge."""
    merged = "" if run.inputs["pull"] else run.environment["GITHUB_SHA"]
    into = (run.of_event("pull_request").get("base") or {}).get("ref", "")
    for seconds in (*PAUSES_S, 0):
        try:
            merged = merged or run.api.get(f"git/ref/pull/{number}/merge")["object"]["sha"]
            base, *heads = [each["sha"] for each in run.api.get(f"git/commits/{merged}")["parents"]]
            edited = run.event.get("action") == "edited"
            moved = edited and run.api.get(f"git/ref/heads/{into}")["object"]["sha"] != base
            if not number or (heads == [head] and not moved):
                break
        except MeasureError:
            pass
        merged = ""
        run.pause(seconds)
    else:
        raise InputError(f"GitHub has not merged {head} with its base: resolve conflicts, if any, and push.")
    if number and not into:
        into = run.api.get(f"pulls/{number}")["base"]["ref"]
    return {"base": run.of_event("merge_group").get("base_sha") or base, "head": merged, "into": into}
