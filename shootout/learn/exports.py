"""Turns exports of a log into its text: the server's tables of it as CSV or TSV, and the JSON of clouds."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from shootout.errors import InputError, quoted

csv.field_size_limit(16 << 20)  # bytes of a statement; longer ones are no text of a client

# The columns of the tables, for exports without a line of names.
_SLOW = (
    *("start_time", "user_host", "query_time", "lock_time", "rows_sent", "rows_examined", "db"),
    *("last_insert_id", "insert_id", "server_id", "sql_text", "thread_id", "rows_affected"),
)
_GENERAL = ("event_time", "user_host", "thread_id", "server_id", "command_type", "argument")
_ROW = re.compile(rb'"?[12]\d{3}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"?[,\t]')  # as rows begin
_SUFFIX = re.compile(r"(?:_[sdt])?(?: \[utc\])?$")  # that Azure puts behind names
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_BINARY = re.compile(r"0x(?:[0-9A-Fa-f]{2})+")  # a blob, as some clients print it
_FIELD = re.compile(r'"((?:\\.|[^"\\])*)"(?:,|$)|([^,]*)(?:,|$)', re.DOTALL)  # of the engine CSV
_CLOCK = re.compile(r"(?:(\d+):)?(\d\d):(\d\d(?:\.\d+)?)")
_TEXTS = ("message", "textPayload", "log", "@message")  # keys of entries that are a part of the log
_MANY = ("events", "records", "entries", "value", "results")  # and of lists of entries

Row = Mapping[str, str]


def is_table(head: bytes) -> bool:
    """Whether a file that begins so has rows of a table of the server's logs."""
    first = head.lstrip().partition(b"\n")[0]
    return _ROW.match(first) is not None or _has_names(
        _plain(name) for name in _names(first.decode("latin-1"))
    )


def is_json(head: bytes) -> bool:
    """Whether a file that begins so is JSON."""
    return head.lstrip()[:1] in (b"[", b"{")


def of_table(file: io.BufferedReader, path: Path) -> Iterator[bytes]:
    """Read the rows of such a file as entries of a log. Raises InputError."""
    try:
        for row in _rows(file):
            yield _entry(row)
    except KeyError:
        names = "sql_text and query_time, or event_time, command_type and argument"
        raise InputError(f"{path}: expected the columns {names}") from None
    except (ValueError, OverflowError, csv.Error) as error:
        raise InputError(f"{path}: not rows of mysql.slow_log or mysql.general_log: {error}") from None


def of_json(file: io.BufferedReader, path: Path) -> Iterator[bytes]:
    """Read the log in a cloud's export of it, as JSON lines or an array. Raises InputError."""
    found = False
    try:
        for record in _records(file):
            for text in _texts(record):
                found = True
                yield text
    except (ValueError, OverflowError, LookupError, RecursionError) as error:
        raise InputError(f"{path}: not the JSON of an exported log: {error}") from None
    if not found:
        raise InputError(
            f"{path}: JSON without a log: expected entries with message (CloudWatch), textPayload (Google) "
            "or sql_text (Azure), or performance_schema's digests"
        )


def _records(file: io.BufferedReader) -> Iterator[Any]:
    """Objects, one on each line, or all of a file."""
    first = file.readline()
    try:
        record = msgspec.json.decode(first)
    except msgspec.DecodeError:
        yield msgspec.json.decode(first + file.read())
        return
    yield record
    yield from (msgspec.json.decode(line) for line in file if not line.isspace())


def _texts(record: Any) -> Iterator[bytes]:
    """The text of an entry, or of several."""
    if isinstance(record, list):
        for each in record:
            yield from _texts(each)
    elif isinstance(record, dict):
        row = {_plain(name): str(value) for name, value in record.items()}
        if text := next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None):
            yield f"{text.removesuffix(chr(10))}\n".encode()
        elif _has_names(row):
            yield _entry(row)
        else:
            for key in (*_MANY, "properties", "jsonPayload"):
                yield from _texts(record.get(key))


