"""npm packages, downloaded by the host's npm."""

from __future__ import annotations

from pathlib import Path

from shootout.errors import MeasureError
from shootout.model.catalogue import Npm
from shootout.servers.fetch import clients
from shootout.servers.fetch.clients import Missing

CLIENT = "npm"

_CODES = ("code ", "errno ", "syscall ", "type ")


def missing() -> Missing | None:
    """What it needs and this machine lacks."""
    return clients.missing(CLIENT, "npm")


def download(source: Npm, directory: Path) -> Path:
    """Download the package's tarball into the empty `directory`; none of its scripts are run.

    Raises MeasureError with npm's message.
    """
    # Asking again for what is in its cache takes minutes without a network.
    options = ["--ignore-scripts", "--prefer-offline", "--fetch-retries=1", "--no-color", "--loglevel=error"]
    command = [CLIENT, "pack", source.package, f"--pack-destination={directory}", *options]
    code, output = clients.run(command, cwd=directory)
    if code != 0:
        raise MeasureError(f"cannot download {source.package}: {_reason(output)}")
    (found,) = directory.iterdir()
    return found


def _reason(output: str) -> str:
    """The reason for a failure: the first error that is not a code of npm's."""
    errors = [
        line.removeprefix("npm").lstrip().removeprefix("ERR!").removeprefix("error").strip()
        for line in output.splitlines()
        if line.startswith(("npm error", "npm ERR!"))
    ]
    return next((line for line in errors if line and not line.startswith(_CODES)), "npm printed nothing")
