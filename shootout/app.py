"""The application: what each command does, step by step. It parses no options and prints nothing."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec import structs

from shootout import capability, files, steps
from shootout.analysis import baseline, claims, history, ledger
from shootout.conclusion import Conclusion, Prepared, Request
from shootout.coverage.documents import remarks
from shootout.document import baselines, ledgers, merge
from shootout.errors import InputError, Skip, leaving_out
from shootout.explain import changed_cells, perf
from shootout.inputs import matrix
from shootout.inputs.texts import load_acknowledged
from shootout.measure import campaign
from shootout.model.history import Baseline, HistorySeries, Regression
from shootout.model.plan import Build, Cell, Policy, ServerReference
from shootout.model.run import Observe, Progress
from shootout.model.verdict import Acknowledgement, Comparison, Verdict
from shootout.report import headlines, judged_runs, run_answer, site, wording
from shootout.report.github import regressions
from shootout.report.judged_runs import JudgedRun
from shootout.report.sections import Section
from shootout.runner import doctor
from shootout.runner.doctor import Report
from shootout.servers.sources import installations
from shootout.servers.sources.catalogue import Fetched
from shootout.servers.sources.fetch.packages import no_progress
from shootout.servers.sources.trees import Tree
from shootout.writers import markdown

JUDGED = (0, 1, 4)  # exit codes of runs that measured all their cells
LOADS = 5  # of a calibration, which are loaded in turn: templates of more would fill the cache


def prepare(
    request: Request, report: Callable[[str], None] = no_progress, skip: Skip = lambda reason: None
) -> Prepared:
    """Decide everything before a server starts; `report` receives what is fetched. Raises InputError."""
    acknowledged = load_acknowledged(request.acknowledged)
    with files.writing(request.out / "results"):
        files.require_folder(request.out / "results")
    for file in filter(None, (request.markdown, request.junit_xml)):
        with files.writing(file):
            files.require_writable(file)
    planned = steps.plan(request.selection, report)
    *_, head = planned.servers
    told = [*planned.told.get(head, ())]
    if request.explain is not None and (lack := perf.lack()):
        skip(f"profiles of the explanations: {lack}")
    if request.coverage is not None:
        told += remarks(planned, request.coverage, request.out / "results", skip)
    return Prepared(request, replace(planned, told={**planned.told, head: told}), acknowledged)


def run(
    prepared: Prepared, observe: Observe, skip: Skip, cells: Collection[Cell] | None = None
) -> Conclusion:
    """Measure some or all cells, judge, explain and publish. Raises InputError and MeasureError."""
    planned = prepared.plan if cells is None else prepared.plan.judging(cells)
    explained_s = 60 * (prepared.request.explain or 0.0)

    def measuring(progress: Progress) -> None:
        left_s = progress.left_s
        observe(structs.replace(progress, left_s=None if left_s is None else left_s + explained_s))

    path = campaign.measure(planned, prepared.results, measuring, acknowledged=prepared.acknowledged)
    conclusion = replace(judge_run(path, prepared.acknowledged, skip), prepared=prepared)
    if prepared.request.explain is not None:
        explain(conclusion, prepared.request.explain, observe, skip)
    conclusion = replace(conclusion, sections=sections(path, conclusion.comparison, skip))
    prepared.request.write_markdown(markdown.write(conclusion.answer), skip)
    suite = run_answer.suite(conclusion.document, conclusion.comparison, conclusion.claims)
    prepared.request.write_junit(suite, skip)
    page = published(prepared.request.out, prepared.acknowledged, skip)
    whole = planned.cells == prepared.plan.cells
    return replace(conclusion, page=page, prepared=prepared if whole else None)


def explain(conclusion: Conclusion, budget_min: float, observe: Observe, skip: Skip) -> None:
    """Say the verdict, then find out in so many minutes why cells changed."""
    for headline in headlines.of_heads(conclusion.comparison):
        observe(Progress(stage="note", detail=headline.text))
    changed_cells.explain(conclusion, budget_min, observe, skip)


def judge_run(path: Path, acknowledged: Sequence[Acknowledgement], skip: Skip) -> Conclusion:
    """Judge the run at `path`, and add its A/A cells to the ledger."""
    document, comparison = judged_runs.whole(path, acknowledged, skip)
    made = comparison.cells, comparison.aa_controls
    entries = ledger.entries_of_run(document.header, comparison.policy, *made, starts=len(document.starts))
    with leaving_out(skip):
        ledgers.record(path.parent / ledgers.FOLDER, entries)
    results = claims.evaluate_all(document, comparison.policy)
    return Conclusion(document, comparison, tuple(results), path)


def sections(path: Path, comparison: Comparison, skip: Skip) -> dict[Cell, tuple[Section, ...]]:
    """Find the explanations of the cells of the run at `path`, the worst first."""
    cells = [each.cell for each in wording.worst_first(comparison.cells)]
    return changed_cells.sections(path.parent, comparison.header.run, cells, skip)


def published(out: Path, acknowledged: Sequence[Acknowledgement], skip: Skip) -> Path | None:
    """Publish what was measured; None, and no loss of results, if the page cannot be made."""
    try:
        return publish(out / "results", out / "site", acknowledged, skip)
    except InputError as error:
        skip(str(error))
        return None


def publish(
    results: Path, out: Path, acknowledged: Sequence[Acknowledgement], skip: Skip, *, front: str | None = None
) -> Path:
    """Build the site from all documents; `front`: the profile of its first page. Raises InputError."""
    runs = _runs(results, None, acknowledged, skip)
    listed = (each.listing(results, skip) for each in capability.every())
    listings = [each for each in listed if each is not None]
    if not runs and not listings:
        raise nothing(results)

    of_cells = partial(changed_cells.sections, results, skip=_said_before)
    return site.build(runs, out, acknowledged, listings, sections=of_cells, front=front)


def publish_single(
    results: Path,
    file: Path,
    acknowledged: Sequence[Acknowledgement],
    skip: Skip,
    *,
    front: str | None = None,
) -> Path:
    """Write the site's first page as one file. Raises InputError if there is no run."""
    runs = _runs(results, None, acknowledged, skip)
    if not runs:
        raise nothing(results)
    files.write(file, site.report(runs, front))
    return file


