"""Stored baselines: what a later run on the same runner is held against.

A baseline is a ratio to the anchor, a pinned server that is measured in every run: a machine that got slower
for everyone looks like no regression. One JSON file for each runner and workload, a line for each cell in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from shootout import files
from shootout.analysis import stats, verdicts, warnings
from shootout.analysis.pairs import Change
from shootout.document import compatibility, fingerprint
from shootout.errors import InputError
from shootout.inputs import acknowledgements
from shootout.model.history import Baseline, BaselineCell, BaselineServer
from shootout.model.plan import THROUGHPUT, Cell, Policy
from shootout.model.run import RunHeader, ServerRecord
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, Verdict
from shootout.paths import file_stem

NOT_YET = "accept one with `shootout baseline accept`"
RunnerWorkload = tuple[str, str]  # the runner's fingerprint, the workload's name
# Warnings that are about the verdict against the anchor, and not about what was measured.
_OF_VERDICTS = {
    "wide",
    "uneven",
    "noise-floor-unknown",
    "not-confirmed",
    acknowledgements.EXPIRED,
    acknowledgements.EXCEEDED,
}


def path_of(folder: Path, fingerprint: str, workload: str) -> Path:
    """The file of a runner's workload."""
    return folder / file_stem(fingerprint) / f"{file_stem(workload)}.json"


def of(comparison: Comparison) -> tuple[Baseline, ...]:
    """The baselines that a run makes, one for each workload; its base is the anchor.

    A cell that was not steady in two starts at least, or has failed, is none. Raises InputError where nothing
    is left.
    """
    header = comparison.header
    made = []
    for runner, record in itertools.product(header.runners, header.workloads):
        certified = [
            cell
            for cell in comparison.cells
            if cell.cell.workload == record.name
            and header.part(cell.cell).runner.fingerprint == runner.fingerprint
            and cell.ratio is not None
            and len(cell.per_start) > 1
        ]
        if not certified:
            continue
        records = {each.label: each for each in header.part(certified[0].cell).servers}
        anchor = certified[0].base.server
        labels = dict.fromkeys([anchor, *(cell.cell.server for cell in certified)])
        made.append(
            Baseline(
                format=1,
                runner=runner.fingerprint,
                anchor=anchor,
                workload=record,
                load=header.profile.load,
                digest=header.digests.get(record.name, ""),
                servers={label: _server(records[label]) for label in labels},
                cells=tuple(_cell(cell, comparison) for cell in certified if cell.base.server == anchor),
                machine=fingerprint.facts(runner),
            )
        )
    if not made:
        raise InputError(
            f"run {header.run}: no cell of it can be a baseline; expected one beside an anchor, steady in at "
            "least two starts"
        )
    return tuple(made)


def accept(folder: Path, baselines: Iterable[Baseline]) -> tuple[Path, ...]:
    """Store them; of a file that is there, the cells that are not measured anew stay where all else is equal.

    Raises InputError where a file cannot be read or written.
    """
    paths = []
    for new in baselines:
        path = path_of(folder, new.runner, new.workload.name)
        _write(path, _merged(read(path), new))
        paths.append(path)
    return tuple(paths)


