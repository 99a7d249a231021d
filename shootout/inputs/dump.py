"""Dumps of one database: files of statements, as mysqldump and its like write them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

from shootout.errors import InputError, quoted
from shootout.inputs.opening import opened

_CHUNK = 1 << 20
_CHECKED = 1 << 18  # bytes of a dump that are looked at before anything starts

# Lines that need no delimiter: commands of the mysql client, and what a dump's program told its user.
_PROGRAMS = rb"(?:mysqldump|mysqlpump|mariadb-dump)"
_LINE = re.compile(rb"(?:(?:USE|SOURCE)\s|\\\.|(?P<told>Warning: |%b: ))[^\n]*" % _PROGRAMS, re.IGNORECASE)
_FIRSTS = b"DELIMITER|USE |SOURCE |\\.|WARNING: |MYSQLDUMP: |MYSQLPUMP: |MARIADB-DUMP: ".split(b"|")
_SOURCE = re.compile(rb"SOURCE\s|\\\.", re.IGNORECASE)
_BROKEN = re.compile(rb"%b: (?:Got error|Couldn't)" % _PROGRAMS, re.IGNORECASE)

_LINE_COMMENT = re.compile(rb"#|--(?:\s|\Z)")
_FOR_A_SERVER = re.compile(rb"/\*M?!(?!999999)")  # begins a comment that is none; no server is that new
_SPACE = re.compile(rb"\s*")
_DELIMITER = re.compile(rb"DELIMITER[ \t]+(\S+)[^\n]*(?:\n|\Z)", re.IGNORECASE)

_HEAD = 1000  # bytes of a statement that say what it is
_MARKS = re.compile(rb"/\*M?!\d*|\*/|/\*.*?\*/", re.DOTALL)  # around what is for some servers; comments
_WORDS = re.compile(rb"[@\w]+")
_NAME = rb"""(?:`[^`]*`|'[^']*'|"[^"]*"|[\w.$%-]+)"""
_ACCOUNT = re.compile(rb"DEFINER\s*=\s*%b@%b" % (_NAME, _NAME), re.IGNORECASE)
_DEFINER = re.compile(rb"DEFINER\s*=\s*%b(?:@%b|\(\))?" % (_NAME, _NAME), re.IGNORECASE)
_OBJECT = rb"""(?:`[^`]+`|"[^"]+"|[\w$]+)"""
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE|INTO)\s+)*(%b)\s*(\.)?" % _OBJECT,
    re.IGNORECASE,
)
_IN_A_SCHEMA = re.compile(
    rb"(?:USE|CREATE (?:DATABASE|SCHEMA)(?: IF NOT EXISTS)?) (%b)"
    rb"|(?:CREATE|DROP|ALTER)[\w =]*? (?:TABLE|VIEW|TRIGGER|PROCEDURE|FUNCTION)"
    rb"(?: IF (?:NOT )?EXISTS)? (%b) ?\. ?[`\"\w]" % (_OBJECT, _OBJECT),
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"^-- (?:Host: .*|)Database: *`?([^`\r\n]+)", re.MULTILINE)
_USABLE = re.compile(r"[^`'\"\\\x00-\x1f]{1,64}")
_OF_SERVERS = ("mysql", "sys", "information_schema", "performance_schema")
_LEFT_OUT = re.compile(  # what belongs to the server that was dumped, or would run by itself
    rb"(?:(?:CREATE|DROP|ALTER) (?:DATABASE|SCHEMA|USER|ROLE|SERVER|TABLESPACE|LOGFILE)"
    rb"|CREATE (?:OR REPLACE )?EVENT|(?:UN)?LOCK TABLES|CHANGE|FLUSH|PURGE|RESET|GRANT|REVOKE"
    rb"|SET (?:(?:@@)?SESSION )?(?:@@)?(?:GLOBAL|PERSIST|PERSIST_ONLY|SQL_LOG_BIN)"
    rb"|(?:START|STOP) (?:ALL )?(?:SLAVES?|REPLICAS?|GROUP_REPLICATION))(?: |$)"
)
_DIRECTORY = re.compile(rb"(?:DATA|INDEX)\s+DIRECTORY\s*=?\s*'[^']*'", re.IGNORECASE)


