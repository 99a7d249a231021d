"""The loader and libraries that run a tree's binary: the system's or its own."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shootout.errors import InputError
from shootout.servers.sources.fetch import companions

_LOADERS = ("lib*/ld-linux*.so.*", "lib/*/ld-linux*.so.*", "lib/*/ld-2*.so")
_LIBRARIES = ("libs", "lib", "lib64", "lib/private", "lib/mysql", "lib/mysql/private", "lib/*-linux-gnu")
LACKING = re.compile(r"error while loading shared libraries: (\S+): cannot open")
_ELF = b"\x7fELF"
_ELF_32, _ELF_CLASS_AT = 1, 4


class MissingLibrariesError(InputError):
    """A binary needs libraries that are neither on the system nor in its tree."""

    def __init__(self, binary: Path, names: Sequence[str]) -> None:
        super().__init__(f"{binary}: {companions.message(names)}")
        self.names = tuple(names)


@dataclass(frozen=True, slots=True)
class Launch:
    """How a binary is started."""

    before: tuple[str, ...] = ()  # precedes its path: the loader and its search path
    variables: Mapping[str, str] = field(default_factory=dict)  # added to our environment

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.variables}


def find(binary: Path, top: Path, beside: Path | None = None) -> Launch:
    """Find how to start `binary` of the tree at `top` on this machine.

    It uses the tree's loader if there is one; otherwise the system's, with those of the tree's libraries, and
    of the folder `beside`, that the system lacks. Raises MissingLibrariesError.
    """
    loader = next(_inside(top, _LOADERS), None)
    if loader is not None:
        folders = ":".join(str(folder) for folder in _library_folders(binary, top, ""))
        launch = Launch((str(loader), "--library-path", folders))
        missing = _missing([*launch.before, "--list", str(binary)], launch)
    else:
        launch = Launch()
        missing = _missing(["ldd", str(binary)], launch)
        brought = {folder: None for name in missing for folder in _library_folders(binary, top, name)}
        brought |= {} if beside is None else {beside: None}
        if brought:
            launch = Launch(variables={"LD_LIBRARY_PATH": ":".join(map(str, brought))})
            missing = _missing(["ldd", str(binary)], launch)
    if missing:
        raise MissingLibrariesError(binary, missing)
    return launch


def run(binary: Path, launch: Launch, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the binary to completion. Raises InputError if this system cannot run it."""
    try:
        return subprocess.run(
            [*launch.before, str(binary), *arguments],
            env=launch.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise InputError(f"{binary}: cannot be run: {_reason(binary, error)}") from None


def brought(binaries: Sequence[Path], top: Path) -> dict[str, Path]:
    """Find the libraries of the tree at `top` that its binaries use, by name."""
    folders = _library_folders(binaries[0], top, "")
    launch = Launch(variables={"LD_LIBRARY_PATH": ":".join(map(str, folders))})
    listing = _listing(["ldd", *map(str, binaries)], launch)
    used = {name: Path(path) for name, path in re.findall(r"(\S+) => (/\S+)", listing)}
    real = top.resolve()
    return {
        name: path
        for name, path in used.items()
        if path.is_relative_to(top) or path.resolve().is_relative_to(real)
    }


def _inside(top: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Matches below `top` and its usr/, except links that lead out of the tree."""
    real = top.resolve()
    for root in (top / "usr", top):
        for pattern in patterns:
            yield from (path for path in sorted(root.glob(pattern)) if path.resolve().is_relative_to(real))


def _library_folders(binary: Path, top: Path, name: str) -> list[Path]:
    """The tree's folders that hold the library `name`, or any library if it is empty."""
    pattern = name or "*.so*"
    folders = [binary.parent, *_inside(top, _LIBRARIES)]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir() and any(folder.glob(pattern))]


def _missing(command: Sequence[str], launch: Launch) -> list[str]:
    return sorted(set(re.findall(r"(\S+) => not found", _listing(command, launch))))


def _listing(command: Sequence[str], launch: Launch) -> str:
    return subprocess.run(
        command, env=launch.environment, capture_output=True, text=True, errors="replace", check=False
    ).stdout


def _reason(binary: Path, error: OSError) -> str:
    with binary.open("rb") as file:
        head = file.read(_ELF_CLASS_AT + 1)
    if not head.strip(b"\0"):
        return "it is empty, as a file may be after a power cut; if it is in the cache: shootout cache clear"
    if head.startswith(_ELF) and head[_ELF_CLASS_AT] == _ELF_32:
        return "a 32-bit binary, and this system has no loader for it; on Debian: apt-get install libc6-i386"
    if error.errno == errno.ENOEXEC:
        return "built for another architecture"
    if error.errno == errno.ENOENT:
        return "its loader is not on this system"
    return error.strerror or str(error)
