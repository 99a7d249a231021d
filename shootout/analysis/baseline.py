"""Stored baselines, with which later runs on the same runner are compared.

A baseline is a ratio to the anchor, a pinned server in every run, so a machine that became slower for all
servers shows no regression. Each runner and workload has one JSON file, with one line per cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from shootout import files
from shootout.analysis import stats, verdicts, warnings
from shootout.analysis.pairs import Change
from shootout.document import compatibility, fingerprint
from shootout.errors import InputError
from shootout.model.history import Baseline, BaselineCell, BaselineRun, BaselineServer
from shootout.model.plan import THROUGHPUT, Cell
from shootout.model.run import RunHeader, Runner, ServerRecord
from shootout.model.value import decoded
from shootout.model.verdict import CellComparison, Comparison, Verdict
from shootout.paths import file_stem

NOT_YET = "accept one with `shootout baseline accept`"
RUNS_MAX = 8  # that a baseline keeps
RUNS_MIN = 3  # fewer show no variance between runs: they advise
RunnerWorkload = tuple[str, str]  # the runner's fingerprint, the workload's name
# Warnings about the verdict against the anchor, not about the measurement.
_VERDICT_WARNINGS = {"wide", "uneven", "noise-floor-unknown", "not-confirmed"}


def path_of(folder: Path, fingerprint: str, workload: str) -> Path:
    """The file for a runner and workload."""
    return folder / file_stem(fingerprint) / f"{file_stem(workload)}.json"


def of(comparison: Comparison, anchor: str | None = None) -> tuple[Baseline, ...]:
    """The baselines from a run, one for each runner and workload; by default its first server is the anchor.

    They leave out cells that failed, were steady in fewer than two starts or have another base. Raises
    InputError if no cell is left.
    """
    header = comparison.header
    made = []
    for runner, record in itertools.product(header.runners, header.workloads):
        first = anchor or next(_available(header, runner), "")
        usable = [
            cell
            for cell in comparison.cells
            if cell.cell.workload == record.name
            and header.part(cell.cell).runner.fingerprint == runner.fingerprint
            and cell.base.server == first
            and cell.ratio is not None
            and len(cell.per_start) > 1
        ]
        if not usable:
            continue
        records = {each.label: each for each in header.part(usable[0].cell).servers}
        labels = dict.fromkeys([first, *(cell.cell.server for cell in usable)])
        made.append(
            Baseline(
                format=2,
                runner=runner.fingerprint,
                anchor=first,
                workload=record,
                load=header.profile.load,
                digest=header.digests.get(record.name, ""),
                servers={label: _server(records[label]) for label in labels},
                cells=tuple(_cell(cell, comparison) for cell in usable),
                machine=fingerprint.facts(runner),
            )
        )
    if not made:
        raise InputError(
            f"run {header.run}: no cell can be a baseline; expected one beside {anchor or 'the first server'}"
            ", steady in at least two starts"
        )
    return tuple(made)


def accept(folder: Path, baselines: Iterable[Baseline]) -> dict[Path, Baseline]:
    """Store baselines; returns them by file.

    A cell keeps its earlier runs, and cells that were not measured anew are preserved. Raises InputError if a
    file cannot be read or written, or if its runs cannot be compared with the new ones; then nothing changes.
    """
    stored = {path_of(folder, new.runner, new.workload.name): new for new in baselines}
    merged = {path: _merged(path, new) for path, new in stored.items()}
    for path, baseline in merged.items():
        _write(path, baseline)
    return stored


def ratio_text(cell: BaselineCell, anchor: str) -> str:
    """A cell's ratio to the anchor, and the figures of the newest run behind it."""
    run = cell.runs[-1]
    of_several = "" if len(cell.runs) == 1 else f", the mean of {len(cell.runs)} runs; the newest"
    return (
        f"{math.exp(cell.log_ratio):.3f} times {anchor}{of_several} ({run.tps:.0f} and {run.anchor_tps:.0f} "
        f"transactions/s, {run.starts} starts)"
    )


def read(path: Path) -> Baseline | None:
    """Read a baseline; None if there is no such file. Raises InputError if it cannot be read."""
    try:
        return decoded(path.read_bytes(), Baseline)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not a baseline: {error}") from None


