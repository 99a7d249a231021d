"""Unpacking archives. Nothing outside the directory is written or linked to, whatever the archive says."""

from __future__ import annotations

import errno
import lzma
import os
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

ZIP = b"PK\x03\x04"
PROGRAMS = (b"\x7fELF", b"#!")
# Several times the largest server with its tests and debug symbols.
UNPACKED_MAX_BYTES = 32 * 10**9
MEMBERS_MAX = 1_000_000
NAME_MAX_BYTES = 2**20  # of a name, a link's target or an extended header, which are read into memory

_LONG_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)

_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    RuntimeError,  # zipfile: unknown compression, or a password
)
_CONTRADICTIONS = (FileExistsError, NotADirectoryError, IsADirectoryError)


class ArchiveError(Exception):
    """An archive cannot be unpacked; the message says why."""


class Destination:
    """The directory that archives are unpacked into, which members it takes and under which names.

    Links are made after all files are written, so that no file is written through one.
    """

    def __init__(self, directory: Path, folder: str = "", keep: Sequence[str] = ()) -> None:
        self._directory = directory
        self._folder = tuple(folder.split("/")) if folder else ()
        self._keep = [pattern.split("/") for pattern in keep]
        self._links: dict[str, str] = {}
        self._members = 0
        self._bytes = 0

    def admit(self, size: int) -> None:
        """Count a member, even one that is left out: it is decompressed, too. Raises ArchiveError."""
        self._members += 1
        self._bytes += size
        if self._members > MEMBERS_MAX or self._bytes > UNPACKED_MAX_BYTES:
            raise ArchiveError(
                f"too large for a server: more than {MEMBERS_MAX} members or {UNPACKED_MAX_BYTES} bytes"
            )

    def place(self, name: str) -> str | None:
        """Return a member's path relative to the directory; None if it is left out."""
        parts = tuple(part for part in name.split("/") if part not in ("", "."))
        if name.startswith("/") or ".." in parts:
            raise ArchiveError(f"{name!r} in it points outside")
        depth = len(self._folder)
        if parts[:depth] != self._folder:
            return None
        parts = self.renamed(parts[depth:])
        return "/".join(parts) if parts and self._is_kept(parts) else None

    def renamed(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the path that replaces a member's own."""
        return parts

    def target(self, where: str, target: str) -> str:
        """Return the target that replaces the link's own at `where`."""
        return target

    def folder(self, where: str) -> None:
        (self._directory / where).mkdir(parents=True, exist_ok=True)

    def file(self, where: str, content: IO[bytes], *, runs: bool) -> None:
        """Write a file, replacing an earlier one of its name."""
        path = self._directory / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            shutil.copyfileobj(content, file, 2**20)
        if runs:
            path.chmod(0o755)

    def same_file(self, where: str, other: str) -> None:
        """Give the file of the member `other`, written before, a second name."""
        path = self._directory / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        place = self.place(other)
        if place is None or not (self._directory / place).is_file():
            raise ArchiveError(f"{where!r} in it is a hard link to {other!r}, which is missing")
        path.hardlink_to(self._directory / place)

    def link(self, where: str, target: str) -> None:
        """Note a symbolic link for `finish`."""
        self._links[where] = self.target(where, target)

    def finish(self) -> None:
        """Make the links. Raises ArchiveError for one that points outside."""
        root = Path(os.path.realpath(self._directory))
        for where, target in self._links.items():
            path = self._directory / where
            if not Path(os.path.realpath(path.parent)).is_relative_to(root):
                raise ArchiveError(f"{where!r} in it points outside")
            path.parent.mkdir(parents=True, exist_ok=True)
            if not target:
                raise ArchiveError(f"the link {where!r} in it has no target")
            path.symlink_to(target)
        for where, target in self._links.items():  # once all are there: links lead through links
            if not Path(os.path.realpath(self._directory / where)).is_relative_to(root):
                raise ArchiveError(f"the link {where!r} in it points outside: {target}")

    def _is_kept(self, parts: tuple[str, ...]) -> bool:
        return not self._keep or any(
            len(pattern) <= len(parts) and all(map(fnmatchcase, parts, pattern)) for pattern in self._keep
        )


def extract(file: IO[bytes], destination: Destination) -> None:
    """Unpack a zip or a tar, plain or compressed. Raises ArchiveError if it is neither, or unsafe."""
    is_zip = file.read(len(ZIP)) == ZIP
    file.seek(0)
    with _archive_errors():
        if is_zip:
            _unpack_zip(file, destination)
        else:
            with tarfile.open(fileobj=file, mode="r:*", tarinfo=_Member) as tar:
                _unpack_tar(tar, destination)
        destination.finish()


@contextmanager
def member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """Open a file inside a zip. Raises ArchiveError."""
    with _archive_errors(), zipfile.ZipFile(archive) as outer:
        try:
            inner = outer.open(name)
        except KeyError:
            raise ArchiveError(f"there is no {name!r} in it") from None
        with inner:
            yield inner


def unpack_stream(file: IO[bytes], destination: Destination) -> None:
    """Unpack a plain tar from a pipe, without `finish`. Raises ArchiveError."""
    with _archive_errors(), tarfile.open(fileobj=file, mode="r|", tarinfo=_Member) as tar:
        _unpack_tar(tar, destination)
        while file.read(2**16):  # the padding at its end
            pass


class _Member(tarfile.TarInfo):
    """A member whose name and headers have a limit."""

    def _proc_member(self, tar: tarfile.TarFile) -> Any:
        if self.type in (*_LONG_NAMES, *_EXTENDED) and self.size > NAME_MAX_BYTES:
            raise ArchiveError(f"too large for a server: a header of {self.size} bytes")
        return super()._proc_member(tar)  # type: ignore[misc]


def _unpack_tar(tar: tarfile.TarFile, destination: Destination) -> None:
    for member in tar:
        destination.admit(member.size)
        where = destination.place(member.name)
        if where is None:
            continue
        if member.isdir():
            destination.folder(where)
        elif member.issym():
            destination.link(where, member.linkname)
        elif member.islnk():
            destination.same_file(where, member.linkname)
        elif (content := tar.extractfile(member)) is not None:
            destination.file(where, content, runs=bool(member.mode & 0o100))
        else:
            raise ArchiveError(f"{member.name!r} in it is neither file, folder nor link")


def _unpack_zip(file: IO[bytes], destination: Destination) -> None:
    """Unpack a zip; zips often lose executable bits, so programs are recognised by their first bytes."""
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            destination.admit(member.file_size)
            where = destination.place(member.filename)
            if where is None:
                continue
            mode = member.external_attr >> 16
            if member.is_dir():
                destination.folder(where)
            elif stat.S_ISLNK(mode):
                with archive.open(member) as content:
                    destination.link(where, content.read(NAME_MAX_BYTES).decode())
            else:
                with archive.open(member) as content:
                    begins = content.read(4)
                    content.seek(0)
                    runs = bool(mode & 0o100) or begins.startswith(PROGRAMS)
                    destination.file(where, content, runs=runs)


@contextmanager
def _archive_errors() -> Iterator[None]:
    try:
        yield
    except _CONTRADICTIONS as error:
        name = Path(error.filename).name
        raise ArchiveError(f"{name!r} in it occurs twice, as different things") from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # the disk's fault; EINVAL: an invalid seek
            raise
        raise _damaged(error) from None
    except _DAMAGE as error:
        raise _damaged(error) from None


def _damaged(error: Exception) -> ArchiveError:
    return ArchiveError(f"not a complete tar (plain, .gz, .bz2, .xz) or zip: {error}")
