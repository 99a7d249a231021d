"""A repository on GitHub: its pull requests, their comments, and its issues."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode

from shootout.errors import InputError
from shootout.report.github import http
from shootout.report.github.workflow import Record, is_foreign

_NAME = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


def is_ours(text: Record, marker: str) -> bool:
    """Whether a bot wrote a comment or issue under `marker`, which anybody could write."""
    return (text.get("user") or {}).get("type") == "Bot" and (text.get("body") or "").startswith(marker)


@dataclass(frozen=True)
class Repository:
    name: str
    api: http.Api

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
        return cls(name, http.Api(f"{http.checked_url('GITHUB_API_URL', api)}/repos/{name}", token))

    def is_open(self, number: int, branch: str, sha: str, into: str) -> bool:
        """Whether an open pull request of `branch` (OWNER:NAME) into `into` has the newest commit `sha`."""
        pulls = self.api.entries(f"pulls?{urlencode({'state': 'open', 'head': branch})}")
        found = next((pull for pull in pulls if pull["number"] == number), None)
        return found is not None and (found["head"]["sha"], found["base"]["ref"]) == (sha, into)

    def may_change_workflows(self, number: int, sha: str) -> bool:
        """Whether a fork or a bot adds, changes, moves or removes files under .github, or may do so unseen.

        Another branch of this repository may: whoever can push to it is trusted.
        GitHub lists 3 000 files at most, and a push may come between two requests: so the list must be
        complete, and `sha` still the newest commit.
        """
        files = list(self.api.entries(f"pulls/{number}/files"))
        names = [file.get(name) or "" for file in files for name in ("filename", "previous_filename")]
        now = self.api.get(f"pulls/{number}")
        if not is_foreign(now, self.name):
            return False
        seen = now["changed_files"] == len(files) and now["head"]["sha"] == sha
        return not seen or any(name.startswith(".github/") for name in names)

    def comment(self, number: int, marker: str, text: Callable[[str], str]) -> Record:
        """Create or replace the one comment under `marker`; `text` makes it from what it says so far."""
        path = f"issues/{number}/comments"
        ours = next((each for each in self.api.entries(path) if is_ours(each, marker)), None)
        body = text(ours["body"] if ours else "")
        method, path = ("PATCH", f"issues/comments/{ours['id']}") if ours else ("POST", path)
        changed: Record = self.api.ask(method, path, body=body)
        return changed

    def issues(self, label: str, marker: str) -> list[Record]:
        """List the open issues with this label that were written under `marker`."""
        issues = self.api.entries(f"issues?{urlencode({'state': 'open', 'labels': label})}")
        # Lists of issues contain pull requests.
        return [each for each in issues if not each.get("pull_request") and is_ours(each, marker)]

    def open(self, title: str, body: str, label: str) -> str:
        return str(self.api.ask("POST", "issues", title=title, body=body, labels=[label])["html_url"])

    def update(self, number: int, title: str, body: str) -> None:
        self.api.ask("PATCH", f"issues/{number}", title=title, body=body)

    def close(self, number: int, reason: str, comment: str) -> None:
        """Close an issue with a comment; `reason`: completed or not_planned."""
        self.api.ask("POST", f"issues/{number}/comments", body=comment)
        self.api.ask("PATCH", f"issues/{number}", state="closed", state_reason=reason)
