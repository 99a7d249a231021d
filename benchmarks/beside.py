"""Other programs, which run beside a measurement."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BUSY = "while True: pass"


@contextmanager
def programs(count: int, code: str = BUSY) -> Iterator[None]:
    """Run so many of them, each with this code in Python, inside the block."""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()
