"""Opens dumps, logs and the like as UTF-8 text: packed ones, and those of Windows, too."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import math
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from shootout import files
from shootout.errors import InputError

_PIECE = 1 << 18  # bytes
_UTF_16 = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}


def opened(path: Path) -> io.BufferedReader:
    """Open a text, unpacked, in UTF-8 without a byte order mark, in bounded memory. Raises InputError."""
    with _naming(path):
        if path.is_dir():
            raise InputError(f"{path}: expected a file, found a folder")
        text = _reader(path, files.opened(path, math.inf))
        head = text.peek()
        if unpacked := next((each for mark, each in _PACKED.items() if head.startswith(mark)), None):
            text.close()
            text = _reader(path, unpacked(path))
        return _in_utf_8(path, text)


def _in_utf_8(path: Path, text: io.BufferedReader) -> io.BufferedReader:
    head = text.peek()
    for encoding, mark in _UTF_16.items():
        marked = head.startswith(mark)
        zeros = head[:16][encoding == "utf-16-le" :: 2]
        if marked or (zeros and not any(zeros)):
            text.read(len(mark) if marked else 0)
            return _reader(path, text, codecs.getincrementaldecoder(encoding)())
    tar = "a tar archive: unpack it first" if head[_TAR_AT:].startswith(b"ustar") else ""
    other = next((name for mark, name in _OTHERS.items() if head.startswith(mark)), tar)
    if other or b"\0" in head[:16]:
        text.close()
        raise InputError(f"{path}: expected a text, found {other or 'binary data'}")
    if head.startswith(codecs.BOM_UTF8):
        text.read(len(codecs.BOM_UTF8))
    return text


def _reader(
    path: Path, source: BinaryIO | io.IOBase, decoder: codecs.IncrementalDecoder | None = None
) -> io.BufferedReader:
    return io.BufferedReader(_Text(path, cast(BinaryIO, source), decoder), _PIECE)


class _Text(io.RawIOBase):
    """Another file's bytes, recoded if there is a decoder; raises InputError if they cannot be read."""

    def __init__(self, path: Path, source: BinaryIO, decoder: codecs.IncrementalDecoder | None) -> None:
        self._path, self._source, self._decoder = path, source, decoder
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer; less than that is the end."""
        filled = 0
        while filled < len(buffer) and (self._rest or self._read()):
            piece = self._rest[: len(buffer) - filled]
            buffer[filled : filled + len(piece)] = piece
            filled += len(piece)
            self._rest = self._rest[len(piece) :]
        return filled

    def _read(self) -> bool:
        while True:
            with _naming(self._path):
                piece = self._source.read(_PIECE)
                text = self._decoder.decode(piece, final=not piece).encode() if self._decoder else piece
            self._rest = memoryview(text)
            if text or not piece:
                return bool(text)

    def close(self) -> None:
        self._source.close()
        super().close()


class _Zstd(io.RawIOBase):
    """The output of the program zstd: Python has a library for it since 3.14."""

    def __init__(self, path: Path) -> None:
        try:
            pipe, command = subprocess.PIPE, ["zstd", "-dcq", "--", str(path)]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        except FileNotFoundError:
            raise InputError(f"{path}: packed by zstd: install the program zstd, or unpack it") from None

    def read(self, size: int = -1) -> bytes:
        """Raises EOFError where the program ends with an error."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        piece = self._process.stdout.read(size)
        if not piece and self._process.wait() != 0:
            words = self._process.stderr.read().decode(errors="replace").strip()
            raise EOFError(words.rpartition(" : ")[2] or "zstd did not end well")
        return piece

    def close(self) -> None:
        if not self.closed:
            self._process.kill()
            self._process.communicate()
        super().close()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected a text in UTF-16, found other bytes: {error.reason}") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: cannot be unpacked: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


# First bytes.
_PACKED: Mapping[bytes, Callable[[Path], io.IOBase]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x28\xb5\x2f\xfd": _Zstd,
}
_OTHERS: Mapping[bytes, str] = {
    b"PK\3\4": "a ZIP archive: unpack it first",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive: unpack it first",
    b"\x04\x22\x4d\x18": "a file packed by lz4: unpack it first",
    b"\xfebin": "a binary log",
    b"PGDMP": "a dump of PostgreSQL",
    b"XBSTCK": "a backup of data files",
    b"SQLite format 3": "a database of SQLite",
}
_TAR_AT = 257  # behind the first file's name and numbers
