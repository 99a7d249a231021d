"""One comment on a pull request, and nothing else written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from shootout.errors import InputError
from shootout.report.github import request
from shootout.report.github.repository import Repository
from tests.support.report.github.github_server import ME, GitHub, a_pull, comment
from tests.unit.test_cli import a_document, saved

pytest_plugins = ["tests.support.report.github.github_server"]


def test_a_comment_is_written_once_and_then_in_its_place(
    at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_pull(at)
    for number in range(120):  # more than a page
        at.say(7, f"Nice work! {number}")
    for run in ("20261120T024100Z-7f3a", "20261121T024100Z-7f3b"):
        path = saved(a_document(run=run), tmp_path)
        assert comment(path, f"--link=https://example.org/{run}") == 0
    ours = [each for each in at.comments if each["body"].startswith(request.MARKER)]
    assert len(ours) == 1
    assert "https://example.org/20261121T024100Z-7f3b" in ours[0]["body"]
    assert capsys.readouterr().out == f"{ours[0]['html_url']}\n" * 2


def test_of_two_pull_requests_with_one_head_the_measured_one_gets_the_comment(
    at: GitHub, tmp_path: Path
) -> None:
    for number in (6, 7):
        a_pull(at, number)
    assert comment(saved(a_document(), tmp_path)) == 0
    assert [each["issue"] for each in at.comments] == [7]


@pytest.mark.parametrize(("waiting", "stays"), [(5, False), (6, True)])
def test_a_result_leaves_the_announcement_of_a_newer_request(
    waiting: int, stays: bool, at: GitHub, tmp_path: Path
) -> None:
    a_pull(at)
    announced = f"{request.MARKER}\n{request.WAITING.format(waiting)}\nAsked\n\n{request.BEFORE}"
    at.say(7, f"{announced}\nverdicts of an earlier push")
    assert comment(saved(a_document(), tmp_path)) == 0
    (posted,) = at.comments
    assert posted["body"].startswith(announced) == stays
    assert posted["body"].count(request.MARKER) == 1
    assert "oltp" in posted["body"]
    assert "earlier push" not in posted["body"]


def test_a_persons_comment_is_never_taken_for_ours(at: GitHub, tmp_path: Path) -> None:
    a_pull(at)
    at.say(7, f"{request.MARKER} I was here first", {"login": "someone", "type": "User"})
    assert comment(saved(a_document(), tmp_path)) == 0
    assert [each["user"]["type"] for each in at.comments] == ["User", ME["type"]]
    assert "I was here first" in at.comments[0]["body"]


@pytest.mark.parametrize("since", [{"head": {"sha": "cd" * 20}}, {"base": {"ref": "other"}}])
def test_what_a_newer_push_or_another_base_has_superseded_is_not_written(
    since: dict[str, Any], at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_pull(at)
    at.pulls[0] |= since
    assert comment(saved(a_document(), tmp_path)) == 0
    assert at.comments == []
    assert "nothing written" in capsys.readouterr().out


def test_a_pull_request_that_changes_workflows_shows_no_verdicts(at: GitHub, tmp_path: Path) -> None:
    a_pull(at, files=["sql/sql_parse.cc", ".github/workflows/gate.yml"])
    at.say(7, f"{request.MARKER}\nverdicts of an earlier push")
    assert comment(saved(a_document(), tmp_path), "--link=https://example.org/runs/1") == 0
    (posted,) = at.comments
    assert posted["body"].startswith(request.MARKER)
    assert "No verdicts are shown here" in posted["body"]
    assert "https://example.org/runs/1" in posted["body"]
    assert "oltp" not in posted["body"]
    at.pulls[0]["files"] = [{"filename": "a.yml", "previous_filename": ".github/workflows/gate.yml"}]
    assert comment(saved(a_document(), tmp_path)) == 0
    assert "No verdicts are shown here" in at.comments[0]["body"]


def test_what_cannot_be_seen_may_be_a_workflow(at: GitHub, tmp_path: Path) -> None:
    """The list of files ends at 3 000, and the branch may be pushed to after it was read."""
    a_pull(at, files=[*(f"a/{number}" for number in range(3000)), ".github/workflows/gate.yml"])
    assert comment(saved(a_document(), tmp_path)) == 0
    assert "No verdicts are shown here" in at.comments[0]["body"]
    at.pulls[0]["files"] = [{"filename": "sql/sql_parse.cc"}]
    assert comment(saved(a_document(), tmp_path)) == 0
    assert "No verdicts are shown here" not in at.comments[0]["body"]
    at.meanwhile = {"head": {"sha": "cd" * 20}}
    assert comment(saved(a_document(), tmp_path)) == 0
    assert "No verdicts are shown here" in at.comments[0]["body"]


@pytest.mark.parametrize(
    ("fingerprint", "said"),
    [("../../etc/passwd", "runner.fingerprint: expected letters and digits"), ("", "runner.fingerprint")],
)
def test_a_document_names_no_file_to_read(
    fingerprint: str, said: str, at: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_pull(at)
    made = a_document()
    runner = structs.replace(made.header.runner, fingerprint=fingerprint)
    made = structs.replace(made, header=structs.replace(made.header, runner=runner))
    assert comment(saved(made, tmp_path)) == 2
    assert said in capsys.readouterr().err
    assert at.comments == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("GITHUB_TOKEN", "", "GITHUB_TOKEN: not set; expected it from the workflow's environment"),
        ("GITHUB_REPOSITORY", "a/b/../c", "GITHUB_REPOSITORY 'a/b/../c': expected OWNER/NAME"),
        (
            "GITHUB_API_URL",
            "http://example.org",
            "GITHUB_API_URL: expected an address that starts with https",
        ),
    ],
)
def test_an_environment_that_is_no_workflows_is_named(name: str, value: str, said: str, hub: GitHub) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Repository.from_environment(hub.environment | {name: value})
