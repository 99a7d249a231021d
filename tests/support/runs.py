"""Runs as users start them, tiny ones in a cache folder of their own; a plugin for the tests that need it.

PYTEST_DONT_REWRITE: test modules have imported this one by the time pytest sees that it is a plugin.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from shootout import paths
from shootout.servers.sources import catalogue
from shootout.servers.sources.fetch import packages
from shootout.servers.sources.trees import Tree

BASE, HEAD = "mysql-5.7.22", "mysql-8.0.12"
SHOOTOUT = str(Path(sys.executable).with_name("shootout"))
# `shootout`, with every step of its progress in the log instead of one in ten seconds.
EVERY_STEP = (
    sys.executable,
    "-c",
    "import sys; from shootout import cli; from shootout.writers import terminal\n"
    "terminal.LOG_EVERY_S = 0.0; sys.exit(cli.main())",
)
PYTEST = [str(Path(sys.executable).with_name("pytest")), "-p", "no:cacheprovider"]
PATIENCE_S = 300.0  # for what takes a minute at most on an idle machine

SETTINGS = """
description = "Files small enough to be copied in no time"
[settings]
buffer_pool_bytes = "64M"
redo_capacity_bytes = "16M"
flush_log_at_trx_commit = 0
binary_log = false
max_connections = 50
"""
PROFILE = """
description = "Seconds instead of minutes"
servers = ["mysql-5.7.22", "mysql-8.0.12"]
workloads = ["oltp_point_select", "oltp_read_write"]
threads = [1, 2]
settings = "{settings}"
[dataset]
tables = 2
rows = 500
[sampling]
starts_min = {starts}
starts_max = {starts}
slice_s = 0.02
ramp_s = 0.005
measure_s = 0.3
warmup_max_s = 3.0
budget_s = 600.0
[policy]
confirm_starts = 0
"""


def a_tree(name: str) -> Tree:
    """The program files of a server in the catalogue, fetched if they are missing."""
    return Tree.inspect(packages.fetch(name, catalogue.load()[name], paths.cache_folder()))


@dataclass(frozen=True)
class Lab:
    """A cache folder with both servers in it, and profiles that take seconds: of two starts, and of one."""

    folder: Path
    profile: Path
    once: Path

    @property
    def cache(self) -> Path:
        return self.folder / "shootout"

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"XDG_CACHE_HOME": str(self.folder), "COLUMNS": "200"}

    def tree(self, name: str) -> Path:
        """The tree of a catalogue's server; beside it may lie those of older catalogues."""
        return (
            self.cache / "servers" / packages.fetch(name, catalogue.load()[name], paths.cache_folder()).name
        )

    def run(self, *command: str, cwd: Path = paths.ROOT) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            command,
            cwd=cwd,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    @contextmanager
    def running(self, *command: str, folder: Path) -> Iterator[Running]:
        """Run a command beside the test, as the leader of a process group, like a terminal's.

        Its log has every step, so that the test sees where it is.
        """
        command = tuple(chain.from_iterable(EVERY_STEP if part == SHOOTOUT else (part,) for part in command))
        out, err = folder / "stdout", folder / "stderr"
        with out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen(
                command, env=self.environment, stdout=stdout, stderr=stderr, process_group=0
            )
        try:
            yield Running(process, out, err)
        finally:
            process.kill()
            process.wait()

    def servers(self) -> dict[int, Path]:
        """The servers that run from this cache: pid and instance directory."""
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                arguments = (process / "cmdline").read_bytes().decode().split("\0")
            except OSError:  # gone meanwhile
                continue
            for argument in arguments:  # a zombie has none
                if argument.startswith(f"--defaults-file={self.cache}/"):
                    found[int(process.name)] = Path(argument.partition("=")[2]).parent
        return found

    def left(self) -> tuple[Sequence[int], Sequence[Path]]:
        """Find what a run must not leave: servers, and their directories or half-made templates."""
        directories = [*(self.cache / "instances").glob("*"), *(self.cache / "templates").glob(".*.partial")]
        return list(self.servers()), directories


@dataclass(frozen=True)
class Running:
    """A command in progress."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def said(self, words: str) -> str:
        """Wait for a line on stderr that begins with `words`; gives the line."""
        until(lambda: self._line(words) is not None or self.process.poll() is not None)
        line = self._line(words)
        assert line is not None, f"no {words!r} in: {self.err.read_text()}"
        return line

    def ended(self) -> int:
        """Wait for its end; gives the exit code."""
        return self.process.wait(PATIENCE_S)

    def _line(self, words: str) -> str | None:
        whole = self.err.read_text().split("\n")[:-1]
        return next((line for line in whole if line.startswith(words)), None)


def until(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether a process is no more, or a zombie that nobody has waited for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def document_in(out: Path) -> Path:
    """The only run document under `out`."""
    (path,) = (out / "results").glob("*.jsonl*")
    return path


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    known = catalogue.load()
    for name in (BASE, HEAD):
        packages.fetch(name, known[name], paths.cache_folder())
    (folder / "shootout").mkdir()
    (folder / "shootout" / "servers").symlink_to(paths.cache_folder() / "servers")
    settings = folder / "small.toml"
    settings.write_text(SETTINGS)
    for name, starts in (("tiny", 2), ("once", 1)):
        (folder / f"{name}.toml").write_text(PROFILE.format(settings=settings, starts=starts))
    yield Lab(folder, folder / "tiny.toml", folder / "once.toml")
    shutil.rmtree(folder)
