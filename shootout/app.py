"""The application: what each command does. It parses no options and prints nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from shootout.analysis import baseline, claims, compare, gate, history, ledger
from shootout.document import journal, merge
from shootout.errors import InputError
from shootout.inputs import acknowledgements, matrix
from shootout.inputs.options import ACKNOWLEDGED, Selection
from shootout.inputs.resolve import resolve
from shootout.inputs.scaled import Capacity
from shootout.measure import calibrate, campaign
from shootout.measure.campaign import Observe
from shootout.measure.plan import Plan, bind
from shootout.model.history import HistorySeries, Regression
from shootout.model.plan import Cell, ServerReference
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, ClaimResult, Comparison, Verdict
from shootout.paths import cache_folder
from shootout.report import judgement_cache, site
from shootout.report.github import markdown, regressions
from shootout.runner import doctor
from shootout.runner.doctor import Report
from shootout.servers import catalogue, installations
from shootout.servers.catalogue import Fetched
from shootout.servers.fetch.packages import no_progress
from shootout.servers.native import Tree

Skip = Callable[[str], None]  # receives the reason why a document was left out


@dataclass(frozen=True)
class Request:
    """A requested run: what to measure, where to publish it, and which regressions are accepted."""

    selection: Selection
    out: Path
    acknowledged: Path = ACKNOWLEDGED.default
    markdown: Path | None = None  # file for the verdicts as Markdown
    report: Callable[[str], None] = no_progress  # receives what planning fetches

    @cached_property
    def plan(self) -> Plan:
        """Everything decided before a server starts. Raises InputError."""
        acknowledgements.load(self.acknowledged)  # report its errors now, not after the run
        return plan(self.selection, self.report)


@dataclass(frozen=True)
class Conclusion:
    """A judged run, with the paths of its document and its page."""

    document: RunDocument
    comparison: Comparison
    claims: tuple[ClaimResult, ...]
    path: Path
    page: Path

    @property
    def unmeasured(self) -> list[Cell]:
        """The cells that no shard of a merged run measured."""
        cells = self.comparison.cells
        return [each.cell for each in cells if each.figures is None and each.verdict is Verdict.UNJUDGED]

    @property
    def missing_blocks(self) -> list[str]:
        """The blocks that are in no document of a merged run."""
        return [block.key for block in merge.missing(self.document.header)]

    @property
    def exit_code(self) -> int:
        """The exit code that docs/cli.md defines."""
        return gate.exit_code(self.comparison)

    @property
    def json(self) -> bytes:
        """The conclusion as JSON."""
        return as_json(self.comparison, self.claims, document=str(self.path), page=str(self.page))


def plan(selection: Selection, report: Callable[[str], None] = no_progress) -> Plan:
    """Resolve the profile on this machine, and check everything that it names. Raises InputError."""
    profile = resolve(matrix.load_profile(selection.profile), selection, _capacity())
    return bind(profile, selection, os.environ, report)


def run(request: Request, observe: Observe, skip: Skip, cells: Collection[Cell] | None = None) -> Conclusion:
    """Measure, judge and publish a request, through all layers of the architecture.

    `cells` selects some of the plan's cells. Raises InputError and MeasureError.
    """
    planned = request.plan if cells is None else request.plan.only(cells)
    path = campaign.measure(planned, request.out / "results", observe)
    conclusion = conclude(path, request.out / "site", request.acknowledged, skip)
    if request.markdown is not None:
        _write(request.markdown, markdown.summary(conclusion.comparison))
    return conclusion


def conclude(path: Path, out: Path, acknowledged: Path, skip: Skip) -> Conclusion:
    """Judge the run at `path`, add its A/A cells to the ledger, and publish it with the other runs."""
    judged = judgement_cache.run(path, acknowledgements.load(acknowledged))
    ledger.record(path.parent / ledger.FOLDER, judged.aa_entries)
    page = publish(path.parent, out, acknowledged, skip)
    whole = judged.whole()
    found = claims.evaluate_all(whole.document, whole.comparison.policy)
    return Conclusion(whole.document, whole.comparison, tuple(found), path, page)


def publish(results: Path, out: Path, acknowledged: Path, skip: Skip) -> Path:
    """Build the site from all run documents in `results`. Raises InputError if there is none."""
    accepted = acknowledgements.load(acknowledged)
    runs = judgement_cache.runs(results, _skipping(skip), accepted)
    if not runs:
        raise _nothing_in(results)
    return site.update(runs, out, accepted)


def merged(documents: Sequence[Path], out: Path, acknowledged: Path, skip: Skip) -> Conclusion:
    """Join the documents of a run's shards, then judge and publish them as one run."""
    acknowledgements.load(acknowledged)  # report its errors before anything is written
    path = merge.merge(documents, out / "results", skip)
    return conclude(path, out / "site", acknowledged, skip)


def judge(path: Path, acknowledged: Path, base: str | None = None) -> Comparison:
    """Judge a run document, using the runner's earlier A/A cells."""
    return _judged(journal.read(path), path.parent, acknowledgements.load(acknowledged), base)


