"""Maven artifacts, downloaded by the host's mvn."""

from __future__ import annotations

import re
from pathlib import Path

from shootout.errors import MeasureError
from shootout.model.catalogue import Maven
from shootout.servers.fetch import clients
from shootout.servers.fetch.clients import Missing

CLIENT = "mvn"

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_HELP = " -> [Help 1]"


def missing() -> Missing | None:
    """What it needs and this machine lacks."""
    return clients.missing(CLIENT, "maven")


def download(source: Maven, directory: Path) -> Path:
    """Download the artifact into the empty `directory`. Raises MeasureError with Maven's message."""
    command = [CLIENT, "-q", "-B", "-Dstyle.color=never", "dependency:copy"]
    command += [f"-Dartifact={source.artifact}", f"-DoutputDirectory={directory}"]
    code, output = clients.run(command)
    if code != 0:
        raise MeasureError(f"cannot download {source.artifact}: {_reason(output)}")
    (found,) = directory.iterdir()
    return found


def _reason(output: str) -> str:
    """The reason for a failure: the first error, without its goal."""
    plain = _COLOURS.sub("", output)  # style.color=never does not remove them all
    lines = [line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if "[ERROR]" in line]
    lines = lines or plain.split("\n")
    first = next((line for line in lines if line), "mvn printed nothing")
    return re.sub(r"^Failed to execute goal \S+ \(\S+\) on project \S+: ", "", first).removesuffix(_HELP)
