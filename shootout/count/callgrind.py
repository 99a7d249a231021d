"""Servers under Callgrind: how they are started, asked for what they executed, and how that is read.

Callgrind writes a file for each thread. Threads that dispatch commands are connections': background threads
may execute more.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from shootout.analysis.function_names import UNNAMED
from shootout.errors import InputError, MeasureError
from shootout.model.plan import ServerReference
from shootout.servers.installation import Installation
from shootout.servers.sources.trees import Tree

OPTIONS = {
    "innodb-use-native-aio": "0",  # Valgrind knows no io_uring, and old ones no libaio
    "loose-innodb-buffer-pool-size-max": "8G",  # MariaDB reserves 8 TB, which Valgrind does not give
    "loose-innodb-parallel-read-threads": "1",  # 8.0 scans for COUNT(*) on threads of their own: not counted
    "loose-innodb-spin-wait-delay": "0",  # how long a thread spins depends on Valgrind's scheduler
}
START_TIMEOUT_S = 300.0  # 3 to 12 s on an idle machine
ANSWER_TIMEOUT_S = 60.0  # for a command to Callgrind

_PREFIX = "callgrind.out"
# vgdb stops a server that has nothing to do, so that it listens, after so many milliseconds; 0: never. MySQL
# 9.7 sometimes accepts no connection from then on, and 8.0.33 died of it once in thousands of commands, where
# they wait for connections. Their own threads make them listen as soon. Older servers would take 1 s.
_STOPS, _NEVER_STOPS = "--max-invoke-ms=1", "--max-invoke-ms=0"
_RESTLESS = (5, 7, 0)  # MySQL
_CALLGRIND = (
    "--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no", "--collect-systime=yes",
    "--trace-children=yes",  # a script that starts the server
    "--vgdb-poll=100",  # basic blocks between looks for a command
)  # fmt: skip
_NAMES = re.compile(r"^c?fn=\(\d+\) (.+)$", re.MULTILINE)
_NAME = re.compile(r"\((\d+)\)(?: (.*))?")
_POSITIONS = frozenset("0123456789+-*")  # what a line of costs begins with
_ALLOCATING = frozenset(("malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc"))
_DISPATCHES = "dispatch_command"  # a function of every MySQL and MariaDB
_ADDRESS = re.compile(r"0x[0-9a-f]+$")


def version() -> str:
    """Valgrind's version. Raises InputError if it is not installed."""
    for program in ("valgrind", "vgdb"):
        if shutil.which(program) is None:
            raise InputError(
                f"{program} is not installed, and counts the instructions: apt-get install valgrind"
            )
    done = subprocess.run(["valgrind", "--version"], stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip()


def require_program(reference: ServerReference) -> None:
    """Raise InputError for a server that is no program on this machine."""
    if reference.source in ("image", "dsn"):
        raise InputError(
            f"{reference.text}: only a program on this machine can run under Callgrind; "
            "expected a server of the catalogue, or path:DIR"
        )


def under(program: Installation, home: Path) -> Tree:
    """Wrap the program, so that it starts under Callgrind, which writes into its instance directory."""
    assert isinstance(program, Tree)  # require_program
    command = ("valgrind", *_CALLGRIND, f"--callgrind-out-file={home}/{_PREFIX}", _channel(home))
    launch = replace(program.launch, before=(*command, *program.launch.before))
    return replace(program, launch=launch)


def restless(program: Installation) -> bool:
    """Whether a server's own threads run often enough for Callgrind to look for commands."""
    return program.family == "mysql" and program.version >= _RESTLESS


@dataclass
class Functions:
    """Instructions by function: its own, and with what it calls."""

    exclusive: Counter[str] = field(default_factory=Counter)
    inclusive: Counter[str] = field(default_factory=Counter)
    allocations: int = 0  # calls


@dataclass(frozen=True)
class Dump:
    """The work of connections' threads between two dumps: of one thread, or of as many as were opened."""

    texts: Sequence[str] = field(repr=False)
    others: Sequence[str] = field(repr=False, default=())  # of threads without a connection

    @cached_property
    def _totals(self) -> tuple[int, ...]:
        return tuple(map(sum, zip(*map(totals, self.texts), strict=True)))

    @property
    def instructions(self) -> int:
        """Raises MeasureError if a file is damaged."""
        return self._totals[0]

    @property
    def system_calls(self) -> int:
        """Raises MeasureError if a file is damaged."""
        return self._totals[1]

    def beside(self) -> set[str]:
        """Name the named functions that other threads executed, whatever they are a part of."""
        names = (name for text in self.others for name in _NAMES.findall(text))
        return {name.partition("'")[0] for name in names if not _ADDRESS.match(name)}

    def functions(self) -> Functions:
        """Read their functions. Raises MeasureError if a file is damaged."""
        return parse(*self.texts)


@dataclass(frozen=True)
class Process:
    """A server's process under Callgrind."""

    pid: int
    home: Path
    restless: bool = False  # its own threads run often

    def begin(self) -> None:
        """Begin to count. Raises MeasureError."""
        self._ask("instrumentation on")

    def end(self) -> None:
        """End counting, for a while: the server is faster. Raises MeasureError."""
        self._ask("instrumentation off")

    def dump(self) -> Dump:
        """Dump what connections' threads have executed since the last dump. Raises MeasureError."""
        self._ask("dump")
        files = list(self.home.glob(f"{_PREFIX}.*-*"))  # a number of the dump, and of the thread
        texts = [file.read_text("utf-8", errors="replace") for file in files]
        for file in files:
            file.unlink()
        if not texts:
            raise MeasureError(f"Callgrind wrote no file into {self.home}")
        dispatching = [text for text in texts if _DISPATCHES in text]  # none if symbols are stripped
        dispatching = dispatching or [max(texts, key=totals)]
        return Dump(dispatching, [text for text in texts if text not in dispatching])

    def _ask(self, command: str) -> None:
        stops = _NEVER_STOPS if self.restless else _STOPS
        asked = ["vgdb", _channel(self.home), stops, f"--pid={self.pid}", *command.split()]
        try:
            done = subprocess.run(
                asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                timeout=ANSWER_TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise MeasureError(f"Callgrind did not answer {command!r} in {ANSWER_TIMEOUT_S:.0f} s") from None
        if done.returncode != 0:
            raise MeasureError(
                f"Callgrind did not answer {command!r}: {(done.stderr or done.stdout).strip()}"
            )


def _channel(home: Path) -> str:
    """Keep the pipes that vgdb speaks through out of /tmp, where a killed server would leave them."""
    return f"--vgdb-prefix={home}/vgdb"


def totals(text: str) -> tuple[int, int]:
    """Read instructions and system calls of a Callgrind file. Raises MeasureError if it is damaged."""
    last = re.search(r"^totals: (\d+)(?: (\d+))?[ \d]*\s*\Z", text, re.MULTILINE)
    if last is None:
        raise MeasureError("a Callgrind file does not end with its totals: it is damaged")
    return int(last[1]), int(last[2] or 0)


def parse(*texts: str) -> Functions:
    """Read the functions of Callgrind files. Raises MeasureError if one is damaged.

    Functions without a symbol count as one for each object. A function's calls of itself are in its own
    inclusive count once.
    """
    whole = Functions()
    for text in texts:
        expected, _ = totals(text)
        try:
            reader = _Reader()
            for line in filter(None, text.splitlines()):
                reader.read(line)
        except (ValueError, KeyError, IndexError) as error:
            raise MeasureError(f"a Callgrind file is damaged: {error}") from None
        if (summed := reader.exclusive.total()) != expected:
            raise MeasureError(
                f"a Callgrind file is damaged: its lines sum to {summed} instead of {expected}"
            )
        whole.exclusive.update(reader.exclusive)
        whole.inclusive.update({name: min(cost, expected) for name, cost in reader.inclusive.items()})
        whole.allocations += reader.allocations
    return whole


@dataclass
class _Reader:
    """Where a file is being read, and what it has given so far."""

    functions: dict[str, str] = field(default_factory=dict)  # names by number
    objects: dict[str, str] = field(default_factory=dict)
    module: str = ""
    function: str = ""
    callee: str = ""
    calling: bool = False  # the next costs are a callee's
    allocations: int = 0
    exclusive: Counter[str] = field(default_factory=Counter)
    inclusive: Counter[str] = field(default_factory=Counter)

    def read(self, line: str) -> None:
        """Read one line. Raises ValueError, KeyError and IndexError."""
        if line[:1] in _POSITIONS:
            self._add(int(line.split()[1]))
            return
        key, _, value = line.partition("=")
        match key:
            case "fn":
                self.function = _title(_resolved(self.functions, value), self.module)
            case "cfn":
                self.callee = _title(_resolved(self.functions, value), self.module)
            case "ob":
                self.module = _resolved(self.objects, value)
            case "cob":
                _resolved(self.objects, value)
            case "calls":
                self.calling = True
                if self.callee.partition(" ")[0] in _ALLOCATING:
                    self.allocations += int(value.split()[0])

    def _add(self, cost: int) -> None:
        if cost < 0 or not self.function:
            raise ValueError("costs below zero, or of no function")
        if not self.calling:
            self.exclusive[self.function] += cost
        if not self.calling or self.callee != self.function:
            self.inclusive[self.function] += cost
        self.calling = False


def _resolved(known: dict[str, str], text: str) -> str:
    """A name that may be compressed: `(12) name` the first time, `(12)` from then on."""
    match = _NAME.match(text)
    if match is None:
        return text
    number, name = match.groups()
    if name is not None:
        known[number] = name
    return known[number]


def _title(name: str, module: str) -> str:
    file = module.rpartition("/")[2]
    is_library = ".so" in file
    named = UNNAMED if _ADDRESS.match(name) else name.partition("'")[0]
    return f"{named} [{file}]" if is_library else named
