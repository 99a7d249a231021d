"""A cache of judged runs beside their documents, so that a site with years of runs judges each run once.

`FOLDER` holds one file per run, with three lines: the sources, the summary, and all verdicts. Old runs need
only the first two. A file is valid while the document, the earlier A/A cells and this library are unchanged;
otherwise the run is judged again. Acknowledgements are applied on reading, so adding one is cheap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from shootout import _engine, files
from shootout.analysis import acknowledgements, ledger
from shootout.document import journal, merge
from shootout.errors import InputError
from shootout.model.history import LedgerEntry
from shootout.model.plan import THROUGHPUT
from shootout.model.run import RunDocument
from shootout.model.value import Value, decoded
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, Verdict
from shootout.paths import PACKAGE
from shootout.report.judge import Judge

FOLDER = "judged"  # beside the run documents
_SUFFIX = ".judged"  # distinct from a run document's
_ENDS_BYTES = 65_536  # read from each end of a document; with its length they identify it


class Whole(NamedTuple):
    """A run with everything behind its verdicts."""

    document: RunDocument
    comparison: Comparison
    aa_before: tuple[LedgerEntry, ...] = ()  # earlier A/A cells of its runners


@dataclass(frozen=True)
class JudgedRun:
    """A judged run: the summary in memory, the whole on demand."""

    comparison: Comparison  # verdicts and main figures; no settings, counters or tests
    aa_entries: tuple[LedgerEntry, ...]
    whole: Callable[[], Whole]

    @property
    def id(self) -> str:
        """Unique; sorts by time."""
        return self.comparison.header.run

    @cached_property
    def runners(self) -> tuple[str, ...]:
        """The fingerprints of the machines that measured it."""
        return tuple(runner.fingerprint for runner in self.comparison.header.runners)


class Summary(Value):
    """The part of a comparison that is needed for lists, histories, feeds and summary pages."""

    comparison: Comparison
    aa_entries: tuple[LedgerEntry, ...]

    @classmethod
    def of(cls, document: RunDocument, comparison: Comparison) -> Summary:
        """About a tenth of the comparison's size."""
        header = comparison.header
        servers = tuple(structs.replace(server, settings=()) for server in header.servers)
        slim = structs.replace(
            comparison,
            header=structs.replace(header, servers=servers, workloads=()),
            cells=tuple(map(_slim, comparison.cells)),
            aa_controls=(),
            curves=(),
        )
        entries = ledger.of(header, comparison.policy, comparison.cells, comparison.aa_controls)
        made = len(document.starts)
        return cls(comparison=slim, aa_entries=tuple(structs.replace(entry, made=made) for entry in entries))


def in_memory(document: RunDocument, comparison: Comparison) -> JudgedRun:
    """A judged run that is not on disk."""
    whole = Whole(document, comparison)
    summary = Summary.of(document, comparison)
    return JudgedRun(summary.comparison, summary.aa_entries, lambda: whole)


def run(
    path: Path, acknowledged: Sequence[Acknowledgement] = (), skip: Callable[[str], None] | None = None
) -> JudgedRun:
    """Judge the run in a document with its runner's earlier A/A cells. Raises InputError.

    `skip` receives why lines of the ledger are left out.
    """
    return _run(path, Judge(path.parent, skip), acknowledged)


def runs(
    results: Path,
    skipped: Callable[[InputError], None],
    acknowledged: Sequence[Acknowledgement] = (),
    base: str | None = None,
) -> list[JudgedRun]:
    """The runs in a folder that have the base, newest last, without those contained in another run.

    By default a block's base is its first server; what is compared with another one is not cached. Of several
    documents of a run one counts (`journal.copies`). Calls `skipped` for what cannot be read, and for others
    of a run that say something else; and for lines of ledgers, which are left out.
    """
    judge = Judge(results, lambda reason: skipped(InputError(reason)))
    paths = journal.find(results)
    for orphan in {*(results / FOLDER).glob(f"*{_SUFFIX}")} - {*map(_cache_file, paths)}:
        with suppress(OSError):
            orphan.unlink()
    judged: dict[Path, JudgedRun] = {}
    for path in paths:
        try:
            if base is None:
                judged[path] = _run(path, judge, acknowledged)
            elif (compared := _with_base(path, judge, acknowledged, base)) is not None:
                judged[path] = compared
        except InputError as error:
            skipped(error)
    for path, kept in journal.copies({path: run.id for path, run in judged.items()}).items():
        if judged.pop(path).comparison != judged[kept].comparison:
            skipped(journal.differs(path, kept))
    hidden = merge.superseded(
        {run.id: tuple(part.run for part in run.comparison.header.parts) for run in judged.values()}
    )
    return [run for run in judged.values() if run.id not in hidden]


