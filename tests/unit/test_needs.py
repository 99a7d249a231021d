"""The message of `make` on a machine that lacks something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shootout.paths import ROOT


def a_machine(folder: Path, programs: dict[str, str]) -> dict[str, str]:
    """An environment whose PATH has these scripts, and what the shell itself needs."""
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    (folder / "sed").symlink_to("/usr/bin/sed")
    return {"PATH": str(folder)}


def needs(environment: dict[str, str], *arguments: str) -> tuple[int, list[str]]:
    command = ["/bin/sh", str(ROOT / ".ci" / "needs"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_nothing_is_said_where_all_is_there() -> None:
    assert needs(dict(os.environ), sys.executable, "sh") == (0, [])


def test_everything_that_is_missing_is_in_one_message(tmp_path: Path) -> None:
    assert needs(a_machine(tmp_path, {}), "python3", "mvn", "go") == (2, [
        "shootout: missing: python3, cc, mvn, go, Rust 1.85 or later",
        "On Debian: apt-get install python3 build-essential maven golang-go",
        "Rust: curl --proto '=https' -sSf https://sh.rustup.rs | sh",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ({"cargo": "echo cargo 1.63.0"}, "shootout: missing: Rust 1.85 or later"),
        ({"cargo": "echo cargo 1.90.1", "python3": "exit 1"}, "shootout: missing: Python 3.11 or later"),
        ({"cargo": "echo cargo 1.85.0", "python3": 'case "$2" in *venv*) exit 1;; esac'}, "Python's venv"),
    ],
)
def test_old_versions_and_parts_are_missing_too(programs: dict[str, str], said: str, tmp_path: Path) -> None:
    machine = a_machine(tmp_path, {"cc": "", "python3": "", **programs})
    code, lines = needs(machine, "python3")
    assert code == 2
    assert said in lines[0]
    assert "," not in lines[0]
