"""Documents of work on disk: `work/RUN.json` beside the run documents."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shootout import files
from shootout.errors import InputError, MeasureError
from shootout.model.work import WorkDocument
from shootout.paths import file_stem

FOLDER = "work"  # beside the run documents
SUFFIX = ".json"  # run documents end with .jsonl


def write(results: Path, document: WorkDocument) -> Path:
    """Write a document whole; returns its file. Raises MeasureError if it cannot be written."""
    path = results / FOLDER / f"{file_stem(document.run)}{SUFFIX}"
    try:
        files.replace(path, msgspec.json.encode(document) + b"\n")
    except OSError as error:
        raise MeasureError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def is_work(path: Path) -> bool:
    """Whether a document of this name is one of work rather than a run's."""
    return path.suffix == SUFFIX


def find(results: Path) -> tuple[Path, ...]:
    """The documents of a folder, the oldest first."""
    return tuple(sorted((results / FOLDER).glob(f"*{SUFFIX}")))


def read(path: Path) -> WorkDocument:
    """Read and check a document. Raises InputError."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=WorkDocument)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a document of work: {error}") from None
    if fault := _fault(found):
        raise InputError(f"{path}: not a document of work: {fault}")
    return found


def _fault(document: WorkDocument) -> str:
    """What points nowhere: documents are untrusted."""
    servers = {server.label for server in document.servers}
    kinds = {(kind.workload, kind.name) for kind in document.kinds}
    if len(servers) != len(document.servers) or len(kinds) != len(document.kinds) or not servers:
        return "servers or kinds appear twice, or there is none"
    for kind in document.kinds:
        if any((kind.workload, other) not in kinds for other in (*kind.less, *kind.sums)):
            return f"kind {kind.name} of {kind.workload} needs one that is not there"
    for count in document.counts:
        if count.server not in servers or (count.workload, count.kind) not in kinds:
            return f"counts of {count.kind} on {count.server}, which the document does not name"
    for profile in document.profiles:
        lengths = {len(profile.names), len(profile.exclusive), len(profile.inclusive)}
        if len(lengths) != 1 or any(not 0 <= name < len(document.functions) for name in profile.names):
            return f"the functions of {profile.kind} on {profile.server} are damaged"
    if any(failure.server not in servers for failure in document.failures):
        return "a failure of a server that the document does not name"
    return ""
