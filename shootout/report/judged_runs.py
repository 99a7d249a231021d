"""Runs with their comparisons, for pages and reports: kept ones, or made now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from shootout.analysis import acknowledgements, compare, ledger
from shootout.document import journal, judgements, merge
from shootout.document.ledgers import Ledgers
from shootout.errors import InputError
from shootout.model.history import LedgerEntry
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison


class Whole(NamedTuple):
    """A run with everything behind its verdicts."""

    document: RunDocument
    comparison: Comparison


@dataclass(frozen=True)
class JudgedRun:
    """A judged run: its lean form in memory, the whole on demand."""

    comparison: Comparison  # lean
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


def in_memory(document: RunDocument, comparison: Comparison) -> JudgedRun:
    """Make a judged run of one that is not on disk."""
    return _judged(comparison, (), lambda: Whole(document, comparison))


def whole(
    path: Path, acknowledged: Sequence[Acknowledgement] = (), skip: Callable[[str], None] | None = None
) -> Whole:
    """Read a document and its comparison, made with its runners' earlier A/A cells. Raises InputError.

    `skip` receives why lines of ledgers are left out.
    """
    return _whole(path, Ledgers(path.parent, skip), acknowledged)


def against(path: Path, base: str | None, skip: Callable[[str], None] | None = None) -> Comparison:
    """Compare a document's cells with those of `base`, and keep nothing; `skip` and errors as in `whole`."""
    return _compared(journal.read(path), Ledgers(path.parent, skip), base)


def find(
    results: Path,
    skipped: Callable[[InputError], None],
    acknowledged: Sequence[Acknowledgement] = (),
    base: str | None = None,
) -> list[JudgedRun]:
    """List the runs in a folder that have the base, newest last, without those contained in another run.

    By default a block's base is its first server; what is compared with another one is not kept. A
    run's documents count once (`journal.copies`). Calls `skipped` for what cannot be read, and for others
    of a run that say something else; and for lines of ledgers, which are left out.
    """
    ledgers = Ledgers(results, lambda reason: skipped(InputError(reason)))
    paths = journal.find(results)
    judgements.prune(results, paths)
    judged: dict[Path, JudgedRun] = {}
    for path in paths:
        try:
            if (run := _run(path, ledgers, acknowledged, base)) is not None:
                judged[path] = run
        except InputError as error:
            skipped(error)
    for path, kept in journal.copies({path: run.id for path, run in judged.items()}).items():
        if judged.pop(path).comparison != judged[kept].comparison:
            skipped(journal.differs(path, kept))
    hidden = merge.superseded(
        {run.id: tuple(part.run for part in run.comparison.header.parts) for run in judged.values()}
    )
    return [run for run in judged.values() if run.id not in hidden]


def _run(
    path: Path, ledgers: Ledgers, acknowledged: Sequence[Acknowledgement], base: str | None
) -> JudgedRun | None:
    """Judge a run, or find its judgement; None if it lacks the base."""
    if base is None:
        return _judged(_comparison(path, ledgers), acknowledged, lambda: _whole(path, ledgers, acknowledged))
    document = journal.read(path)
    if not any(base in block.servers for block in document.header.blocks):
        return None
    made = _compared(document, ledgers, base)
    return in_memory(document, acknowledgements.applied(made, acknowledged))


def _whole(path: Path, ledgers: Ledgers, acknowledged: Sequence[Acknowledgement]) -> Whole:
    comparison = acknowledgements.applied(_comparison(path, ledgers), acknowledged)
    return Whole(journal.read(path), comparison)


def _comparison(path: Path, ledgers: Ledgers) -> Comparison:
    if (kept := judgements.find(path, ledgers)) is not None:
        return kept
    made = _compared(journal.read(path), ledgers)
    judgements.store(path, made, ledgers)
    return made


def _compared(document: RunDocument, ledgers: Ledgers, base: str | None = None) -> Comparison:
    return compare.compare(document, base=base, ledger_entries=ledgers.entries(document.header))


def _judged(
    comparison: Comparison, acknowledged: Sequence[Acknowledgement], whole: Callable[[], Whole]
) -> JudgedRun:
    entries = ledger.entries_of_run(
        comparison.header, comparison.policy, comparison.cells, comparison.aa_controls
    )
    return JudgedRun(acknowledgements.applied(_lean(comparison), acknowledged), entries, whole)


def _lean(comparison: Comparison) -> Comparison:
    """Keep what lists, histories, feeds and summary pages need: a tenth, so that years fit in memory."""
    header = comparison.header
    servers = tuple(structs.replace(server, settings=()) for server in header.servers)
    return structs.replace(
        comparison,
        header=structs.replace(header, servers=servers, workloads=()),
        cells=tuple(map(_lean_cell, comparison.cells)),
        aa_controls=(),
        curves=(),
    )


def _lean_cell(cell: CellComparison) -> CellComparison:
    figures, base_figures = (
        each and structs.replace(each, errors={}, counters={}, statements={})
        for each in (cell.figures, cell.base_figures)
    )
    return structs.replace(
        cell,
        figures=figures,
        base_figures=base_figures,
        warnings=(),
        metrics=(),
        statements=(),
        plans=(),
        causes=(),
    )
