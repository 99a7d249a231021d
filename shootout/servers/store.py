"""Directories in the cache that are whole or absent, whoever is killed while making them."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on `path` (made if absent); the system drops it when the process dies.

    Raises BlockingIOError where another holds it and `wait` is false.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def build_once(target: Path, build: Callable[[Path], None], whole: Callable[[Path], bool]) -> bool:
    """Let `build` fill the directory `target` unless it is there and `whole`; True where it was built now.

    It is filled under another name and renamed, under a lock: of several processes one builds and the
    others wait, and what a killed one left is cleared away by the next.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    with locked(target.with_name(f".{target.name}.lock")):
        if whole(target):
            return False
        for stale in (target, partial):
            shutil.rmtree(stale, ignore_errors=True)
        partial.mkdir()
        try:
            build(partial)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return True
