"""Shards to one run: the documents of all shards become one, as if a single run had written it.

The result is made of the set of parts and records that the documents hold, in the order of the whole run's
blocks: it has the same bytes whatever their order and number, and however they were merged before. Records
are copied as they were written, one at a time: what is in memory grows with their number, not their size.
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

# Options that say where and which part, and not what is measured.
_OF_THE_SHARD = ("--data", "--port", "--seed", "--shard")


def merge(paths: Sequence[Path], results: Path, skip: Callable[[str], None]) -> Path:
    """Write the document of the whole run into the folder `results`; returns where it is.

    What cannot be read, because it is torn or no run document, is left out, and `skip` hears why. Raises
    InputError where nothing is left, where a document is of another run, where two have the same block, and
    where the result cannot be written.
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
        raise InputError("nothing to merge: no run document among those named")
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
    """The blocks of a merged run that no document had."""
    there = {key for part in header.parts for key in part.blocks}
    return tuple(block for block in header.blocks if block.key not in there)


def superseded(parts: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The runs of which all is in another one, too: shards beside what they became.

    `parts`: of each run those that it was merged from, none where it was measured as it is.
    """
    merged = [set(of) for of in parts.values() if of]
    found = set()
    for run, of in parts.items():
        own = set(of) or {run}
        if any(own < other or (own == other and not of) for other in merged):
            found.add(run)
    return frozenset(found)


# --- one document ---------------------------------------------------------------------------------


class _Start(msgspec.Struct, tag="start", tag_field="record"):
    """What of a StartRecord says where it belongs."""

    block: str
    start: int


class _Failure(msgspec.Struct, tag="failure", tag_field="record"):
    """The same of a FailureRecord."""

    cell: Cell
    start: int


class _Resume(msgspec.Struct, tag="resume", tag_field="record"):
    """Nothing of a ResumeRecord is needed."""


_decoder: msgspec.json.Decoder[_Start | _Failure | _Resume | EndRecord] = msgspec.json.Decoder(
    _Start | _Failure | _Resume | EndRecord
)


class _Entry(NamedTuple):
    """A record, and where it lies."""

    block: str
    start: int
    mark: bytes  # empty of a start, of which there is one; else what tells failures from each other
    line: Line  # without the record itself


class _Source(NamedTuple):
    """What of a document is kept in memory."""

    path: Path
    header: RunHeader
    parts: tuple[Part, ...]
    entries: list[_Entry]


def _contents(path: Path) -> _Source:
    """Read a document through. Raises InputError where it is none, or not whole."""
    lines = journal.lines(path)
    try:
        header = msgspec.json.decode(next(lines).record, type=RunHeader)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}:1: not the header of a run document: {error}") from None
    if not header.blocks:
        raise InputError(f"{path}:1: a run of no blocks")
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
            mark = hashlib.blake2b(line.record).digest()
            entries.append(_Entry(block, record.start, mark, line._replace(record=b"")))
        if entries and entries[-1].block not in keys:
            raise InputError(f"{path}:{line.number}: block {entries[-1].block!r} is not in the header")
    parts = _parts(header, end)
    try:
        for part in parts:
            _time(part.started)
            _time(part.finished or part.started)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a time that a run can have begun or ended: {error}") from None
    return _Source(path, header, parts, entries)


def _parts(header: RunHeader, end: EndRecord | None) -> tuple[Part, ...]:
    """What a document brings: a merged one all that it was merged from."""
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


# --- all of them ----------------------------------------------------------------------------------


class _Whole:
    """The whole run, source by source; `first` is where all others must belong to."""

    def __init__(self, first: _Source) -> None:
        self.first = first
        self.blocks = _blocks(first.header)
        self._order = {block.key: number for number, block in enumerate(self.blocks)}
        self._sources: list[_Source] = []
        self._parts: dict[bytes, Part] = {}  # by all that they are but their blocks
        self._owners: dict[str, tuple[bytes, Path]] = {}  # of each block: its part, and where that was
        self._servers: dict[str, ServerRecord] = {}  # by label

    def add(self, source: _Source) -> None:
        """Take up one. Raises InputError where it does not belong to those before."""
        self._require(source, compatibility.plans(self.first.header, source.header, _OF_THE_SHARD))
        if source.header.planned != self.first.header.planned and _blocks(source.header) != self.blocks:
            raise InputError(f"{source.path}: not of the same run as {self.first.path}: other blocks")
        for part in source.parts:
            for server in part.servers:
                known = self._servers.setdefault(server.label, server)
                self._require(source, compatibility.servers(known, server, effective=False))
            self._own(source.path, part)
        # Headers are large, and the first one stands for all.
        self._sources.append(source._replace(header=self.first.header, parts=()))

    def parts(self) -> tuple[Part, ...]:
        """In the order of the first of their blocks."""
        blocks: dict[bytes, list[str]] = {}
        for block in self.blocks:
            if block.key in self._owners:
                blocks.setdefault(self._owners[block.key][0], []).append(block.key)
        return tuple(structs.replace(self._parts[part], blocks=tuple(of)) for part, of in blocks.items())

    def records(self) -> Iterator[bytes]:
        """Every record once, in the order of blocks and starts. Raises InputError where two are at odds."""
        found = [
            (self._order[entry.block], entry.start, entry.mark, number, entry.line)
            for number, source in enumerate(self._sources)
            for entry in source.entries
        ]
        found.sort()
        last: tuple[int, int, bytes] | None = None
        record = b""
        with _Reader() as reader:
            for block, start, mark, number, line in found:
                path = self._sources[number].path
                before, record = record, reader.read(path, line)
                if last != (block, start, mark):
                    yield record
                elif record != before:
                    key = self.blocks[block].key
                    raise InputError(f"{path}: start {start} of block {key!r} is another one elsewhere")
                last = block, start, mark

    def _own(self, path: Path, part: Part) -> None:
        """Note whose the part's blocks are. Raises InputError where one of them is another's already."""
        identity = _digest(structs.replace(part, blocks=()))
        self._parts.setdefault(identity, part)
        for key in part.blocks:
            if key not in self._order:
                raise InputError(f"{path}: block {key!r} is none of the run's")
            owner, where = self._owners.setdefault(key, (identity, path))
            if owner != identity:
                raise InputError(f"{path}: block {key!r} was measured in {where}, too; leave one of them out")

    def _require(self, source: _Source, differences: Iterator[str]) -> None:
        if (different := next(differences, None)) is not None:
            raise InputError(f"{source.path}: not of the same run as {self.first.path}: {different}")


class _Reader(contextlib.AbstractContextManager["_Reader"]):
    """Reads records where they lie; their order makes it stay in one file for long."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._file: IO[bytes] | None = None

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, path: Path, line: Line) -> bytes:
        """The record on a line of a file."""
        if path != self._path or self._file is None:
            self.__exit__()
            self._path, self._file = path, path.open("rb")
        self._file.seek(line.offset)
        whole = self._file.read(line.size)
        return journal.unsealed(whole) if line.digest else whole[:-1]


