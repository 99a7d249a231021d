"""The package clients of this machine: whether they are there, and what they say."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from shootout.model.value import Value


class Missing(Value):
    """What a source lacks on this machine."""

    what: str
    install: str = ""  # the command that brings it, on Debian; empty: none does


class Client(Protocol):
    """What each module of a kind of source tells about its client."""

    CLIENT: str  # the command; empty: it takes none

    def missing(self) -> Missing | None:
        """What it takes, and this machine lacks."""


def missing(command: str, package: str) -> Missing | None:
    """None where the command is there; `package` is Debian's that has it."""
    return None if shutil.which(command) else Missing(what=command, install=f"apt-get install {package}")


def run(
    command: Sequence[str | Path], cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a client to its end; gives its exit code and all that it printed, in English."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout
