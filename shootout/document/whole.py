"""Documents that are written whole, as JSON."""

from __future__ import annotations

from pathlib import Path

import msgspec

from shootout import files
from shootout.errors import MeasureError


def write(path: Path, document: object) -> Path:
    """Write a document, in place of an earlier one; returns its file.

    Raises MeasureError if it cannot be written.
    """
    try:
        files.replace(path, msgspec.json.encode(document) + b"\n")
    except OSError as error:
        raise MeasureError(f"{path}: cannot be written: {error.strerror}") from None
    return path
