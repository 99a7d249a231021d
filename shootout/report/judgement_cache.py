"""Runs as they were judged, kept beside their documents: what three years of runs say is read in a second.

`FOLDER` has a file for each run, of seven lines: what it was judged from, its cells, its outline (what lists,
histories and feeds say of it), the gist of it (verdicts and ratios, without what they rest on), its other
servers beside each other, the whole comparison, and an end. Of an old run no more than the first three are
read. The file counts as long as document, earlier A/A cells and this library are what they were; else the
run is judged again. Acknowledgements are applied when it is read: a new one needs no new judgement.
"""

from __future__ import annotations

import gc
import hashlib
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import structs

from shootout import _engine, files
from shootout.analysis import compare, history, ledger
from shootout.document import journal, merge
from shootout.errors import InputError
from shootout.inputs import acknowledgements
from shootout.model.history import HistoryPoint, LedgerEntry, SeriesKey
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.run import RunDocument, RunHeader, Runner
from shootout.model.value import Value
from shootout.model.verdict import (
    Acknowledgement,
    CellComparison,
    Comparison,
    Interval,
    JudgedMetric,
    Verdict,
)
from shootout.paths import PACKAGE
from shootout.report import wording

T = TypeVar("T")

FOLDER = "judged"  # beside the run documents
_SUFFIX = ".judged"  # not theirs, so that whoever looks for documents finds those alone
_END = "end"
_ENDS_BYTES = 65_536  # of a document, at both ends: with its length they tell any two apart


class Whole(NamedTuple):
    """A run with all that its verdicts rest on."""

    document: RunDocument
    comparison: Comparison
    others: tuple[CellComparison, ...]  # each two servers of a block of which neither is its base


class Regressed(Value, array_like=True):
    """What is told of a regressed cell beside its verdict."""

    judged: tuple[JudgedMetric, ...]
    reason: str


class Said(Value):
    """What a run says of its cells, in columns: each cell has its place, the same in all of them."""

    verdicts: tuple[Verdict, ...]
    ratios: tuple[float | None, ...]  # of throughput
    tps: tuple[float | None, ...]
    regressed: dict[int, Regressed]  # by place


class Outline(Value):
    """What lists of runs, histories and feeds say of a run."""

    run: str
    started: str  # ISO, UTC
    shootout: str  # version
    runners: tuple[Runner, ...]  # the machines that measured, one for each fingerprint
    parts: tuple[str, ...]  # runs that it was merged from
    profile_name: str
    published: str | None  # comparison that it repeats
    description: str
    servers: tuple[str, ...]
    conditions: str
    policy: Policy  # that its verdicts were held against
    headline: str
    verdicts: dict[Verdict, int]  # of the cells that ask for one
    complete: bool  # it was measured to its end
    said: Said
    entries: tuple[LedgerEntry, ...]  # what its A/A cells have shown


@dataclass(frozen=True)
class Judged:
    """A run: its outline at hand, the rest of it when it is asked for."""

    key: str  # another one where anything that it says is another
    cells: tuple[SeriesKey, ...]  # each with the machine that measured it, and its base
    outline: Outline
    read_gist: Callable[[], Comparison]
    whole: Callable[[], Whole]

    @property
    def id(self) -> str:
        """Unique, sorts by time."""
        return self.outline.run

    @cached_property
    def runners(self) -> tuple[str, ...]:
        """The fingerprints of the machines that measured."""
        return tuple(runner.fingerprint for runner in self.outline.runners)

    @cached_property
    def gist(self) -> Comparison:
        """What it says, without what it rests on."""
        return self.read_gist()

    @property
    def points(self) -> Iterator[tuple[SeriesKey, HistoryPoint]]:
        """What it adds to the history of each cell."""
        run, started, said = self.id, self.outline.started, self.outline.said
        for cell, ratio, tps in zip(self.cells, said.ratios, said.tps, strict=True):
            if ratio is not None and tps is not None:
                yield cell, HistoryPoint(run=run, started=started, ratio=ratio, tps=tps)

    @property
    def regressed(self) -> dict[int, CellComparison]:
        """By place, as much of a regressed cell's comparison as is left."""
        return _regressed(self.cells, self.outline.said)


