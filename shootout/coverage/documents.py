"""Coverage maps on disk: `coverage/RUN.json.xz`, where RUN is the count that made it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from shootout import __version__
from shootout.coverage import answer, diffs, judge, parts
from shootout.coverage.parts import Symbols
from shootout.coverage.values import UNUSED, MapDocument, MapKind, MapServer
from shootout.document.formats import Format, Record
from shootout.document.store import Store
from shootout.errors import InputError, MeasureError, Skip
from shootout.measure.plan import Plan
from shootout.model.run import REMARK, ServerRecord, Warning

_REVISIONS = re.compile(r"(.*):([^:]+?)\.\.([^:]+)")


@dataclass(frozen=True)
class Executed:
    """The functions that a server executed while it was counted."""

    server: ServerRecord
    program: Path
    # By workload and kind of statement, by plain name of a function: its share of the instructions, with what
    # it calls.
    shares: Mapping[tuple[str, str], Mapping[str, float]]
    beside: Set[str]  # functions that threads without a connection executed meanwhile


def map_of_servers(run: str, started: str, servers: Sequence[Executed]) -> MapDocument:
    """Make the map of what these servers executed."""
    kinds = [*dict.fromkeys(key for server in servers for key in server.shares)]
    by_kind = [set(shares) for server in servers for shares in server.shares.values()]
    functions = sorted(set().union(*by_kind, *(server.beside for server in servers)))
    symbols = [parts.defined(server.program) for server in servers]
    names = set().union(*(each.sizes for each in symbols)).difference(functions)
    mapped = (_server(each, own, functions, kinds) for each, own in zip(servers, symbols, strict=True))
    return MapDocument(
        format=2, run=run, started=started, version=__version__, functions=tuple(functions),
        symbols=tuple(sorted(names)), kinds=tuple(MapKind(workload=of, name=name) for of, name in kinds),
        mapped=tuple(mapped),
    )  # fmt: skip


def _server(
    executed: Executed, symbols: Symbols, functions: Sequence[str], kinds: Sequence[tuple[str, str]]
) -> MapServer:
    columns = [executed.shares.get(key, {}) for key in kinds]
    rows = tuple(
        tuple(min(round(1000 * column[name]), 1000) if name in column else UNUSED for column in columns)
        for name in functions
    )
    known: set[str] = set().union(*columns)
    covered, blind = parts.covered(symbols.sizes, known | executed.beside)
    record, unknown = executed.server, executed.beside - known
    return MapServer(
        label=record.label, reference=record.reference, version=record.version, build=record.build,
        commit=record.commit, shares=rows, parts=covered, named=symbols.named, blind=blind,
        beside=tuple(index for index, name in enumerate(functions) if name in unknown),
    )  # fmt: skip


def _fault(document: MapDocument) -> str:
    """Find a row that is missing, or an index that points nowhere."""
    functions, kinds = len(document.functions), len(document.kinds)
    for server in document.mapped:
        if len(server.shares) != functions or any(len(row) != kinds for row in server.shares):
            return f"the shares of {server.label} are damaged"
        if any(index >= functions for index in server.beside):
            return f"the functions beside those of {server.label} are damaged"
        if any(part.executed > part.functions or part.executed_bytes > part.bytes for part in server.parts):
            return f"the parts of {server.label} are damaged"
    return "" if document.mapped else "it has no server"


def _map_1(record: Record) -> Record:
    """A map had no functions but those that were executed."""
    servers = [server | {"named": None} for server in record["mapped"]]
    return record | {"format": 2, "symbols": [], "mapped": servers}


_FORMAT = Format(2, (_map_1,))
MAPS = Store(
    "a coverage map", "coverage/*.json.xz", MapDocument, "mapped", _FORMAT, _fault, "reach/*.json.xz"
)


def keep(results: Path, run: str, started: str, servers: Sequence[Executed], skip: Skip) -> None:
    """Keep the map of a count, if it counted any server; `skip` receives why it cannot be kept."""
    try:
        if servers:
            MAPS.write(results, run, map_of_servers(run, started, servers))
    except (InputError, MeasureError) as error:
        skip(f"coverage: {error}")


def newest(results: Path, skip: Skip) -> MapDocument:
    """Read the newest map of a folder. Raises InputError without one."""
    document = next(MAPS.newest_first(results, skip), None)
    if document is None:
        raise InputError(f"{results}: no coverage map; `shootout count` makes one")
    return document


def remarks(plan: Plan, change: str, results: Path, skip: Skip) -> Iterator[Warning]:
    """Say how a run covers a change, and name the functions that it touches, with what executes each.

    `change`: DIR:BASE..HEAD; `skip` receives which maps cannot be read. Raises InputError.
    """
    match = _REVISIONS.fullmatch(change)
    if match is None:
        raise InputError(f"--coverage {change}: expected DIR:BASE..HEAD, a git repository and two revisions")
    document = newest(results, skip)
    coverage = judge.coverage(document, diffs.of_repository(Path(match[1]), match[2], match[3]))
    text = answer.of_run(coverage, [*dict.fromkeys(cell.workload for cell in plan.cells)])
    yield Warning(code=REMARK, text=text)
    yield from (Warning(code="touched", text=each) for each in answer.touched(coverage))
