"""Merges the documents of shards into one, as if a single run had written it.

The result is the set of all parts and records in the order of the whole run's blocks: it has the same bytes
whatever the order and number of the documents, and however they were merged before. Records are copied
verbatim, one at a time, so that memory use grows with their number, not their size.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
from msgspec import structs

from shootout import files
from shootout.document import compatibility, journal
from shootout.document.journal import Line
from shootout.errors import InputError
from shootout.model.plan import Block, Cell, block_key
from shootout.model.run import EndRecord, Part, RunHeader, Runner, ServerRecord, Warning

# Options that differ between shards: they do not change what is measured.
_SHARD_OPTIONS = ("--data", "--port", "--seed", "--shard")


def merge(paths: Sequence[Path], results: Path, skip: Callable[[str], None]) -> Path:
    """Write the whole run's document to the folder `results`; returns its path.

    Documents that cannot be read (torn, or not run documents) are left out; `skip` receives the reasons.
    Raises InputError if none is left, if one is of a different run, if two measured the same block, and if
    the result cannot be written.
    """
    whole: _Whole | None = None
    for path in paths:
        try:
            source = _contents(path)
        except InputError as error:
            skip(str(error))
            continue
        whole = whole or _Whole(source)
        whole.add(source)
    if whole is None:
        raise InputError("nothing to merge: none of the files is a run document")
    parts = whole.parts()
    header = _header(whole.first.header, whole.blocks, parts)
    path = results / journal.new_name(header.run)
    try:
        with files.replacing(path) as file:
            _write(file, header, whole.records(), _end(header, parts))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def missing(header: RunHeader) -> tuple[Block, ...]:
    """The blocks of a merged run that are in none of its documents."""
    measured = {key for part in header.parts for key in part.blocks}
    return tuple(block for block in header.blocks if block.key not in measured)


def superseded(parts: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The runs wholly contained in another run, such as shards next to the run merged from them.

    `parts`: by run, the runs that it was merged from; empty for a run that is not merged.
    """
    merged = [set(sources) for sources in parts.values() if sources]
    found = set()
    for run, sources in parts.items():
        own = set(sources) or {run}
        if any(own < other or (own == other and not sources) for other in merged):
            found.add(run)
    return frozenset(found)


# --- one document ---------------------------------------------------------------------------------


class _Start(msgspec.Struct, tag="start", tag_field="record"):
    """The fields of a StartRecord that place it in the run."""

    block: str
    start: int


class _Failure(msgspec.Struct, tag="failure", tag_field="record"):
    """The fields of a FailureRecord that place it in the run."""

    cell: Cell
    start: int


class _Resume(msgspec.Struct, tag="resume", tag_field="record"):
    """A ResumeRecord; merging needs none of its fields."""


_decoder: msgspec.json.Decoder[_Start | _Failure | _Resume | EndRecord] = msgspec.json.Decoder(
    _Start | _Failure | _Resume | EndRecord
)


class _Entry(NamedTuple):
    """A record's place in the run and in its file."""

    block: str
    start: int
    failure_digest: bytes  # empty for a start, which is unique; otherwise tells failures apart
    line: Line  # without the record itself


class _Source(NamedTuple):
    """The part of a document that is held in memory."""

    path: Path
    header: RunHeader
    parts: tuple[Part, ...]
    entries: list[_Entry]


def _contents(path: Path) -> _Source:
    """Read a whole document. Raises InputError if it is not a run document, or damaged."""
    lines = journal.lines(path)
    try:
        header = msgspec.json.decode(next(lines).record, type=RunHeader)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:1: not the header of a run document: {error}") from None
    if not header.blocks:
        raise InputError(f"{path}:1: the run has no blocks")
    keys = {block.key for block in header.blocks}
    end = None
    entries = []
    for line in lines:
        try:
            record = _decoder.decode(line.record)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}:{line.number}: not a record of a run document: {error}") from None
        end = record if isinstance(record, EndRecord) else None
        if isinstance(record, _Start):
            entries.append(_Entry(record.block, record.start, b"", line._replace(record=b"")))
        elif isinstance(record, _Failure):
            block = block_key(record.cell.workload, record.cell.threads)
            failure_digest = hashlib.blake2b(line.record).digest()
            entries.append(_Entry(block, record.start, failure_digest, line._replace(record=b"")))
        if entries and entries[-1].block not in keys:
            raise InputError(f"{path}:{line.number}: block {entries[-1].block!r} is not in the header")
    parts = _parts(header, end)
    try:
        for part in parts:
            _time(part.started)
            _time(part.finished or part.started)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a time at which a run can start or finish: {error}") from None
    return _Source(path, header, parts, entries)


