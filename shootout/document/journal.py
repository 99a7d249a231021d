"""Run documents: JSON Lines, one record each, written as the run goes, so that nothing measured is lost.

The first line is a RunHeader, then come StartRecords and FailureRecords, the last is an EndRecord. A run that
was cut short lacks the EndRecord, and perhaps the end of its last line; where it goes on, a ResumeRecord
stands before what came later.

Every line ends with a digest of itself and of all lines before it: what was changed, moved or left out by
others than `Writer` does not pass as measured.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from shootout.errors import InputError, MeasureError
from shootout.model.run import EndRecord, FailureRecord, ResumeRecord, RunDocument, RunHeader, StartRecord

# Format history
#   1  first
#   2  a profile's `dataset` is a scale for all kinds of datasets: it lost its `kind`
#   3  a server's CPU may be out of sight; a start may confirm others and hold an A/A cell; policies say more
#   4  lines carry a digest; a run can go on, be a shard of another, or be merged from several
FORMAT: Literal[4] = 4

# An estimate of twice the quick profile's longest run: a full disk is found before a server starts.
_ROOM_BYTES = 4 << 20

Record = RunHeader | StartRecord | FailureRecord | EndRecord | ResumeRecord

_SEALED_SINCE = 4
_SEAL = b',"digest":"%s"}'  # in place of a record's last brace
_SEAL_BYTES = 32 + len(_SEAL) - 2

_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class _Format(msgspec.Struct):
    """What every format's first line has."""

    format: int


class Line(NamedTuple):
    """A whole line of a document."""

    number: int  # from 1
    offset: int  # these two: in the file, bytes; its newline included
    size: int
    record: bytes  # JSON, without the digest
    digest: bytes  # empty before format 4


def new_run(now: datetime) -> str:
    """A run's id: the time in UTC and a random suffix; ids sort by time, to the second."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def new_name(run: str) -> str:
    """The file name of a run's document."""
    return f"{run}.jsonl"


class Writer:
    """A run's document in the making, at `path`; the file appears with its first record."""

    def __init__(self, folder: Path, run: str, *, resumed: bool = False) -> None:
        """Raise InputError where `folder` cannot be made, written to, or has no room for a document.

        `resumed`: the document is there, and goes on after its last whole line.
        """
        self.path = folder / new_name(run)
        self._digest = b""
        self._size = 0
        if resumed:
            *_, last = lines(self.path)
            if not last.digest:
                raise InputError(f"{self.path}: written in a format before {_SEALED_SINCE}: it cannot go on")
            self._digest, self._size = last.digest, last.offset + last.size
        elif self.path.exists():
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
        line, digest = sealed(msgspec.json.encode(record), self._digest)
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                _append(file, line, self._size)
            finally:
                os.close(file)
            if not self._size:
                _sync(self.path.parent)  # the file's name, too, outlives a power cut
        except OSError as error:
            raise MeasureError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._digest, self._size = digest, self._size + len(line)


class Journal:
    """Keeps a run's records, and writes them as soon as `opening` can be: nothing is on disk before both.

    `opening` gives the record that comes first: the header, or what says that the run goes on.
    """

    def __init__(self, writer: Writer, opening: Callable[[], RunHeader | ResumeRecord]) -> None:
        self._writer = writer
        self._opening = opening
        self._unwritten: list[StartRecord | FailureRecord] = []
        self._open = False
        self._begun = False

    def keep(self, record: StartRecord | FailureRecord) -> None:
        """Keep one record. Raises MeasureError where it cannot be written."""
        self._unwritten.append(record)
        if self._open:
            self._write()

    def open(self) -> None:
        """From here on the header holds."""
        self._open = True
        self._write()

    def discard(self) -> None:
        """Forget what was kept, and is not written yet."""
        self._unwritten.clear()

    def end(self, record: EndRecord) -> None:
        """End the document, if there was anything to keep; a resumed one, also if there was nothing left."""
        self.open()
        if not self._begun and not record.interrupted and self._writer.path.exists():
            self._begin()
        if self._begun:
            self._writer.append(record)

    def _begin(self) -> None:
        self._writer.append(self._opening())
        self._begun = True

    def _write(self) -> None:
        if self._unwritten and not self._begun:
            self._begin()
        while self._unwritten:
            self._writer.append(self._unwritten[0])
            del self._unwritten[0]


