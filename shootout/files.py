"""Atomic file replacement: files appear whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file that replaces `path` when the block ends, and is deleted if the block raises.

    Creates the folder if needed. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        written = Path(file.name)
        try:
            yield file
            file.flush()
            written.chmod(0o644)
            written.replace(path)
        except BaseException:
            written.unlink()
            raise


def replace(path: Path, content: bytes) -> None:
    """Replace the file at `path` by one with this content. Raises OSError."""
    with replacing(path) as file:
        file.write(content)
