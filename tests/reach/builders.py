"""Repositories with two revisions, and maps, for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(("git", *who, *arguments), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def a_repository(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Path:
    """A repository whose tags `before` and `after` have these files."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet")
    for tag, files in (("before", before), ("after", after)):
        for old in filter(Path.is_file, folder.iterdir()):
            old.unlink()
        for name, text in files.items():
            (folder / name).write_text(text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--allow-empty", "--message", tag)
        git(folder, "tag", tag)
    return folder
