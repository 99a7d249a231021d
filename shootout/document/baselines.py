"""Baselines on disk: a JSON file for each runner and workload, with one line per cell."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import structs

from shootout import files
from shootout.document import compatibility, formats
from shootout.errors import InputError
from shootout.model.history import Baseline, BaselineCell
from shootout.model.run import RunHeader
from shootout.paths import file_stem

RUNS_MAX = 8  # that a baseline keeps
RunnerWorkload = tuple[str, str]  # the runner's fingerprint, the workload's name


def path_of(folder: Path, fingerprint: str, workload: str) -> Path:
    """Return the file for a runner and workload."""
    return folder / file_stem(fingerprint) / f"{file_stem(workload)}.json"


def read(path: Path) -> Baseline | None:
    """Read a baseline; None if there is no such file. Raises InputError if it cannot be read."""
    with files.reading(path, "a baseline"):
        return formats.BASELINE.document(files.read(path), Baseline) if path.exists() else None


def find(place: Path, header: RunHeader) -> dict[RunnerWorkload, Baseline]:
    """Find a run's baselines; a workload without one gets another runner's. Raises InputError."""
    fingerprints = [runner.fingerprint for runner in header.runners]
    if not place.exists():
        hint = "`shootout baseline accept` makes one"
        raise InputError(f"{place}: no such file or folder of baselines; {hint}")
    if place.is_file():
        only = read(place)
        return {(runner, only.workload.name): only for runner in fingerprints} if only else {}
    found = {}
    for key in itertools.product(fingerprints, [workload.name for workload in header.workloads]):
        own = path_of(place, *key)
        candidates = map(read, (own, *sorted(place.glob(f"*/{own.name}"))))
        found[key] = next(filter(None, candidates), None)
    return {key: baseline for key, baseline in found.items() if baseline is not None}


def accept(folder: Path, baselines: Iterable[Baseline]) -> dict[Path, Baseline]:
    """Add these baselines' runs to the stored ones; returns the cells that gained. Raises InputError."""
    accepted = {path_of(folder, new.runner, new.workload.name): new for new in baselines}
    merged = {path: _merged(path, new) for path, new in accepted.items()}
    for path, baseline in merged.items():
        with files.writing(path):
            files.replace(path, _text(baseline))
    gained = {path: {*map(_key, new.cells)} for path, new in accepted.items()}
    return {
        path: structs.replace(all, cells=tuple(cell for cell in all.cells if _key(cell) in gained[path]))
        for path, all in merged.items()
    }


def _key(cell: BaselineCell) -> tuple[str, str, int]:
    return cell.dataset, cell.server, cell.threads


def _merged(path: Path, new: Baseline) -> Baseline:
    if (old := read(path)) is None:
        return new
    if (different := next(compatibility.baselines(old, new), None)) is not None:
        raise InputError(f"{path}: the new run cannot join it: {different}; delete the file to start again")
    cells = {_key(cell): cell for cell in old.cells}
    for cell in new.cells:
        key = _key(cell)
        again = {run.run for run in cell.runs}
        kept = [run for run in cells[key].runs if run.run not in again] if key in cells else []
        cells[key] = structs.replace(cell, runs=(*kept, *cell.runs)[-RUNS_MAX:])
    return structs.replace(new, cells=tuple(cells.values()), servers={**old.servers, **new.servers})


def _text(baseline: Baseline) -> bytes:
    # Sorted, with one line per cell and setting, so that diffs are readable.
    ordered = sorted(baseline.cells, key=lambda cell: (cell.dataset, cell.threads, cell.server))
    text = msgspec.json.format(msgspec.json.encode(structs.replace(baseline, cells=())), indent=1)
    lines = b",\n".join(b"  " + msgspec.json.encode(cell) for cell in ordered)
    return text.replace(b'"cells": []', b'"cells": [\n' + lines + b"\n ]") + b"\n"
