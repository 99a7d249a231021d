"""What killed runs left: servers, instance directories, sockets; cleared away if proven to be ours."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shootout.errors import InputError
from shootout.servers import container
from shootout.servers.locking import locked

ENDING_S = 10.0  # of a killed process; more means that the kernel does not let it go

_DATA_PREFIX = "shootout-"  # begins the name of a workplace outside the cache
_SOCKET_PREFIX = (
    "shootout-"  # begins the name of a folder for a socket whose instance directory has a long path
)
_OWNER = "instance"  # in it: a link to that instance directory


@contextmanager
def working_directory(cache: Path, name: str, data: Path | None = None) -> Iterator[Path]:
    """A place for instance directories, gone afterwards; what killed runs left behind goes with it.

    It lies in the cache, or in `data`, which may be anybody's. Raises InputError where it cannot be made, or
    another process has it.
    """
    container.clear_leftovers()
    instances, prefix = (cache / "instances", "") if data is None else (data, _DATA_PREFIX)
    try:
        if data is None:
            instances.mkdir(parents=True, exist_ok=True)
        for lock in instances.glob(f"{prefix}*.lock"):
            if lock.stat().st_uid != os.geteuid():
                continue
            with suppress(BlockingIOError), locked(lock, wait=False):  # its owner is gone
                clear(lock.with_suffix(""))
                lock.unlink(missing_ok=True)
        _clear_sockets()
        directory = instances / f"{prefix}{name}"
        lock = directory.with_suffix(".lock")
        held = ExitStack()
        held.enter_context(locked(lock, wait=False))
        directory.mkdir(mode=0o700)
    except BlockingIOError:
        raise InputError(f"{name} is still going on, in another process") from None
    except OSError as error:
        raise InputError(f"{instances}: cannot hold the servers' data: {error.strerror}") from None
    with held:
        try:
            yield directory
        finally:
            clear(directory)
            lock.unlink()


def clear(directory: Path) -> None:
    """Remove a directory, and end the servers that still run in it; its lock must be held."""
    end_servers(directory)
    shutil.rmtree(directory, ignore_errors=True)


def end_servers(directory: Path) -> None:
    """Kill what runs on a my.cnf in or below `directory`: by whoever holds its lock, so nobody needs it."""
    ended = [pid for pid in map(_pid_of, Path("/proc").glob("[0-9]*")) if _kill(pid, directory)]
    deadline = time.monotonic() + ENDING_S
    while any(_is_server_in(pid, directory) for pid in ended) and time.monotonic() < deadline:
        time.sleep(0.01)


@contextmanager
def socket_folder(directory: Path) -> Iterator[Path]:
    """A folder with a short path, for the socket of the server in an instance directory."""
    with tempfile.TemporaryDirectory(prefix=_SOCKET_PREFIX) as folder:
        (Path(folder) / _OWNER).symlink_to(directory)
        yield Path(folder)


def _clear_sockets() -> None:
    """Remove the folders of sockets whose instance directory is gone, or not in use."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SOCKET_PREFIX}*"):
        with suppress(OSError):
            owner = (folder / _OWNER).readlink()
            if folder.lstat().st_uid == os.geteuid() and not _is_in_use(owner):
                shutil.rmtree(folder)


def _is_in_use(directory: Path) -> bool:
    try:
        with locked(directory / "lock", wait=False):
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False  # there is no such directory any more


def _pid_of(process: Path) -> int:
    return int(process.name)


def _kill(pid: int, directory: Path) -> bool:
    """Kill the process if it is a server below `directory`; with the descriptor it cannot be another one."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _is_server_in(pid, directory):
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _is_server_in(pid: int, directory: Path) -> bool:
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # gone; of a zombie it is empty
        return False
    begin = b"--defaults-file=" + os.fsencode(directory) + b"/"
    return any(argument.startswith(begin) and argument.endswith(b"/my.cnf") for argument in arguments)
