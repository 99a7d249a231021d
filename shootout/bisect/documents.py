"""Bisections on disk: `bisections/ID/bisection.json`, with documents of its own beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shootout.bisect.values import Bisection
from shootout.document import journal, whole
from shootout.errors import InputError
from shootout.model.run import RunDocument
from shootout.paths import file_stem
from shootout.work import documents as work
from shootout.work.values import WorkDocument

FOLDER = "bisections"  # beside the run documents
_FILE = "bisection.json"


def folder_of(results: Path, id: str) -> Path:
    """The folder of a bisection."""
    return results / FOLDER / file_stem(id)


def write(folder: Path, bisection: Bisection) -> None:
    """Write a bisection whole. Raises MeasureError if it cannot be written."""
    whole.write(folder / _FILE, bisection)


def read(folder: Path) -> Bisection:
    """Read and check a bisection. Raises InputError."""
    path = folder / _FILE
    found = whole.read(path, Bisection, "a bisection")
    labels = {revision.label for revision in found.revisions}
    if len(labels) != len(found.revisions) or len(labels) < 2 or not labels >= found.builds.keys():
        raise InputError(f"{path}: not a bisection: its revisions are damaged")
    return found


def documents(folder: Path) -> dict[str, RunDocument]:
    """A bisection's run documents by file name, the oldest first. Raises InputError."""
    return {path.name: journal.read(path) for path in journal.find(folder)}


def counted(folder: Path) -> dict[str, WorkDocument]:
    """A bisection's documents of work by file name, the oldest first. Raises InputError."""
    return {path.name: work.read(path) for path in work.find(folder)}


def find(results: Path, skip: Callable[[str], None]) -> tuple[Path, ...]:
    """The folders of readable bisections, the oldest first; `skip` receives why others are left out."""
    found = []
    for path in sorted((results / FOLDER).glob(f"*/{_FILE}")):
        try:
            read(path.parent)
        except InputError as error:
            skip(str(error))
        else:
            found.append(path.parent)
    return tuple(found)