def find(place: Path, header: RunHeader) -> dict[RunnerWorkload, Baseline]:
    """The run's baselines in `place`: a file, or the folder of all runners, which the first `accept` makes.

    A workload without a baseline on its runner gets another runner's, so that the refusal can name what
    differs. Raises InputError if a baseline cannot be read, or if the file or the folder's parent does not
    exist: the name may be misspelt.
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
        candidates = (read(path) for path in (own, *sorted(place.glob(f"*/{own.name}"))))
        if (found := next(filter(None, candidates), None)) is not None:
            baselines[key] = found
    return baselines


def compare(comparison: Comparison, stored: Mapping[RunnerWorkload, Baseline]) -> Comparison:
    """Compare the run's cells with stored baselines instead of with its base, which must be the anchor.

    A cell is unjudged without a baseline or with one of another runner, dataset, load or settings; its reason
    says what differs.
    """
    refusals: dict[Cell, str] = {}
    changes: dict[Cell, tuple[BaselineCell, Change]] = {}
    for cell in comparison.cells:
        if cell.cell == cell.base or cell.ratio is None or len(cell.per_start) < 2:
            continue
        runner = comparison.header.part(cell.cell).runner.fingerprint
        baseline = stored.get((runner, cell.cell.workload))
        refusal = _refusal(comparison, cell, baseline)
        then = _find(baseline, cell.cell) if baseline else None
        if refusal is not None or then is None:
            missing = f"no baseline for this server, dataset and threads yet; {NOT_YET}"
            refusals[cell.cell] = refusal or missing
        else:
            logs = [math.log(each) for each in cell.per_start]
            confidence = comparison.policy.confidence
            effect = _difference(logs, then.runs, confidence)
            changes[cell.cell] = then, Change(THROUGHPUT, effect)
    adjusted = stats.hommel([change.effect.p_value for _, change in changes.values()])
    p_values = {(cell, THROUGHPUT): p for cell, p in zip(changes, adjusted, strict=True)}
    cells = []
    for cell in comparison.cells:
        if cell.cell in refusals:
            cells.append(_unjudged(cell, refusals[cell.cell]))
        elif cell.cell in changes:
            cells.append(_compared(comparison, cell, *changes[cell.cell], p_values))
        else:
            cells.append(cell)
    return msgspec.structs.replace(comparison, cells=tuple(cells), curves=())


# --- what is stored -------------------------------------------------------------------------------


def _available(header: RunHeader, runner: Runner) -> Iterator[str]:
    """The labels of the servers that this runner has."""
    for part in header.parts or (header,):
        if part.runner.fingerprint == runner.fingerprint:
            yield from (each.label for each in part.servers if not each.absent)


def _server(record: ServerRecord) -> BaselineServer:
    settings = {each.name: each.effective for each in record.settings if each.effective is not None}
    return BaselineServer(version=record.version, build=record.build, settings=dict(sorted(settings.items())))


def _cell(cell: CellComparison, comparison: Comparison) -> BaselineCell:
    logs = np.log(cell.per_start)
    tps = {each.cell: each.figures.tps.estimate for each in comparison.cells if each.figures}
    floors = [each.floor for each in cell.judged if each.metric == THROUGHPUT]
    run = BaselineRun(
        run=comparison.header.run,
        log_ratio=round(float(logs.mean()), 6),
        error=round(float(logs.std(ddof=1)) / math.sqrt(len(logs)), 6),
        starts=len(logs),
        floor=floors[0] if floors else None,
        tps=round(tps[cell.cell], 1),
        anchor_tps=round(tps[cell.base], 1),
    )
    place = cell.cell
    return BaselineCell(dataset=place.dataset, server=place.server, threads=place.threads, runs=(run,))


def _merged(path: Path, new: Baseline) -> Baseline:
    if (old := read(path)) is None:
        return new
    if (different := next(compatibility.baselines(old, new), None)) is not None:
        raise InputError(f"{path}: the new run does not fit: {different}; delete the file to begin anew")
    known = {(cell.dataset, cell.server, cell.threads): cell for cell in old.cells}
    for cell in new.cells:
        earlier = known.get((cell.dataset, cell.server, cell.threads))
        again = {each.run for each in cell.runs}
        kept = [each for each in earlier.runs if each.run not in again] if earlier else []
        runs = (*kept, *cell.runs)[-RUNS_MAX:]
        known[cell.dataset, cell.server, cell.threads] = msgspec.structs.replace(cell, runs=runs)
    return msgspec.structs.replace(new, cells=tuple(known.values()), servers={**old.servers, **new.servers})


def _write(path: Path, baseline: Baseline) -> None:
    """Write atomically: sorted, one line per cell and setting, so that diffs are readable."""
    ordered = sorted(baseline.cells, key=lambda each: (each.dataset, each.threads, each.server))
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(baseline, cells=())), indent=1)
    lines = b",\n".join(b"  " + msgspec.json.encode(each) for each in ordered)
    text = text.replace(b'"cells": []', b'"cells": [\n' + lines + b"\n ]")
    try:
        files.replace(path, text + b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


# --- comparing with it ----------------------------------------------------------------------------


def _find(baseline: Baseline, cell: Cell) -> BaselineCell | None:
    key = (cell.dataset, cell.server, cell.threads)
    return next((each for each in baseline.cells if (each.dataset, each.server, each.threads) == key), None)


def _difference(now: Sequence[float], then: Sequence[BaselineRun], confidence: float) -> stats.Effect:
    """The starts' difference from the mean of accepted runs.

    The interval of `stats.difference`; from `RUNS_MIN` runs on, that of one more run of these if it is wider:
    by Student's over the runs (a prediction interval: Hahn and Meeker, "Statistical Intervals", section 4.7).
    """
    ratios = np.array([each.log_ratio for each in then])
    error = math.hypot(*(each.error for each in then)) / len(then)
    effect = stats.difference(now, float(ratios.mean()), error, sum(each.starts for each in then), confidence)
    if len(then) < RUNS_MIN:
        return effect
    between = stats.Noise((float(ratios.std(ddof=1)) * math.sqrt(1 + 1 / len(then)),), len(then) - 1)
    if between.reach(confidence) < effect.noise.reach(confidence):
        return effect
    return stats.with_noise(effect, between, confidence)


def _refusal(comparison: Comparison, cell: CellComparison, baseline: Baseline | None) -> str | None:
    """Why the cell cannot be compared with the baseline; None if it can."""
    if baseline is None:
        return f"no baseline for {cell.cell.workload} on this runner yet; {NOT_YET}"
    part = comparison.header.part(cell.cell)
    now = Baseline(
        format=2,
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
        _without_verdict(cell), verdict=Verdict.UNJUDGED, reason=reason,
        ratio=None, p_value=None, judged=(), leaning=None,
    )  # fmt: skip


def _without_verdict(cell: CellComparison) -> CellComparison:
    """Remove what only applies against the anchor."""
    warnings = tuple(each for each in cell.warnings if each.code not in _VERDICT_WARNINGS)
    return msgspec.structs.replace(cell, warnings=warnings, metrics=(), statements=(), causes=())


def _compared(
    comparison: Comparison,
    cell: CellComparison,
    then: BaselineCell,
    change: Change,
    p_values: Mapping[verdicts.CellMetric, float],
) -> CellComparison:
    now = next((each.floor for each in cell.judged if each.metric == THROUGHPUT), None)
    newest = then.runs[-1]
    floors = [floor for floor in (now, newest.floor) if floor is not None]
    floor = math.hypot(*floors) if floors else None  # the noise of both runs, which is independent
    policy = msgspec.structs.replace(comparison.policy, confirm_starts=0)  # nothing confirms it
    found, reason = verdicts.of_metric(cell.cell, change, policy, p_values, floor)
    measured, anchor = _without_verdict(cell), cell.base.server
    reason = f"{reason}: it was {ratio_text(then, anchor)} in run {newest.run}, and is "
    reason += ratio_text(_cell(cell, comparison), anchor)
    leaning: Literal["slower", "faster"] | None = None
    if len(then.runs) < RUNS_MIN and found.verdict in (Verdict.REGRESSED, Verdict.IMPROVED):
        leaning = "slower" if found.verdict is Verdict.REGRESSED else "faster"
        found = msgspec.structs.replace(found, verdict=Verdict.INCONCLUSIVE)
        made = "1 run" if len(then.runs) == 1 else f"{len(then.runs)} runs"
        reason += (
            f"; a baseline of {made} only advises: days differ, and {RUNS_MIN} accepted runs show by how much"
        )
    return msgspec.structs.replace(
        measured,
        warnings=(*measured.warnings, *warnings.of_change(found)),
        base=msgspec.structs.replace(cell.cell, server=f"{cell.cell.server} in {newest.run}"),
        verdict=found.verdict,
        reason=reason,
        ratio=found.ratio,
        p_value=found.p_value,
        per_start=tuple(map(math.exp, change.effect.per_start)),
        judged=(found,),
        leaning=leaning,
    )
