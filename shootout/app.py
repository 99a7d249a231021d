"""The application: what each command does. It parses no options and prints nothing."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from shootout import files
from shootout.analysis import (
    acknowledgements,
    baseline,
    bisected,
    bisected_work,
    claims,
    explained,
    gate,
    history,
    ledger,
)
from shootout.analysis import soak as soak_verdicts
from shootout.analysis import work as work_verdicts
from shootout.analysis.explained import Explained
from shootout.analysis.remaining import remaining
from shootout.document import bisections, crashes, journal, merge, resume, soaks
from shootout.document import explanations as explanations_
from shootout.document import work as work_documents
from shootout.errors import InputError, MeasureError
from shootout.inputs import matrix
from shootout.inputs.acknowledgements import load as load_acknowledged
from shootout.inputs.options import ACKNOWLEDGED, Selection
from shootout.inputs.resolve import resolve
from shootout.inputs.scaled import Capacity
from shootout.learn import session as learning
from shootout.learn.session import LearnedWorkload
from shootout.measure import bisect as bisect_
from shootout.measure import campaign
from shootout.measure import crash as crash_
from shootout.measure import explain as explain_
from shootout.measure import results as results_
from shootout.measure import soak as soak_
from shootout.measure import work as work_
from shootout.measure.bisect import Question
from shootout.measure.bisect_work import bisect_work
from shootout.measure.plan import Plan, bind
from shootout.model.bisection import Answer, Instrument, Revision
from shootout.model.crash import CrashDocument
from shootout.model.history import Baseline, HistorySeries, Regression
from shootout.model.plan import Build, Cell, Policy, ServerReference
from shootout.model.run import Observe, RunDocument
from shootout.model.soak import SoakResult
from shootout.model.verdict import Acknowledgement, ClaimResult, Comparison, Verdict
from shootout.model.work import WorkComparison, WorkSeries
from shootout.paths import file_stem
from shootout.report import bisection as bisection_report
from shootout.report import commands, explanation, judgement_cache, site, wording
from shootout.report import soak as soak_report
from shootout.report import work as work_report
from shootout.report.github import markdown, regressions
from shootout.report.judge import Judge
from shootout.report.judgement_cache import JudgedRun
from shootout.report.site import single
from shootout.report.site import soak as soak_pages
from shootout.report.site import work as work_pages
from shootout.report.site.fidelity import FidelityPage
from shootout.report.site.render import renderer
from shootout.runner import doctor
from shootout.runner.doctor import Report
from shootout.servers import installations, reference
from shootout.servers.builds import Commit
from shootout.servers.catalogue import Fetched
from shootout.servers.fetch.packages import no_progress
from shootout.servers.native import Tree

JUDGED = (0, 1, 4)  # exit codes of runs that measured all their cells
SUSPECTS = ""  # in place of a setting to try
LOADS = 5  # of a calibration, which are loaded in turn: templates of more would fill the cache
EXPLAIN_MIN = 1.5  # minutes for a cell at least: three starts of two servers

T = TypeVar("T")
Skip = Callable[[str], None]  # receives the reason why a document was left out


@dataclass(frozen=True)
class Request:
    """A requested run: what to measure, where to publish it, and which regressions are accepted."""

    selection: Selection
    out: Path
    acknowledged: Path = ACKNOWLEDGED.default
    markdown: Path | None = None  # file for the verdicts as Markdown
    junit_xml: Path | None = None  # file for pytest's report
    explain_min: float | None = None  # minutes to find out why cells changed; None: nobody asked
    report: Callable[[str], None] = no_progress  # receives what planning fetches

    @cached_property
    def plan(self) -> Plan:
        """Everything decided before a server starts. Raises InputError."""
        load_acknowledged(self.acknowledged)  # report its errors now, not after the run
        for file in filter(None, (self.markdown, self.junit_xml)):
            with _writing(file):
                files.require_writable(file)
        return plan(self.selection, self.report)

    def resuming(self, **changed: str) -> str:
        """The command that continues the run, with other values for some options."""
        places = {"--out": str(self.out)}
        if self.acknowledged != ACKNOWLEDGED.default:
            places["--acknowledged"] = str(self.acknowledged)
        changes = {f"--{name}": value for name, value in changed.items()}
        return commands.go_on({**self.plan.given, **changes, **places})

    def write_markdown(self, text: str, skip: Skip) -> None:
        """Write the verdicts as Markdown, if asked for; `skip` receives why they cannot be written."""
        if (file := self.markdown) is not None:
            _or_left_out(lambda: _write(file, text), skip)


@dataclass(frozen=True)
class Conclusion:
    """A judged run, with the paths of its document and its page; None: the page could not be made."""

    document: RunDocument
    comparison: Comparison
    claims: tuple[ClaimResult, ...]
    path: Path
    page: Path | None
    explained: tuple[Explained, ...] = ()
    request: Request | None = None  # that it answers; None: a merged run, or some cells of one

    @property
    def exit_code(self) -> int:
        """The exit code that docs/cli.md defines."""
        return gate.exit_code(self.comparison)

    @property
    def more_starts(self) -> str | None:
        """The command that gives the run the minutes to decide more cells; None if it would take no start."""
        found = remaining(self.comparison)
        if self.request is None or found is None or not found.decided:
            return None
        minutes = math.ceil(resume.given_s(self.document) / 60 + found.minutes)
        if resume.is_finished(self.document, minutes * 60):
            return None
        return self.request.resuming(budget=str(minutes))

    @property
    def json(self) -> bytes:
        """The conclusion as JSON."""
        return as_json(self.comparison, self.claims, document=self.path, page=self.page)


def plan(selection: Selection, report: Callable[[str], None] = no_progress) -> Plan:
    """Resolve the profile on this machine, and check everything that it names. Raises InputError."""
    profile = resolve(matrix.load_profile(selection.profile), selection, _capacity())
    return bind(profile, selection, os.environ, report)


def run(request: Request, observe: Observe, skip: Skip, cells: Collection[Cell] | None = None) -> Conclusion:
    """Measure, judge and publish a request, through all layers of the architecture.

    `cells` selects some of the plan's cells; `skip` receives why a part of the result cannot be written.
    Raises InputError and MeasureError.
    """
    planned = request.plan if cells is None else request.plan.judging(cells)
    path = campaign.measure(planned, request.out / "results", observe)
    conclusion = _concluded(path, request, skip)
    if _explain_changes(conclusion, request, observe, skip):
        conclusion = _concluded(path, request, skip)
    return replace(conclusion, request=request if planned.cells == request.plan.cells else None)


def unlike_results(request: Request, observe: Observe) -> tuple[str, ...]:
    """Which statements of the request's workloads return other rows on a head than on the base, in words."""
    return tuple(map(str, results_.compared(request.plan, observe)))


