"""The weekly matrix: built once, measured in shards, merged and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import yaml

from tests.support.workflows import actions
from tests.support.workflows.actions import Hub
from tests.support.workflows.repositories import (
    KNOWN,
    WORKFLOWS,
)

pytest_plugins = ["tests.support.runs", "tests.support.workflows.repositories"]


def test_what_the_branch_got_since_the_merge_stays(tmp_path: Path) -> None:
    found = yaml.safe_load((WORKFLOWS / "weekly.yml").read_text())
    (add,) = (step for step in found["jobs"]["keep"]["steps"] if step["name"].startswith("Add the run"))
    files = {
        "merged/results/run.jsonl": "run\n",
        "merged/results/judged/run.json": "{}",
        "merged/results/ledger/a.jsonl": "1\n2\nours\n",
        "merged/results/ledger/b.jsonl": "new\n",
        "data/acknowledged.toml": KNOWN,
        "data/results/ledger/a.jsonl": "1\n2\nlater\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copytree(tmp_path / "merged", tmp_path / "artifact")
    for _ in range(2):
        shutil.copytree(tmp_path / "artifact", tmp_path / "merged", dirs_exist_ok=True)
        script = ["bash", "-eo", "pipefail", "-c", add["run"]]
        subprocess.run(script, cwd=tmp_path, env=os.environ | {"KEEP": "9"}, check=True)
        kept = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
        assert {str(file.relative_to(tmp_path / "data")): file.read_text() for file in kept} == {
            "acknowledged.toml": KNOWN,  # of another matrix
            "results/ledger/a.jsonl": "1\n2\nlater\nours\n",
            "results/ledger/b.jsonl": "new\n",
            "results/run.jsonl": "run\n",
        }


def test_two_matrices_of_one_workflow_keep_apart(orchestrated: Hub) -> None:
    actions.run(orchestrated, WORKFLOWS / "own-weekly.yml", {})
    for name in ("weekly", "weekly-production"):
        merged = orchestrated.artifacts / f"{name}-merged" / "results" / "run.jsonl"
        asked = [line.split() for line in merged.read_text().splitlines()]
        assert [words[1] for words in asked] == [f"--profile={name}"] * 3
        assert sorted(words[2] for words in asked) == [f"--shard={n}/3" for n in (1, 2, 3)]
