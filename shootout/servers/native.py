"""Servers run as processes of this machine, from a tree on its disk."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shootout.errors import InputError
from shootout.model.value import Family, Version
from shootout.servers import layout, leftovers, libraries
from shootout.servers.config import quoted
from shootout.servers.installation import Address
from shootout.servers.layout import ERROR_MESSAGES, Layout
from shootout.servers.libraries import Launch, MissingLibrariesError
from shootout.servers.version import parse

# One limit for every server, whatever this process inherited: servers size their caches, and an array, by it.
OPEN_FILES = 262_144

LC_MESSAGES_SINCE = (5, 5, 0)  # before, the option named the folder of one language
PLUGINS_SINCE = (5, 1, 2)

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Tree:
    """An installation on this machine's disk: unpacked, installed or built."""

    files: Layout
    launch: Launch
    version: Version
    family: Family
    digest: str  # sha256 of the files that it is made of, wherever they lie

    @classmethod
    def inspect(cls, directory: Path, beside: Path | None = None) -> Tree:
        """Find the server in `directory`; `beside` has libraries for it that the system may lack.

        Raises InputError if there is no server that runs here, MissingLibrariesError if it needs others.
        """
        files = layout.find(directory.absolute())
        launch = libraries.find(files.mysqld, files.top, beside)
        done = libraries.run(files.mysqld, launch, "--no-defaults", "--version")
        parsed = parse(done.stdout)
        if done.returncode != 0 or parsed is None:
            if lacking := libraries.LACKING.findall(done.stderr):  # what a script starts
                raise MissingLibrariesError(files.mysqld, lacking)
            output = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
            raise InputError(f"{files.mysqld}: does not report a version: {output.splitlines()[-1]}")
        return cls(files, launch, *parsed, _digest(files.contents))

    @property
    def name(self) -> str:
        return str(self.files.mysqld)

    @property
    def options(self) -> dict[str, str]:
        share = self.files.share
        options = {"basedir": quoted(self.files.basedir)}
        if self.version >= LC_MESSAGES_SINCE and self.version[0] != 6:
            options["lc-messages-dir"] = quoted(share)
        else:  # MySQL 5.4 and 6.0 had one or the other
            options["loose-lc-messages-dir"] = quoted(share)
            options["loose-language"] = quoted(share / ERROR_MESSAGES.parent)
        if (share / "charsets").is_dir():
            options["character-sets-dir"] = quoted(share / "charsets")
        if self.files.plugins is not None and self.version >= PLUGINS_SINCE:
            options["plugin-dir"] = quoted(self.files.plugins)
        return options

    @property
    def plugins(self) -> frozenset[str]:
        """The names of its plugin files."""
        folder = self.files.plugins
        return frozenset() if folder is None else frozenset(file.name for file in folder.glob("*.so"))

    @property
    def origin(self) -> str:
        return ""

    @property
    def over_tcp(self) -> bool:
        """False: its unix socket is on this machine's file system."""
        return False

    def shared(self, name: str) -> str | None:
        for folder in (self.files.share, *self.files.scripts):
            if (folder / name).is_file():
                return (folder / name).read_text("utf-8", errors="replace")
        return None

    def prepared_data(self) -> Path | None:
        data = self.files.basedir / "data"
        accounts = (data / "mysql" / name for name in ("user.frm", "global_priv.frm"))  # MariaDB's: from 10.4
        return data if any(file.is_file() for file in accounts) else None

    def spawn(
        self,
        arguments: Sequence[str],
        directory: Path,
        cpus: Sequence[int],
        stdin: Path | None = None,
        address: Address | None = None,
    ) -> subprocess.Popen[bytes]:
        """Run the server, see Installation.

        The kernel ties its death to that of the *thread* that forked. Signals that end us are deferred until
        the process is known: until then, nobody could end it.
        """
        put_off: list[int] = []
        before = {number: signal.signal(number, lambda sent, _: put_off.append(sent)) for number in _ENDING}
        try:
            with (
                (directory / "error.log").open("ab") as log,
                (stdin or Path(os.devnull)).open("rb") as opened,
            ):
                process = subprocess.Popen(
                    [*self.launch.before, self.name, *arguments],
                    env=self.launch.environment,
                    cwd=directory,
                    stdin=opened,
                    stdout=log,
                    stderr=log,
                    preexec_fn=_child(cpus),  # noqa: PLW1509 (safe: see there)
                    start_new_session=True,  # Ctrl-C is for us; we then shut the server down
                )
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if put_off:
            process.kill()
            process.wait()
            signal.raise_signal(put_off[0])
        return process


def _digest(contents: Mapping[str, Path]) -> str:
    """One sha256 of files and their places. Raises InputError."""
    whole = hashlib.sha256()
    try:
        for place, path in sorted(contents.items()):
            with path.open("rb") as file:
                whole.update(f"{place} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from None
    return whole.hexdigest()


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


def _child(cpus: Sequence[int]) -> Callable[[], None]:
    """What the child does between fork and exec: system calls only, as other threads may hold any lock."""
    tie = leftovers.tied()

    def prepare() -> None:
        tie()
        if cpus:
            os.sched_setaffinity(0, cpus)
        allow_files()

    return prepare
