"""Sampling of call stacks with Linux perf.

Whole CPUs are sampled. Events that follow a process are switched on and off with its threads, which adds half
to the CPU time of a short statement in a virtual machine. Stacks are unwound by frame pointers, which servers
keep and which costs least; where a library has none, a stack ends early, but the function that was on the CPU
is always right.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from shootout.analysis import function_names
from shootout.analysis.function_names import PROGRAMS, plain
from shootout.errors import MeasureError

HERTZ = 499  # for each CPU; odd, so that it does not keep step with timers
READY_TIMEOUT_S = 30.0
DEPTH_MAX = 127  # frames; deeper stacks lose their outermost

KERNEL, UNKNOWN = "[kernel]", "[unknown]"
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_HARDWARE = Path("/sys/bus/event_source/devices/cpu")  # absent in most virtual machines
_PROCESS = re.compile(r"\s*([0-9]{1,10})\s*")
_FRAME = re.compile(r"\s+(?P<address>[0-9a-f]+) (?P<symbol>.*) \((?P<module>.*)\)\s*")

Stack = tuple[str, ...]  # function names, the outermost first


class UnavailableError(MeasureError):
    """Perf is missing or may not profile; the message says what to install or allow."""


def event() -> str:
    """Choose perf's event: hardware cycles, or the software clock where the machine shows none."""
    return "cycles" if _HARDWARE.exists() else "cpu-clock"


@dataclass
class Recording:
    """A `perf record` of this machine, which samples between `begin` and `end`."""

    perf: str
    data: Path
    process: subprocess.Popen[bytes]
    control: int  # file descriptors of perf's control and acknowledgement pipes
    answers: int

    def begin(self) -> None:
        """Start sampling; returns once perf does. Raises UnavailableError with the reason."""
        self._order(b"enable\n")

    def end(self) -> None:
        with suppress(UnavailableError):
            self._order(b"disable\n")
        self.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(READY_TIMEOUT_S)

    def stacks(self, pids: Container[int]) -> dict[int, Counter[Stack]]:
        """Count how often each stack of these processes was sampled. Raises UnavailableError."""
        fields = ("--fields", "pid,ip,sym,dso", "--no-inline", "--max-stack", str(DEPTH_MAX))
        stacks: dict[int, Counter[Stack]] = {}
        with tempfile.TemporaryFile() as words:
            process = subprocess.Popen(
                [self.perf, "script", "--input", str(self.data), *fields],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=words, text=True, errors="replace",
            )  # fmt: skip
            with process:
                assert process.stdout is not None
                for pid, stack in parse(process.stdout, pids):
                    stacks.setdefault(pid, Counter())[stack] += 1
            words.seek(0)
            if process.returncode != 0:
                raise UnavailableError(f"perf script: {_last_line(words.read())}")
        return stacks

    def _order(self, order: bytes) -> None:
        try:
            os.write(self.control, order)
            answered = os.read(self.answers, 16)
        except OSError:
            answered = b""
        if not answered:
            self.process.wait(READY_TIMEOUT_S)
            _, words = self.process.communicate()
            raise UnavailableError(_refusal(words) or f"perf record: {_last_line(words)}")


@contextmanager
def recording(folder: Path) -> Iterator[Recording]:
    """Run perf, which waits for `begin` and writes to `folder`. Raises UnavailableError."""
    perf = shutil.which("perf")
    if perf is None:
        raise UnavailableError(
            "perf is not installed: apt-get install linux-perf (Debian) or linux-tools-generic (Ubuntu)"
        )
    data = folder / "perf.data"
    orders, control = os.pipe()
    answers, acknowledgement = os.pipe()
    options = ("--all-cpus", "--event", event(), "--freq", str(HERTZ), "--call-graph", "fp")
    files = ("--output", str(data), "--no-buildid", "--no-buildid-cache", "--quiet")
    waiting = ("--delay", "-1", "--control", f"fd:{orders},{acknowledgement}")
    process = subprocess.Popen(
        [perf, "record", *options, *files, *waiting],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        pass_fds=(orders, acknowledgement),
    )  # fmt: skip
    os.close(orders)
    os.close(acknowledgement)
    try:
        yield Recording(perf, data, process, control, answers)
    finally:
        os.close(control)
        os.close(answers)
        with process:  # waits and closes its pipe, which may have been read to its end
            process.kill()
        data.unlink(missing_ok=True)


def lack() -> str:
    """Say what to install or allow before perf can sample this machine; empty: nothing."""
    try:
        with tempfile.TemporaryDirectory() as folder, recording(Path(folder)) as tried:
            tried.begin()
    except UnavailableError as error:
        return str(error)
    return ""


def _refusal(words: bytes) -> str:
    """Say what to allow, if perf says that it may not sample CPUs; else empty."""
    if _PARANOID.name.encode() not in words:
        return ""
    level = int(_PARANOID.read_text()) if _PARANOID.exists() else 0
    if level <= 0 or os.geteuid() == 0:
        return "perf may not sample CPUs here: containers need the capability CAP_PERFMON for that"
    return f"kernel.perf_event_paranoid = {level} forbids sampling: sudo sysctl kernel.perf_event_paranoid=0"


def parse(lines: Iterable[str], pids: Container[int]) -> Iterator[tuple[int, Stack]]:
    """Parse the stacks of these processes in what `perf script` prints.

    It prints a line with the process, its frames, the innermost first, and a blank line. Lines of another
    form are skipped: names may hold anything.
    """
    pid, stack = -1, list[str]()
    for line in chain(lines, [""]):
        if (process := _PROCESS.fullmatch(line)) is not None:
            pid, stack = int(process[1]), []
        elif pid in pids and (frame := _FRAME.fullmatch(line)) is not None:
            stack.append(_name(frame["symbol"], frame["module"]))
        elif stack and not line.strip():
            yield pid, tuple(reversed(stack))
            stack = []


@cache
def _name(symbol: str, module: str) -> str:
    """A function's name, with its module unless that is the server's program."""
    if module.startswith("[") and module not in ("[vdso]", UNKNOWN):
        return KERNEL if symbol == UNKNOWN else f"{plain(symbol)} {KERNEL}"
    library = function_names.library(module).strip("[]")
    if symbol == UNKNOWN:
        return f"[{library}]"
    # A program that a script wraps is called mysqld.real, mysqld.bin, …
    return plain(symbol) if library.partition(".")[0] in PROGRAMS else f"{plain(symbol)} [{library}]"


def _last_line(words: bytes) -> str:
    lines = words.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