def _parts(header: RunHeader, end: EndRecord | None) -> tuple[Part, ...]:
    """The parts of a merged document; a shard is a part itself."""
    return header.parts or (
        Part(
            run=header.run,
            started=header.started,
            finished=end.finished if end else "",
            elapsed_s=end.elapsed_s if end else 0.0,
            interrupted=end is None or end.interrupted,
            seed=header.seed,
            runner=header.runner,
            servers=header.servers,
            blocks=tuple(block.key for block in header.blocks),
        ),
    )


# --- all documents --------------------------------------------------------------------------------


class _Whole:
    """The whole run, assembled source by source; all must match the run of `first`."""

    def __init__(self, first: _Source) -> None:
        self.first = first
        self.blocks = _blocks(first.header)
        self._order = {block.key: number for number, block in enumerate(self.blocks)}
        self._sources: list[_Source] = []
        self._parts: dict[bytes, Part] = {}  # by digest without their blocks
        self._owners: dict[str, tuple[bytes, Path]] = {}  # by block: its part's digest, and the document
        self._servers: dict[str, ServerRecord] = {}  # by label

    def add(self, source: _Source) -> None:
        """Add a source. Raises InputError if it does not match the earlier ones."""
        self._require(source, compatibility.plans(self.first.header, source.header, _SHARD_OPTIONS))
        if source.header.planned != self.first.header.planned and _blocks(source.header) != self.blocks:
            raise InputError(f"{source.path}: not of the same run as {self.first.path}: different blocks")
        for part in source.parts:
            for server in part.servers:
                known = self._servers.setdefault(server.label, server)
                self._require(source, compatibility.servers(known, server, effective=False))
            self._claim_blocks(source.path, part)
        # Headers are large, and all match the first.
        self._sources.append(source._replace(header=self.first.header, parts=()))

    def parts(self) -> tuple[Part, ...]:
        """The parts, in the order of their first blocks."""
        blocks: dict[bytes, list[str]] = {}
        for block in self.blocks:
            if block.key in self._owners:
                blocks.setdefault(self._owners[block.key][0], []).append(block.key)
        return tuple(structs.replace(self._parts[part], blocks=tuple(keys)) for part, keys in blocks.items())

    def records(self) -> Iterator[bytes]:
        """Every record once, by block and start. Raises InputError if two records of one start differ."""
        found = [
            (self._order[entry.block], entry.start, entry.failure_digest, number, entry.line)
            for number, source in enumerate(self._sources)
            for entry in source.entries
        ]
        found.sort()
        last: tuple[int, int, bytes] | None = None
        record = b""
        with _Reader() as reader:
            for block, start, failure_digest, number, line in found:
                path = self._sources[number].path
                before, record = record, reader.read(path, line)
                if last != (block, start, failure_digest):
                    yield record
                elif record != before:
                    key = self.blocks[block].key
                    raise InputError(
                        f"{path}: start {start} of block {key!r} differs from that in another document"
                    )
                last = block, start, failure_digest

    def _claim_blocks(self, path: Path, part: Part) -> None:
        """Make the part the owner of its blocks. Raises InputError if one already belongs to another."""
        identity = _digest(structs.replace(part, blocks=()))
        self._parts.setdefault(identity, part)
        for key in part.blocks:
            if key not in self._order:
                raise InputError(f"{path}: block {key!r} does not belong to the run")
            owner, where = self._owners.setdefault(key, (identity, path))
            if owner != identity:
                raise InputError(f"{path}: block {key!r} was also measured in {where}; leave one of them out")

    def _require(self, source: _Source, differences: Iterator[str]) -> None:
        if (different := next(differences, None)) is not None:
            raise InputError(f"{source.path}: not of the same run as {self.first.path}: {different}")


