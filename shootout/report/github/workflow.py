"""A run of a workflow that asks GitHub something."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shootout.report.github import http

# GitHub's own machines, by their exact names.
_VERSIONS = ("26.04", "24.04", "22.04")
HOSTED = frozenset({"ubuntu-latest", *(f"ubuntu-{each}{arm}" for each in _VERSIONS for arm in ("", "-arm"))})
Record = Mapping[str, Any]
Answer = dict[str, Any]  # empty: there is none


@dataclass(frozen=True)
class Run:
    """A run of a workflow: its event, the workflow's inputs, and GitHub's API about its repository."""

    api: http.Api
    event: Record
    inputs: Mapping[str, str]
    environment: Mapping[str, str]
    pause: Callable[[float], None] = time.sleep

    @property
    def repository(self) -> str:
        return self.environment["GITHUB_REPOSITORY"]

    @property
    def id(self) -> str:
        return self.environment["GITHUB_RUN_ID"]

    @property
    def link(self) -> str:
        return f"{self.environment['GITHUB_SERVER_URL']}/{self.repository}/actions/runs/{self.id}"

    def of_event(self, name: str) -> Record:
        """Return an object of the event; empty if it has none."""
        return self.event.get(name) or {}

    def sum_up(self, line: str) -> None:
        """Print a line, which becomes part of the job's summary, too."""
        print(line)
        with Path(self.environment["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def is_foreign(pull: Record, repository: str) -> bool:
    """Whether a pull request is a fork's, or a bot's, which brings a dependency's unreviewed code."""
    origin = (pull["head"].get("repo") or {}).get("full_name")
    return origin != repository or (pull.get("user") or {}).get("type") == "Bot"


def is_hosted(labels: str) -> bool:
    """Whether these labels, as JSON, name one of GitHub's own machines."""
    label = json.loads(labels)
    return isinstance(label, str) and label.lower() in HOSTED