def _concluded(path: Path, request: Request, skip: Skip) -> Conclusion:
    """Judge, write and publish the request's run at `path`."""
    judged = _judged(path, request.acknowledged, skip)
    request.write_markdown(markdown.summary(judged.comparison, judged.explained), skip)
    return replace(judged, page=_page(path.parent, request.out, request.acknowledged, skip))


def _judged(path: Path, acknowledged: Path, skip: Skip) -> Conclusion:
    """Judge the run at `path`, and add its A/A cells to the ledger; it has no page yet."""
    judged = judgement_cache.run(path, load_acknowledged(acknowledged))
    _or_left_out(lambda: ledger.record(path.parent / ledger.FOLDER, judged.aa_entries), skip)
    whole = judged.whole()
    found = claims.evaluate_all(whole.document, whole.comparison.policy)
    return Conclusion(whole.document, whole.comparison, tuple(found), path, None, whole.explained)


def _page(results: Path, out: Path, acknowledged: Path, skip: Skip) -> Path | None:
    """Publish what was measured; None, and no loss of results, if the page cannot be made."""
    return _or_left_out(lambda: publish(results, out / "site", acknowledged, skip), skip)


def publish(results: Path, out: Path, acknowledged: Path, skip: Skip, *, front: str | None = None) -> Path:
    """Build the site from all documents in `results`. Raises InputError if there is none.

    Its first page has the newest run, or the newest of the profile `front`.
    """
    accepted = load_acknowledged(acknowledged)
    folders = bisections.find(results, skip)
    alone = folders and not (journal.find(results) or work_documents.find(results))
    where = folders[-1] if alone else results  # without other runs, those of the newest bisection
    counted = _judged_work(where, skip)
    soaked = _read(soaks.find(results), _judged_soak, skip)
    runs = _runs(where, None, accepted, skip, bool(counted or soaked))
    answers = _read(folders, _answer, skip)
    return site.build(runs, out, accepted, counted, answers, soaked=soaked, front=front)


