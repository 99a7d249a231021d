"""Stored baselines, with which later runs on the same runner are compared.

A baseline is a ratio to the anchor, a pinned server in every run, so a machine that became slower for all
servers shows no regression. document/baselines.py has the files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import structs

from shootout.analysis import stats, verdicts, warnings
from shootout.analysis.pairs import Change
from shootout.document import compatibility
from shootout.document.baselines import RunnerWorkload
from shootout.errors import InputError
from shootout.figures import counted
from shootout.model.history import Baseline, BaselineCell, BaselineRun, BaselineServer
from shootout.model.plan import THROUGHPUT, Cell
from shootout.model.run import RunHeader, ServerRecord
from shootout.model.verdict import CellComparison, Comparison, Verdict

NOT_YET = "accept one with `shootout baseline accept`"
RUNS_MIN = 3  # fewer show no variance between runs: they advise
# Warnings about the verdict against the anchor, not about the measurement.
_VERDICT_WARNINGS = {"wide", "uneven", "noise-floor-unknown", "not-confirmed"}


def baselines_of_run(comparison: Comparison, anchor: str | None = None) -> tuple[Baseline, ...]:
    """Make a run's baselines, one for each runner and workload; by default its first server is the anchor.

    They leave out cells that failed, were steady in fewer than two starts or have another base. Raises
    InputError if no cell is left.
    """
    header = comparison.header
    made = []
    for runner, record in itertools.product(header.runners, header.workloads):
        parts = (part for part in header.parts or (header,) if part.runner.fingerprint == runner.fingerprint)
        here = (server.label for part in parts for server in part.servers if not server.absent)
        first = anchor or next(here, "")
        usable = [
            cell
            for cell in comparison.cells
            if cell.cell.workload == record.name
            and header.part(cell.cell).runner.fingerprint == runner.fingerprint
            and cell.base.server == first
            and cell.ratio is not None
            and len(cell.per_start) > 1
        ]
        if usable:
            made.append(_baseline(header, usable, tuple(_cell(cell, comparison) for cell in usable)))
    if not made:
        raise InputError(
            f"run {header.run}: no cell can be a baseline; expected one beside {anchor or 'the first server'}"
            ", steady in at least two starts"
        )
    return tuple(made)


def ratio_text(cell: BaselineCell, anchor: str) -> str:
    """Write a cell's ratio to the anchor, and the figures of the newest run behind it."""
    run = cell.runs[-1]
    of_several = "" if len(cell.runs) == 1 else f", the mean of {len(cell.runs)} runs; the newest"
    return (
        f"{math.exp(cell.log_ratio):.3f} times {anchor}{of_several} ({run.tps:.0f} and {run.anchor_tps:.0f} "
        f"transactions/s, {run.starts} starts)"
    )


def compare(comparison: Comparison, stored: Mapping[RunnerWorkload, Baseline]) -> Comparison:
    """Compare the run's cells with stored baselines instead of with its base, which must be the anchor.

    A cell is unjudged without a baseline or with one of another runner, dataset, load or settings; its reason
    says what differs.
    """
    cells = {cell.cell: cell for cell in comparison.cells}
    changes: dict[Cell, tuple[BaselineCell, Change]] = {}
    for cell in comparison.cells:
        if cell.cell == cell.base or cell.ratio is None or len(cell.per_start) < 2:
            continue
        then = _then(comparison.header, cell, stored)
        if isinstance(then, str):
            cells[cell.cell] = structs.replace(
                _without_verdict(cell), verdict=Verdict.UNJUDGED, reason=then,
                ratio=None, p_value=None, judged=(), leaning=None,
            )  # fmt: skip
        else:
            logs = [math.log(ratio) for ratio in cell.per_start]
            effect = _difference(logs, then.runs, comparison.policy.confidence)
            changes[cell.cell] = then, Change(THROUGHPUT, effect)
    adjusted = stats.hommel([change.effect.p_value for _, change in changes.values()])
    p_values = {(cell, THROUGHPUT): p_value for cell, p_value in zip(changes, adjusted, strict=True)}
    for place, (then, change) in changes.items():
        cells[place] = _compared(comparison, cells[place], then, change, p_values)
    return structs.replace(comparison, cells=tuple(cells.values()), curves=())