def store(path: Path, whole: Whole, judge: Judge | None = None) -> Summary:
    """Cache a judged run if its folder is writable; returns its summary."""
    judge = judge or Judge(path.parent)
    header = whole.comparison.header
    fingerprints = (runner.fingerprint for runner in header.runners)
    sources = _sources(path, header.run, fingerprints, judge)
    summary = Summary.of(whole.document, whole.comparison)
    lines = map(msgspec.json.encode, (sources, summary, whole.comparison))
    with suppress(OSError):
        files.replace(_cache_file(path), b"\n".join(lines))
    return summary


# --- files ----------------------------------------------------------------------------------------


class _Sources(Value):
    """What a run was judged from."""

    run: str
    runners: tuple[str, ...]  # fingerprints
    digests: tuple[str, ...]  # of the document, this library, each runner's earlier A/A entries


def _sources(path: Path, run: str, runners: Iterable[str], judge: Judge) -> _Sources:
    runners = tuple(sorted(runners))
    before = (judge.digest_before(run, runner) for runner in runners)
    return _Sources(run=run, runners=runners, digests=(_document_digest(path), library(), *before))


def _run(path: Path, judge: Judge, acknowledged: Sequence[Acknowledgement]) -> JudgedRun:
    summary = _cached(path, judge) or store(path, _judge(path, judge), judge)
    comparison = acknowledgements.applied(summary.comparison, acknowledged)
    return JudgedRun(comparison, summary.aa_entries, lambda: _whole(path, judge, acknowledged))


def _cached(path: Path, judge: Judge) -> Summary | None:
    """The file's second line, if the run's sources are unchanged."""
    try:
        with files.opened(_cache_file(path)) as file:
            sources = decoded(file.readline(), _Sources)
            if sources == _sources(path, sources.run, sources.runners, judge):
                return decoded(file.readline(), Summary)
    except (OSError, ValueError):
        pass
    return None


def _whole(path: Path, judge: Judge, acknowledged: Sequence[Acknowledgement]) -> Whole:
    whole = None
    if _cached(path, judge):  # a file that cannot be replaced may be of other sources
        with suppress(OSError, IndexError, ValueError):
            line = files.read(_cache_file(path)).split(b"\n", 2)[2]
            whole = Whole(journal.read(path), decoded(line, Comparison))
    whole = whole or _judge(path, judge)
    return whole._replace(
        comparison=acknowledgements.applied(whole.comparison, acknowledged),
        aa_before=tuple(judge.earlier(whole.document.header)),
    )


def _judge(path: Path, judge: Judge) -> Whole:
    document = journal.read(path)
    return Whole(document, judge.compare(document))


def _with_base(
    path: Path, judge: Judge, acknowledged: Sequence[Acknowledgement], base: str
) -> JudgedRun | None:
    """The run compared with another base; None if it lacks that server."""
    document = journal.read(path)
    if not any(base in block.servers for block in document.header.blocks):
        return None
    comparison = judge.compare(document, base)
    return in_memory(document, acknowledgements.applied(comparison, acknowledged))


def _cache_file(path: Path) -> Path:
    """The cache file of a document."""
    return path.parent / FOLDER / f"{journal.stem(path)}{_SUFFIX}"


def _document_digest(path: Path) -> str:
    """A digest of a document's length, start and end. Raises InputError."""
    try:
        with files.opened(path) as file:
            size = file.seek(0, 2)
            file.seek(0)
            first = file.read(_ENDS_BYTES)
            file.seek(max(0, size - _ENDS_BYTES))
            return digest(str(size).encode(), first, file.read())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


@cache
def library() -> str:
    """A digest of the library's sources and its engine."""
    files = [*sorted(PACKAGE.rglob("*.py")), Path(_engine.__file__)]
    return digest(*(file.read_bytes() for file in sorted(files)))


def digest(*parts: bytes) -> str:
    """A digest of the parts and their boundaries."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.hexdigest()


def _slim(cell: CellComparison) -> CellComparison:
    figures, base_figures = (
        each and structs.replace(each, errors={}, counters={}, statements={})
        for each in (cell.figures, cell.base_figures)
    )
    # Acknowledgements apply to single metrics, and pages name the decisive metric.
    plain = not cell.judged or (cell.verdict is not Verdict.REGRESSED and cell.judged[0].metric == THROUGHPUT)
    return structs.replace(
        cell, figures=figures, base_figures=base_figures, judged=() if plain else cell.judged,
        per_start=cell.per_start if cell.verdict is Verdict.INCONCLUSIVE else (),  # headlines count them
        warnings=(), metrics=(), statements=(), causes=(),
    )  # fmt: skip
