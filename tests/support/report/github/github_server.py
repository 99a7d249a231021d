"""As much of GitHub's REST API as the library uses, on this machine: it keeps what it is told.

PYTEST_DONT_REWRITE: test modules have imported this one by the time pytest sees that it is a plugin.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from shootout import cli

REPOSITORY = "owner/servers"
TOKEN = "a-token"
ME = {"login": "github-actions[bot]", "type": "Bot"}
PAGE_MAX = 100
LISTS = ("artifacts", "check_runs", "jobs", "workflow_runs")  # in objects
COMPARED_MAX = 300  # files that GitHub lists between two commits
FILES_MAX = 3000  # that GitHub lists of a pull request
SHA, BRANCH = "ab" * 20, "someone:faster"
PULL, RUN = 7, 5  # the pull request, and the workflow run that measured

Record = dict[str, Any]


@dataclass
class GitHub:
    """One repository's state, and what was asked for."""

    url: str = ""
    pulls: list[Record] = field(default_factory=list)
    comments: list[Record] = field(default_factory=list)  # of pull requests and issues
    issues: list[Record] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    status: int | None = None  # what every request is refused with
    meanwhile: Record = field(default_factory=dict)  # what has changed in a pull request since it was listed
    changed: list[str] = field(default_factory=list)  # files, between any two commits
    writers: set[str] = field(default_factory=set)  # who may push
    reviewers: int = 0  # of the environment shootout-fork
    artifacts: Callable[[], list[Record]] = list  # of any run, as they are now
    jobs: Callable[[], list[Record]] = list  # likewise
    labels: set[str] = field(default_factory=set)
    workflows: Sequence[str] = ()  # on the default branch
    caches: int = 0  # builds in its cache
    checks: list[Record] = field(default_factory=list)  # of any commit
    reactions: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # what comments have said
    git: Path = Path()  # a clone

    @property
    def environment(self) -> dict[str, str]:
        return {"GITHUB_API_URL": self.url, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_TOKEN": TOKEN}

    def open(self, title: str, body: str, labels: list[str] | None = None, **changes: Any) -> Record:
        number = len(self.issues) + len(self.pulls) + 1
        issue = {
            "number": number, "title": title, "body": body, "state": "open", "user": ME,
            "labels": labels or [], "html_url": f"{self.url}/{number}",
        }  # fmt: skip
        self.issues.append(issue | changes)
        return self.issues[-1]

    def say(self, number: int, body: str, user: Record = ME) -> Record:
        comment = {"id": 1000 + len(self.comments), "issue": number, "body": body, "user": user}
        self.comments.append(comment | {"html_url": f"{self.url}/{number}#{comment['id']}"})
        self.said.append(body)
        return self.comments[-1]

    def answer(self, method: str, path: str, query: dict[str, str], content: Record) -> Any:  # noqa: PLR0911
        """Answer as GitHub does; None where there is no such thing."""
        if method == "GET" and (found := self._about(path)) is not None:
            return found
        number = int((re.findall(r"/(\d+)", path) or ["0"])[0])
        match method, re.sub(r"\d+", "N", path):
            case "GET", "pulls":
                return [each for each in self.pulls if _matches(each, query)]
            case "GET", "pulls/N":
                pull = next(each for each in self.pulls if each["number"] == number)
                return pull | {"changed_files": len(pull["files"])} | self.meanwhile
            case "GET", "pulls/N/files":
                pull = next(each for each in self.pulls if each["number"] == number)
                return pull["files"][:FILES_MAX]
            case "GET", "issues":
                return [each for each in self.issues if _matches(each, query)]
            case "GET", "issues/N/comments":
                return [each for each in self.comments if each["issue"] == number]
            case "GET", "issues/comments/N":
                return next(each for each in self.comments if each["id"] == number)
            case "POST", "issues/comments/N/reactions":
                self.reactions.append(content["content"])
                return content
            case "POST", "issues":
                return self.open(content["title"], content["body"], content["labels"])
            case "POST", "issues/N/comments":
                return self.say(number, content["body"])
            case "PATCH", "issues/comments/N":
                self.said.append(content["body"])
                return _changed([each for each in self.comments if each["id"] == number], content)
            case "PATCH", "issues/N":
                return _changed([each for each in self.issues if each["number"] == number], content)
        return None

    def _about(self, path: str) -> Record | None:  # noqa: PLR0911
        """Answer what only workflows ask for."""
        match path.split("/"):
            case ["issues", number]:
                return next((each for each in self.issues if str(each["number"]) == number), None)
            case ["compare", _]:
                return {"files": [{"filename": name} for name in self.changed[:COMPARED_MAX]]}
            case ["collaborators", name, "permission"]:
                return {"permission": "write" if name in self.writers else "read"}
            case ["environments", "shootout-fork"]:
                rule = {"type": "required_reviewers"}
                return {"protection_rules": [{"type": "branch_policy"}, *([rule] * self.reviewers)]}
            case ["actions", "runs", _, "artifacts"]:
                return {"artifacts": self.artifacts()}
            case ["actions", "runs", _, "jobs"]:
                return {"jobs": self.jobs()}
            case ["labels", name]:
                return {"name": name} if name in self.labels else None
            case ["actions", "workflows"]:
                return {"workflows": [{"name": name, "state": "active"} for name in self.workflows]}
            case ["commits", _, "check-runs"]:
                return {"check_runs": self.checks}
            case ["actions", "caches"]:
                return {"total_count": self.caches}
            case ["git", "ref", *ref]:
                return {"object": {"sha": self._git("rev-parse", "refs/" + "/".join(ref))}}
            case ["git", "commits", sha]:
                parents = self._git("show", "--no-patch", "--format=%P", sha).split()
                return {"sha": sha, "parents": [{"sha": each} for each in parents]}
        return None

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.git, check=True, capture_output=True, text=True)
        return done.stdout.strip()


