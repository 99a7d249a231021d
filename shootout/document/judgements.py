"""Judgements beside their runs, so that a site with years of runs judges each run once.

`FOLDER` holds one file per run, with two lines: a digest of everything that the run was judged from, and the
comparison. A file is valid while the document, the earlier A/A cells and this library are unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from shootout import _engine, files
from shootout.document import journal
from shootout.document.ledgers import Ledgers
from shootout.model.run import RunHeader
from shootout.model.value import decoded
from shootout.model.verdict import Comparison
from shootout.paths import PACKAGE

FOLDER = "judged"  # beside the run documents
_SUFFIX = ".judged"  # distinct from a run document's
_ENDS_BYTES = 65_536  # read from each end of a document; with its length they identify it


def find(path: Path, ledgers: Ledgers) -> Comparison | None:
    """Read the valid comparison of the document at `path`; None if there is none. Raises InputError."""
    try:
        sources, _, line = files.read(_file(path)).partition(b"\n")
        comparison = decoded(line, Comparison)
    except (OSError, ValueError):
        return None
    return comparison if sources == _sources(path, comparison.header, ledgers) else None


def store(path: Path, comparison: Comparison, ledgers: Ledgers) -> None:
    """Write a run's comparison beside its document, if the folder is writable. Raises InputError."""
    lines = _sources(path, comparison.header, ledgers), msgspec.json.encode(comparison)
    with suppress(OSError):
        files.replace(_file(path), b"\n".join(lines))


def prune(results: Path, paths: Iterable[Path]) -> None:
    """Remove the judgements of all documents but these."""
    for orphan in {*(results / FOLDER).glob(f"*{_SUFFIX}")} - {*map(_file, paths)}:
        with suppress(OSError):
            orphan.unlink()


def _file(path: Path) -> Path:
    return path.parent / FOLDER / f"{journal.stem(path)}{_SUFFIX}"


def _sources(path: Path, header: RunHeader, ledgers: Ledgers) -> bytes:
    """Digest what a run is judged from: document, library, each runner's earlier A/A entries."""
    runners = sorted(runner.fingerprint for runner in header.runners)
    before = (ledgers.digest_before(header.run, runner).encode() for runner in runners)
    return _digest(*_ends(path), library(), *before)


def _ends(path: Path) -> tuple[bytes, ...]:
    with files.reading(path), files.opened(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        first = file.read(_ENDS_BYTES)
        file.seek(max(0, size - _ENDS_BYTES))
        return str(size).encode(), first, file.read()


@cache
def library() -> bytes:
    """Digest the library's sources and its engine."""
    sources = [*PACKAGE.rglob("*.py"), Path(_engine.__file__)]
    return _digest(*(file.read_bytes() for file in sorted(sources)))


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.hexdigest().encode()
