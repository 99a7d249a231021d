"""A server of ours that hangs while it loads: killed after a minute without progress."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shootout.errors import MeasureError
from shootout.servers.running import Running

STALL_S = 60.0
# In that time, of the server and of us together; idle servers use at most half of it.
_BUSY = 0.03  # of a CPU
_BYTES_PER_S = 16 << 10  # read and written
_PARTS = 10  # of that time: while we are stopped ourselves, only one of them passes


@contextmanager
def ended(instance: Running, what: str) -> Iterator[None]:
    """Kill a server of ours that does nothing for STALL_S within the block. Raises MeasureError."""
    if not instance.ours or instance.pid is None:
        yield
        return
    done, stalled = threading.Event(), threading.Event()
    descriptor = os.pidfd_open(instance.pid)  # the number may be another process's later
    watch = threading.Thread(target=_watch, args=(instance.pid, descriptor, done, stalled), daemon=True)
    watch.start()
    try:
        yield
    except MeasureError as error:
        if stalled.is_set():
            raise MeasureError(
                f"{what}: the server made no progress for {STALL_S:g} s, and was killed"
                f"{instance.post_mortem()}"
            ) from error
        raise
    finally:
        done.set()
        watch.join()
        os.close(descriptor)


def _watch(pid: int, descriptor: int, done: threading.Event, stalled: threading.Event) -> None:
    now = math.inf
    while now >= STALL_S:
        before = _progress(pid)
        for _ in range(_PARTS):
            if done.wait(STALL_S / _PARTS):
                return
        now = _progress(pid) - before
    stalled.set()
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)


def _progress(pid: int) -> float:
    """Convert the CPU time and the bytes of a server and of this process to seconds of progress."""
    cpu_s, bytes_ = time.process_time(), 0
    with suppress(OSError):  # it has ended
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        counters = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        bytes_ = sum(int(counters[name]) for name in ("rchar", "wchar", "read_bytes", "write_bytes"))
    return cpu_s / _BUSY + bytes_ / _BYTES_PER_S
