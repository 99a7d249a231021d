"""The package clients of this machine: whether they are installed, and how they are run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from shootout.model.value import Value


class Missing(Value):
    """What a source lacks on this machine."""

    what: str
    install: str = ""  # the command that installs it on Debian; "": there is none


def missing(command: str, package: str) -> Missing | None:
    """None if the command is installed; `package` is Debian's package of it."""
    return None if shutil.which(command) else Missing(what=command, install=f"apt-get install {package}")


def run(
    command: Sequence[str | Path], cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a client; returns its exit code and its output, in English."""
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
