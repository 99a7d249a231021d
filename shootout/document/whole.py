"""Documents that are written whole, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from shootout import files
from shootout.errors import InputError, MeasureError
from shootout.model.value import decoded

T = TypeVar("T")


def read(path: Path, type: type[T], name: str) -> T:
    """Read a document of that type. Raises InputError, which says that it is not `name`: "a bisection"."""
    try:
        return decoded(path.read_bytes(), type)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not {name}: {error}") from None


def write(path: Path, document: object) -> Path:
    """Write a document, in place of an earlier one; returns its file.

    Raises MeasureError if it cannot be written.
    """
    try:
        files.replace(path, msgspec.json.encode(document) + b"\n")
    except OSError as error:
        raise MeasureError(f"{path}: cannot be written: {error.strerror}") from None
    return path
