"""The package clients of this machine: whether they are installed, and how they are run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from shootout.errors import MeasureError
from shootout.model.value import Value
from shootout.servers.processes import children

TIMEOUT_S = 7200.0


class Lack(Value):
    """A need of a source that this machine lacks."""

    what: str
    install: str = ""  # the command that installs it on Debian; "": there is none


def missing(command: str, package: str) -> Lack | None:
    """Return None if the command is installed; `package` is Debian's package of it."""
    return None if shutil.which(command) else Lack(what=command, install=f"apt-get install {package}")


def run(
    command: Sequence[str | Path], cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a client; returns its exit code and its output, in English. Raises MeasureError."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=children.tied(),  # noqa: PLW1509 (safe: see there)
        start_new_session=True,  # so that all that it started ends with it
    ) as process:
        try:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise MeasureError(f"{command[0]} took longer than {TIMEOUT_S:.0f} s, and was killed") from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output
