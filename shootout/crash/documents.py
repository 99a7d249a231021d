"""Documents of crashes on disk: `crashes/CRASH.json` beside the run documents."""

from __future__ import annotations

from pathlib import Path

from shootout.crash.values import CrashDocument
from shootout.document import whole
from shootout.paths import file_stem

FOLDER = "crashes"  # beside the run documents


def path_of(results: Path, document: CrashDocument) -> Path:
    """A document's file."""
    return results / FOLDER / f"{file_stem(document.crash)}.json"


def write(results: Path, document: CrashDocument) -> None:
    """Write a document whole. Raises MeasureError if it cannot be written."""
    whole.write(path_of(results, document), document)