def _matches(record: Record, query: dict[str, str]) -> bool:
    label = query.get("labels")
    return (
        record["state"] == query["state"]
        and query.get("head") in (None, record.get("branch"))
        and (label is None or label in record["labels"])
    )


def _changed(found: list[Record], content: Record) -> Record | None:
    for each in found:
        each.update(content)
    return found[0] if found else None


def _handler(state: GitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            url = urlsplit(self.path)
            content = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            state.asked.append(f"{self.command} {url.path}")
            if state.status is not None:
                return self._reply(state.status, {"message": "no"})
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self._reply(401, {"message": "Bad credentials"})
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            path = url.path.removeprefix(f"/repos/{REPOSITORY}/")
            found = state.answer(self.command, path, query, content)
            size = min(int(query.get("per_page", 30)), PAGE_MAX)
            first = (int(query.get("page", 1)) - 1) * size
            if isinstance(found, list):
                found = found[first : first + size]
            elif found and (key := next((key for key in found if key in LISTS), None)):
                found = found | {key: found[key][first : first + size]}
            return self._reply(404 if found is None else 200, found)

        do_GET = do_POST = do_PATCH = _any  # noqa: N815 (the base class's names)

        def _reply(self, status: int, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status in (301, 302, 307):
                self.send_header("Location", f"{state.url}/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    return Handler


@contextmanager
def running() -> Iterator[GitHub]:
    """Run one that answers meanwhile."""
    state = GitHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def hub() -> Iterator[GitHub]:
    with running() as state:
        yield state


def a_pull(hub: GitHub, number: int = PULL, sha: str = SHA, files: Sequence[str] = ()) -> None:
    pull = {"number": number, "state": "open", "branch": BRANCH, "labels": [], "head": {"sha": sha}}
    listed = [{"filename": name} for name in files]
    hub.pulls.append(pull | {"base": {"ref": "main"}, "user": {"type": "User"}, "files": listed})


@pytest.fixture
def at(hub: GitHub, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    for name, value in hub.environment.items():
        monkeypatch.setenv(name, value)
    return hub


def comment(path: Path, *more: str) -> int:
    asked = [f"--branch={BRANCH}", f"--sha={SHA}", f"--pull={PULL}", "--into=main", f"--run={RUN}"]
    return cli.main(["github", "comment", *asked, *more, "--", str(path)])