def read(path: Path) -> RunDocument:
    """The document at `path`.

    A last line without its newline was torn by a crash and is dropped: as `end` is then None, the run counts
    as interrupted. Raises InputError, naming the line, for anything else that is not a run document.
    """
    header, *rest = (_record(path, line) for line in lines(path))
    if not isinstance(header, RunHeader):
        raise InputError(f"{path}:1: expected the run's header, found another record")
    blocks = {block.key for block in header.blocks}
    starts: dict[tuple[str, int], StartRecord] = {}
    failures = []
    resumes = []
    end: EndRecord | None = None
    for number, record in enumerate(rest, 2):
        if end is not None and not (end.interrupted and isinstance(record, ResumeRecord)):
            raise InputError(f"{path}:{number}: the run ended on line {number - 1}, nothing may follow")
        match record:
            case StartRecord(block=block, start=start):
                _check_start(f"{path}:{number}", record, blocks)
                if (block, start) in starts:
                    raise InputError(f"{path}:{number}: start {start} of block {block!r} is there twice")
                starts[block, start] = record
            case FailureRecord():
                failures.append(record)
            case EndRecord():
                end = record
            case ResumeRecord():
                end = None
                resumes.append(record)
            case RunHeader():
                raise InputError(f"{path}:{number}: a second header; one document holds one run")
    return RunDocument(
        header=header,
        starts=tuple(starts.values()),
        failures=tuple(failures),
        end=end,
        resumes=tuple(resumes),
    )


def lines(path: Path) -> Iterator[Line]:
    """The whole lines of the document at `path`, each as it was written; the header as this format has it.

    Raises InputError where there is none, and for a line that is not as it was written.
    """
    digest, offset = b"", 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                if number == 1:
                    format_ = _format(path, line)
                if format_ >= _SEALED_SINCE:
                    record = unsealed(line)
                    as_written, digest = sealed(record, digest)
                    if as_written != line:
                        raise InputError(f"{path}:{number}: changed, or not a line of this document")
                else:
                    record = _newer(line, format_) if number == 1 else line[:-1]
                yield Line(number, offset, len(line), record, digest)
                offset += len(line)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not offset:
        raise InputError(f"{path}: not a run document: it has no whole line")


def sealed(record: bytes, before: bytes) -> tuple[bytes, bytes]:
    """The line of a record, given as JSON, and its digest; `before` is the digest of the line before it."""
    digest = hashlib.blake2b(before + record, digest_size=16).hexdigest().encode()
    return record[:-1] + _SEAL % digest + b"\n", digest


def encoded(read: RunDocument) -> bytes:
    """A whole document, without where the run went on."""
    lines, digest = [], b""
    for record in (read.header, *read.starts, *read.failures, *([read.end] if read.end else [])):
        line, digest = sealed(msgspec.json.encode(record), digest)
        lines.append(line)
    return b"".join(lines)


def unsealed(line: bytes) -> bytes:
    """The record of such a line."""
    return line[: -_SEAL_BYTES - 1] + b"}"


def find(folder: Path) -> tuple[Path, ...]:
    """The documents in a folder, the newest last; none where there is no such folder."""
    return tuple(sorted(folder.glob(new_name("*"))))


def _append(file: int, line: bytes, at: int) -> None:
    """Write the whole line at the end and see it to the disk, or cut off what was written of it.

    The end is `at`: what lies behind it was torn by a crash.
    """
    try:
        os.ftruncate(file, at)
        written = os.write(file, line)
        if written < len(line):  # what a file takes in part is what still had room
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    except OSError:
        os.ftruncate(file, at)
        raise


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        sampling = {"isolation": "share", "placement": "shared"}  # there was nothing else
        header["profile"]["sampling"] = sampling | header["profile"]["sampling"]
        return msgspec.json.encode(header | {"format": FORMAT})
    except (msgspec.DecodeError, KeyError, TypeError):
        return line


def _check_start(where: str, record: StartRecord, blocks: Collection[str]) -> None:
    if record.block not in blocks:
        raise InputError(f"{where}: block {record.block!r} is not in the header")
    for s in record.samples:
        by_round = (s.transactions, s.window_s, s.server_cpu_s, s.client_cpu_s, s.completed)
        if len({len(values) for values in by_round if values is not None}) != 1:
            raise InputError(f"{where}: server {s.server!r}: its arrays differ in their number of rounds")


def _record(path: Path, line: Line) -> Record:
    try:
        return _decoder.decode(line.record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:{line.number}: not a record of a run document: {error}") from None
