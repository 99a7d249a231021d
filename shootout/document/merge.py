"""Merges the documents of shards into one, as if a single run had written it.

The result is the set of all parts and records in the order of the whole run's blocks: it has the same bytes
whatever the order and number of the documents, and however they were merged before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import structs

from shootout import files
from shootout.document import compatibility, journal, packed
from shootout.errors import InputError
from shootout.model.plan import Block, block_key
from shootout.model.run import (
    EndRecord,
    FailureRecord,
    Part,
    RunDocument,
    RunHeader,
    Runner,
    ServerRecord,
    StartRecord,
    Warning,
)

BLOCKS_MAX = 10_000  # weeks of measuring; a plan of a few lines may stand for any number

# Options that differ between shards: they do not change what is measured.
_SHARD_OPTIONS = ("--data", "--set port", "--seed", "--shard")

_Documents = Mapping[Path, RunDocument]  # each with its parts: a shard is a part itself


def merge(paths: Sequence[Path], results: Path, skip: Callable[[str], None]) -> Path:
    """Write the whole run's packed document; `skip` receives why one is left out. Raises InputError."""
    documents = {}
    for path in journal.counted(paths):
        try:
            documents[path] = _read(path)
        except InputError as error:
            skip(str(error))
    if not documents:
        raise InputError("nothing to merge: none of the files is a run document")
    runs = {path: document.header.run for path, document in documents.items()}
    for path, kept in journal.copies(runs).items():
        if documents.pop(path) != documents[kept]:
            skip(str(journal.differs(path, kept)))
    _require_same_run(documents)
    first = next(iter(documents.values())).header
    order = {block.key: number for number, block in enumerate(_blocks(first))}
    parts = _parts(documents, order)
    header = _header(first, parts)
    document = RunDocument(
        header=header, starts=_starts(documents, order), failures=_failures(documents, order),
        end=_end(header, parts),
    )  # fmt: skip
    path = results / (journal.new_name(document.header.run) + journal.PACKED)
    with files.writing(path):
        files.replace(path, packed.encoded(document))
    return path


def missing(header: RunHeader) -> tuple[Block, ...]:
    """List the blocks of a merged run that are in none of its documents."""
    measured = {key for part in header.parts for key in part.blocks}
    return tuple(block for block in header.blocks if block.key not in measured)


