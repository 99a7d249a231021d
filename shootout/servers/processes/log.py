"""A server's error log: its tail, and the cause of a failure."""

from __future__ import annotations

import difflib
import errno
import os
import re
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

from shootout.settings.table import SETTINGS

# Causes that users can fix: how any version words them, the errno, the message. The first match is reported.
_CAUSES: Sequence[tuple[str, int | None, str]] = (
    (
        r"no space left on device|disk is (?:not )?full",
        errno.ENOSPC,
        "no space is left on the disk that holds {directory}",
    ),
    (
        r"permission denied|must be writable|opened in read-write mode",
        errno.EACCES,
        "it has no permission for one of its files",
    ),
    (r"read-only file system", errno.EROFS, "its files lie on a read-only file system"),
    (r"too many open files", errno.EMFILE, "its limit of open files is too low"),
    (r"cannot allocate memory|out of memory", errno.ENOMEM, "there is less memory than its settings ask for"),
    (
        r"(?:unknown (?:variable|option)|unrecognized option) '(?P<option>[^']+)'",
        None,
        "unknown setting {option}",
    ),
)
_NUMBERED = r"(?:errcode|errno|error|error number|os error)[:= ]+{}\b"
_CAUSE_LINES = 40  # of the tail: servers log on after the cause


def length(log: Path) -> int:
    """Return the log's present size: the offset of its next line."""
    return log.stat().st_size if log.exists() else 0


def tail(log: Path, lines: int = 12, begins: int = 0) -> str:
    """Read a log's last lines from offset `begins` on, without notes if there are errors."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(begins, size - 64 * 1024))
            ends = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return f"{log}: cannot be read: {error.strerror}"
    if any("[ERROR]" in line for line in ends):
        ends = [line for line in ends if "[Note]" not in line]
    return "\n".join(ends[-lines:])


def failure(what: str, directory: Path, begins: int = 0) -> str:
    """Write a message for a failed server: what failed, the cause if it is known, and the log's tail."""
    file = directory / "error.log"
    cause = _cause(tail(file, _CAUSE_LINES, begins), directory)
    return f"{what}{f': {cause}' if cause else ''}; its error log ends:\n{tail(file, begins=begins)}"


def ending(code: int | None) -> str:
    """Say how a process ended, from its exit code as subprocess reports it; None: killed, and still there."""
    if code is None:
        return "killed, and held by the kernel"
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)  # where it has an end, servers crash without a word
    limit = "" if allowed == resource.RLIM_INFINITY else f", with {allowed >> 20} MiB of memory: ulimit -v"
    if -code in {*signal.Signals}:
        return f"signal {signal.Signals(-code).name}{limit}"
    # A container's code above 128 may be any.
    return f"exit code {code if code >= 0 else 128 - code}{limit}"


def _near(option: str) -> str:
    name = option.lstrip("-").partition("=")[0].replace("-", "_")
    known = {name for each in SETTINGS.values() for reading in each.readings for name in reading.variables}
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.9) if name else []
    return f"; did you mean {near[0]!r}?" if near else ""


def _cause(text: str, directory: Path) -> str:
    for words, number, cause in _CAUSES:
        pattern = words if number is None else f"{words}|{_NUMBERED.format(number)}"
        if match := re.search(pattern, text, re.IGNORECASE):
            groups = match.groupdict()
            return cause.format(directory=directory, **groups) + _near(groups.get("option", ""))
    return ""
