"""Measurements on request: `/shootout [base=… head=… workloads=… threads=… budget=…]` as a comment."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from shootout.errors import InputError, MeasureError
from shootout.report.github.repository import Repository
from shootout.report.github.workflow import Answer, Record, Run, is_foreign

ASKS = ("base", "head", "workloads", "threads", "budget")
MARKER = "<!-- shootout: verdicts -->"  # starts the one comment of a pull request
WAITING = "<!-- shootout: waiting for run {} -->"  # of that run's announcement, which ends with BEFORE
BEFORE = "<!-- shootout: before -->\n"
_VALUE = re.compile(r"[A-Za-z0-9._+:/@,=#-]+")


def answer(run: Run) -> Answer:
    """Say for request.yml what will be measured; empty if a comment asks for nothing. Raises InputError."""
    comment, number = run.event["comment"], run.event["issue"]["number"]
    author, words = comment["user"]["login"], comment["body"].partition("\n")[0].split()
    if words[:1] != ["/shootout"] or re.fullmatch("[A-Za-z0-9_-]+", author) is None:  # apps have other names
        print("no request")
        return {}
    if run.api.get(f"collaborators/{author}/permission")["permission"] not in ("admin", "write"):
        # Not said there, where anybody could make the bot write without an end.
        raise InputError("Only users with write access to this repository can request a measurement.")
    with suppress(MeasureError):
        run.api.ask("POST", f"issues/comments/{comment['id']}/reactions", content="eyes")
    pull = run.api.get(f"pulls/{number}")
    asked = {name: run.inputs.get(name) or "" for name in ASKS}
    try:
        _check(run, pull)
        asked |= _read(words[1:])
    except InputError as error:
        run.api.ask("POST", f"issues/{number}/comments", body=f"Nothing is measured. {error}")
        raise
    what = " ".join(f"`{name}={value}`" for name, value in asked.items() if value)
    said = _announce(run, number, f"**Asked:** {what}, for {pull['head']['sha']}.")
    branch = f"{run.repository.partition('/')[0]}:{pull['head']['ref']}"
    return asked | {"pull": str(number), "sha": pull["head"]["sha"], "branch": branch, "comment": str(said)}


def end(run: Run) -> Answer:
    """Say for comment.yml that nothing was measured, unless the result is there, or a newer request."""
    path = f"issues/comments/{run.inputs['comment']}"
    body = run.api.get(path)["body"]
    if WAITING.format(run.id) in body:
        text = f"{MARKER}\nNothing was measured: [the run]({run.link}) says why.\n\n"
        run.api.ask("PATCH", path, body=text + body.partition(BEFORE)[2])
    return {}


def regression(run: Run) -> Answer:
    """Check what bisect.yml is asked, and return the key of the regression that an issue is about."""
    good, bad, issue = (run.inputs[name] for name in ("good", "bad", "issue"))
    if (bool(good), bool(bad), bool(issue)) not in ((True, True, False), (False, False, True)) or (
        issue and re.fullmatch("[0-9]+", issue) is None
    ):
        raise InputError("Expected either two commits, good and bad, or the number of an issue.")
    if not issue:
        return {}
    body = run.api.get(f"issues/{issue}")["body"] or ""
    found = re.match("<!-- shootout: regression ([0-9a-f]{16}) -->", body)
    if found is None:
        raise InputError(f"Issue {issue} was not opened by shootout for a regression.")
    return {"regression": found[1]}


def _check(run: Run, pull: Record) -> None:
    if is_foreign(pull, run.repository):
        raise InputError("The pull request comes from a fork or a bot: request it with a label.")
    if pull["state"] != "open":
        raise InputError("The pull request is not open.")
    if pull.get("mergeable") is False:
        raise InputError("The pull request conflicts with its base.")


def _read(words: Iterable[str]) -> dict[str, str]:
    asked = dict(word.partition("=")[::2] for word in words)
    if not all(name in ASKS and _VALUE.fullmatch(value) for name, value in asked.items()):
        names = ", ".join(f"`{name}=`" for name in ASKS[:-1])
        raise InputError(f"Expected NAME=VALUE with {names} or `{ASKS[-1]}=`, and no quotes or spaces.")
    return asked


def _announce(run: Run, number: int, text: str) -> int:
    """Write this above what the gate's comment says so far; returns the comment's id."""

    def body(old: str) -> str:
        announced, between, before = old.partition(BEFORE)
        replaces = WAITING.partition("{}")[0] in announced
        said = f"{text} It replaces an earlier request that had not ended." if replaces else text
        old = before if between else old.removeprefix(MARKER)
        return f"{MARKER}\n{WAITING.format(run.id)}\n{said} [The run]({run.link})\n\n{BEFORE}{old}"

    return int(Repository(run.repository, run.api).comment(number, MARKER, body)["id"])
