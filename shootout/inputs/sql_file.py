"""Files of SQL statements, as the mysql client reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import BinaryIO

_CHUNK = 1 << 20
_WORD = b"DELIMITER"
_LINE_COMMENT = re.compile(rb"#|--(?:\s|\Z)")
_FOR_A_SERVER = re.compile(rb"/\*M?!(?!999999)")  # begins a comment that is none; no server is that new
_SPACE = re.compile(rb"\s*")
_DELIMITER = re.compile(rb"DELIMITER[ \t]+(\S+)[^\n]*(?:\n|\Z)", re.IGNORECASE)


def statements(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The file's statements without comments around them, each with the number of its first line.

    A `DELIMITER` line changes what ends a statement, as in the mysql client. Reads only as far as it must.
    """
    buffer, line, whole = b"", 1, False
    delimiter = b";"
    while True:
        start = _begin(buffer)
        changed = _DELIMITER.match(buffer, start)
        if changed and (whole or changed[0].endswith(b"\n")):
            delimiter = changed[1]
            line += buffer.count(b"\n", 0, changed.end())
            buffer = buffer[changed.end() :]
            continue
        word = buffer[start : start + len(_WORD)].upper()
        torn = not whole and _WORD.startswith(word) and b"\n" not in buffer[start:]
        end = None if torn else _end(buffer, start, delimiter)
        if end is not None:
            yield line + buffer.count(b"\n", 0, start), buffer[start:end].rstrip()
            line += buffer.count(b"\n", 0, end)
            buffer = buffer[end + len(delimiter) :]
        elif whole:
            if rest := buffer[start:].strip():
                yield line + buffer.count(b"\n", 0, start), rest
            return
        else:
            more = file.read(max(_CHUNK, len(buffer)))
            buffer, whole = buffer + more, not more


def _begin(buffer: bytes) -> int:
    """Where the first statement begins, behind white space and comments."""
    at = 0
    while True:
        at = _past_space(buffer, at)
        if buffer.startswith((b"#", b"--"), at):
            at = _past(b"\n", buffer, at) or len(buffer)
        elif buffer.startswith(b"/*", at) and not _FOR_A_SERVER.match(buffer, at):
            end = _past(b"*/", buffer, at + 2)
            if end is None:
                return at
            at = end
        else:
            return at


def _end(buffer: bytes, start: int, delimiter: bytes) -> int | None:
    """Where a statement ends: at a delimiter outside of quotes and comments; None: not in this buffer."""
    plain = _plain(delimiter[:1])
    at: int | None = start
    while at is not None and at < len(buffer):
        skipped = plain.match(buffer, at)
        assert skipped is not None  # matches nothing, too
        at = skipped.end()
        if buffer.startswith(delimiter, at):
            return at
        if buffer.startswith(b"/*", at):
            at = _past(b"*/", buffer, at + 2)
        elif _LINE_COMMENT.match(buffer, at):
            at = _past(b"\n", buffer, at)
        elif buffer.startswith((b"'", b'"', b"`"), at):
            return None  # a quote without its end
        else:
            at += 1
    return None


@cache
def _plain(first: bytes) -> re.Pattern[bytes]:
    """Texts in quotes, and whatever begins no quote, no comment, and no delimiter with this first byte."""
    other = rb"[^'\"`/#%b-]" % re.escape(first)
    quoted = rb"""'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+"|`(?:[^`]++|``)*+`"""
    signs = rb"" if first in (b"-", b"/") else rb"|-(?=[^-])|/(?=[^*])"
    return re.compile(rb"(?:%b++|%b%b)*+" % (other, quoted, signs), re.DOTALL)


def _past(text: bytes, buffer: bytes, start: int) -> int | None:
    at = buffer.find(text, start)
    return None if at < 0 else at + len(text)


def _past_space(buffer: bytes, start: int) -> int:
    space = _SPACE.match(buffer, start)
    assert space is not None  # matches nothing, too
    return space.end()
