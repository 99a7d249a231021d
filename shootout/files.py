"""Files that appear whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when the block ends, and vanishes where it raises.

    Makes the folder if need be. Raises OSError.
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
    """Write a whole file in place of `path`. Raises OSError."""
    with replacing(path) as file:
        file.write(content)