def _answer(folder: Path) -> Answer:
    found = bisections.read(folder)
    if found.instrument == "work":
        return bisected_work.answer(found, bisections.counted(folder))
    return bisected.answer(found, bisections.documents(folder))


def _read(paths: Sequence[Path], read: Callable[[Path], T], skip: Skip) -> list[T]:
    """What each document says, the newest first; `skip` receives why others are left out."""
    found = []
    for path in reversed(paths):
        try:
            found.append(read(path))
        except InputError as error:
            skip(str(error))
    return found


def publish_single(
    results: Path, file: Path, acknowledged: Path, skip: Skip, *, front: str | None = None
) -> Path:
    """Write the site's first page as one file. Raises InputError if there is no run."""
    _write(file, site.report(_runs(results, None, load_acknowledged(acknowledged), skip), front))
    return file


def merged(documents: Sequence[Path], out: Path, acknowledged: Path, skip: Skip) -> Conclusion:
    """Join the documents of a run's shards, then judge and publish them as one run."""
    load_acknowledged(acknowledged)  # report its errors before anything is written
    path = merge.merge(documents, out / "results", skip)
    return replace(_judged(path, acknowledged, skip), page=_page(path.parent, out, acknowledged, skip))


def judge(
    path: Path, acknowledged: Path, base: str | None = None, baselines: Path | None = None
) -> Comparison:
    """Judge a run document, using the runner's earlier A/A cells.

    `baselines`, a file or a folder: compare with stored baselines instead; `base` is their anchor.
    """
    accepted = load_acknowledged(acknowledged)
    comparison = Judge(path.parent).compare(journal.read(path), base)
    if baselines is not None:
        comparison = baseline.compare(comparison, baseline.find(baselines, comparison.header))
    return acknowledgements.applied(comparison, accepted)


def as_json(comparison: Comparison, results: Sequence[ClaimResult] = (), **places: Path | None) -> bytes:
    """Encode a comparison as JSON; `places`: its files, by key, without those that there are not."""
    found = {
        "run": comparison.header.run,
        "rule": comparison.rule,
        **_texts(places),
        "standing": gate.standing(comparison),
        "failing": [cell.cell for cell in comparison.cells if gate.counts(cell, comparison)],
        "unmeasured": [cell.cell for cell in gate.unmeasured(comparison)],
        "aa_cells_wanting": ledger.cells_needed(comparison.false_alarms, comparison.policy),
        "cells": comparison.cells,
        "curves": comparison.curves,
        "false_alarms": comparison.false_alarms,
    }
    return msgspec.json.encode(found | ({"claims": results} if results else {}))


def _texts(places: Mapping[str, Path | None]) -> dict[str, str]:
    return {key: str(path) for key, path in places.items() if path is not None}


def accept(document: Path, folder: Path, anchor: str | None) -> dict[Path, Baseline]:
    """Store a run's results as baselines; returns them by file."""
    comparison = Judge(document.parent).compare(journal.read(document), anchor)
    return baseline.accept(folder, baseline.of(comparison, anchor))


def series(
    results: Path, anchor: str | None, skip: Skip
) -> tuple[tuple[HistorySeries, ...], tuple[WorkSeries, ...]]:
    """Every cell's ratio to the anchor over all runs in a folder, and every kind's instructions.

    Raises InputError if there is no document.
    """
    counted = _judged_work(results, skip)
    runs = _runs(results, anchor, (), skip, bool(counted))
    return history.series(run.comparison for run in runs), work_verdicts.history(counted)


def open_regressions(
    results: Path, anchor: str | None, acknowledged: Path, skip: Skip
) -> tuple[Regression, ...]:
    """The regressions that history confirms and that have not recovered since."""
    accepted = load_acknowledged(acknowledged)
    comparisons = [run.whole().comparison for run in _runs(results, anchor, (), skip)]
    return regressions.unrecovered(history.series(comparisons), comparisons, accepted)


