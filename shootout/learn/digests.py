"""Reads performance_schema's events_statements_summary_by_digest, as JSON or from `mysql --batch`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from shootout._engine import LogReader
from shootout.errors import InputError
from shootout.model.value import COUNT_MAX

_PICOSECONDS = 1e-12  # of the table's timers
_TEXT, _SAMPLE = "DIGEST_TEXT", "QUERY_SAMPLE_TEXT"
_COUNTED = ("COUNT_STAR", "SUM_TIMER_WAIT", "SUM_ROWS_EXAMINED", "SUM_ROWS_SENT")
_CUT = "..."  # ends a text that is longer than max_digest_length or performance_schema_max_sql_text_length
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"0": b"\0"}
# The server knows these functions only with their parenthesis next to them; digests have a space there.
_FUNCTION = re.compile(
    rb"\b(ADDDATE|BIT_AND|BIT_OR|BIT_XOR|CAST|COUNT|CURDATE|CURTIME|DATE_ADD|DATE_SUB|EXTRACT|GROUP_CONCAT|"
    rb"JSON_ARRAYAGG|JSON_OBJECTAGG|MAX|MID|MIN|NOW|POSITION|STD|STDDEV|STDDEV_POP|STDDEV_SAMP|SUBDATE|SUBSTR|"
    rb"SUBSTRING|SUM|SYSDATE|TRIM|VARIANCE|VAR_POP|VAR_SAMP) \("
)

Row = Mapping[str, bytes | None]


def begin(head: bytes) -> bool:
    """Whether a file that begins so has digests."""
    first = head.lstrip().partition(b"\n")[0]
    array = first.startswith((b"[", b"{")) and f'"{_TEXT}"'.encode() in head.upper()
    return array or _TEXT.encode() in re.split(rb'["\t,;\r]+', first.upper())


def add(reader: LogReader, data: bytes, path: Path) -> None:
    """Count each row's statements: by its sample if it has a whole one, else by its digest.

    Raises InputError naming `path` if a column is missing or a number is none.
    """
    try:
        for row in _rows(data):
            count, timer, examined, sent = (_number(row[name]) for name in _COUNTED)
            text = row.get(_SAMPLE) or b""
            if not text or text.endswith(_CUT.encode()):
                text = _FUNCTION.sub(rb"\1(", row[_TEXT] or b"")
            if text.endswith(_CUT.encode()):
                text = b""
            reader.digested(text, count, timer * _PICOSECONDS, examined, sent)
    except KeyError as error:
        raise InputError(f"{path}: no column {error.args[0]}; expected the whole table") from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{path}: not performance_schema's digests: {error}") from None


def _rows(data: bytes) -> Iterator[Row]:
    if data.lstrip().startswith((b"[", b"{")):
        return _json(data)
    return _batch(data) if b"\t" in data.partition(b"\n")[0] else _csv(data)


def _csv(data: bytes) -> Iterator[Row]:
    """Commas or semicolons between columns, whose names are on the first line."""
    lines = io.StringIO(data.decode(errors="surrogateescape"), newline="")
    separator = max(",;", key=data.partition(b"\n")[0].decode("latin-1").count)
    for row in csv.DictReader(lines, delimiter=separator, restval=""):
        yield {
            str(name).upper(): None if value in ("NULL", r"\N") else value.encode(errors="surrogateescape")
            for name, value in row.items()
            if isinstance(value, str)
        }


def _json(data: bytes) -> Iterator[Row]:
    """Objects in an array, or one on each line."""
    array = data.lstrip().startswith(b"[")
    for row in msgspec.json.decode(data) if array else msgspec.json.Decoder().decode_lines(data):
        if not isinstance(row, dict):
            raise ValueError("a row is no object")
        yield {name.upper(): None if value is None else str(value).encode() for name, value in row.items()}


def _batch(data: bytes) -> Iterator[Row]:
    """Tabs between columns, whose names are on the first line."""
    first, *lines = data.removesuffix(b"\n").split(b"\n")
    names = [name.decode(errors="replace").upper() for name in first.split(b"\t")]
    for line in lines:
        values = line.split(b"\t")
        if len(values) != len(names):
            raise ValueError("a row has not the columns of the first line")
        yield {
            name: None if value == b"NULL" else re.sub(rb"\\(.)", _unescaped, value, flags=re.DOTALL)
            for name, value in zip(names, values, strict=True)
        }


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(escape[1], escape[1])


def _number(value: bytes | None) -> int:
    text = (value or b"0").decode(errors="replace")
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise ValueError(f"{text[:40]!r} is no number")
    return min(int(text), COUNT_MAX)