def statements(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield a file's statements as the mysql client splits them, each with the number of its first line."""
    buffer, at, line, whole = b"", 0, 1, False
    delimiter = b";"
    while True:
        start = _begin(buffer, at)
        changed = _DELIMITER.match(buffer, start)
        if changed and not whole and not changed[0].endswith(b"\n"):
            changed = None
        # The buffer may end within the first word of a line that needs no delimiter, or behind it.
        may_be_a_line = any(each.startswith(buffer[start : start + len(each)].upper()) for each in _FIRSTS)
        torn = not whole and buffer.find(b"\n", start) < 0 and may_be_a_line
        alone = None if torn else _LINE.match(buffer, start)
        if alone and not alone["told"] and delimiter in alone[0]:
            alone = None
        begins = line + buffer.count(b"\n", at, start)
        if changed:
            delimiter, after = changed[1], changed.end()
        elif alone:
            yield begins, alone[0].rstrip()
            after = alone.end()
        elif not torn and (end := _end(buffer, start, delimiter)) is not None:
            yield begins, buffer[start:end].rstrip()
            after = end + len(delimiter)
        elif whole:
            if rest := buffer[start:].strip():
                yield begins, rest
            return
        else:
            more = file.read(max(_CHUNK, len(buffer) - at))
            buffer, at, whole = buffer[at:] + more, 0, not more
            continue
        line += buffer.count(b"\n", at, after)
        at = after


def _begin(buffer: bytes, at: int) -> int:
    while True:
        at = cast(re.Match[bytes], _SPACE.match(buffer, at)).end()
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
    """Find a statement's end: a delimiter outside of quotes and comments; None: not in this buffer."""
    plain = _plain(delimiter[:1])
    at: int | None = start
    while at is not None and at < len(buffer):
        at = cast(re.Match[bytes], plain.match(buffer, at)).end()  # it matches nothing, too
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


def check(path: Path) -> None:
    """Raise InputError for a file that is no dump of one database, as far as its beginning tells."""
    if not list(prepared(path, _CHECKED)):
        raise InputError(f"{path}: expected a dump, found no statement")


@cache
def database(path: Path, digest: str) -> str:
    """Find the dumped database's name, or "". Raises InputError for a server's own. `digest`: the file's."""
    with opened(path) as file:
        head = file.read(_CHECKED)
    told = _COMMENT.search(head)
    names = (_schema_of(statement) for _, statement in statements(io.BytesIO(head)))
    name = next(filter(None, names), told[1].strip() if told else b"").decode(errors="replace")
    if name.lower() in _OF_SERVERS:
        raise InputError(f"{path}: expected an application's database, found the server's own, {name}")
    return name if _USABLE.fullmatch(name) else ""


def names(statement: bytes, schema: str) -> bool:
    """Whether it qualifies a name with this schema's; of an INSERT, only the beginning is looked at."""
    if _INSERT.match(statement):
        return _schema_of(statement) == schema.encode()
    name = re.escape(schema.encode())
    return bool(re.search(rb"""[`"]%b[`"]\s*\.|(?<![\w$.@`'-])%b\s*\.\s*[`\w]""" % (name, name), statement))


def prepared(path: Path, length: int = -1) -> Iterator[tuple[int, bytes]]:
    """Prepare the statements to send, of so many bytes. Raises InputError for a dump of several databases."""
    schemas: set[bytes] = set()
    with opened(path) as file:
        for line, statement in statements(file if length < 0 else io.BytesIO(file.read(length))):
            if schema := _schema_of(statement):
                schemas.add(schema)
            if fault := _fault(statement, schemas):
                raise InputError(f"{path}, line {line}: {fault}")
            if not _INSERT.match(statement):  # most of them are
                if not statement or _LINE.match(statement) or _LEFT_OUT.match(b" ".join(_words(statement))):
                    continue
                if is_program(statement):
                    statement = _ACCOUNT.sub(b"", statement, count=1)  # noqa: PLW2901
                elif _words(statement)[:2] == [b"CREATE", b"TABLE"]:
                    statement = _DIRECTORY.sub(b"", statement)  # noqa: PLW2901
            yield line, statement


def _fault(statement: bytes, schemas: set[bytes]) -> str:
    if _SOURCE.match(statement):
        return f"expected statements, found a command of the mysql client: {_shown(statement)}"
    if _BROKEN.match(statement):
        return f"the dump is not whole: {_shown(statement)}"
    return "expected a dump of one database, found another" if len(schemas) > 1 else ""


def _shown(line: bytes) -> str:
    return quoted(line.partition(b"\n")[0].decode(errors="replace"))


def _schema_of(statement: bytes) -> bytes | None:
    """The schema that it selects or creates, or that the name of its table or the like is qualified with."""
    if inserts := _INSERT.match(statement):
        return inserts[1].strip(b'`"') if inserts[2] else None
    found = _IN_A_SCHEMA.match(b" ".join(_head(statement).split()))
    return found and (found[1] or found[2]).strip(b'`"')


def is_program(statement: bytes) -> bool:
    """Whether it creates a view, a trigger or a routine, whose text may have a `;`."""
    return (
        not _INSERT.match(statement)
        and re.match(rb"CREATE (?!TABLE\b)", b" ".join(_words(statement))) is not None
    )


def _words(statement: bytes) -> list[bytes]:
    """Its first words in upper case, without a definer; words for some servers only are included."""
    return _WORDS.findall(_head(statement).upper())[:4]


def _head(statement: bytes) -> bytes:
    """Its first bytes without a definer and without comments."""
    return _MARKS.sub(b" ", _DEFINER.sub(b"", statement[:_HEAD], count=1))
