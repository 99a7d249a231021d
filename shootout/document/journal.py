"""Run documents: JSON Lines, one record per line, written during the run so that no measurement is lost.

A RunHeader comes first, then StartRecords and FailureRecords, last an EndRecord. A run that was cut short
lacks the EndRecord, and perhaps the end of its last line; if it is resumed, a ResumeRecord precedes the later
records.

A run that has finished leaves these records in a packed document instead (`packed`), which all functions here
read likewise. Where both lie in a folder, the journal counts: it has as much or more.

Every line ends with a digest of itself and all lines before it, which reveals lines that were changed, moved
or removed by anything but `Writer`.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from shootout import files
from shootout.document import formats
from shootout.errors import InputError, MeasureError, quoted
from shootout.model.plan import block_key
from shootout.model.run import EndRecord, FailureRecord, ResumeRecord, RunDocument, RunHeader, StartRecord

FORMAT: Literal[6] = 6  # formats.RUN

# About twice the quick profile's longest run. Reserving it reveals a full disk before a server starts.
_RESERVED_BYTES = 4 << 20

PACKED = ".xz"  # what a packed document's name has in addition

Record = RunHeader | StartRecord | FailureRecord | EndRecord | ResumeRecord

_SEAL = b',"digest":"%s"}'  # replaces a record's last brace
_SEAL_BYTES = 32 + len(_SEAL) - 2


class Line(NamedTuple):
    """A complete line of a document."""

    number: int  # from 1
    record: bytes  # JSON, without the digest
    digest: bytes
    format: int  # of the document
    end: int  # bytes, in the file


def new_run(now: datetime) -> str:
    """Make a new run id: UTC time and a random suffix. Ids sort by time, to the second."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def new_name(run: str) -> str:
    """Make the file name of a run's journal."""
    return f"{run}.jsonl"


def path_of(folder: Path, run: str) -> Path:
    """Find a run's own document, which may be packed; its journal's path if there is none."""
    path = folder / new_name(run)
    packed = path.with_name(path.name + PACKED)
    return packed if packed.exists() and not path.exists() else path


def stem(path: Path) -> str:
    """Return a document's file name without endings: the run, unless it is a copy."""
    return path.name.removesuffix(PACKED).removesuffix(".jsonl")


class Writer:
    """Writes a run document to `path`; the first record creates the file."""

    def __init__(self, folder: Path, run: str, *, resumed: bool = False) -> None:
        """Raise InputError if `folder` cannot hold a document; `resumed`: continue the one that is there."""
        self.path = folder / new_name(run)
        existing = path_of(folder, run)
        self._digest = b""
        self._size = 0
        if resumed:
            *_, last = lines(existing)
            if last.format != FORMAT:
                raise InputError(
                    f"{existing}: a run of format {last.format} can be read and compared, but only the "
                    "shootout that wrote it can resume it\nLeave out --resume to start a new run."
                )
            self._digest, self._size = last.digest, last.end
        elif existing.exists():
            raise InputError(f"{existing}: this run already has a document")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                os.posix_fallocate(probe.fileno(), 0, _RESERVED_BYTES)
            if existing != self.path and resumed:
                with files.opened(existing) as file:
                    files.replace(self.path, files.unpacked(file).read())
                existing.unlink()
        except OSError as error:
            raise InputError(f"{folder}: cannot hold the run document: {error.strerror}") from None

    def append(self, record: Record) -> None:
        """Write one record durably, or raise MeasureError; earlier records stay readable."""
        line, digest = sealed(msgspec.json.encode(record), self._digest)
        try:
            files.append(self.path, line, self._size)
        except OSError as error:
            raise MeasureError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._digest, self._size = digest, self._size + len(line)


