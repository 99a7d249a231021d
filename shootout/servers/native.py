"""Servers run as processes of this machine, from an unpacked tree."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import resource
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shootout.errors import InputError
from shootout.servers.packages import require_libraries
from shootout.servers.program import Address
from shootout.settings import Family, Version

# The same for every server, whatever this process was given: servers size their caches, and an array, by it.
OPEN_FILES = 262_144

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)  # loaded here: nothing may be loaded between fork and exec


@dataclass(frozen=True, slots=True)
class Tree:
    """A server's program files, as unpacked or installed: a Program."""

    basedir: Path
    mysqld: Path
    share: Path  # holds english/errmsg.sys
    version: Version
    family: Family
    digest: str  # sha256 of the server binary

    @classmethod
    def inspect(cls, directory: Path) -> Tree:
        """Find out what server lies in `directory`. Raises InputError where there is none that runs here."""
        directory = directory.absolute()
        mysqld = find_mysqld(directory)
        require_libraries(mysqld)
        asked = subprocess.run(
            [mysqld, "--no-defaults", "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        told = told_version(asked.stdout)
        if asked.returncode != 0 or told is None:
            said = (asked.stderr or asked.stdout).strip().splitlines() or [f"exit code {asked.returncode}"]
            raise InputError(f"{mysqld}: does not tell its version: {said[-1]}")
        with mysqld.open("rb") as binary:
            digest = hashlib.file_digest(binary, "sha256").hexdigest()
        return cls(
            basedir=directory,
            mysqld=mysqld,
            share=_find_share(directory),
            version=told[0],
            family=told[1],
            digest=digest,
        )

    @property
    def name(self) -> str:
        """The server binary."""
        return str(self.mysqld)

    @property
    def options(self) -> dict[str, str]:
        """The my.cnf options that say where its files lie."""
        return {"basedir": quoted(self.basedir), "lc-messages-dir": quoted(self.share)}

    @property
    def over_tcp(self) -> bool:
        """It shares this machine's file system: its socket will do."""
        return False

    def shared(self, name: str) -> str | None:
        """The text of a file below its share directory; None: there is none."""
        file = self.share / name
        return file.read_text("utf-8", errors="replace") if file.is_file() else None

    def prepared_data(self) -> Path | None:
        """The initialised data directory that it brings along; None: it brings none."""
        data = self.basedir / "data"
        return data if (data / "mysql").is_dir() else None

    def spawn(
        self,
        arguments: Sequence[str],
        directory: Path,
        cpus: Sequence[int],
        given: Path | None = None,
        address: Address | None = None,
    ) -> subprocess.Popen[bytes]:
        """Run the server, as Program says.

        The system ties its death to that of the *thread* that forked. Ctrl-C is put off until the process is
        known: before, nobody could end it.
        """
        put_off: list[int] = []
        before = signal.signal(signal.SIGINT, lambda number, frame: put_off.append(number))
        try:
            with (directory / "error.log").open("ab") as log, (given or Path(os.devnull)).open("rb") as stdin:
                process = subprocess.Popen(
                    [self.mysqld, *arguments],
                    cwd=directory,
                    stdin=stdin,
                    stdout=log,
                    stderr=log,
                    preexec_fn=_child(cpus),  # noqa: PLW1509 (safe: see there)
                    start_new_session=True,  # Ctrl-C is for us; we then stop the server in good order
                )
        finally:
            signal.signal(signal.SIGINT, before)
        if put_off:
            process.kill()
            process.wait()
            signal.raise_signal(signal.SIGINT)
        return process


def find_mysqld(directory: Path) -> Path:
    """The server binary of a tree. Raises InputError where there is none."""
    if not directory.is_dir():
        raise InputError(f"path:{directory}: no such directory")
    for folder in ("bin", "sbin", "libexec"):
        for name in ("mysqld", "mariadbd"):
            candidate = directory / folder / name
            if os.access(candidate, os.X_OK) and candidate.is_file():
                return candidate
    raise InputError(
        f"path:{directory}: no server in it; expected bin/, sbin/ or libexec/ with mysqld or mariadbd"
    )


def allow_files() -> int:
    """Allow this process, and what it starts, OPEN_FILES, or as many as it may have; returns the number."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY or hard > OPEN_FILES:
        hard = OPEN_FILES
    with suppress(ValueError, OSError):  # only root may raise the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
        return OPEN_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return hard


def told_version(words: str) -> tuple[Version, Family] | None:
    """What a server answers to --version; None: nothing of the kind."""
    found = re.search(r"\bVer (\d+)\.(\d+)\.(\d+)", words)
    if found is None:
        return None
    family: Family = "mysql"
    for other in ("mariadb", "percona"):
        if other in words.lower():
            family = other
            break
    major, minor, patch = map(int, found.groups())
    return (major, minor, patch), family


def _find_share(directory: Path) -> Path:
    for candidate in ("share", "share/mysql", "share/mariadb"):
        if (directory / candidate / "english" / "errmsg.sys").is_file():
            return directory / candidate
    raise InputError(f"path:{directory}: no error messages in it; expected share/english/errmsg.sys")


def quoted(path: Path) -> str:
    """A path as my.cnf wants it."""
    escaped = str(path).replace("\\", "\\\\")
    return f'"{escaped}"'


def _child(cpus: Sequence[int]) -> Callable[[], None]:
    """What a server does between fork and exec: system calls only, for other threads may hold any lock."""
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)
        if cpus:
            os.sched_setaffinity(0, cpus)
        allow_files()

    return prepare


