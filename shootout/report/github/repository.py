"""A repository on GitHub: its pull requests, their comments, and its issues."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import msgspec

from shootout.errors import InputError, MeasureError
from shootout.model.value import decoded
from shootout.report.github import http

_NAME = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_T = TypeVar("_T")


class _Account(msgspec.Struct):
    type: str = ""


class _Repository(msgspec.Struct):
    full_name: str


class _Branch(msgspec.Struct):
    ref: str


class _Commit(msgspec.Struct):
    sha: str
    repo: _Repository | None = None  # of a single pull request; None: it is gone


class _File(msgspec.Struct):
    filename: str
    previous_filename: str = ""


class _Pull(msgspec.Struct):
    number: int
    base: _Branch
    head: _Commit
    user: _Account | None = None
    changed_files: int | None = None  # only of a single pull request


class Text(msgspec.Struct):
    """A comment, identified by `id`, or an issue, identified by `number`."""

    html_url: str
    id: int = 0
    number: int = 0
    title: str = ""
    body: str | None = None
    user: _Account | None = None
    pull_request: dict[str, Any] | None = None  # lists of issues contain pull requests

    def is_ours(self, marker: str) -> bool:
        """Whether a bot wrote it under `marker`; the marker alone proves nothing, as anybody can write it."""
        by_bot = self.user is not None and self.user.type == "Bot"
        return by_bot and (self.body or "").startswith(marker)


class Repository:
    def __init__(self, name: str, token: str, api: str) -> None:
        self._name = name
        self._api = http.Api(f"{api}/repos/{name}", token)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the repository in a workflow's environment. Raises InputError if one is unset or invalid."""
        variables = ("GITHUB_REPOSITORY", "GITHUB_TOKEN", "GITHUB_API_URL")
        for variable in variables:
            if not environment.get(variable):
                raise InputError(f"{variable}: not set; expected it from the workflow's environment")
        name, token, api = (environment[variable] for variable in variables)
        if _NAME.fullmatch(name) is None:
            raise InputError(f"GITHUB_REPOSITORY {name!r}: expected OWNER/NAME")
        return cls(name, token, http.checked_url("GITHUB_API_URL", api))

    def is_open(self, number: int, branch: str, sha: str, into: str) -> bool:
        """Whether an open pull request of `branch` (OWNER:NAME) into `into` has the newest commit `sha`."""
        pulls = self._list("pulls", _Pull, state="open", head=branch)
        found = next((pull for pull in pulls if pull.number == number), None)
        return found is not None and (found.head.sha, found.base.ref) == (sha, into)

    def may_change_workflows(self, number: int, sha: str) -> bool:
        """Whether a fork or a bot adds, changes, moves or removes files under .github, or may do so unseen.

        Another branch of this repository may: whoever can push to it is trusted.
        GitHub lists 3 000 files at most, and a push may come between two requests: so the list must be
        complete, and `sha` still the newest commit.
        """
        files = list(self._list(f"pulls/{number}/files", _File))
        names = [name for file in files for name in (file.filename, file.previous_filename)]
        now = self._request("GET", f"pulls/{number}", _Pull)
        by_bot = now.user is not None and now.user.type == "Bot"
        if now.head.repo is not None and now.head.repo.full_name == self._name and not by_bot:
            return False
        seen = now.changed_files == len(files) and now.head.sha == sha
        return not seen or any(name.startswith(".github/") for name in names)

    def comment(self, number: int, marker: str, text: Callable[[str], str]) -> str:
        """Create or replace the one comment under `marker`; returns its address.

        `text` is given what it says so far, and returns what it is to say.
        """
        comments = self._list(f"issues/{number}/comments", Text)
        ours = next((comment for comment in comments if comment.is_ours(marker)), None)
        body = text("" if ours is None else ours.body or "")
        if ours is None:
            return self._request("POST", f"issues/{number}/comments", Text, body=body).html_url
        return self._request("PATCH", f"issues/comments/{ours.id}", Text, body=body).html_url

    def issues(self, label: str, marker: str) -> tuple[Text, ...]:
        """List the open issues with this label that were written under `marker`."""
        issues = self._list("issues", Text, state="open", labels=label)
        return tuple(issue for issue in issues if issue.pull_request is None and issue.is_ours(marker))

    def open(self, title: str, body: str, label: str) -> str:
        return self._request("POST", "issues", Text, title=title, body=body, labels=[label]).html_url

    def update(self, number: int, title: str, body: str) -> None:
        self._request("PATCH", f"issues/{number}", Text, title=title, body=body)

    def close(self, number: int, reason: str, comment: str) -> None:
        """Close an issue with a comment; `reason`: completed or not_planned."""
        self._request("POST", f"issues/{number}/comments", Text, body=comment)
        self._request("PATCH", f"issues/{number}", Text, state="closed", state_reason=reason)

    def _list(self, path: str, type_: type[_T], **query: str) -> Iterator[_T]:
        for entry in self._api.entries(f"{path}?{urlencode(query)}" if query else path):
            try:
                yield msgspec.convert(entry, type_)
            except msgspec.ValidationError as error:
                raise _unexpected("GET", path, error) from None

    def _request(self, method: str, path: str, type_: type[_T], **content: Any) -> _T:
        """Send a request. Raises MeasureError if GitHub refuses it or the response is unexpected."""
        response = self._api.ask(method, path, msgspec.json.encode(content) if content else None)
        try:
            return decoded(response, type_)
        except ValueError as error:
            raise _unexpected(method, path, error) from None


def _unexpected(method: str, path: str, error: Exception) -> MeasureError:
    return MeasureError(f"GitHub: {method} {path}: unexpected response: {error}")
