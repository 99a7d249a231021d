"""Leftovers of killed runs: servers, instance directories, sockets; removed only if proven ours."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shootout.errors import InputError
from shootout.servers.locking import is_held, locked
from shootout.servers.processes.children import ENDING_S
from shootout.signals import put_off

LOOK_S = 0.01  # between attempts to have a lock
CLEARING_S = 5.0  # in which a directory can be removed, though a dying process may still write into it

_DATA_PREFIX = "shootout-"  # of working directories outside the cache
_SOCKET_PREFIX = "shootout-"  # of folders for sockets of instance directories with long paths
_OWNER = "instance"  # in such a folder: a link to the instance directory


@contextmanager
def working_directory(cache: Path, name: str, data: Path | None = None) -> Iterator[Path]:
    """Make a directory for instances, after killed runs' are removed. Main thread only. Raises InputError."""
    instances, prefix = (cache / "instances", "") if data is None else (data, _DATA_PREFIX)
    try:
        if data is None:
            instances.mkdir(parents=True, exist_ok=True)
        for lock in instances.glob(f"{prefix}*.lock"):
            # Its owner is gone, or it goes while we look.
            with suppress(BlockingIOError, FileNotFoundError):
                about = lock.lstat()  # in a shared directory others may have put anything there
                if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid():
                    with locked(lock, wait=False):
                        _clear_with(lock, lock.with_suffix(""))
        _clear_sockets()
        directory = instances / f"{prefix}{name}"
        lock = directory.with_suffix(".lock")
        held = _begun(directory, lock)
    except BlockingIOError:
        raise InputError(f"{name} is still running in another process") from None
    except OSError as error:
        what = f"{instances}: cannot be used for the servers' data: {error.strerror}"
        raise InputError(
            f"{what}; choose another place with XDG_CACHE_HOME, or with --data for the data alone"
        ) from None
    with held:
        try:
            yield directory
        finally:
            with put_off():  # another Ctrl-C
                _clear_with(lock, directory)


def _begun(directory: Path, lock: Path) -> ExitStack:
    """Make the directory under its lock. Raises BlockingIOError if a run has both, OSError if it cannot."""
    held = ExitStack()
    while True:
        try:
            held.enter_context(locked(lock, wait=False))
        except BlockingIOError:
            if directory.exists():
                raise
            time.sleep(LOOK_S)  # another run looks for leftovers
        else:
            with held:
                directory.mkdir(mode=0o700)
                return held.pop_all()


def clear(directory: Path) -> None:
    """Kill the servers that still run in a directory and remove it; its lock must be held."""
    end_servers(directory)
    deadline = time.monotonic() + CLEARING_S
    shutil.rmtree(directory, ignore_errors=True)
    while directory.exists() and time.monotonic() < deadline:
        time.sleep(LOOK_S)
        shutil.rmtree(directory, ignore_errors=True)


def _clear_with(lock: Path, directory: Path) -> None:
    """Clear a directory, and its lock; what cannot be removed keeps the lock, and the next run clears it."""
    clear(directory)
    if not directory.exists():
        lock.unlink()


def end_servers(directory: Path) -> None:
    """Kill every server whose my.cnf is in or below `directory`; the directory's lock must be held."""
    pids = [int(process.name) for process in Path("/proc").glob("[0-9]*")]
    ended = [pid for pid in pids if _kill(pid, directory)]
    deadline = time.monotonic() + ENDING_S
    while any(_is_server_in(pid, directory) for pid in ended) and time.monotonic() < deadline:
        time.sleep(0.01)


@contextmanager
def socket_folder(directory: Path) -> Iterator[Path]:
    """Make a folder with a short path for an instance's socket."""
    with tempfile.TemporaryDirectory(prefix=_SOCKET_PREFIX) as folder:
        (Path(folder) / _OWNER).symlink_to(directory)
        yield Path(folder)


def _clear_sockets() -> None:
    """Remove socket folders whose instance directory is gone or unused."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SOCKET_PREFIX}*"):
        with suppress(OSError):
            owner = (folder / _OWNER).readlink()
            if folder.lstat().st_uid == os.geteuid() and not (owner.is_dir() and is_held(owner / "lock")):
                shutil.rmtree(folder)


def _kill(pid: int, directory: Path) -> bool:
    """Kill the process if it is a server below `directory`; the pidfd guards against pid reuse."""
    with suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if _is_server_in(pid, directory):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                return True
        finally:
            os.close(descriptor)
    return False


def _is_server_in(pid: int, directory: Path) -> bool:
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # gone; a zombie's is empty
        return False
    begin = b"--defaults-file=" + os.fsencode(directory) + b"/"
    return any(argument.startswith(begin) and argument.endswith(b"/my.cnf") for argument in arguments)
