"""File locks, and cache directories that are complete or absent even if their builder is killed."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shootout.errors import MeasureError

_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold an exclusive lock on `path` (created if absent); the kernel drops it when the process dies.

    A child process that inherits the descriptor holds it on if this one is killed.

    Whoever holds it may remove the file. Raises BlockingIOError if another process holds it and `wait` is
    false, OSError if `path` is a symbolic link.
    """
    with ExitStack() as opened:
        while True:
            descriptor = opened.enter_context(_opened(path))
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _is_at(descriptor, path):
                break
            opened.close()  # somebody removed the file before we had the lock
        try:
            yield descriptor
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # whoever inherited it


def build_once(
    target: Path,
    build: Callable[[Path], None],
    is_complete: Callable[[Path], bool],
    held: ExitStack | None = None,
) -> bool:
    """Let `build` fill the directory `target` unless it is complete; True if it was built now.

    It is built under another name, under a lock, and then renamed: one process builds, the others wait, and
    the next one clears what a killed one left. Nobody removes the directory until `held` is closed. Raises
    MeasureError if it cannot be made.
    """
    built = False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as use:
            descriptor = use.enter_context(_opened(lock_of(target)))
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            # Between the two locks another process may have built it, or removed ours.
            while not is_complete(target):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                if not is_complete(target):
                    _build(target, build)
                    built = True
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            os.utime(descriptor)
            if held is not None:
                held.push(use.pop_all())
    except OSError as error:
        raise MeasureError(f"{target}: cannot be made: {error.strerror or error}") from None
    return built


def remove(target: Path) -> bool:
    """Remove the directory and leftovers of a killed build; False if it is in use, or not shootout's."""
    try:
        with locked(lock_of(target), wait=False):
            partial = partial_of(target)
            shutil.rmtree(partial, ignore_errors=True)
            if target.exists():
                target.rename(partial)  # a half-removed directory must not look complete
                shutil.rmtree(partial)
    except OSError:
        return False
    return True


def is_held(lock: Path) -> bool:
    """Whether a process holds the lock, or it cannot be opened."""
    try:
        with locked(lock, wait=False):
            return False
    except OSError:
        return True


def lock_of(target: Path) -> Path:
    """Return the lock beside the directory; its mtime is when the directory was last used."""
    return target.with_name(f".{target.name}.lock")


def partial_of(target: Path) -> Path:
    """Return the directory's path while it is being built or removed."""
    return target.with_name(f".{target.name}.partial")


def _build(target: Path, build: Callable[[Path], None]) -> None:
    partial = partial_of(target)
    for stale in (target, partial):
        shutil.rmtree(stale, ignore_errors=True)
    partial.mkdir()
    try:
        build(partial)
        _sync(partial)  # after a power cut a directory is complete or absent, too
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _sync(directory: Path) -> None:
    """Write everything in the directory's file system to the disk: faster than file by file."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        if _libc.syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(directory))
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
