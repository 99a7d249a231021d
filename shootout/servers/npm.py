"""npm packages, brought by the host's npm."""

from __future__ import annotations

from pathlib import Path

from shootout.errors import MeasureError
from shootout.model import Npm
from shootout.servers import clients
from shootout.servers.clients import Missing

CLIENT = "npm"


def missing() -> Missing | None:
    """What it takes, and this machine lacks."""
    return clients.missing(CLIENT, "npm")


def download(source: Npm, directory: Path) -> Path:
    """The package's tarball, put into the empty `directory`; nothing in it is run.

    Raises MeasureError with npm's words.
    """
    command = [CLIENT, "pack", source.package, "--ignore-scripts", "--no-color", "--loglevel=error"]
    code, said = clients.ask([*command, f"--pack-destination={directory}"], cwd=directory)
    if code != 0:
        raise MeasureError(f"cannot download {source.package}: {_reason(said)}")
    (found,) = directory.iterdir()
    return found


def _reason(output: str) -> str:
    """The line that says why: npm's first error after its code."""
    errors = [
        line.removeprefix("npm").lstrip().removeprefix("ERR!").removeprefix("error").strip()
        for line in output.splitlines()
        if line.startswith(("npm error", "npm ERR!"))
    ]
    return next((line for line in errors if line and not line.startswith("code ")), "npm said nothing")
