"""A server's error log: its end, and what it comes down to."""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

# What users can mend, in the words of all versions, with the system's number for it; the first found is told.
_CAUSES: Sequence[tuple[str, int | None, str]] = (
    (
        r"no space left on device|disk is (?:not )?full",
        errno.ENOSPC,
        "no space is left on the disk that holds {directory}",
    ),
    (
        r"permission denied|must be writable|opened in read-write mode",
        errno.EACCES,
        "it is not permitted to use one of its files",
    ),
    (r"read-only file system", errno.EROFS, "its files lie on a read-only file system"),
    (r"too many open files", errno.EMFILE, "it may not open as many files as it needs"),
    (
        r"cannot allocate memory|out of memory",
        errno.ENOMEM,
        "it does not get the memory that its settings ask for",
    ),
    (
        r"(?:unknown (?:variable|option)|unrecognized option) '(?P<option>[^']+)'",
        None,
        "it does not know the setting {option}",
    ),
)
_NUMBERED = r"(?:errcode|errno|error|error number|os error)[:= ]+{}\b"
_CAUSE_LINES = 40  # from the end: servers go on at length after what went wrong


def length(log: Path) -> int:
    """Where what comes next into the log begins."""
    return log.stat().st_size if log.exists() else 0


def tail(log: Path, lines: int = 12, begins: int = 0) -> str:
    """A log's last lines from `begins` on, without notes where it has errors: who fails ends at length."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(begins, size - 64 * 1024))
            found = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return f"{log}: cannot be read: {error.strerror}"
    if any("[ERROR]" in line for line in found):
        found = [line for line in found if "[Note]" not in line]
    return "\n".join(found[-lines:])


def failure(what: str, directory: Path, begins: int = 0) -> str:
    """A failure of the server in `directory`: what it was, its cause where that is known, the log's end.

    What stands in the log before `begins` is of another start.
    """
    file = directory / "error.log"
    cause = _cause(tail(file, _CAUSE_LINES, begins), directory)
    return f"{what}{f': {cause}' if cause else ''}; its error log ends:\n{tail(file, begins=begins)}"


def ending(code: int) -> str:
    """How a process ended, by its exit code as Python has it."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _cause(text: str, directory: Path) -> str:
    for words, number, cause in _CAUSES:
        pattern = words if number is None else f"{words}|{_NUMBERED.format(number)}"
        if found := re.search(pattern, text, re.IGNORECASE):
            return cause.format(directory=directory, **found.groupdict())
    return ""
