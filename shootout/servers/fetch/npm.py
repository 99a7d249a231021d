"""npm packages, brought by the host's npm."""

from __future__ import annotations

from pathlib import Path

from shootout.errors import MeasureError
from shootout.model.catalogue import Npm
from shootout.servers.fetch import clients
from shootout.servers.fetch.clients import Missing

CLIENT = "npm"

_CODES = ("code ", "errno ", "syscall ", "type ")


def missing() -> Missing | None:
    """What it takes, and this machine lacks."""
    return clients.missing(CLIENT, "npm")


def download(source: Npm, directory: Path) -> Path:
    """The package's tarball, put into the empty `directory`; nothing in it is run.

    Raises MeasureError with npm's words.
    """
    # What it has once downloaded needs no asking again, which takes minutes where there is no network.
    options = ["--ignore-scripts", "--prefer-offline", "--fetch-retries=1", "--no-color", "--loglevel=error"]
    command = [CLIENT, "pack", source.package, f"--pack-destination={directory}", *options]
    code, output = clients.run(command, cwd=directory)
    if code != 0:
        raise MeasureError(f"cannot download {source.package}: {_reason(output)}")
    (found,) = directory.iterdir()
    return found


def _reason(output: str) -> str:
    """The line that says why: the first error that is not one of npm's own codes."""
    errors = [
        line.removeprefix("npm").lstrip().removeprefix("ERR!").removeprefix("error").strip()
        for line in output.splitlines()
        if line.startswith(("npm error", "npm ERR!"))
    ]
    return next((line for line in errors if line and not line.startswith(_CODES)), "npm printed nothing")