def _rows(file: io.BufferedReader) -> Iterator[Row]:
    text = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="")
    first = text.readline()
    if names := _names(first):
        separator = max(",;\t", key=first.count)
        columns = tuple(map(_plain, names))
        if separator == "\t":
            yield from (_row(columns, _tabbed(line)) for line in text)
        else:
            yield from (_row(columns, values) for values in csv.reader(text, delimiter=separator) if values)
        return
    read = _tabbed if "\t" in first and not first.startswith('"') else _escaped
    for line in itertools.chain([first], text):
        while line.rstrip("\r\n").endswith("\\") and (more := text.readline()):
            line += more  # noqa: PLW2901
        values = read(line)
        columns = _GENERAL if len(values) == len(_GENERAL) else _SLOW[: len(values)]
        yield _row(tuple(map(_plain, columns)), values)


def _row(columns: Sequence[str], values: Sequence[str]) -> Row:
    if len(values) != len(columns):
        raise ValueError(f"a row has {len(values)} columns, expected {len(columns)}")
    return dict(zip(columns, values, strict=True))


def _names(line: str) -> list[str]:
    """The names of columns, if the line has them."""
    separator = max(",;\t", key=line.count)
    names = [name.strip('" \r\n') for name in line.split(separator)]
    return names if _has_names(map(_plain, names)) else []


def _has_names(names: Iterable[str]) -> bool:
    known = {*names}
    return "sqltext" in known or {"commandtype", "argument"} <= known


def _plain(name: str) -> str:
    return _SUFFIX.sub("", name.lower()).replace("_", "")


def _tabbed(line: str) -> list[str]:
    return [_ESCAPE.sub(_unescaped, value) for value in line.rstrip("\r\n").split("\t")]


def _escaped(line: str) -> list[str]:
    """The fields of a line of the engine CSV, which escapes quotes and line breaks."""
    fields, at, line = [], 0, line.rstrip("\r\n")
    while at <= len(line) and (found := _FIELD.match(line, at)):
        fields.append(found[2] if found[1] is None else _ESCAPE.sub(_unescaped, found[1]))
        at = found.end()
        if not found[0].endswith(","):
            break
    return fields


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[1], escape[1])


def _entry(row: Row) -> bytes:
    """A row as a log has it."""
    thread = row.get("threadid", "")
    if "argument" in row:
        time = _time(row["eventtime"])
        return f"{_iso(time)}\t{thread:>5} {row['commandtype']}\t{_text(row['argument'])}\n".encode(
            errors="surrogateescape"
        )
    seconds = _seconds(row)
    times = ["", ""]
    if start := row.get("starttime"):
        # Tables have the begin of a statement, and logs its end.
        end = _time(start) + timedelta(seconds=seconds)
        times = [f"# Time: {_iso(end)}", f"SET timestamp={end.timestamp():.0f};"]
    lines = [
        times[0],
        f"# User@Host: {row.get('userhost') or 'unknown[unknown] @  []'}"
        + f"  Id: {thread:>5}" * bool(thread),
        f"# Query_time: {seconds:.6f}  Lock_time: 0 Rows_sent: {row.get('rowssent') or 0}  "
        f"Rows_examined: {row.get('rowsexamined') or 0}",
        times[1],
        _text(row["sqltext"]).rstrip().removesuffix(";") + ";",
    ]
    return "\n".join((*filter(None, lines), "")).encode(errors="surrogateescape")


def _text(value: str) -> str:
    return bytes.fromhex(value[2:]).decode("utf-8", "surrogateescape") if _BINARY.fullmatch(value) else value


def _seconds(row: Row) -> float:
    """Read how long a statement took: a time, seconds, or Azure's milliseconds."""
    if "querydurationms" in row:
        return float(row["querydurationms"]) / 1000
    if found := _CLOCK.fullmatch(row["querytime"]):
        return int(found[1] or 0) * 3600 + int(found[2]) * 60 + float(found[3])
    return float(row["querytime"])


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{quoted(text[:40])!r} is no time") from None
    return time if time.tzinfo is None else time.astimezone(UTC)


def _iso(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"
