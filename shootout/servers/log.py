"""A server's error log: its end, and what it comes down to."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

# What users can mend, in the words of all versions: the first that is found is told.
_CAUSES = {
    r"no space left on device|disk is (?:not )?full|(?:errcode|errno|error(?: number)?|os error)[:= ]+28\b": (
        "no space is left on the disk that holds {directory}"
    ),
    r"permission denied|(?:errcode|errno|error(?: number)?|os error)[:= ]+13\b": (
        "it is not permitted to use one of its files"
    ),
    r"read-only file system|(?:errcode|errno|os error)[:= ]+30\b": "its files lie on a read-only file system",
    r"too many open files|(?:errcode|errno|os error)[:= ]+24\b": "it may not open as many files as it needs",
    r"cannot allocate memory|out of memory|(?:errcode|errno|os error)[:= ]+12\b": (
        "it does not get the memory that its settings ask for"
    ),
    r"unknown (?:variable|option) '(?P<option>[^']+)'": "it does not know the setting {option}",
    r"unrecognized option '(?P<option>[^']+)'": "it does not know the setting {option}",
}
_CAUSE_LINES = 40  # from the end: servers go on at length after what went wrong


def tail(log: Path, lines: int = 12) -> str:
    """A log's last lines, without notes where it has errors: a server that fails shuts down at length."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 64 * 1024))
            found = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return f"{log}: cannot be read: {error.strerror}"
    if any("[ERROR]" in line for line in found):
        found = [line for line in found if "[Note]" not in line]
    return "\n".join(found[-lines:])


def failure(what: str, directory: Path) -> str:
    """A failure of the server in `directory`: what it was, its cause where that is known, the log's end."""
    file = directory / "error.log"
    cause = _cause(tail(file, _CAUSE_LINES), directory)
    return f"{what}{f': {cause}' if cause else ''}; its error log ends:\n{tail(file)}"


def ending(code: int) -> str:
    """How a process ended, by its exit code as Python has it."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _cause(text: str, directory: Path) -> str:
    for pattern, cause in _CAUSES.items():
        if found := re.search(pattern, text, re.IGNORECASE):
            return cause.format(directory=directory, **found.groupdict())
    return ""
