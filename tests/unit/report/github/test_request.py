"""Who may ask for a measurement, for what, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest

from shootout.errors import InputError
from shootout.report.github import http, request
from shootout.report.github.workflow import Run
from tests.support.report.github.github_server import REPOSITORY, TOKEN, GitHub

pytest_plugins = ["tests.support.report.github.github_server"]

LINK = f"https://github.example/{REPOSITORY}/actions/runs/1"
GIVEN = {"base": "path:base/build", "head": "path:head/build", "budget": "7", "build": "make"}


def a_run(hub: GitHub, body: str = "", author: str = "ann", **given: str) -> Run:
    comment = {"id": 77, "body": body, "user": {"login": author}}
    environment = {
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_RUN_ID": "1",
        "GITHUB_SERVER_URL": "https://github.example",
    }
    api = http.Api(f"{hub.url}/repos/{REPOSITORY}", TOKEN)
    return Run(api, {"comment": comment, "issue": {"number": 3}}, GIVEN | given, environment)


def a_pull(**changes: Any) -> dict[str, Any]:
    head = {"sha": "5", "ref": "faster", "repo": {"full_name": REPOSITORY}}
    pull = {"number": 3, "state": "open", "user": {"type": "User"}, "head": head, "files": [], "labels": []}
    return pull | changes


@pytest.mark.parametrize(
    ("body", "author", "changes", "message"),
    [
        ("/shootout", "ann", {"head": {"repo": {"full_name": "eve/servers"}}}, "comes from a fork or a bot"),
        ("/shootout", "ann", {"user": {"type": "Bot"}}, "comes from a fork or a bot"),
        ("/shootout", "ann", {"state": "closed"}, "is not open"),
        ("/shootout", "ann", {"mergeable": False}, "conflicts with its base"),
        ("/shootout head=$(id)", "ann", {}, "Expected NAME=VALUE"),
        ("/shootout options=--out=/", "ann", {}, "Expected NAME=VALUE"),
        ("/shootout quickly", "ann", {}, "Expected NAME=VALUE"),
    ],
)
def test_who_may_ask_is_told_why_nothing_is_measured(
    body: str, author: str, changes: dict[str, Any], message: str, hub: GitHub
) -> None:
    hub.writers, hub.pulls = {"ann"}, [a_pull(**changes)]
    with pytest.raises(InputError, match=message):
        request.answer(a_run(hub, body, author))
    (told,) = hub.comments
    assert told["body"].startswith("Nothing is measured. ")
    assert message in told["body"]


def test_others_make_nobody_write(hub: GitHub) -> None:
    hub.pulls = [a_pull()]
    with pytest.raises(InputError, match="Only users with write access"):
        request.answer(a_run(hub, "/shootout", "bob"))
    for body, author in (
        ("/shootouts", "ann"),
        ("/shootout", "x/../y"),
        ("/shootout", "an-app[bot]"),
        ("", "ann"),
    ):
        assert request.answer(a_run(hub, body, author)) == {}
    assert (hub.comments, hub.reactions) == ([], [])


def test_whoever_asks_learns_what_is_measured(hub: GitHub) -> None:
    """Also that of a request before it nothing comes, and in the end that nothing came of this one."""
    hub.writers, hub.pulls = {"ann_octo"}, [a_pull()]
    waiting = f"{request.MARKER}\n{request.WAITING}\nAsked\n{request.BEFORE}"
    hub.say(3, waiting.format(5) + "The verdicts before.")
    found = request.answer(a_run(hub, "/shootout threads=1\r\nPlease.", "ann_octo"))
    asked = {
        "base": "path:base/build",
        "head": "path:head/build",
        "workloads": "",
        "threads": "1",
        "budget": "7",
    }
    (posted,) = hub.comments
    assert found == asked | {"pull": "3", "sha": "5", "branch": "owner:faster", "comment": str(posted["id"])}
    said = posted["body"]
    assert "`base=path:base/build` `head=path:head/build` `threads=1` `budget=7`, for 5. " in said
    assert "It replaces an earlier request that had not ended." in said
    assert said.endswith("\nThe verdicts before.")
    assert hub.reactions == ["eyes"]

    request.end(a_run(hub, comment=found["comment"]))
    ended = f"{request.MARKER}\nNothing was measured: [the run]({LINK}) says why.\n\nThe verdicts before."
    assert posted["body"] == ended
    posted["body"] = waiting.format(19)  # a newer request
    request.end(a_run(hub, comment=found["comment"]))
    assert posted["body"] == waiting.format(19)


@pytest.mark.parametrize("given", ["  ", "v1  ", "v1 main 7", "  #7", "  8"])
def test_a_bisection_has_two_commits_or_an_issue_about_a_regression(given: str, hub: GitHub) -> None:
    about = hub.open("Slower", "<!-- shootout: regression 0123456789abcdef -->\n")
    hub.issues.append(about | {"number": 8, "body": "Slower"})

    def asked(text: str) -> dict[str, Any]:
        return request.regression(
            a_run(hub, **dict(zip(("good", "bad", "issue"), text.split(" "), strict=True)))
        )

    with pytest.raises(InputError, match=r"Expected either two commits|was not opened by shootout"):
        asked(given)
    assert asked("v1 main ") == {}
    assert asked(f"  {about['number']}") == {"regression": "0123456789abcdef"}