def read(path: Path) -> Baseline | None:
    """The baseline in a file; None where there is none. Raises InputError for anything else."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Baseline)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a baseline: {error}") from None


def find(place: Path, header: RunHeader) -> dict[RunnerWorkload, Baseline]:
    """The run's baselines: `place` is a file, or the folder of all runners, made by the first `accept`.

    Of a workload that has none on its runner another runner's is given, so that it can be said what differs.
    Raises InputError, also for a file that is not there, or a folder in no folder: it may be misspelt.
    """
    fingerprints = [runner.fingerprint for runner in header.runners]
    if not place.exists() and (place.suffix == ".json" or not place.parent.is_dir()):
        raise InputError(f"{place}: no such file or folder of baselines")
    if place.is_file():
        found = read(place)
        return {} if found is None else {(each, found.workload.name): found for each in fingerprints}
    baselines = {}
    for key in itertools.product(fingerprints, [each.name for each in header.workloads]):
        own = path_of(place, *key)
        of_any = (read(path) for path in (own, *sorted(place.glob(f"*/{own.name}"))))
        if (found := next(filter(None, of_any), None)) is not None:
            baselines[key] = found
    return baselines


def judged(
    comparison: Comparison,
    stored: Mapping[RunnerWorkload, Baseline],
    acknowledged: Sequence[Acknowledgement] = (),
) -> Comparison:
    """The run's cells held against what is stored, instead of against its base.

    `comparison` must have the anchor as its base. A cell without a baseline, or with one of another runner,
    dataset, load or settings, is unjudged, and its reason says what differs. `acknowledged`: regressions
    against baselines that are known; those against the anchor are none.
    """
    refusals: dict[Cell, str] = {}
    held: dict[Cell, tuple[BaselineCell, Change]] = {}
    for cell in comparison.cells:
        if cell.cell == cell.base or cell.ratio is None or len(cell.per_start) < 2:
            continue
        runner = comparison.header.part(cell.cell).runner.fingerprint
        baseline = stored.get((runner, cell.cell.workload))
        refusal = _refusal(comparison, cell, baseline)
        then = _find(baseline, cell.cell) if baseline else None
        if refusal is not None or then is None:
            refusals[cell.cell] = refusal or f"no baseline of this server, dataset and threads yet; {NOT_YET}"
        else:
            logs = [math.log(each) for each in cell.per_start]
            confidence = comparison.policy.confidence
            effect = stats.difference(logs, then.log_ratio, then.error, then.starts, confidence)
            held[cell.cell] = then, Change(THROUGHPUT, effect, None, effect)
    adjusted = stats.holm([change.p_value for _, change in held.values()])
    p_values = {(cell, THROUGHPUT): p for cell, p in zip(held, adjusted, strict=True)}
    cells = []
    for cell in comparison.cells:
        if cell.cell in refusals:
            cells.append(_unjudged(cell, refusals[cell.cell]))
        elif cell.cell in held:
            found = _held(cell, *held[cell.cell], comparison.policy, p_values)
            cells.append(acknowledgements.applied(found, acknowledged, comparison.header.started))
        else:
            cells.append(cell)
    return msgspec.structs.replace(comparison, cells=tuple(cells), curves=())


# --- what is stored -------------------------------------------------------------------------------


def _server(record: ServerRecord) -> BaselineServer:
    settings = {each.name: each.effective for each in record.settings if each.effective is not None}
    return BaselineServer(version=record.version, build=record.build, settings=dict(sorted(settings.items())))


def _cell(cell: CellComparison, comparison: Comparison) -> BaselineCell:
    logs = np.log(cell.per_start)
    tps = {each.cell: each.figures.tps.estimate for each in comparison.cells if each.figures}
    floors = [each.floor for each in cell.judged if each.metric == THROUGHPUT]
    return BaselineCell(
        dataset=cell.cell.dataset,
        server=cell.cell.server,
        threads=cell.cell.threads,
        log_ratio=round(float(logs.mean()), 6),
        error=round(float(logs.std(ddof=1)) / math.sqrt(len(logs)), 6),
        starts=len(logs),
        floor=floors[0] if floors else None,
        tps=round(tps[cell.cell], 1),
        anchor_tps=round(tps[cell.base], 1),
        run=comparison.header.run,
    )


def _merged(old: Baseline | None, new: Baseline) -> Baseline:
    if old is None or next(compatibility.baselines(old, new), None) is not None:
        return new
    measured = {(cell.dataset, cell.server, cell.threads) for cell in new.cells}
    kept = [each for each in old.cells if (each.dataset, each.server, each.threads) not in measured]
    return msgspec.structs.replace(new, cells=(*new.cells, *kept), servers={**old.servers, **new.servers})


def _write(path: Path, baseline: Baseline) -> None:
    """In one piece; sorted, and a line for each cell and setting, so that a change shows as what it is."""
    ordered = sorted(baseline.cells, key=lambda each: (each.dataset, each.threads, each.server))
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(baseline, cells=())), indent=1)
    lines = b",\n".join(b"  " + msgspec.json.encode(each) for each in ordered)
    text = text.replace(b'"cells": []', b'"cells": [\n' + lines + b"\n ]")
    try:
        files.replace(path, text + b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


# --- what is held against it ----------------------------------------------------------------------


def _find(baseline: Baseline, cell: Cell) -> BaselineCell | None:
    key = (cell.dataset, cell.server, cell.threads)
    return next((each for each in baseline.cells if (each.dataset, each.server, each.threads) == key), None)


def _refusal(comparison: Comparison, cell: CellComparison, baseline: Baseline | None) -> str | None:
    """Why the cell cannot be held against the baseline; None where it can."""
    if baseline is None:
        return f"no baseline of {cell.cell.workload} on this runner yet; {NOT_YET}"
    part = comparison.header.part(cell.cell)
    now = Baseline(
        format=1,
        runner=part.runner.fingerprint,
        anchor=cell.base.server,
        workload=next(each for each in comparison.header.workloads if each.name == cell.cell.workload),
        load=comparison.header.profile.load,
        digest=comparison.header.digests.get(cell.cell.workload, ""),
        servers={
            record.label: _server(record)
            for record in part.servers
            if record.label in (cell.cell.server, cell.base.server)
        },
        cells=(),
        machine=fingerprint.facts(part.runner),
    )
    different = next(compatibility.baselines(baseline, now), None)
    return None if different is None else f"its baseline does not fit: {different}"


def _unjudged(cell: CellComparison, reason: str) -> CellComparison:
    return msgspec.structs.replace(
        _measured(cell), verdict=Verdict.UNJUDGED, reason=reason, ratio=None, p_value=None, judged=()
    )


def _measured(cell: CellComparison) -> CellComparison:
    """Without what was said of it beside the anchor."""
    warnings = tuple(each for each in cell.warnings if each.code not in _OF_VERDICTS)
    return msgspec.structs.replace(
        cell, warnings=warnings, metrics=(), statements=(), causes=(), acknowledged=None
    )


def _held(
    cell: CellComparison,
    then: BaselineCell,
    change: Change,
    policy: Policy,
    p_values: Mapping[verdicts.CellMetric, float],
) -> CellComparison:
    now = next((each.floor for each in cell.judged if each.metric == THROUGHPUT), None)
    floors = [floor for floor in (now, then.floor) if floor is not None]
    floor = math.hypot(*floors) if floors else None  # both runs have moved, each by itself
    found, reason = verdicts.metric(cell.cell, change, policy, p_values, floor)
    measured = _measured(cell)
    return msgspec.structs.replace(
        measured,
        warnings=(*measured.warnings, *warnings.of_change(found)),
        base=msgspec.structs.replace(cell.cell, server=f"{cell.cell.server} in {then.run}"),
        verdict=found.verdict,
        reason=f"{reason}; as a ratio to {cell.base.server}",
        ratio=found.ratio,
        p_value=found.p_value,
        per_start=tuple(map(math.exp, change.whole.per_start)),
        judged=(found,),
    )