def held(document_: RunDocument, comparison: Comparison, others: Sequence[CellComparison] = ()) -> Judged:
    """A run that is in memory."""
    whole = Whole(document_, comparison, tuple(others))
    key = digest(msgspec.json.encode(whole))
    return Judged(key, cells_of(comparison), outline(comparison), lambda: gist(comparison), lambda: whole)


def run(path: Path, acknowledged: Sequence[Acknowledgement] = ()) -> Judged:
    """A document's run, judged by what its runner's A/A cells have shown before it. Raises InputError."""
    return _run(path, _Ledgers(path.parent / ledger.FOLDER), acknowledged)


def runs(
    results: Path, left_out: Callable[[InputError], None], acknowledged: Sequence[Acknowledgement] = ()
) -> list[Judged]:
    """Those of all documents in a folder, the newest last; `left_out` is told why one cannot be read."""
    ledgers = _Ledgers(results / ledger.FOLDER)
    paths = journal.find(results)
    _forget_others(results / FOLDER, paths)
    found = []
    with uncollected():
        for path in paths:
            try:
                found.append(_run(path, ledgers, acknowledged))
            except InputError as error:
                left_out(error)
    parts = {each.id: each.outline.parts for each in found}
    hidden = merge.superseded(parts)
    return [each for each in found if each.id not in hidden]


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no rubbish: what is made stays, and to look through it takes longer than to make it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def store(path: Path, whole: Whole, ledgers: _Ledgers | None = None) -> None:
    """Keep what the run of a document says, where that can be."""
    ledgers = _Ledgers(path.parent / ledger.FOLDER) if ledgers is None else ledgers
    judged_from = _from(path, _Origin.of(whole.comparison.header), ledgers)
    comparison = whole.comparison
    said = (cells_of(comparison), outline(comparison), gist(comparison), whole.others, comparison)
    kept = _place(path)
    with suppress(OSError):
        lines = (msgspec.json.encode(line) + b"\n" for line in (judged_from, *said, _END))
        files.replace(kept, b"".join(lines))


def cells_of(comparison: Comparison) -> tuple[SeriesKey, ...]:
    """The cells of a comparison, each with the machine that measured it, and its base."""
    return tuple(history.key_of(comparison.header, each) for each in comparison.cells)


def outline(comparison: Comparison) -> Outline:
    """A comparison in a few words."""
    header, end = comparison.header, comparison.end
    asked = [c for c in comparison.cells if c.cell != c.base or c.verdict is not Verdict.UNJUDGED]
    aa_controls = (*comparison.aa_controls, *compare.again(header, comparison.cells))
    return Outline(
        run=header.run,
        started=header.started,
        shootout=header.shootout,
        runners=header.runners,
        parts=tuple(part.run for part in header.parts),
        profile_name=header.profile_name,
        published=header.profile.published,
        description=header.profile.description,
        servers=tuple(server.label for server in header.servers),
        conditions=wording.conditions(header),
        policy=comparison.policy,
        headline=wording.overall(comparison).text,
        verdicts={verdict: sum(c.verdict is verdict for c in asked) for verdict in wording.WORST_FIRST},
        complete=end is not None and not end.interrupted,
        said=_said(comparison.cells),
        entries=ledger.of(header, aa_controls),
    )


def gist(comparison: Comparison) -> Comparison:
    """What a comparison says, without what it rests on: about a tenth of its size."""
    header = comparison.header
    return structs.replace(
        comparison,
        header=structs.replace(
            header,
            servers=tuple(structs.replace(server, settings=()) for server in header.servers),
            workloads=(),
        ),
        cells=tuple(map(_gist, comparison.cells)),
        aa_controls=(),
        curves=(),
        laws=(),
    )


# --- files ----------------------------------------------------------------------------------------


class _Origin(Value):
    """Which run it is, and who measured it."""

    run: str
    parts: tuple[str, ...]  # runs that it was merged from
    runners: tuple[str, ...]  # fingerprints

    @classmethod
    def of(cls, header: RunHeader) -> _Origin:
        """A run's."""
        return cls(
            run=header.run,
            parts=tuple(part.run for part in header.parts),
            runners=tuple(sorted(runner.fingerprint for runner in header.runners)),
        )


