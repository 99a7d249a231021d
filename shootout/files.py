"""Files and their lines: they appear whole or not at all."""

from __future__ import annotations

import errno
import io
import lzma
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from shootout.errors import InputError

_XZ = b"\xfd7zXZ\0"  # the first bytes of a packed file
_UNPACKED_MAX = 256 << 20  # bytes of a document; the run documents of a week take 30 MB
_MEMORY_MAX = 128 << 20  # bytes that unpacking may take besides


def replace(path: Path, content: bytes) -> None:
    """Replace the file at `path`, or create it and its folder. Raises OSError, and then changes nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        written = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # after a power cut, too
            written.chmod(0o644)
            written.replace(path)
        except BaseException:
            written.unlink()
            raise


def opened(path: Path, largest: float = _UNPACKED_MAX) -> BinaryIO:
    """Open a regular file of at most so many bytes. Raises OSError, at once for a pipe or a device."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    about = os.fstat(file)
    try:
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if about.st_size > largest:
            raise OSError(errno.EFBIG, f"it has more than {_UNPACKED_MAX >> 20} MB")
    except OSError:
        os.close(file)
        raise
    return os.fdopen(file, "rb")


def read(path: Path) -> bytes:
    """Read the content of a regular file. Raises OSError."""
    with opened(path) as file:
        return file.read()


def unpacked(file: BinaryIO) -> BinaryIO:
    """Open a file that may be packed, in bounded memory. Raises LZMAError for a damaged one."""
    packed = file.read(len(_XZ)) == _XZ
    file.seek(0)
    if not packed:
        return file
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY_MAX)
    content = decompressor.decompress(file.read(), _UNPACKED_MAX)
    if not decompressor.eof:
        raise lzma.LZMAError(f"it was cut, or has more than {_UNPACKED_MAX >> 20} MB in it")
    return io.BytesIO(content)


def require_writable(path: Path) -> None:
    """Raise OSError if no file can be written at `path`; folders may be missing. Changes nothing."""
    if path.is_file() or path.is_dir():
        path.open("ab").close()
    elif not path.exists():  # what is neither may be a pipe, which notices when it is closed
        require_folder(path.parent)


def require_folder(folder: Path) -> None:
    """Raise OSError if no file can be written in a folder, which may be missing. Changes nothing."""
    nearest = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    tempfile.TemporaryFile(dir=nearest).close()


def write(file: Path, text: str) -> None:
    """Write a text, and the folder that it belongs in. Raises InputError."""
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@contextmanager
def reading(path: Path, kind: str = "") -> Iterator[None]:
    """Raise InputError where `path` cannot be read or unpacked, or is not of this kind: `a baseline`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except lzma.LZMAError as error:
        raise InputError(f"{path}: cannot be unpacked: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not {kind}: {error}") from None


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Raise InputError where `file` cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None


def append(path: Path, line: bytes, at: int, *, sync: bool = True) -> None:
    """Append a line at offset `at`, and drop what a crash left there. Raises OSError, leaving no part."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.ftruncate(file, at)
        written = os.write(file, line)
        if written < len(line):  # a partial write means that the disk is full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if sync:
            os.fsync(file)
    except OSError:
        os.ftruncate(file, at)
        raise
    finally:
        os.close(file)
    if sync and not at:  # so that the file's name survives a power cut, too
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
