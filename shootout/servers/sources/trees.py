"""Trees: servers unpacked, installed or built on this machine's disk, run as its processes."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shootout import files
from shootout.errors import InputError, MeasureError
from shootout.model.value import Family, Version
from shootout.servers.installation import Address
from shootout.servers.processes import children
from shootout.servers.processes.config import quoted
from shootout.servers.sources import layout, libraries
from shootout.servers.sources.layout import ERROR_MESSAGES, Layout
from shootout.servers.sources.libraries import Launch, MissingLibrariesError
from shootout.servers.version import parse

LC_MESSAGES_SINCE = (5, 5, 0)  # before, the option named the folder of one language
PLUGINS_SINCE = (5, 1, 2)


@dataclass(frozen=True, slots=True)
class Tree:
    """An installation on this machine's disk: unpacked, installed or built."""

    files: Layout
    launch: Launch
    version: Version
    family: Family
    digest: str  # sha256 of the files that it is made of, wherever they lie
    stamps: Mapping[Path, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)  # then

    @classmethod
    def inspect(cls, directory: Path, beside: Path | None = None) -> Tree:
        """Find the server in `directory`, with libraries of `beside`. Raises InputError."""
        found = layout.find(directory.absolute())
        launch = libraries.find(found.mysqld, found.top, beside)
        done = libraries.run(found.mysqld, launch, "--no-defaults", "--version")
        parsed = parse(done.stdout)
        if done.returncode != 0 or parsed is None:
            if lacking := libraries.LACKING.findall(done.stderr):  # what a script starts
                raise MissingLibrariesError(found.mysqld, lacking)
            output = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
            raise InputError(f"{found.mysqld}: does not report a version: {output.splitlines()[-1]}")
        contents = found.contents
        stamps = {path: _stamp(path) for path in contents.values()}
        return cls(found, launch, *parsed, _digest(contents), stamps)

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
        """Run the server, see Installation. Raises MeasureError if it is another one by now."""
        touched = any(_stamp(path) != stamp for path, stamp in self.stamps.items())
        if touched and _digest(self.files.contents) != self.digest:
            raise MeasureError(
                f"{self.name}: the program was replaced during the measurement; start it again"
            )
        command = [*self.launch.before, self.name, *arguments]
        return children.start(command, self.launch.environment, directory, cpus, stdin)


def _stamp(path: Path) -> tuple[int, ...]:
    with files.reading(path):
        state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _digest(contents: Mapping[str, Path]) -> str:
    whole = hashlib.sha256()
    for place, path in sorted(contents.items()):
        with files.reading(path), path.open("rb") as file:
            whole.update(f"{place} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()