def explain(
    run: str | None, cell: str | None, out: Path, acknowledged: Path, skip: Skip,
    *, trials: Sequence[str] | None, budget_min: float, observe: Observe,
) -> tuple[Explained, Path | None]:  # fmt: skip
    """Find out why a cell changed, and publish it; returns the evaluated explanation and the report's page.

    `run`: a run document or its id, the newest by default; `cell`: WORKLOAD-tTHREADS, and -SERVER if the run
    has several heads, by default the worst regression. `trials`: NAME=VALUE each; SUSPECTS stands for those
    of an explanation that is made first, in half of the budget.
    """
    path = _document(run, out / "results")
    document = journal.read(path)
    which = _worst(judge(path, acknowledged)) if cell is None else _cell(document, cell)
    question = explain_.Question(document, which, path.parent, tuple(trials or ()))
    if SUSPECTS in question.trials:
        budget_min /= 2
        first = _explained(replace(question, trials=()), budget_min, observe, {})
        named = (each for each in question.trials if each != SUSPECTS)
        question = replace(question, trials=(*named, *first.suspects))
    found = _explained(question, budget_min, observe, {})
    return found, _page(path.parent, out, acknowledged, skip)


def _explained(
    question: explain_.Question, budget_min: float, observe: Observe, passwords: Mapping[str, str]
) -> Explained:
    planned = explain_.plan(question, 60 * budget_min, os.environ, passwords)
    file = explain_.explain(question, planned, observe)
    try:
        return explained.read(file)
    except Exception:
        file.unlink()  # it would fail every report from now on
        raise


def explanations(documents: Iterable[Path]) -> list[Explained]:
    """The evaluated explanations beside run documents. Raises InputError."""
    return [
        explained.read(file)
        for path in documents
        for file in explanations_.find(path.parent, journal.read(path).header.run)
    ]


def explanation_as_json(found: Explained, page: Path | None) -> bytes:
    """Encode an explanation as JSON."""
    return msgspec.json.encode({**_texts({"page": page}), **explanation.value(found)})


def work(request: Request, observe: Observe, skip: Skip) -> tuple[WorkComparison, Path, Path | None]:
    """Count the instructions of each kind of statement, judge and publish them; returns document and page."""
    path = work_.measure(request.plan, request.out / "results", observe)
    comparison = judge_work(path)
    request.write_markdown(work_report.markdown(comparison), skip)
    return comparison, path, _publish_work(comparison, request.out, request.acknowledged, skip)


def merged_work(
    counted: Sequence[Path], out: Path, acknowledged: Path, skip: Skip
) -> tuple[WorkComparison, Path, Path | None]:
    """Join documents of work, then judge and publish them as one."""
    path = work_documents.write(out / "results", work_documents.joined(counted))
    comparison = judge_work(path)
    return comparison, path, _publish_work(comparison, out, acknowledged, skip)


def _publish_work(comparison: WorkComparison, out: Path, acknowledged: Path, skip: Skip) -> Path | None:
    page = _page(out / "results", out, acknowledged, skip)
    return page and page.parent / work_pages.path_of(comparison.document.run)


def bisect_versions(
    request: Request, instrument: Instrument, observe: Observe, *, skip: Skip
) -> tuple[Answer, Path | None]:
    """Since which of these servers later ones are slower or faster; returns the answer and its page."""
    plan = request.plan
    revisions = tuple(
        Revision(label=label, server=server.reference.text) for label, server in plan.servers.items()
    )
    return _bisect(request, Question(plan, revisions, instrument=instrument), observe, skip)


def bisect_commits(
    request: Request, history: Sequence[Commit], link: str, instrument: Instrument, observe: Observe,
    *, skip: Skip,
) -> tuple[Answer, Path | None]:  # fmt: skip
    """Since which commit of a repository its servers are slower or faster; returns the answer and its page.

    The request's servers are these commits, in this order.
    """
    plan = request.plan
    revisions = tuple(
        Revision(
            label=label,
            server=server.reference.text,
            commit=commit.hash,
            parents=commit.parents,
            author=commit.author,
            date=commit.date,
            subject=commit.subject,
        )
        for (label, server), commit in zip(plan.servers.items(), history, strict=True)
    )
    build = plan.profile.build or None
    if build is None:
        raise InputError("--repo: expected --build CMD, the command that builds a commit")
    return _bisect(request, Question(plan, revisions, build, link, instrument), observe, skip)


def _bisect(request: Request, question: Question, observe: Observe, skip: Skip) -> tuple[Answer, Path | None]:
    if len(question.plan.blocks) != 1 or len(question.revisions) < 2:
        raise InputError("a bisection takes one workload, one number of threads, and two servers or more")
    measure = bisect_work if question.instrument == "work" else bisect_.bisect
    answer = measure(question, request.out / "results", observe)
    request.write_markdown(bisection_report.markdown(answer), skip)
    page = _page(request.out / "results", request.out, request.acknowledged, skip)
    return answer, page and page.parent / "bisections" / f"{file_stem(answer.bisection.id)}.html"