class _From(Value):
    """What a run was judged from."""

    origin: _Origin
    document: str  # these three: digests
    ledger: str
    library: str


class _Ledgers:
    """What the A/A cells of each runner have shown; each file is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: dict[str, list[LedgerEntry]] = {}
        self._digests: dict[str, list[str]] = {}

    def before(self, origin: _Origin) -> tuple[LedgerEntry, ...]:
        """Those of earlier runs, less its own parts."""
        return tuple(
            entry
            for runner in origin.runners
            for entry in self._of(runner)[: self._count(origin, runner)]
            if entry.run not in origin.parts
        )

    def digest_before(self, origin: _Origin) -> str:
        """The same, in a word."""
        if origin.parts:  # rare: so not from the beginnings that are digested already
            return digest(msgspec.json.encode(self.before(origin)))
        counts = {runner: self._count(origin, runner) for runner in origin.runners}
        return "".join(self._digests[runner][count] for runner, count in counts.items())

    def _count(self, origin: _Origin, runner: str) -> int:
        return bisect_left(self._of(runner), origin.run, key=lambda entry: entry.run)

    def _of(self, runner: str) -> list[LedgerEntry]:
        if runner not in self._entries:
            # Sorted by content too: the same entries are the same, in whatever order they were added.
            encoded = sorted((e.run, msgspec.json.encode(e), e) for e in ledger.read(self._folder, runner))
            self._entries[runner] = [entry for _, _, entry in encoded]
            digest = hashlib.sha256()
            self._digests[runner] = [digest.hexdigest()]
            for _, text, _ in encoded:
                digest.update(text)
                self._digests[runner].append(digest.hexdigest())
        return self._entries[runner]


def _run(path: Path, ledgers: _Ledgers, acknowledged: Sequence[Acknowledgement]) -> Judged:
    kept = _place(path)
    if not _fits(kept, path, ledgers):
        store(path, _judge(path, ledgers), ledgers)
    try:
        with kept.open("rb") as file:
            judged_from = file.readline()
            cells = _cells(file.readline())
            outline_ = msgspec.json.decode(file.readline(), type=Outline)
    except (OSError, msgspec.DecodeError):  # a folder that cannot be written, or a file that was torn
        return _judged_here(path, ledgers, acknowledged)
    return Judged(
        digest(judged_from, _known(cells, outline_, acknowledged)),
        cells,
        outline_,
        lambda: _acknowledged(_line(kept, 3, Comparison), acknowledged),
        lambda: _whole(path, kept, acknowledged),
    )


@lru_cache(8)  # from week to week they are the same
def _cells(line: bytes) -> tuple[SeriesKey, ...]:
    return msgspec.json.decode(line, type=tuple[SeriesKey, ...])


def _known(cells: Sequence[SeriesKey], outline_: Outline, acknowledged: Sequence[Acknowledgement]) -> bytes:
    """What acknowledgements change of a run."""
    if not acknowledged:
        return b""
    regressed = _regressed(cells, outline_.said).values()
    applied = [acknowledgements.applied(cell, acknowledged, outline_.started) for cell in regressed]
    return msgspec.json.encode([(cell.acknowledged, cell.warnings) for cell in applied])


def _fits(kept: Path, path: Path, ledgers: _Ledgers) -> bool:
    """Whether the run would be judged from the same."""
    try:
        with kept.open("rb") as file:
            then = msgspec.json.decode(file.readline(), type=_From)
            last = msgspec.json.encode(_END) + b"\n"
            file.seek(-len(last), os.SEEK_END)
            if file.read() != last:
                return False
    except (OSError, msgspec.DecodeError):
        return False
    return then == _from(path, then.origin, ledgers)


def _from(path: Path, origin: _Origin, ledgers: _Ledgers) -> _From:
    return _From(origin=origin, document=_ends(path), ledger=ledgers.digest_before(origin), library=library())


def _judge(path: Path, ledgers: _Ledgers) -> Whole:
    read = journal.read(path)
    before = ledgers.before(_Origin.of(read.header))
    comparison = compare.compare(read, history=before)
    return Whole(read, comparison, tuple(compare.others(read, comparison, before)))


def _judged_here(path: Path, ledgers: _Ledgers, acknowledged: Sequence[Acknowledgement]) -> Judged:
    whole = _judge(path, ledgers)
    return held(whole.document, _acknowledged(whole.comparison, acknowledged), whole.others)


def _whole(path: Path, kept: Path, acknowledged: Sequence[Acknowledgement]) -> Whole:
    return Whole(
        journal.read(path),
        _acknowledged(_line(kept, 5, Comparison), acknowledged),
        _line(kept, 4, tuple[CellComparison, ...]),
    )


def _line(kept: Path, number: int, type_: type[T]) -> T:
    """Raises InputError where the file has gone, or become another, meanwhile."""
    try:
        return msgspec.json.decode(kept.read_bytes().splitlines()[number], type=type_)
    except (OSError, IndexError, msgspec.DecodeError):
        raise InputError(f"{kept}: was changed while it was read; try again") from None


def _place(path: Path) -> Path:
    """Where it is kept what the run of a document says."""
    return path.parent / FOLDER / f"{path.stem}{_SUFFIX}"


def _forget_others(folder: Path, paths: Sequence[Path]) -> None:
    """Remove what is kept of runs that are there no more."""
    places = {_place(path) for path in paths}
    for kept in folder.glob(f"*{_SUFFIX}"):
        if kept not in places:
            with suppress(OSError):
                kept.unlink()


def _ends(path: Path) -> str:
    """A document's length and both its ends, in a word. Raises InputError."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            first = file.read(_ENDS_BYTES)
            file.seek(max(0, size - _ENDS_BYTES))
            return digest(str(size).encode(), first, file.read())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