def as_json(comparison: Comparison, results: Sequence[ClaimResult] = (), **places: str) -> bytes:
    """Encode a comparison as JSON; `places`: its files, by key."""
    found = {
        "run": comparison.header.run,
        **places,
        "standing": gate.standing(comparison),
        "failing": [cell.cell for cell in comparison.cells if gate.counts(cell, comparison)],
        "aa_cells_wanting": ledger.cells_needed(comparison.false_alarms, comparison.policy),
        "cells": comparison.cells,
        "curves": comparison.curves,
        "false_alarms": comparison.false_alarms,
    }
    return msgspec.json.encode(found | ({"claims": results} if results else {}))


def judge_by_baselines(comparison: Comparison, baselines: Path) -> Comparison:
    """Judge a comparison by stored baselines, a file or a folder."""
    found = baseline.find(baselines, comparison.header)
    return baseline.compare(comparison, found, acknowledgements.load(ACKNOWLEDGED.default))


def accept(document: Path, folder: Path, anchor: str | None) -> tuple[Path, ...]:
    """Store a run's results as baselines; returns their files."""
    comparison = judge(document, ACKNOWLEDGED.default, anchor)
    return baseline.accept(folder, baseline.of(comparison))


def series(results: Path, anchor: str | None, skip: Skip) -> tuple[HistorySeries, ...]:
    """Every cell's ratio to the anchor over all runs in a folder. Raises InputError if there is none."""
    if anchor is None:
        runs = [
            tuple(history.points_of(run.comparison)) for run in judgement_cache.runs(results, _skipping(skip))
        ]
    else:
        runs = [tuple(history.points_of(each)) for each in _all_judged(results, anchor, (), skip)]
    if not runs:
        raise _nothing_in(results, anchor)
    return history.of_points(point for points in runs for point in points)


def open_regressions(
    results: Path, anchor: str | None, acknowledged: Path, skip: Skip
) -> tuple[Regression, ...]:
    """The regressions that history confirms and that have not recovered since."""
    comparisons = _all_judged(results, anchor, acknowledgements.load(acknowledged), skip)
    if not comparisons:
        raise _nothing_in(results, anchor)
    return regressions.unrecovered(history.series(comparisons), comparisons)


def fetch(server: ServerReference, report: Callable[[str], None]) -> Fetched:
    """Fetch a server; returns its location. `report` receives the progress."""
    program = installations.find(server, report=report)
    version = ".".join(map(str, program.version))
    place = str(catalogue.fetch(server, cache_folder())) if isinstance(program, Tree) else program.digest
    return Fetched(reference=server.text, family=program.family, version=version, directory=place)


def examine(out: Path, data: Path, profile: str) -> Report:
    """Examine this machine and its A/A results so far."""
    policy = matrix.load_profile(profile).policy
    return doctor.examine(data, out / "results", policy)


def calibrate_placement(request: Request, observe: Observe) -> float:
    """Find the least noisy CPU placement and slice length; returns the remaining budget in seconds."""
    return calibrate.begin(request.plan, request.out / "results", observe)


def calibrate_noise(request: Request, measure: Callable[[Request], int], budget_s: float) -> int:
    """Measure A/A cells, run after run, until the budget is spent.

    `measure` runs one request and returns its exit code; this function returns the last one.
    """
    each_max_s = _with_budget(request, None).plan.profile.sampling.budget_s
    return repeated(lambda left_s: measure(_with_budget(request, left_s)), budget_s, each_max_s)


def repeated(run: Callable[[float], int], budget_s: float, each_max_s: float) -> int:
    """Repeat a run of at most `each_max_s` while another one as long as the last fits the budget.

    Stops at the first exit code other than 0 and 1; returns the last exit code.
    """
    ends_s = time.monotonic() + budget_s
    took_s, code = 0.0, 0
    while code in (0, 1) and (left_s := ends_s - time.monotonic()) > took_s:
        began_s = time.monotonic()
        code = run(min(each_max_s, left_s))
        took_s = time.monotonic() - began_s
    return code


def _with_budget(request: Request, budget_s: float | None) -> Request:
    budget = None if budget_s is None else f"{budget_s / 60:.6f}"
    return replace(request, selection=request.selection.with_changes(budget=budget, resume=False))


def _judged(
    document: RunDocument, results: Path, acknowledged: Sequence[Acknowledgement], base: str | None
) -> Comparison:
    earlier = ledger.of_other_runs(results / ledger.FOLDER, document.header)
    return compare.compare(document, base=base, ledger_entries=earlier, acknowledged=acknowledged)


def _all_judged(
    results: Path, base: str | None, acknowledged: Sequence[Acknowledgement], skip: Skip
) -> list[Comparison]:
    """The judged runs of a folder that have the base, without those contained in another run."""
    runs: dict[str, Comparison] = {}
    for path in journal.find(results):
        try:
            document = journal.read(path)
            if base is None or any(base in block.servers for block in document.header.blocks):
                runs[document.header.run] = _judged(document, results, acknowledged, base)
        except InputError as error:
            skip(str(error))
    parts = {run: [part.run for part in each.header.parts] for run, each in runs.items()}
    superseded = merge.superseded(parts)
    return [each for run, each in runs.items() if run not in superseded]


def _skipping(skip: Skip) -> Callable[[InputError], None]:
    return lambda error: skip(str(error))


def _nothing_in(results: Path, base: str | None = None) -> InputError:
    which = f" with the server {base!r}" if base else ""
    return InputError(f"{results}: no run document{which} found; `shootout run` makes one")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None


def _capacity() -> Capacity:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Capacity(cpus=len(os.sched_getaffinity(0)), memory_bytes=memory_bytes)
