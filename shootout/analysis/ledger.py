"""The ledger of a runner's A/A cells: its noise floor for each kind of cell, and its false-alarm rate.

An A/A cell compares a server with a second instance of itself, measured like any other cell, so whatever it
shows is noise. Each runner has one JSON Lines file, with an entry for each A/A cell of each run.
"""

from __future__ import annotations

import fcntl
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from shootout.analysis import stats
from shootout.errors import InputError
from shootout.model.history import LedgerEntry
from shootout.model.plan import THROUGHPUT, Cell, Policy
from shootout.model.run import RunHeader
from shootout.model.value import decoded
from shootout.model.verdict import CellComparison, FalseAlarms, MetricVerdict, Verdict

Kind = tuple[str, str, int]  # workload, dataset, threads: cells that share A/A noise

FOLDER = "ledger"  # beside the run documents
_FINGERPRINT = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


def path_of(folder: Path, fingerprint: str) -> Path:
    """The file of a runner. Raises InputError for an invalid fingerprint: documents are untrusted."""
    if _FINGERPRINT.fullmatch(fingerprint) is None:
        raise InputError(f"runner.fingerprint: expected letters and digits, found {fingerprint[:80]!r}")
    return folder / f"{fingerprint}.jsonl"


def read(folder: Path, fingerprint: str) -> tuple[LedgerEntry, ...]:
    """Read all entries of a runner; empty if it has no file yet.

    Skips a last line torn by a crash. Raises InputError, naming the line, for any other invalid one.
    """
    file = path_of(folder, fingerprint)
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entry = decoded(line, LedgerEntry)
            entries.append(msgspec.structs.replace(entry, runner=fingerprint))
        except ValueError as error:
            raise InputError(f"{file}:{number}: not a ledger entry: {error}") from None
    return tuple(entries)


def append(folder: Path, fingerprint: str, entries: Iterable[LedgerEntry]) -> None:
    """Append entries to a runner's file, except those of runs that it already has.

    Raises InputError if it cannot be read or written.
    """
    given = list(entries)
    if not given:
        return
    file = path_of(folder, fingerprint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)  # another run may end at the same moment
            runs = {entry.run for entry in read(folder, fingerprint)}
            new = [entry for entry in given if entry.run not in runs]
            opened.truncate(file.read_bytes().rfind(b"\n") + 1)  # drop a line torn by a crash
            opened.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in new))
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None


def record(folder: Path, entries: Iterable[LedgerEntry]) -> None:
    """Append each entry to its own runner's file. Raises as `append` does."""
    found: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        found.setdefault(entry.runner, []).append(entry)
    for fingerprint, of_runner in found.items():
        append(folder, fingerprint, of_runner)


def of(
    header: RunHeader, cells: Iterable[CellComparison], aa_controls: Iterable[CellComparison]
) -> tuple[LedgerEntry, ...]:
    """A run's entries: one for each A/A cell with two starts or more.

    A cell of a server that was named twice, and so compared with itself, is an A/A cell, too.
    """
    references = {record.label: record.reference for record in header.servers}
    with_itself = [
        cell
        for cell in cells
        if cell.cell != cell.base
        and references.get(cell.cell.server, "") == references.get(cell.base.server) != ""
    ]
    return tuple(
        entry(header, cell.cell, cell.verdict, len(cell.per_start), cell.judged)
        for cell in (*aa_controls, *with_itself)
        if len(cell.per_start) > 1
    )


def entry(
    header: RunHeader, cell: Cell, verdict: Verdict, starts: int, judged: Sequence[MetricVerdict]
) -> LedgerEntry:
    """The entry of one A/A cell, whose metrics were `judged` over so many starts."""
    part = header.part(cell)
    return LedgerEntry(
        run=part.run,
        runner=part.runner.fingerprint,
        workload=cell.workload,
        dataset=cell.dataset,
        threads=cell.threads,
        verdict=verdict,
        starts=starts,
        spreads={metric.metric: metric.spread for metric in judged},
        margin=next((metric.margin for metric in judged if metric.metric == THROUGHPUT), None),
    )


def earlier(header: RunHeader, entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The entries of earlier runs, except a merged run's own parts."""
    parts = {part.run for part in header.parts}
    return [entry for entry in entries if entry.run < header.run and entry.run not in parts]


def kind(cell: Cell | LedgerEntry) -> Kind:
    """Key under which cells share A/A noise."""
    return cell.workload, cell.dataset, cell.threads


def by_kind(entries: Iterable[LedgerEntry]) -> dict[Kind, list[LedgerEntry]]:
    """Group entries by kind of cell, so that years of entries are scanned once, not for each cell."""
    found: dict[Kind, list[LedgerEntry]] = {}
    for entry in entries:
        found.setdefault(kind(entry), []).append(entry)
    return found


def spreads(entries: Iterable[LedgerEntry], cell: Cell, runner: str = "") -> dict[str, float]:
    """Spread over starts of A/A cells of the cell's kind, by metric: pooled standard deviation of logarithms.

    `runner`: count only entries of the runner with this fingerprint.
    """
    df: Counter[str] = Counter()
    squares: Counter[str] = Counter()
    for entry in entries:
        if runner and entry.runner and entry.runner != runner:
            continue
        if kind(entry) == kind(cell):
            for metric, spread in entry.spreads.items():
                df[metric] += entry.starts - 1
                squares[metric] += (entry.starts - 1) * spread**2  # type: ignore[assignment]
    return {metric: math.sqrt(squares[metric] / df[metric]) for metric in df}


def cells_needed(known: FalseAlarms | None, policy: Policy) -> int:
    """Further A/A cells, all without false alarm, that would prove the rate to be below the policy's limit.

    Wilson's upper bound for k of n is the p with n p - k = z sqrt(n p (1 - p)); this is solved for sqrt(n).
    """
    alarms, cells = (known.alarms, known.cells) if known else (0, 0)
    most, z = policy.false_alarms_max, stats.quantile(policy.confidence)
    reach = z * math.sqrt(most * (1 - most))
    root = (reach + math.sqrt(reach**2 + 4 * most * alarms)) / (2 * most)
    return max(0, math.ceil(root**2) - cells)


def false_alarms(entries: Iterable[LedgerEntry], policy: Policy) -> FalseAlarms | None:
    """Count A/A cells judged regressed or improved, with Wilson's interval of their share.

    Cells judged by a larger margin than the policy's do not count; None if there are no others.
    """
    verdicts = [
        entry.verdict
        for entry in entries
        if entry.margin is None or entry.margin <= policy.margin_of(THROUGHPUT, entry.workload)
    ]
    if not verdicts:
        return None
    alarms = sum(verdict in (Verdict.REGRESSED, Verdict.IMPROVED) for verdict in verdicts)
    share = stats.wilson(alarms, len(verdicts), policy.confidence)
    return FalseAlarms(alarms=alarms, cells=len(verdicts), share=share)