@cache
def library() -> str:
    """The library's sources and its engine, in a word."""
    files = [*sorted(PACKAGE.rglob("*.py")), Path(_engine.__file__)]
    return digest(*(file.read_bytes() for file in sorted(files)))


def digest(*parts: bytes) -> str:
    """Parts in a word; where one ends counts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.hexdigest()


# --- what is left out -----------------------------------------------------------------------------


def _acknowledged(comparison: Comparison, acknowledged: Sequence[Acknowledgement]) -> Comparison:
    started = comparison.header.started
    cells = tuple(acknowledgements.applied(cell, acknowledged, started) for cell in comparison.cells)
    return structs.replace(comparison, cells=cells)


def _said(cells: Sequence[CellComparison]) -> Said:
    return Said(
        verdicts=tuple(cell.verdict for cell in cells),
        ratios=tuple(cell.ratio.estimate if cell.ratio else None for cell in cells),
        tps=tuple(cell.figures.tps.estimate if cell.figures else None for cell in cells),
        regressed={
            place: Regressed(judged=cell.judged, reason=cell.reason)
            for place, cell in enumerate(cells)
            if cell.verdict is Verdict.REGRESSED
        },
    )


def _regressed(cells: Sequence[SeriesKey], said: Said) -> dict[int, CellComparison]:
    return {
        place: CellComparison(
            cell=cells[place].cell,
            base=structs.replace(cells[place].cell, server=cells[place].anchor),
            verdict=Verdict.REGRESSED,
            figures=None,
            ratio=None if (ratio := said.ratios[place]) is None else Interval.exactly(ratio),
            p_value=None,
            per_start=(),
            reason=told.reason,
            warnings=(),
            judged=told.judged,
        )
        for place, told in said.regressed.items()
    }


def _gist(cell: CellComparison) -> CellComparison:
    figures = cell.figures and structs.replace(cell.figures, errors={}, counters={}, statements={})
    # A regression is acknowledged metric by metric; and a page names the metric that decided.
    plain = not cell.judged or (cell.verdict is not Verdict.REGRESSED and cell.judged[0].metric == THROUGHPUT)
    return structs.replace(_slim(cell), figures=figures, judged=() if plain else cell.judged)


def _slim(cell: CellComparison) -> CellComparison:
    """Verdict, ratio and reason."""
    return structs.replace(
        cell, figures=None, per_start=(), judged=(), warnings=(), metrics=(), statements=(), causes=()
    )
