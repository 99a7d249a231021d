"""A gate's measuring, its commits, and their places; above all of forks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.commits import git
from shootout.errors import InputError
from shootout.report.github import gate, http
from shootout.report.github.workflow import Run
from tests.support.report.github import github_server
from tests.support.report.github.github_server import REPOSITORY, TOKEN, GitHub

GIVEN = {
    "base": "path:base/build", "base-artifact": "", "build": "make", "build-runner": '"ubuntu-24.04"',
    "environment": "shootout-fork", "ignore": "docs/* *.md", "label": "", "pull": "", "sha": "",
    "runner": '["perf-ssd"]',
}  # fmt: skip
HOSTED = {"runner": '"ubuntu-24.04"'}
LABEL = {"label": "measure"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with main, and the merge of pull request 3."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name in ("main", "head"):
        git(folder, "commit", "--quiet", "--allow-empty", f"--message={name}")
    git(folder, "branch", "head")
    git(folder, "reset", "--quiet", "--hard", "HEAD~")
    git(folder, "merge", "--quiet", "--no-ff", "--message=Merge", "head")
    git(folder, "update-ref", "refs/pull/3/merge", "HEAD")
    git(folder, "reset", "--quiet", "--hard", "HEAD~")
    return folder


@pytest.fixture
def hub(repository: Path) -> Iterator[GitHub]:
    with github_server.running() as state:
        state.git, state.reviewers = repository, 1
        yield state


@pytest.fixture
def decide(hub: GitHub, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The decision about an event, or a pull request of an author and a repository, with these inputs."""

    def decided(
        event: dict[str, Any] | None = None,
        origin: str | None = REPOSITORY,
        author: str = "User",
        changed: str = "sql/a.cc",
        **given: str,
    ) -> dict[str, Any]:
        hub.changed = changed.split()
        pull = {
            "number": 3,
            "labels": [],
            "user": {"type": author},
            "head": {"sha": git(hub.git, "rev-parse", "head"), "repo": origin and {"full_name": origin}},
            "base": {"sha": git(hub.git, "rev-parse", "main"), "ref": "main"},
        }
        if event is None or "merge_group" not in event:
            event = {"action": "synchronize", "pull_request": pull} | (event or {})
            event["pull_request"] = pull | event.get("pull", {})
        environment = {
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_SHA": git(hub.git, "rev-parse", "refs/pull/3/merge"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        }
        api = http.Api(f"{hub.url}/repos/{REPOSITORY}", TOKEN)
        named = {name.replace("_", "-"): value for name, value in given.items()}
        return gate.decide(Run(api, event, GIVEN | named, environment, pause=lambda _: None))

    return decided


def labelled(name: str, added: str | None = None) -> dict[str, Any]:
    """An event of a pull request with a label; `added`: that it just got one."""
    event = {} if added is None else {"action": "labeled", "label": {"name": added}}
    return event | {"pull": {"labels": [{"name": name}]}}


@pytest.mark.parametrize(
    ("origin", "author", "foreign"),
    [
        ("someone/servers", "User", True),
        (None, "User", True),
        (REPOSITORY, "Bot", True),
        (REPOSITORY, "User", False),
    ],
)
def test_a_forks_or_a_bots_code_reaches_a_runner_of_ours_by_an_environment_only(
    origin: str | None, author: str, foreign: bool, decide: Callable[..., dict[str, Any]]
) -> None:
    ours = ('["self-hosted"]', '"ubuntu-perf"', '["ubuntu-24.04", "x"]')
    for runner, hosted in (*((each, False) for each in ours), ('"ubuntu-24.04"', True)):
        found = decide(origin=origin, author=author, runner=runner, build_runner=runner)
        expected = "shootout-fork" if foreign and not hosted else ""
        assert (found["build_in"], found["measure_in"]) == (expected, expected)
        assert (found["fork"], found["unreviewed"]) == (foreign, foreign and hosted)


def test_a_fork_needs_reviewers_and_a_command_of_the_workflows(
    hub: GitHub, decide: Callable[..., dict[str, Any]]
) -> None:
    """GitHub passes variables, `vars.BUILD`, to no fork."""
    with pytest.raises(InputError, match="GitHub passes no variables to a fork's run"):
        decide(origin="someone/servers", build="")
    hub.reviewers = 0
    many = " ".join(f"docs/{number}.md" for number in range(301))  # more than GitHub lists
    with pytest.raises(InputError, match="a fork's code would run unreviewed"):
        decide(origin="someone/servers", changed=many)
    assert decide(origin="someone/servers", **HOSTED)["measure"]


@pytest.mark.parametrize(
    ("changed", "event", "given", "decided"),
    [
        ("docs/a/b.md README.md", {}, {}, (False, False)),
        ("docs/a.md sql/a.cc", {}, {}, (True, False)),
        ("", {}, {}, (True, False)),
        ("sql/a.cc", {}, LABEL, (False, False)),
        ("sql/a.cc", labelled("Measure"), LABEL, (True, False)),
        ("sql/a.cc", labelled("measure", added="docs"), LABEL, (False, True)),
        ("sql/a.cc", labelled("measure", added="measure"), LABEL, (True, False)),
        ("sql/a.cc", {"action": "edited", "changes": {"title": {}}}, {}, (False, True)),
        ("sql/a.cc", {"action": "edited", "changes": {"base": {}}}, {}, (True, False)),
    ],
)
def test_what_need_not_be_measured_is_not(
    changed: str,
    event: dict[str, Any],
    given: dict[str, str],
    decided: tuple[bool, bool],
    decide: Callable[..., dict[str, Any]],
) -> None:
    """A check that is not of this pull request gets another name: `other`."""
    found = decide(event, changed=changed, **given)
    assert (found["measure"], found["other"]) == decided


def test_a_check_of_a_commit_is_not_overwritten_from_another_pull_request(
    hub: GitHub, decide: Callable[..., dict[str, Any]]
) -> None:
    """The first one has the label, on the second page of GitHub's list; the second one has not."""
    head = {"sha": git(hub.git, "rev-parse", "head")}
    others = [{"number": n, "state": "open", "labels": [], "head": {"sha": "0"}} for n in range(100)]
    first = {"number": 4, "state": "open", "labels": [{"name": "measure"}], "head": head}
    for pulls, other in (([], False), ([*others, first], True)):
        hub.pulls = pulls
        found = decide(**LABEL)
        assert (found["measure"], found["other"]) == (False, other)


def test_a_gate_measures_what_merges_the_newest_commit(
    hub: GitHub, repository: Path, decide: Callable[..., dict[str, Any]]
) -> None:
    """GitHub's event and reference may have the merge of the commit, or with the base, before."""
    main, head, merge = (git(repository, "rev-parse", each) for each in ("main", "head", "refs/pull/3/merge"))
    expected = {"base": main, "head": merge, "into": "main"}
    found = decide()
    assert {name: found[name] for name in expected} == expected
    with pytest.raises(InputError, match="has not merged"):
        decide({"pull": {"head": {"sha": main, "repo": None}}})
    moved = {"action": "edited", "changes": {"base": {}}, "pull": {"base": {"sha": main, "ref": "head"}}}
    with pytest.raises(InputError, match="has not merged"):
        decide(moved)
    group = decide({"merge_group": {"head_sha": merge, "base_sha": head}})
    assert (group["base"], group["head"], group["into"]) == (head, merge, "")


def test_a_request_measures_its_pull_request(hub: GitHub, decide: Callable[..., dict[str, Any]]) -> None:
    head = git(hub.git, "rev-parse", "head")
    hub.pulls.append({"number": 3, "base": {"ref": "release"}, "head": {"sha": head}, "files": []})
    found = decide({"merge_group": None}, pull="3", sha=head)
    assert (found["measure"], found["into"]) == (True, "release")