# --- what is stored -------------------------------------------------------------------------------


def _baseline(
    header: RunHeader, of_workload: Sequence[CellComparison], cells: tuple[BaselineCell, ...] = ()
) -> Baseline:
    cell, *_ = of_workload
    part, workload = header.part(cell.cell), cell.cell.workload
    records = {record.label: record for record in part.servers}
    labels = dict.fromkeys([cell.base.server, *(other.cell.server for other in of_workload)])
    return Baseline(
        format=3,
        runner=part.runner.fingerprint,
        anchor=cell.base.server,
        workload=next(record for record in header.workloads if record.name == workload),
        load=header.profile.load,
        digest=header.digests.get(workload, ""),
        servers={label: _server(records[label]) for label in labels if label in records},
        cells=cells,
        machine=compatibility.facts(part.runner),
    )


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


# --- comparing with it ----------------------------------------------------------------------------


def _then(
    header: RunHeader, cell: CellComparison, stored: Mapping[RunnerWorkload, Baseline]
) -> BaselineCell | str:
    """Find a cell in its baseline, or why it cannot be compared with it."""
    place = cell.cell
    baseline = stored.get((header.part(place).runner.fingerprint, place.workload))
    if baseline is None:
        return f"no baseline for {place.workload} on this runner yet; {NOT_YET}"
    if (different := next(compatibility.baselines(baseline, _baseline(header, [cell])), None)) is not None:
        return f"its baseline does not fit: {different}"
    key = (place.dataset, place.server, place.threads)
    cells = (then for then in baseline.cells if (then.dataset, then.server, then.threads) == key)
    return next(cells, f"no baseline for this server, dataset and threads yet; {NOT_YET}")


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


def _without_verdict(cell: CellComparison) -> CellComparison:
    warnings = tuple(each for each in cell.warnings if each.code not in _VERDICT_WARNINGS)
    return structs.replace(cell, warnings=warnings, metrics=(), statements=(), causes=())


def advising(then: BaselineCell) -> str:
    """Say why a baseline fails no gate; empty: it does."""
    if len(then.runs) >= RUNS_MIN:
        return ""
    why = f"days differ, and {RUNS_MIN} accepted runs show by how much"
    return f"a baseline of {counted(len(then.runs), 'run')} only advises: {why}"


def _compared(
    comparison: Comparison,
    cell: CellComparison,
    then: BaselineCell,
    change: Change,
    p_values: Mapping[verdicts.CellMetric, float],
) -> CellComparison:
    now, newest = _cell(cell, comparison), then.runs[-1]
    floors = [run.floor for run in (*now.runs, newest) if run.floor is not None]
    floor = math.hypot(*floors) if floors else None  # the noise of both runs, which is independent
    policy = structs.replace(comparison.policy, confirm_starts=0)  # nothing confirms it
    judged, reason = verdicts.of_metric(cell.cell, change, policy, p_values, floor)
    measured, anchor = _without_verdict(cell), cell.base.server
    reason += f": it was {ratio_text(then, anchor)} in run {newest.run}, and is {ratio_text(now, anchor)}"
    leaning: Literal["slower", "faster"] | None = None
    if (advises := advising(then)) and judged.verdict in (Verdict.REGRESSED, Verdict.IMPROVED):
        leaning = "slower" if judged.verdict is Verdict.REGRESSED else "faster"
        judged = structs.replace(judged, verdict=Verdict.INCONCLUSIVE)
        reason += f"; {advises}"
    return structs.replace(
        measured,
        warnings=(*measured.warnings, *warnings.made(warnings.of_change(judged))),
        base=structs.replace(cell.cell, server=f"its baseline ({counted(len(then.runs), 'run')})"),
        verdict=judged.verdict,
        reason=reason,
        ratio=judged.ratio,
        p_value=judged.p_value,
        per_start=tuple(map(math.exp, change.effect.per_start)),
        judged=(judged,),
        leaning=leaning,
    )
