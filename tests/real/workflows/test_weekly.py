"""The weekly matrix: built once, measured in shards, merged and kept."""

from __future__ import annotations

from tests.support.workflows import actions
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import (
    WORKFLOWS,
)

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def test_two_matrices_of_one_workflow_keep_apart(orchestrated: Hub) -> None:
    actions.run(orchestrated, WORKFLOWS / "own-weekly.yml", {})
    for name in ("weekly", "weekly-production"):
        merged = orchestrated.artifacts / f"{name}-merged" / "results" / "run.jsonl"
        asked = [line.split() for line in merged.read_text().splitlines()]
        assert [words[1] for words in asked] == [f"--profile={name}"] * 3
        assert sorted(words[2] for words in asked) == [f"--shard={n}/3" for n in (1, 2, 3)]