class _Reader(contextlib.AbstractContextManager["_Reader"]):
    """Reads records from their files; keeps one file open, as consecutive records mostly share it."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file: IO[bytes] | None = None

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, path: Path, line: Line) -> bytes:
        """The record on one line of a file."""
        if path != self._path or self._file is None:
            self.__exit__()
            self._path, self._file = path, path.open("rb")
        self._file.seek(line.offset)
        whole = self._file.read(line.size)
        return journal.unsealed(whole) if line.digest else whole[:-1]


def _blocks(header: RunHeader) -> tuple[Block, ...]:
    """The blocks of the whole run."""
    return header.planned.blocks if header.planned else header.blocks


# --- the result -----------------------------------------------------------------------------------


def _header(first: RunHeader, blocks: tuple[Block, ...], parts: Sequence[Part]) -> RunHeader:
    """The merged run's header; its run id derives from the start time and the plan."""
    started = min((part.started for part in parts), key=_time)
    given = {flag: text for flag, text in first.given.items() if flag not in _SHARD_OPTIONS}
    merged = structs.replace(
        first,
        format=journal.FORMAT,
        started=started,
        seed=parts[0].seed,
        runner=_runner([part.runner for part in parts]),
        servers=tuple(
            _server([record for part in parts for record in part.servers if record.label == server.label])
            for server in parts[0].servers
        ),
        blocks=blocks,
        given=given,
        planned=None,
        parts=tuple(parts),
    )
    plan = _digest([merged.profile, merged.workloads, merged.digests, merged.given])
    return structs.replace(merged, run=f"{_time(started):%Y%m%dT%H%M%SZ}-{plan.hex()[:6]}")


def _runner(runners: Sequence[Runner]) -> Runner:
    """The first runner, with the warnings of all."""
    fingerprints = list(dict.fromkeys(runner.fingerprint for runner in runners))
    warnings = dict.fromkeys(warning for runner in runners for warning in runner.warnings)
    if len(fingerprints) > 1:
        names = ", ".join(fingerprints)
        text = f"Measured by {len(fingerprints)} runners, each block by one of them: {names}."
        warnings[Warning(code="several-runners", text=text)] = None
    return structs.replace(runners[0], warnings=tuple(warnings))


def _server(records: Sequence[ServerRecord]) -> ServerRecord:
    """The first record of a server that started, with the warnings of all."""
    started = next((record for record in records if record.comment), records[0])
    warnings = dict.fromkeys(warning for record in records for warning in record.warnings)
    return structs.replace(started, warnings=tuple(warnings))


def _end(header: RunHeader, parts: Sequence[Part]) -> EndRecord:
    """The merged run's end, from first start to last finish; interrupted if any part was, or is missing."""
    finished = max((part.finished for part in parts if part.finished), key=_time, default=header.started)
    return EndRecord(
        finished=finished,
        elapsed_s=(_time(finished) - _time(header.started)).total_seconds(),
        interrupted=any(part.interrupted for part in parts) or bool(missing(header)),
    )


def _write(file: IO[bytes], header: RunHeader, records: Iterator[bytes], end: EndRecord) -> None:
    digest = b""
    for record in itertools.chain([_encoder.encode(header)], records, [_encoder.encode(end)]):
        line, digest = journal.sealed(record, digest)
        file.write(line)


_encoder = msgspec.json.Encoder(order="deterministic")  # documents may have their options in different orders


def _digest(value: object) -> bytes:
    return hashlib.blake2b(_encoder.encode(value), digest_size=16).digest()


def _time(text: str) -> datetime:
    """Parse a time, as UTC. Raises ValueError."""
    return datetime.fromisoformat(text).astimezone(UTC)