def merged(documents: Sequence[Path], out: Path, acknowledged: Path, skip: Skip) -> Conclusion:
    """Join the documents of a run's shards, then judge and publish them as one run."""
    known = load_acknowledged(acknowledged)  # report its errors before anything is written
    conclusion = judge_run(merge.merge(documents, out / "results", skip), known, skip)
    known_of = sections(conclusion.path, conclusion.comparison, skip)
    return replace(conclusion, sections=known_of, page=published(out, known, skip))


def accept(
    document: Path, folder: Path, anchor: str | None, warn: Callable[[str], None], *, force: bool
) -> dict[Path, Baseline]:
    """Store a run's results as baselines; returns them by file.

    Raises InputError for cells that are judged to differ from the accepted runs, unless that is meant: by
    `force`. `warn` receives those that likely do, and why lines of the ledger are left out.
    """
    comparison = judged_runs.against(document, anchor, warn)
    if folder.exists() and not force:
        against = baseline.compare(comparison, baselines.find(folder, comparison.header))
        changed = (Verdict.REGRESSED, Verdict.IMPROVED)
        if far := [each for each in against.cells if each.verdict in changed]:
            raise InputError(
                f"{wording.far_from_baseline(far)}; nothing is stored\nRuns this different make the "
                "baseline too wide to detect a loss. --force adds this one; for a new level, delete the file"
            )
        if likely := [each for each in against.cells if each.leaning]:
            warn(f"{wording.far_from_baseline(likely)}; runs this different make a baseline too wide")
    return baselines.accept(folder, baseline.baselines_of_run(comparison, anchor))


def series(results: Path, anchor: str | None, skip: Skip) -> tuple[HistorySeries, ...]:
    """Build every cell's ratio to the anchor over all runs in a folder."""
    return history.series(run.comparison for run in _runs(results, anchor, (), skip))


def open_regressions(
    results: Path, anchor: str | None, acknowledged: Path, skip: Skip
) -> tuple[Regression, ...]:
    """List the confirmed regressions that have not recovered since. Raises InputError without a run."""
    known = load_acknowledged(acknowledged)
    comparisons = [run.whole().comparison for run in _runs(results, anchor, (), skip)]
    if not comparisons:
        raise nothing(results, anchor)
    return regressions.unrecovered(history.series(comparisons), comparisons, known)


def fetch(server: ServerReference, report: Callable[[str], None], build: Build | None = None) -> Fetched:
    """Fetch or build a server; returns its location. `report` receives the progress."""
    program = installations.find(server, report=report, build=build)
    version = ".".join(map(str, program.version))
    place = str(program.files.top) if isinstance(program, Tree) else program.digest
    return Fetched(reference=server.text, family=program.family, version=version, directory=place)


def examine(out: Path, data: Path, profile: str, policy: Policy | None, skip: Skip) -> Report:
    """Examine this machine and its A/A results so far, by this policy or the profile's."""
    loaded = matrix.load_profile(profile)
    gates = structs.replace(loaded, policy=policy or loaded.policy)
    return doctor.examine(data, out / "results", gates, skip)


def calibrate_noise(request: Request, measure: Callable[[Request], int]) -> int:
    """Run A/A cells on rows of their own until the budget is spent; returns the last exit code."""
    budget_s = steps.plan(request.selection).profile.sampling.budget_s
    each_max_s = steps.plan(request.selection.within(None)).profile.sampling.budget_s
    seeds = itertools.cycle(range(1, LOADS + 1))

    def run(left_s: float) -> int:
        selection = request.selection.within(left_s / 60).loaded_anew(next(seeds))
        return measure(replace(request, selection=selection))

    return repeated(run, budget_s, each_max_s)


def repeated(run: Callable[[float], int], budget_s: float, each_max_s: float) -> int:
    """Repeat a run while another one fits the budget, up to an exit code that is not in JUDGED."""
    ends_s = time.monotonic() + budget_s
    took_s, code = 0.0, 0
    while code in JUDGED and (left_s := ends_s - time.monotonic()) > took_s:
        began_s = time.monotonic()
        code = run(min(each_max_s, left_s))
        took_s = time.monotonic() - began_s
    return code


def _runs(
    results: Path, base: str | None, acknowledged: Sequence[Acknowledgement], skip: Skip
) -> list[JudgedRun]:
    return judged_runs.find(results, lambda error: skip(str(error)), acknowledged, base)


def _said_before(reason: str) -> None:
    """Several processes draw pages; what cannot be read was said when capabilities listed theirs."""


def nothing(results: Path, base: str | None = None) -> InputError:
    """Make the error for a folder without runs; `base`: without runs of that server."""
    which = f" with the server {base!r}" if base else ""
    return InputError(f"{results}: no run document{which} found; `shootout run` makes one")
