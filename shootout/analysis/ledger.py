"""What A/A cells have shown on a runner: its noise floor for each kind of cell, and its rate of false alarms.

An A/A cell compares a server with a second instance of itself, measured like any other cell: whatever it
shows is noise. One file for each runner, JSON Lines, an entry for each A/A cell of each run.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from shootout.analysis import stats
from shootout.errors import InputError
from shootout.model.history import LedgerEntry
from shootout.model.plan import THROUGHPUT, Cell, Policy
from shootout.model.run import RunHeader
from shootout.model.verdict import CellComparison, FalseAlarms, Verdict

Kind = tuple[str, str, int]  # of cells: workload, dataset, threads

FOLDER = "ledger"  # beside the run documents
_FINGERPRINT = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


def path_of(folder: Path, fingerprint: str) -> Path:
    """The file of a runner. Raises InputError for what is no fingerprint: a document may be anybody's."""
    if _FINGERPRINT.fullmatch(fingerprint) is None:
        raise InputError(f"runner.fingerprint: expected letters and digits, found {fingerprint[:80]!r}")
    return folder / f"{fingerprint}.jsonl"


def read(folder: Path, fingerprint: str) -> tuple[LedgerEntry, ...]:
    """All entries of a runner, none where it has no file yet.

    A last line that a crash has torn is passed over. Raises InputError, naming the line, for anything else.
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
            entry = msgspec.json.decode(line, type=LedgerEntry)
            entries.append(msgspec.structs.replace(entry, runner=fingerprint))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{file}:{number}: not an entry of a ledger: {error}") from None
    return tuple(entries)


def keep(folder: Path, fingerprint: str, entries: Iterable[LedgerEntry]) -> None:
    """Add entries to a runner's file; those of a run that it already has are left out.

    Raises InputError where it cannot be written.
    """
    known = {entry.run for entry in read(folder, fingerprint)}
    new = [entry for entry in entries if entry.run not in known]
    if not new:
        return
    file = path_of(folder, fingerprint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as opened:
            opened.truncate(file.read_bytes().rfind(b"\n") + 1)  # less a line that a crash has torn
            opened.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in new))
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None


def known(folder: Path, header: RunHeader) -> tuple[LedgerEntry, ...]:
    """What the machines that have measured a run have shown in others. Raises as `read` does."""
    own = {part.run for part in header.parts}
    entries = (entry for each in header.runners for entry in read(folder, each.fingerprint))
    return tuple(entry for entry in entries if entry.run not in own)


def learn(folder: Path, entries: Iterable[LedgerEntry]) -> None:
    """Keep what A/A cells showed, each for the machine that measured it. Raises as `keep` does."""
    found: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        found.setdefault(entry.runner, []).append(entry)
    for fingerprint, of_runner in found.items():
        keep(folder, fingerprint, of_runner)


def of(header: RunHeader, aa_controls: Iterable[CellComparison]) -> tuple[LedgerEntry, ...]:
    """The entries that a run adds: those of its A/A cells that could be judged."""
    parts = (
        (header.part(aa_control.cell), aa_control)
        for aa_control in aa_controls
        if len(aa_control.per_start) > 1
    )
    return tuple(
        LedgerEntry(
            run=part.run,
            runner=part.runner.fingerprint,
            workload=aa_control.cell.workload,
            dataset=aa_control.cell.dataset,
            threads=aa_control.cell.threads,
            verdict=aa_control.verdict,
            starts=len(aa_control.per_start),
            spreads={each.metric: each.spread for each in aa_control.judged},
            margin=next((each.margin for each in aa_control.judged if each.metric == THROUGHPUT), None),
        )
        for part, aa_control in parts
    )


def kind(of: Cell | LedgerEntry) -> Kind:
    """What cells share of which one A/A cell speaks for the others."""
    return of.workload, of.dataset, of.threads


def by_kind(entries: Iterable[LedgerEntry]) -> dict[Kind, list[LedgerEntry]]:
    """The entries of each kind of cell: a ledger of years is looked through once, not for each cell."""
    found: dict[Kind, list[LedgerEntry]] = {}
    for entry in entries:
        found.setdefault(kind(entry), []).append(entry)
    return found


def spreads(entries: Iterable[LedgerEntry], cell: Cell, runner: str = "") -> dict[str, float]:
    """How much starts of an A/A cell differ, by metric: the pooled standard deviation of their logarithms.

    `runner`: the fingerprint of the machine that it is about, where the entries are of several.
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


def wanting(known: FalseAlarms | None, policy: Policy) -> int:
    """How many A/A cells more, none with a false alarm, would show that these are as rare as the policy asks.

    Wilson's upper bound for k of n is p where n p - k = z sqrt(n p (1 - p)); solved for the root of n.
    """
    alarms, cells = (known.alarms, known.cells) if known else (0, 0)
    most, z = policy.false_alarms_max, stats.quantile(policy.confidence)
    reach = z * math.sqrt(most * (1 - most))
    root = (reach + math.sqrt(reach**2 + 4 * most * alarms)) / (2 * most)
    return max(0, math.ceil(root**2) - cells)


def false_alarms(entries: Iterable[LedgerEntry], policy: Policy) -> FalseAlarms | None:
    """How many A/A cells were called regressed or improved, and the interval of their share.

    Those that were judged by a larger margin than the policy's say nothing of it; None where no others are.
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
