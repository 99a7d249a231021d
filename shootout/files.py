"""Atomic file replacement: files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(path: Path, content: bytes) -> None:
    """Replace the file at `path`, or create it and its folder. Raises OSError, and then changes nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        written = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # after a power cut, too
            written.chmod(0o644)
            written.replace(path)
        except BaseException:
            written.unlink()
            raise
