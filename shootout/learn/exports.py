"""Reads rows of the server's logs and digests as CSV, TSV or JSON, and the logs in clouds' JSON."""

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

from shootout._engine import LogReader
from shootout.errors import InputError, quoted
from shootout.model.value import COUNT_MAX

csv.field_size_limit(16 << 20)  # bytes of a statement; longer ones are no text of a client

PIECE = 1 << 20  # bytes that are worth a call of the reader

# The columns of the tables, for exports without a line of names.
_SLOW = [
    *("starttime", "userhost", "querytime", "locktime", "rowssent", "rowsexamined", "db"),
    *("lastinsertid", "insertid", "serverid", "sqltext", "threadid", "rowsaffected"),
]
_GENERAL = ["eventtime", "userhost", "threadid", "serverid", "commandtype", "argument"]
_DIGEST, _SAMPLE = "digesttext", "querysampletext"
_COUNTED = ("countstar", "sumtimerwait", "sumrowsexamined", "sumrowssent")
_COLUMNS = (
    "sql_text and query_time, event_time, command_type and argument, or all of "
    "events_statements_summary_by_digest"
)
_ROW = re.compile(rb'"?[12]\d{3}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"?[,\t]')  # as rows begin
_SUFFIX = re.compile(r"(?:_[sdt])?(?: \[utc\])?$")  # that Azure puts behind names
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_BINARY = re.compile(r"0x(?:[0-9A-Fa-f]{2})+")  # a blob, as some clients print it
_FIELD = re.compile(r'"((?:\\.|[^"\\])*)"(?:,|$)|([^,]*)(?:,|$)', re.DOTALL)  # of the engine CSV
_CLOCK = re.compile(r"(?:(\d+):)?(\d\d):(\d\d(?:\.\d+)?)")
_TEXTS = ("message", "textPayload", "log", "@message")  # keys of entries that are a part of the log
_MANY = ("events", "records", "entries", "value", "results")  # and of lists of entries

_JSON = (b"[", b"{")
_ISO = "%Y-%m-%dT%H:%M:%S.%fZ"

_PICOSECONDS = 1e-12  # of the digests' timers
_CUT = "..."  # ends a text that is longer than max_digest_length or performance_schema_max_sql_text_length
# The server knows these functions only with their parenthesis next to them; digests have a space there.
_FUNCTION = re.compile(
    r"\b(ADDDATE|BIT_AND|BIT_OR|BIT_XOR|CAST|COUNT|CURDATE|CURTIME|DATE_ADD|DATE_SUB|EXTRACT|GROUP_CONCAT|"
    r"JSON_ARRAYAGG|JSON_OBJECTAGG|MAX|MID|MIN|NOW|POSITION|STD|STDDEV|STDDEV_POP|STDDEV_SAMP|SUBDATE|SUBSTR|"
    r"SUBSTRING|SUM|SYSDATE|TRIM|VARIANCE|VAR_POP|VAR_SAMP) \("
)

Row = Mapping[str, str]  # by name in lower case, without underscores


def begin(head: bytes) -> bool:
    """Whether a file that begins so is JSON, or has rows of a table."""
    first = head.lstrip().partition(b"\n")[0]
    return first[:1] in _JSON or _ROW.match(first) is not None or bool(_names(first.decode("latin-1")))


def feed(reader: LogReader, file: io.BufferedReader, path: Path) -> Iterator[bool]:
    """Feed such a file piece by piece; after each, whether it has digests. Raises InputError."""
    piece, found = bytearray(), False
    rows = _parts(_records(file)) if (is_json := file.peek().lstrip()[:1] in _JSON) else _rows(file)
    try:
        for row in rows:
            found = True
            if not isinstance(row, bytes) and _DIGEST in row:
                _count(reader, row)
                yield True
                continue
            piece += row if isinstance(row, bytes) else _entry(row)
            if len(piece) >= PIECE:
                reader.feed(bytes(piece))
                piece.clear()
                yield False
    except KeyError:
        raise InputError(f"{path}: expected the columns {_COLUMNS}") from None
    except (ValueError, OverflowError, RecursionError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as an exported log or as digests: {error}") from None
    if is_json and not found:
        raise InputError(
            f"{path}: JSON without a log: expected entries with message (CloudWatch), textPayload (Google) "
            "or sql_text (Azure), or performance_schema's digests"
        )
    if piece:
        reader.feed(bytes(piece))
        yield False


def _records(file: io.BufferedReader) -> Iterator[Any]:
    first = file.readline()
    try:
        record = msgspec.json.decode(first)
    except msgspec.DecodeError:
        yield msgspec.json.decode(first + file.read())
        return
    yield record
    yield from (msgspec.json.decode(line) for line in file if not line.isspace())


def _parts(record: Any) -> Iterator[bytes | Row]:
    if isinstance(record, list | Iterator):
        for each in record:
            yield from _parts(each)
    elif isinstance(record, dict):
        row = {_plain(name): "" if value is None else str(value) for name, value in record.items()}
        if text := next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None):
            yield f"{text.removesuffix(chr(10))}\n".encode()
        elif _has_names(row):
            yield row
        else:
            for key in (*_MANY, "properties", "jsonPayload"):
                yield from _parts(record.get(key))