def bisection_as_json(answer: Answer, page: Path | None) -> bytes:
    """Encode a bisection's answer as JSON."""
    return msgspec.json.encode({**_texts({"page": page}), **bisection_report.value(answer)})


def soak(
    request: Request, minutes: float, observe: Observe, skip: Skip
) -> tuple[SoakResult, Path, Path | None]:
    """Load each server for so long, judge and publish what became of it; returns document and page."""
    path = soak_.measure(request.plan, request.out / "results", 60 * minutes, observe)
    result = _judged_soak(path)
    page = _page(request.out / "results", request.out, request.acknowledged, skip)
    return result, path, page and page.parent / soak_pages.path_of(result.document.header.soak)


def soak_as_json(result: SoakResult, **places: Path | None) -> bytes:
    """Encode a soak's findings as JSON; `places`: its files, by key."""
    return msgspec.json.encode({**_texts(places), **soak_report.as_value(result)})


def crash(request: Request, times: int, observe: Observe) -> tuple[CrashDocument, Path]:
    """Crash each server so often; returns what was found, and its document."""
    results = request.out / "results"
    document = crash_.measure(request.plan, results, times, observe)
    return document, crashes.path_of(results, document)


def _judged_soak(path: Path) -> SoakResult:
    return soak_verdicts.judge(soaks.read(path))


def judge_work(path: Path, base: str | None = None) -> WorkComparison:
    """Judge a document of work. Raises InputError."""
    return work_verdicts.compare(work_documents.read(path), base)


def _judged_work(results: Path, skip: Skip) -> list[WorkComparison]:
    """The judged documents of work in a folder, the newest first."""
    return _read(work_documents.find(results), judge_work, skip)


def work_as_json(comparison: WorkComparison, **places: Path | None) -> bytes:
    """Encode a comparison of work as JSON; `places`: its files, by key."""
    return msgspec.json.encode({**_texts(places), **work_report.value(comparison)})


