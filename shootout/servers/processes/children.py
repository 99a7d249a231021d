"""Child processes: started on CPUs of their own, tied to the thread that forked them, paused, killed."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from shootout.servers.installation import Process
from shootout.signals import put_off

# One limit for every server, whatever this process inherited: servers size their caches, and an array, by it.
OPEN_FILES = 262_144
ENDING_S = 60.0  # for a killed process to end; after that the kernel is holding it

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)  # loaded at import: nothing may be loaded between fork and exec


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    cpus: Sequence[int],
    stdin: Path | None,
) -> subprocess.Popen[bytes]:
    """Run a server in its instance directory, on `cpus` (all if empty), with its output in error.log there.

    The kernel ties its death to that of the *thread* that forked. Signals that end us are deferred until
    the process is known: until then, nobody could end it.
    """
    with (
        put_off() as came,
        (directory / "error.log").open("ab") as log,
        (stdin or Path(os.devnull)).open("rb") as opened,
    ):
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=directory,
            stdin=opened,
            stdout=log,
            stderr=log,
            preexec_fn=_prepared(cpus),  # noqa: PLW1509 (safe: see there)
            start_new_session=True,  # Ctrl-C is for us; we then shut the server down
        )
        if came:
            process.kill()
            process.wait()
    return process


def tied() -> Callable[[], None]:
    """Make what a child runs between fork and exec to be killed once the *thread* that forked it has died.

    System calls only, as other threads may hold any lock.
    """
    parent = os.getpid()

    def tie() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before prctl
            os._exit(1)

    return tie


def pause(pid: int, paused: bool) -> None:
    """Pause or continue a process; ignored if it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP if paused else signal.SIGCONT)


def kill(process: Process) -> int | None:
    """Kill a server of ours and return its exit code; None if the kernel holds it beyond ENDING_S."""
    process.kill()
    try:
        return process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        return None


def allow_files() -> int:
    """Raise the limit of this process and its children to OPEN_FILES or the most allowed; return it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard > OPEN_FILES:
        hard = OPEN_FILES
    with suppress(ValueError, OSError):  # only root may raise the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
        return OPEN_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return hard


def _prepared(cpus: Sequence[int]) -> Callable[[], None]:
    """Make all that a server runs between fork and exec: system calls only, see `tied`."""
    tie = tied()

    def prepare() -> None:
        tie()
        if cpus:
            os.sched_setaffinity(0, cpus)
        allow_files()

    return prepare
