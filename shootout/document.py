"""Run documents: JSON Lines, one record each, written as the run goes, so that nothing measured is lost.

The first line is a RunHeader, then come StartRecords and FailureRecords, the last is an EndRecord. A run that
was cut short lacks the EndRecord, and perhaps the end of its last line.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from shootout.errors import InputError, MeasureError
from shootout.model import EndRecord, FailureRecord, RunDocument, RunHeader, StartRecord

# Format history
#   1  first
#   2  a profile's `dataset` is a scale for all kinds of datasets: it lost its `kind`
#   3  a server's CPU may be out of sight; a start may confirm others and hold an A/A cell; policies say more
FORMAT: Literal[3] = 3

# An estimate of twice the quick profile's longest run: a full disk is found before a server starts.
_ROOM_BYTES = 4 << 20

Record = RunHeader | StartRecord | FailureRecord | EndRecord

_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class _Format(msgspec.Struct):
    """What every format's first line has."""

    format: int


def new_run(now: datetime) -> str:
    """A run's id: the time in UTC and a random suffix; ids sort by time, to the second."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def new_name(run: str) -> str:
    """The file name of a run's document."""
    return f"{run}.jsonl"


class Writer:
    """A run's document in the making, at `path`; the file appears with its first record."""

    def __init__(self, folder: Path, run: str) -> None:
        """Raise InputError where `folder` cannot be made, written to, or has no room for a document."""
        self.path = folder / new_name(run)
        if self.path.exists():
            raise InputError(f"{self.path}: this run has a document already")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                os.posix_fallocate(probe.fileno(), 0, _ROOM_BYTES)
        except OSError as error:
            raise InputError(f"{folder}: cannot hold the run document: {error.strerror}") from None

    def append(self, record: Record) -> None:
        """Write one record for good, or not at all.

        Raises MeasureError where it does not fit; what was written before stays readable.
        """
        line = msgspec.json.encode(record) + b"\n"
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                _append(file, line)
            finally:
                os.close(file)
        except OSError as error:
            raise MeasureError(f"{self.path}: cannot be written: {error.strerror}") from None


class Journal:
    """Keeps a run's records, and writes them as soon as its header can be: nothing is on disk before both."""

    def __init__(self, writer: Writer, header: Callable[[], RunHeader]) -> None:
        self._writer = writer
        self._header = header
        self._unwritten: list[StartRecord | FailureRecord] = []
        self._open = False

    def keep(self, record: StartRecord | FailureRecord) -> None:
        """Keep one record. Raises MeasureError where it cannot be written."""
        self._unwritten.append(record)
        if self._open:
            self._write()

    def open(self) -> None:
        """From here on the header holds."""
        self._open = True
        self._write()

    def end(self, record: EndRecord) -> None:
        """End the document, if there was anything to keep."""
        self.open()
        if self._writer.path.exists():
            self._writer.append(record)

    def _write(self) -> None:
        if self._unwritten and not self._writer.path.exists():
            self._writer.append(self._header())
        while self._unwritten:
            self._writer.append(self._unwritten[0])
            del self._unwritten[0]


def read(path: Path) -> RunDocument:
    """The document at `path`.

    A last line without its newline was torn by a crash and is dropped: as `end` is then None, the run counts
    as interrupted. Raises InputError, naming the line, for anything else that is not a run document.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not lines:
        raise InputError(f"{path}: not a run document: it has no whole line")
    if (format_ := _format(path, lines[0])) < FORMAT:
        lines[0] = _newer(lines[0], format_)
    header, *rest = (_record(path, number, line) for number, line in enumerate(lines, 1))
    if not isinstance(header, RunHeader):
        raise InputError(f"{path}:1: expected the run's header, found another record")
    starts: dict[tuple[str, int], StartRecord] = {}
    failures = []
    end: EndRecord | None = None
    for number, record in enumerate(rest, 2):
        if end is not None:
            raise InputError(f"{path}:{number}: the run ended on line {number - 1}, nothing may follow")
        match record:
            case StartRecord(block=block, start=start):
                _check_start(f"{path}:{number}", record, header)
                if (block, start) in starts:
                    raise InputError(f"{path}:{number}: start {start} of block {block!r} is there twice")
                starts[block, start] = record
            case FailureRecord():
                failures.append(record)
            case EndRecord():
                end = record
            case RunHeader():
                raise InputError(f"{path}:{number}: a second header; one document holds one run")
    return RunDocument(header=header, starts=tuple(starts.values()), failures=tuple(failures), end=end)


def find(folder: Path) -> tuple[Path, ...]:
    """The documents in a folder, the newest last; none where there is no such folder."""
    return tuple(sorted(folder.glob(new_name("*"))))


def _append(file: int, line: bytes) -> None:
    """Add the whole line with one write and see it to the disk, or cut off what was written of it."""
    before = os.fstat(file).st_size
    try:
        written = os.write(file, line)
        if written < len(line):  # what a file takes in part is what still had room
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    except OSError:
        os.ftruncate(file, before)
        raise


def _format(path: Path, line: bytes) -> int:
    try:
        found = msgspec.json.decode(line, type=_Format).format
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InputError(f"{path}:1: not a run document: no format number in its first line") from None
    if not 1 <= found <= FORMAT:
        raise InputError(f"{path}: written in format {found}; this shootout reads format {FORMAT} and before")
    return found


def _newer(line: bytes, format_: int) -> bytes:
    """A header of an older format as this one has it; what is none stays as it is."""
    try:
        header = msgspec.json.decode(line)
        if format_ == 1:
            del header["profile"]["dataset"]["kind"]
        return msgspec.json.encode(header | {"format": FORMAT})
    except (msgspec.DecodeError, KeyError, TypeError):
        return line


def _check_start(where: str, record: StartRecord, header: RunHeader) -> None:
    if record.block not in {block.key for block in header.blocks}:
        raise InputError(f"{where}: block {record.block!r} is not in the header")
    for s in record.samples:
        by_round = (s.transactions, s.window_s, s.server_cpu_s, s.client_cpu_s, s.completed)
        if len({len(values) for values in by_round if values is not None}) != 1:
            raise InputError(f"{where}: server {s.server!r}: its arrays differ in their number of rounds")


def _record(path: Path, number: int, line: bytes) -> Record:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:{number}: not a record of a run document: {error}") from None