def _blocks(header: RunHeader) -> tuple[Block, ...]:
    """The whole run's."""
    return header.planned.blocks if header.planned else header.blocks


# --- what comes of it -----------------------------------------------------------------------------


def _header(first: RunHeader, blocks: tuple[Block, ...], parts: Sequence[Part]) -> RunHeader:
    """The merged run's: it has a name of its own, made of its time and of what was asked for."""
    started = min((part.started for part in parts), key=_time)
    given = {flag: text for flag, text in first.given.items() if flag not in _OF_THE_SHARD}
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
    asked = _digest([merged.profile, merged.workloads, merged.digests, merged.given])
    return structs.replace(merged, run=f"{_time(started):%Y%m%dT%H%M%SZ}-{asked.hex()[:6]}")


def _runner(runners: Sequence[Runner]) -> Runner:
    """The first runner, with the warnings of all."""
    prints = list(dict.fromkeys(runner.fingerprint for runner in runners))
    warnings = dict.fromkeys(warning for runner in runners for warning in runner.warnings)
    if len(prints) > 1:
        text = f"Measured by {len(prints)} runners, each block by one of them: {', '.join(prints)}."
        warnings[Warning(code="several-runners", text=text)] = None
    return structs.replace(runners[0], warnings=tuple(warnings))


def _server(records: Sequence[ServerRecord]) -> ServerRecord:
    """The first server that was started, with the warnings of all."""
    shown = next((record for record in records if record.comment), records[0])
    warnings = dict.fromkeys(warning for record in records for warning in record.warnings)
    return structs.replace(shown, warnings=tuple(warnings))


def _end(header: RunHeader, parts: Sequence[Part]) -> EndRecord:
    """From the first beginning to the last end; cut short if any part was, or is missing."""
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


_encoder = msgspec.json.Encoder(order="deterministic")  # two documents may have their options in any order


def _digest(value: object) -> bytes:
    return hashlib.blake2b(_encoder.encode(value), digest_size=16).digest()


def _time(text: str) -> datetime:
    """A time in UTC. Raises ValueError."""
    return datetime.fromisoformat(text).astimezone(UTC)