def superseded(parts: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Find the runs wholly contained in another run; `parts`: by run, those that it was merged from."""
    merged = [set(sources) for sources in parts.values() if sources]
    return frozenset(
        run
        for run, sources in parts.items()
        if any({*sources} < other if sources else run in other for other in merged)
    )


def _read(path: Path) -> RunDocument:
    document = packed.rounded(journal.read(path))
    header, end = document.header, document.end
    if not header.blocks:
        raise InputError(f"{path}:1: the run has no blocks")
    if header.planned and len(header.planned.workloads) * len(header.planned.threads) > BLOCKS_MAX:
        raise InputError(f"{path}:1: planned: more than {BLOCKS_MAX} blocks")
    whole = Part(
        finished=end.finished if end else "",
        elapsed_s=end.elapsed_s if end else 0.0,
        interrupted=end is None or end.interrupted,
        blocks=tuple(block.key for block in header.blocks),
        **{name: getattr(header, name) for name in ("run", "started", "seed", "runner", "servers")},
    )
    parts = header.parts or (whole,)
    try:
        for part in parts:
            _time(part.started)
            _time(part.finished or part.started)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a time at which a run can start or finish: {error}") from None
    return structs.replace(document, header=structs.replace(header, parts=parts))


def _blocks(header: RunHeader) -> tuple[Block, ...]:
    return header.planned.blocks if header.planned else header.blocks


def _require_same_run(documents: _Documents) -> None:
    """Raise InputError, naming the difference, if a document is not of the same run as the first."""
    first, header = next((path, document.header) for path, document in documents.items())
    servers: dict[str, ServerRecord] = {}  # by label
    for path, document in documents.items():
        differences = [*compatibility.plans(header, document.header, _SHARD_OPTIONS)]
        if _blocks(document.header) != _blocks(header):
            differences.append("different blocks")
        for server in (server for part in document.header.parts for server in part.servers):
            then = servers.setdefault(server.label, server)
            differences += compatibility.servers(then, server, effective=False)
        if differences:
            raise InputError(f"{path}: not of the same run as {first}: {differences[0]}")


def _parts(documents: _Documents, order: Mapping[str, int]) -> tuple[Part, ...]:
    """Order the parts by their first blocks. Raises InputError if two measured the same block."""
    owners: dict[str, tuple[bytes, Path]] = {}  # by block: the part without its blocks, and the document
    parts = [(path, part) for path, document in documents.items() for part in document.header.parts]
    for path, part in parts:
        identity = _encoder.encode(structs.replace(part, blocks=()))
        for block in part.blocks:
            if block not in order:
                raise InputError(f"{path}: block {block!r} does not belong to the run")
            owner, where = owners.setdefault(block, (identity, path))
            if owner != identity:
                raise InputError(
                    f"{path}: block {block!r} was also measured in {where}; leave one of them out"
                )
    blocks: dict[bytes, list[str]] = {}
    for block in sorted(owners, key=order.__getitem__):
        blocks.setdefault(owners[block][0], []).append(block)
    return tuple(
        structs.replace(msgspec.json.decode(identity, type=Part), blocks=tuple(keys))
        for identity, keys in blocks.items()
    )


def _starts(documents: _Documents, order: Mapping[str, int]) -> tuple[StartRecord, ...]:
    starts: dict[tuple[int, int], StartRecord] = {}
    for path, document in documents.items():
        for record in document.starts:
            if record != starts.setdefault((order[record.block], record.start), record):
                what = f"start {record.start} of block {record.block!r}"
                raise InputError(f"{path}: {what} differs from that in another document")
    return tuple(starts[place] for place in sorted(starts))


def _failures(documents: _Documents, order: Mapping[str, int]) -> tuple[FailureRecord, ...]:
    def place(record: FailureRecord) -> tuple[int, int, str, str]:
        block = block_key(record.cell.workload, record.cell.threads)
        return order[block], record.start, record.cell.server, record.reason

    failures = {record for document in documents.values() for record in document.failures}
    return tuple(sorted(failures, key=place))


def _header(first: RunHeader, parts: Sequence[Part]) -> RunHeader:
    """The merged run's header; its run id derives from the start time and the plan."""
    started = min((part.started for part in parts), key=_time)
    merged = structs.replace(
        first,
        format=journal.FORMAT,
        started=started,
        seed=parts[0].seed,
        runner=_runner([part.runner for part in parts]),
        servers=tuple(_server(server.label, parts) for server in parts[0].servers),
        blocks=_blocks(first),
        given={flag: text for flag, text in first.given.items() if flag not in _SHARD_OPTIONS},
        planned=None,
        parts=tuple(parts),
    )
    plan = _encoder.encode([merged.profile, merged.workloads, merged.digests, merged.given])
    run = f"{_time(started):%Y%m%dT%H%M%SZ}-{blake2b(plan, digest_size=16).hexdigest()[:6]}"
    return msgspec.json.decode(_encoder.encode(structs.replace(merged, run=run)), type=RunHeader)


def _runner(runners: Sequence[Runner]) -> Runner:
    """The first runner, with the warnings of all."""
    fingerprints = dict.fromkeys(runner.fingerprint for runner in runners)
    warnings = dict.fromkeys(warning for runner in runners for warning in runner.warnings)
    if len(fingerprints) > 1:
        text = (
            f"Measured by {len(fingerprints)} runners, each block by one of them: {', '.join(fingerprints)}."
        )
        warnings[Warning(code="several-runners", text=text)] = None
    return structs.replace(runners[0], warnings=tuple(warnings))


def _server(label: str, parts: Sequence[Part]) -> ServerRecord:
    """The first record of a server that started, with the warnings of all."""
    records = [record for part in parts for record in part.servers if record.label == label]
    started = next((record for record in records if record.comment), records[0])
    warnings = dict.fromkeys(warning for record in records for warning in record.warnings)
    return structs.replace(started, warnings=tuple(warnings))


def _end(header: RunHeader, parts: Sequence[Part]) -> EndRecord:
    finished = max((part.finished for part in parts if part.finished), key=_time, default=header.started)
    return EndRecord(
        finished=finished,
        elapsed_s=(_time(finished) - _time(header.started)).total_seconds(),
        interrupted=any(part.interrupted for part in parts) or bool(missing(header)),
    )


_encoder = msgspec.json.Encoder(order="deterministic")  # documents may have their options in different orders


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