def _count(reader: LogReader, row: Row) -> None:
    """Count a digest's statements: by its sample if it has a whole one, else by its text."""
    count, timer, examined, sent = (_number(row[name]) for name in _COUNTED)
    text = _text(row.get(_SAMPLE, ""))
    if not text or text.endswith(_CUT):
        text = _FUNCTION.sub(r"\1(", _text(row[_DIGEST]))
    if text.endswith(_CUT):
        text = ""
    reader.digested(text.encode(errors="surrogateescape"), count, timer * _PICOSECONDS, examined, sent)


def _number(text: str) -> int:
    text = _text(text) or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise ValueError(f"expected a number, found {quoted(text[:40])!r}")
    return min(int(text), COUNT_MAX)


def _rows(file: io.BufferedReader) -> Iterator[Row]:
    text = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="")
    first = next(filter(str.strip, text), "")
    if columns := _names(first):
        separator = max(",;\t", key=first.count)
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
        yield _row(_GENERAL if len(values) == len(_GENERAL) else _SLOW[: len(values)], values)


def _row(columns: Sequence[str], values: Sequence[str]) -> Row:
    if len(values) != len(columns):
        raise ValueError(f"a row has {len(values)} columns, expected {len(columns)}")
    return dict(zip(columns, values, strict=True))


def _names(line: str) -> list[str]:
    separator = max(",;\t", key=line.count)
    names = [_plain(name.strip('" \r\n')) for name in line.split(separator)]
    return names if _has_names(names) else []


def _has_names(names: Iterable[str]) -> bool:
    known = {*names}
    return bool({"sqltext", _DIGEST} & known) or {"commandtype", "argument"} <= known


def _plain(name: str) -> str:
    return _SUFFIX.sub("", name.lower()).replace("_", "")


def _tabbed(line: str) -> list[str]:
    return [_ESCAPE.sub(_unescaped, value) for value in line.rstrip("\r\n").split("\t")]


def _escaped(line: str) -> list[str]:
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
    thread = row.get("threadid", "")
    if "argument" in row:
        event = (
            f"{_time(row['eventtime']):{_ISO}}\t{thread:>5} {row['commandtype']}\t{_text(row['argument'])}\n"
        )
        return event.encode(errors="surrogateescape")
    seconds = _seconds(row)
    start = row.get("starttime")
    end = _time(start) + timedelta(seconds=seconds) if start else None  # tables have the begin of a statement
    who = row.get("userhost") or "unknown[unknown] @  []"
    lines = [
        f"# Time: {end:{_ISO}}" if end else "",
        f"# User@Host: {who}" + f"  Id: {thread:>5}" * bool(thread),
        f"# Query_time: {seconds:.6f}  Lock_time: 0 Rows_sent: {row.get('rowssent') or 0}  "
        f"Rows_examined: {row.get('rowsexamined') or 0}",
        f"SET timestamp={end.timestamp():.0f};" if end else "",
        _text(row["sqltext"]).rstrip().removesuffix(";") + ";",
    ]
    return "\n".join((*filter(None, lines), "")).encode(errors="surrogateescape")


def _text(value: str) -> str:
    if value in ("NULL", r"\N"):
        return ""
    return bytes.fromhex(value[2:]).decode("utf-8", "surrogateescape") if _BINARY.fullmatch(value) else value


def _seconds(row: Row) -> float:
    if "querydurationms" in row:
        return float(row["querydurationms"]) / 1000
    if found := _CLOCK.fullmatch(row["querytime"]):
        return int(found[1] or 0) * 3600 + int(found[2]) * 60 + float(found[3])
    return float(row["querytime"])


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"expected a time, found {quoted(text[:40])!r}") from None
    return time if time.tzinfo is None else time.astimezone(UTC)