def _explain_changes(conclusion: Conclusion, request: Request, observe: Observe, skip: Skip) -> bool:
    """If asked for, explain what regressed, then what improved; returns whether anything was explained.

    `skip` receives why an explanation failed, whatever the fault: the verdicts stand without it.
    """
    if (budget_min := request.explain_min) is None:
        return False
    passwords = {label: server.password for label, server in request.plan.servers.items()}
    changed = _changed(conclusion.comparison)
    wanted = changed[: max(1, int(budget_min // EXPLAIN_MIN))]
    for left_out in changed[len(wanted) :]:
        skip(f"explanation of {left_out.name}: the budget allows {len(wanted)} cells")
    made = 0
    for cell in wanted:
        try:
            question = explain_.Question(conclusion.document, cell, conclusion.path.parent)
            _explained(question, budget_min / len(wanted), observe, passwords)
            made += 1
        except (InputError, MeasureError) as error:
            skip(f"explanation of {cell.name}: {error}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a defect: the engine's panics are no Exception
            skip(f"explanation of {cell.name}: {type(error).__name__}: {error}")
    return made > 0


def _changed(comparison: Comparison) -> list[Cell]:
    """What regressed, then what improved; the largest changes first."""
    cells = wording.worst_first(comparison.cells)
    regressed = [each.cell for each in cells if each.verdict is Verdict.REGRESSED]
    return regressed + [each.cell for each in reversed(cells) if each.verdict is Verdict.IMPROVED]


def _worst(comparison: Comparison) -> Cell:
    """The cell that most needs an explanation. Raises InputError if none changed."""
    changed = _changed(comparison)
    if not changed:
        raise InputError(f"run {comparison.header.run}: no cell changed; name the one to explain")
    return changed[0]


def _document(run: str | None, results: Path) -> Path:
    """The document of a run that is given by its path or its id; the newest one's. Raises InputError."""
    paths = [path for path in journal.find(results) if run in (None, path.stem)][-1:]
    if run is None and not paths:
        raise InputError(f"{results}: no run document found; `shootout run` makes one")
    given = Path(run or "")
    if not paths and not given.is_file():
        raise InputError(f"run {run!r}: neither a run document nor the id of one in {results}")
    return paths[0] if paths else given


def _cell(document: RunDocument, text: str) -> Cell:
    """The compared cell of that name. Raises InputError with those that there are."""
    header = document.header
    cells = [cell for block in header.blocks for cell in block.cells]
    heads = [cell for cell in cells if cell.server != explain_.base_of(header, cell)]
    found = [cell for cell in heads if text in (f"{cell.workload}-t{cell.threads}", cell.name)]
    if len(found) != 1:
        names = ", ".join(each.name for each in found or heads)
        raise InputError(
            f"cell {text!r}: expected {'one of ' if names else ''}{names or 'a run with two servers'}"
        )
    return found[0]


def fetch(server: ServerReference, report: Callable[[str], None], build: Build | None = None) -> Fetched:
    """Fetch or build a server; returns its location. `report` receives the progress."""
    program = installations.find(server, report=report, build=build)
    version = ".".join(map(str, program.version))
    place = str(program.files.top) if isinstance(program, Tree) else program.digest
    return Fetched(reference=server.text, family=program.family, version=version, directory=place)


def examine(out: Path, data: Path, profile: str, policy: Policy | None) -> Report:
    """Examine this machine and its A/A results so far, by this policy or the profile's."""
    loaded = matrix.load_profile(profile)
    return doctor.examine(data, out / "results", policy or loaded.policy, loaded.settings)


def calibrate_noise(request: Request, measure: Callable[[Request], int]) -> int:
    """Measure A/A cells, run after run, each on rows of its own, until the budget is spent.

    `measure` runs one request and returns its exit code; this function returns the last one.
    """
    budget_s = request.plan.profile.sampling.budget_s
    each_max_s = _within(request, None).plan.profile.sampling.budget_s
    seeds = itertools.cycle(range(1, LOADS + 1))

    def run(left_s: float) -> int:
        once = _within(request, left_s)
        return measure(replace(once, selection=once.selection.loaded_anew(next(seeds))))

    return repeated(run, budget_s, each_max_s)


def repeated(run: Callable[[float], int], budget_s: float, each_max_s: float) -> int:
    """Repeat a run of at most `each_max_s` while another one as long as the last fits the budget.

    Stops at the first exit code that is not in JUDGED; returns the last exit code.
    """
    ends_s = time.monotonic() + budget_s
    took_s, code = 0.0, 0
    while code in JUDGED and (left_s := ends_s - time.monotonic()) > took_s:
        began_s = time.monotonic()
        code = run(min(each_max_s, left_s))
        took_s = time.monotonic() - began_s
    return code


def _within(request: Request, budget_s: float | None) -> Request:
    return replace(request, selection=request.selection.within(budget_s and budget_s / 60))


def _runs(
    results: Path,
    base: str | None,
    acknowledged: Sequence[Acknowledgement],
    skip: Skip,
    others: bool = False,
) -> list[JudgedRun]:
    """The judged runs of a folder that have the base. Raises InputError for none, unless there are others."""
    runs = judgement_cache.runs(results, lambda error: skip(str(error)), acknowledged, base)
    if not runs and not others:
        which = f" with the server {base!r}" if base else ""
        raise InputError(f"{results}: no run document{which} found; `shootout run` makes one")
    return runs


def learn(
    dump: Path,
    queries: Sequence[Path],
    out: Path,
    server: str,
    *,
    keep: bool,
    invent: bool,
    observe: Callable[[str], None],
) -> tuple[LearnedWorkload, Path]:
    """Learn a workload from logs and a dump; writes it, a document and a page to `out`, returned last.

    `invent`: rows, too, in place of the dump's.
    """
    outcome = learning.learn(
        dump, queries, out, reference.parse(server), keep=keep, invent=invent, observe=observe
    )
    page = out / "fidelity.html"
    _write(page, single.of(FidelityPage(outcome), renderer()))
    return outcome, page.resolve()


def _or_left_out(write: Callable[[], T], skip: Skip) -> T | None:
    """What `write` returns; None if that cannot be written, and `skip` receives why."""
    try:
        return write()
    except InputError as error:
        skip(str(error))
        return None


def _write(file: Path, text: str) -> None:
    with _writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Raise InputError where `file` cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None


def _capacity() -> Capacity:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Capacity(cpus=len(os.sched_getaffinity(0)), memory_bytes=memory_bytes)