def read(path: Path) -> RunDocument:
    """Read a document, but for a last line that a crash tore. Raises InputError with the line's number."""
    header, *rest = (_record(path, line) for line in lines(path))
    if not isinstance(header, RunHeader):
        raise InputError(f"{path}:1: expected the run's header, found a different record")
    labels = [server.label for server in header.servers]
    blocks = {block.key: block for block in header.blocks}
    _check_names(f"{path}:1", "block", [block.key for block in header.blocks], blocks)
    for servers in (labels, *(block.servers for block in header.blocks)):
        _check_names(f"{path}:1", "server", servers, labels)
    starts: dict[tuple[str, int], StartRecord] = {}
    failures: list[FailureRecord] = []
    resumes: list[ResumeRecord] = []
    end: EndRecord | None = None
    for number, record in enumerate(rest, 2):
        where = f"{path}:{number}"
        if end is not None and not isinstance(record, ResumeRecord):
            raise InputError(f"{where}: the run ended on line {number - 1}; nothing may follow")
        match record:
            case StartRecord(block=block, start=start):
                _check_names(where, "block", [block], blocks)
                measured = [samples.server for samples in record.samples]
                _check_names(where, "server", measured, blocks[block].servers)
                for each in filter(None, (*record.samples, record.aa_control)):
                    by_round = (each.transactions, each.window_s, each.server_cpu_s, each.client_cpu_s)
                    if len({len(one) for one in (*by_round, each.completed) if one is not None}) != 1:
                        wrong = f"server {quoted(each.server)!r}: its arrays have different numbers of rounds"
                        raise InputError(f"{where}: {wrong}")
                if (block, start) in starts:
                    raise InputError(f"{where}: start {start} of block {block!r} appears twice")
                starts[block, start] = record
            case FailureRecord(cell=cell):
                key = block_key(cell.workload, cell.threads)
                _check_names(where, "block", [key], blocks)
                _check_names(where, "server", [cell.server], blocks[key].servers)
                failures.append(record)
            case EndRecord():
                end = record
            case ResumeRecord():
                end = None
                resumes.append(record)
            case RunHeader():
                raise InputError(f"{where}: a second header; a document holds only one run")
    ordered, resumed = tuple(starts.values()), tuple(resumes)
    return RunDocument(header=header, starts=ordered, failures=tuple(failures), end=end, resumes=resumed)


def lines(path: Path) -> Iterator[Line]:
    """Read the complete lines of a document, or of the packed one in its place. Raises InputError."""
    digest, end = b"", 0
    place = path if path.exists() else path.with_name(path.name + PACKED)
    with files.reading(path, "a run document"), files.opened(place) as file:
        for number, line in enumerate(files.unpacked(file), 1):
            if not line.endswith(b"\n"):
                break
            if number == 1:
                format_ = formats.RUN.number_of(line)
            record = line[: -_SEAL_BYTES - 1] + b"}"
            as_written, digest = sealed(record, digest)
            if as_written != line:
                raise InputError(f"{path}:{number}: changed, or not a line of this document")
            end += len(line)
            yield Line(number, record, digest, format_, end)
        if not end:
            raise ValueError("no complete line")


def sealed(record: bytes, before: bytes) -> tuple[bytes, bytes]:
    """Seal a record given as JSON; return its line and digest. `before` is the previous line's digest."""
    digest = hashlib.blake2b(before + record, digest_size=16).hexdigest().encode()
    return record[:-1] + _SEAL % digest + b"\n", digest


def encoded(document: RunDocument) -> bytes:
    """Encode a whole document."""
    lines, digest = [], b""
    records = (document.header, *document.starts, *document.failures, *document.resumes, document.end)
    for record in filter(None, records):
        line, digest = sealed(msgspec.json.encode(record), digest)
        lines.append(line)
    return b"".join(lines)


def find(folder: Path) -> tuple[Path, ...]:
    """Find the documents in a folder, the newest last; none if the folder does not exist."""
    return counted(sorted((*folder.glob("*.jsonl"), *folder.glob("*.jsonl" + PACKED))))


def counted(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Drop documents whose journal is among them, too."""
    paths = tuple(paths)
    journals = {path.with_name(path.name + PACKED) for path in paths}
    return tuple(path for path in paths if path not in journals)


def of_run(run: str | None, results: Path) -> Path:
    """Find a run's document by its path or its id; the newest one's. Raises InputError."""
    if paths := [path for path in find(results) if run in (None, stem(path))]:
        return paths[-1]
    if run is None:
        raise InputError(f"{results}: no run document found; `shootout run` makes one")
    if not Path(run).is_file():
        raise InputError(f"run {run!r}: neither a run document nor the id of one in {results}")
    return Path(run)


def copies(runs: Mapping[Path, str]) -> dict[Path, Path]:
    """Find documents to leave out, each with the one that stays: named after the run, or the first."""
    kept: dict[str, Path] = {}
    for path in sorted(runs, key=lambda path: not is_original(path, runs[path])):
        kept.setdefault(runs[path], path)
    return {path: kept[run] for path, run in runs.items() if path != kept[run] and not is_original(path, run)}


def is_original(path: Path, run: str) -> bool:
    """Whether a document is named after its run, as the run itself names it."""
    return path.name.removesuffix(PACKED) == new_name(run)


def differs(path: Path, kept: Path) -> InputError:
    """Make the message for a document that is left out and is not the same as the one that is kept."""
    return InputError(f"{path}: not the same as {kept}, which is of the same run")


def _check_names(where: str, kind: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"{where}: {kind} {quoted(name)!r} is not in the header")
    if len({*names}) != len(names):
        raise InputError(f"{where}: a {kind} appears twice")


def _record(path: Path, line: Line) -> Record:
    try:
        return formats.RUN.record(line.record, Record, line.format)  # type: ignore[arg-type]  # a union
    except ValueError as error:
        what = f"not a record of a run document of format {line.format}"
        raise InputError(f"{path}:{line.number}: {what}: {error}") from None
