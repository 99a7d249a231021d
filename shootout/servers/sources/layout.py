"""Where files lie in a server's tree, found by inspection however it was packaged, installed or built."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shootout.errors import InputError

HOW_BUILT = ("docs/INFO_BIN", "CMakeCache.txt")
COMMIT = "shootout-commit"  # a file of a packed server: the commit that it was built from
HASH = r"[0-9a-f]{40,64}"
ERROR_MESSAGES = Path("english", "errmsg.sys")

_NAMES = ("mysqld", "mariadbd")
# Packages and installations: below a prefix, the basedir.
_INSTALLED = ("bin", "sbin", "libexec")
_PREFIXES = ("usr", "usr/local", "usr/local/mysql", "")  # "" comes last: it may hold links into usr/
# Build directories (libtool's real binary before its wrapper), and packages of little but the server.
_BUILT = ("runtime_output_directory", "sql/.libs", "sql", "")
_SHARES = ("share", "share/mysql", "share/mariadb", "share/*", "sql/share")
_SCRIPTS = ("scripts", "bin", "support-files")
_SQL = ("*.sql", "mysql_create_system_tables")
_PLUGINS = ("lib/plugin", "lib64/plugin", "lib*/*/plugin", "lib*/*/*/plugin", "plugin_output_directory")
_NO_TREES = ("META-INF",)  # beside an archive's only folder


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a tree that a server needs to start."""

    top: Path
    basedir: Path
    mysqld: Path
    share: Path  # holds english/errmsg.sys
    scripts: tuple[Path, ...]  # folders with SQL and scripts beside the share directory
    plugins: Path | None

    @property
    def contents(self) -> dict[str, Path]:
        """The files that the server is made of, by their place in a tree of nothing else."""
        files = {f"bin/{self.mysqld.name}": self.mysqld}
        for file in filter(Path.is_file, self.share.rglob("*")):
            files[f"share/{file.relative_to(self.share)}"] = file
        if self.plugins is not None:
            files |= {f"lib/plugin/{file.name}": file for file in self.plugins.glob("*.so")}
        for folder in self.scripts:
            for file in (file for pattern in _SQL for file in folder.glob(pattern)):
                files.setdefault(f"scripts/{file.name}", file)
        return files

    @property
    def commit(self) -> str:
        """The commit that it was built from, if its packer noted it or its sources are a git checkout."""
        try:
            commit = (self.top / COMMIT).read_text("ascii", errors="replace").strip()
        except OSError:
            commit = "".join(map(_head, _source_of(self.basedir)))
        return commit if re.fullmatch(HASH, commit) else ""

    @property
    def flags(self) -> str:
        """How it was built, as far as the tree says."""
        files = filter(Path.is_file, (self.basedir / name for name in HOW_BUILT))
        return "\n".join(file.read_text("utf-8", errors="replace") for file in files)


def find(directory: Path) -> Layout:
    """Find a server's files in `directory`. Raises InputError if there is no complete server."""
    top, basedir, mysqld = _locate(directory)
    source = _source_of(basedir)
    shares = (folder for folder in _matching(basedir, _SHARES) if (folder / ERROR_MESSAGES).is_file())
    share = next(shares, None)
    if share is None:
        raise InputError(f"path:{basedir}: contains no error messages; expected share/{ERROR_MESSAGES}")
    return Layout(
        top=top,
        basedir=basedir,
        mysqld=mysqld,
        share=share,
        scripts=tuple(
            folder for root in (basedir, *source) for name in _SCRIPTS if (folder := root / name).is_dir()
        ),
        plugins=next((folder for folder in _matching(basedir, _PLUGINS) if any(folder.glob("*.so"))), None),
    )


def find_mysqld(directory: Path) -> Path:
    """Find a tree's server binary. Raises InputError if there is none that is executable."""
    return _locate(directory)[2]


def _locate(directory: Path) -> tuple[Path, Path, Path]:
    """The tree's top (`directory`, or its only folder, recursively), its basedir and its server binary."""
    if not directory.is_dir():
        raise InputError(f"path:{directory}: no such directory")
    top = directory
    while (below := _binary_below(top)) is None:
        folders = [
            folder
            for folder in sorted(filter(Path.is_dir, top.iterdir()))
            if not folder.name.startswith(".") and folder.name not in _NO_TREES
        ]
        if len(folders) != 1:
            raise _no_server(directory, folders)
        (top,) = folders
    basedir, mysqld = below
    if not os.access(mysqld, os.X_OK):
        raise InputError(f"{mysqld}: not executable; chmod +x {mysqld}")
    return top, basedir, mysqld


def _binary_below(top: Path) -> tuple[Path, Path] | None:
    candidates = [(top / prefix, top / prefix / folder) for prefix in _PREFIXES for folder in _INSTALLED]
    candidates += [(top, top / folder) for folder in _BUILT]
    for basedir, folder in candidates:
        for name in _NAMES:
            file = folder / name
            if os.access(file, os.F_OK) and file.is_file():  # is_file alone raises if a folder is unreadable
                return basedir, file
    return None


def _no_server(directory: Path, folders: Iterable[Path]) -> InputError:
    several = [folder.name for folder in folders if _binary_below(folder) is not None]
    if several:
        return InputError(f"path:{directory}: contains several servers; give one of {', '.join(several)}")
    if (directory / "sql" / "mysqld.cc").is_file():
        return InputError(f"path:{directory}: sources without a build; expected sql/mysqld or bin/mysqld")
    return InputError(
        f"path:{directory}: no server found; expected bin/, sbin/, libexec/, usr/sbin/ or a build directory "
        "with mysqld or mariadbd"
    )


def _matching(basedir: Path, patterns: Iterable[str]) -> Iterable[Path]:
    for pattern in patterns:
        yield from sorted(folder for folder in basedir.glob(pattern) if folder.is_dir())


def _source_of(basedir: Path) -> tuple[Path, ...]:
    """A build directory's sources: they hold the SQL scripts that a build does not copy."""
    try:
        cache = (basedir / "CMakeCache.txt").read_text("utf-8", errors="replace")
    except OSError:
        return ()
    homes = re.findall(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", cache, re.MULTILINE)
    return tuple(map(Path, homes[:1]))


def _head(sources: Path) -> str:
    command = ["git", "-C", str(sources), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git
        return ""
