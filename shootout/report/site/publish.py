"""The site: all pages and their sources."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from shootout.analysis import compare, history
from shootout.errors import InputError
from shootout.inputs import matrix
from shootout.inputs import published as publications
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries, SeriesKey
from shootout.model.plan import Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, Comparison, Verdict
from shootout.paths import TEMPLATES
from shootout.report.judged_runs import JudgedRun
from shootout.report.sections import Section
from shootout.report.site import charts, downloads, feeds, output, overview, published, runner
from shootout.report.site.answers import AnswerListPage
from shootout.report.site.cell import CellPage
from shootout.report.site.history import Change, HistoryPage, SeriesPage, level_changes, series_pages
from shootout.report.site.output import Part
from shootout.report.site.overview import FrontPage, OverviewPage
from shootout.report.site.page import File, Page, Render
from shootout.report.site.render import compiled, inline, renderer
from shootout.report.site.run import Run
from shootout.report.site.runner import RunnerPage
from shootout.report.site.workload import WorkloadPage

CELLS_MAX = 1200  # with pages, over all runs; each runner's newest run has all pages, whatever its size
ASSETS = ("style.css", "site.js")

Sections = Callable[[str, Sequence[Cell]], Mapping[Cell, tuple[Section, ...]]]  # of a run's cells


def _no_sections(run: str, cells: Sequence[Cell]) -> Mapping[Cell, tuple[Section, ...]]:
    return {}


def build(
    runs: Sequence[JudgedRun],
    out: Path,
    acknowledged: Sequence[Acknowledgement] = (),
    listings: Sequence[AnswerListPage] = (),
    *,
    sections: Sections = _no_sections,
    front: str | None = None,
) -> Path:
    """Write the site; returns the path of its index, the overview of the newest run, or of profile `front`'s.

    Raises InputError if there is nothing to show, or if `out` cannot be written. No run may occur twice.
    """
    if not runs and not listings:
        raise InputError("no run document for the site; create one with `shootout run`")
    site = _Site(_newest_first(runs, front), acknowledged, listings, sections, front)
    compiled()
    try:
        output.write(out, site.parts if runs else site.beside_runs)
    except OSError as error:
        raise InputError(f"{out}: cannot write the site: {error.strerror or error}") from error
    return out / output.LAST


def report(runs: Sequence[JudgedRun], front: str | None = None) -> str:
    """The overview of the newest run, or of profile `front`'s, as one file. Raises InputError without one."""
    if not runs:
        raise InputError("no run document for the report; create one with `shootout run`")
    site = _Site(_newest_first(runs, front), front=front)
    return inline(OverviewPage(site.load(site.first)), renderer())


def run_pages(run: Run) -> Iterator[Page]:
    yield OverviewPage(run)
    yield overview.AllCellsPage(run)
    yield overview.SettingsPage(run)
    yield from (WorkloadPage(run, cells) for cells in run.sets)
    yield from (CellPage(run, c) for c in run.comparison.cells if run.has_page(c))


def detailed(runs: Sequence[JudgedRun], telling: Container[str] = ()) -> frozenset[str]:
    """The ids of the runs that get all pages, so that years of runs build in seconds; `runs`: newest first.

    With the same profile, servers, settings and machines these are the newest, and those that are `telling`.
    """
    chosen: set[str] = set()
    kinds: set[Hashable] = set()
    runners: set[str] = set()
    cells = 0
    for run in runs:
        header = run.comparison.header
        servers = tuple((server.reference, server.settings_name) for server in header.servers)
        kind = (header.profile_name, servers, run.runners)
        told = kind in kinds or (header.profile.published in publications.known() and bool(chosen))
        if run.id in telling or not told:
            cells += len(run.comparison.cells)
            if cells <= CELLS_MAX or not runners.issuperset(run.runners):
                chosen.add(run.id)
        kinds.add(kind)
        runners.update(run.runners)
    return frozenset(chosen)


class ReadingPage(Page):
    template = "reading"
    path = "how-to-read.html"


@dataclass(frozen=True)
class _Site:
    runs: tuple[JudgedRun, ...]  # newest first
    acknowledged: Sequence[Acknowledgement] = ()
    listings: Sequence[AnswerListPage] = ()
    sections: Sections = _no_sections
    front: str | None = None  # the profile on the first page; None: that of the newest run

    @cached_property
    def first(self) -> JudgedRun:
        return next(run for run in self.runs if self.front in (None, run.comparison.header.profile_name))

    def parts(self) -> Iterator[Part]:
        yield from self._parts(HistoryPage(self._histories, self._changes, len(self.runs)), *self._histories)
        yield downloads.of_history(self._histories, self._changes)
        yield self._feed()
        yield from self._front()
        for run in self.runs:
            yield from self._of_run(run)
        yield from self._published()
        yield from self._parts(overview.RunsPage(self._listed), *self._runners, ReadingPage())
        yield from self.beside_runs()

    def beside_runs(self) -> Iterator[Part]:
        for listing in self.listings:
            yield from self._parts(*listing.pages, listing)
        if not self.runs:
            yield from self._parts(replace(self.listings[0], first=True))
        yield [(f"assets/{name}", (TEMPLATES / name).read_bytes()) for name in ASSETS]

    def _feed(self) -> Iterator[File]:
        feed_id = feeds.urn("site", self.runs[-1].id)  # the same while the site keeps its oldest run
        entries = feeds.entries(self.runs, self._changes, self._detailed)
        updated = feeds.moment(self.runs[0].comparison.header.started)
        yield "feed.xml", self._render("feed.xml", id=feed_id, entries=entries, updated=updated)

    def _front(self) -> Iterator[Part]:
        run = self.load(self.first)
        briefs = [page for listing in self.listings for page in listing.pages if page.answer.brief]
        yield from self._parts(FrontPage(run, self._listed, self._histories, briefs))
        yield downloads.of_site(run, self._listed, self._runners)
        yield [("badge.svg", self._render("badge.svg", badge=feeds.badge(run.comparison)))]

    def _of_run(self, judged: JudgedRun) -> Iterator[Part]:
        if judged.id in self._detailed:
            run = self.load(judged)
            yield from self._parts(*run_pages(run))
        else:
            run = Run.summary(judged)
            yield from self._parts(overview.SummaryPage(run))
        yield downloads.of_run(run)

    def _published(self) -> Iterator[Part]:
        pages = []
        for judged in published.newest(self.runs):
            pages.append(published.page_of(self.load(judged)))
            yield from self._parts(pages[-1])
        if pages:
            yield from self._parts(published.list_page(pages))

    def _parts(self, *pages: Page) -> Iterator[Part]:
        return (page.files(self._render) for page in pages)

    @cached_property
    def _render(self) -> Render:
        return partial(renderer(), alone=not self.runs, menu=tuple(self._menu()))

    def _menu(self) -> Iterator[tuple[str, str]]:
        if self.runs:
            yield f"Newest {self.front or 'run'}", FrontPage.path
        if self.runs and self._histories:
            yield "History", HistoryPage.path
        if self.runs and published.newest(self.runs):
            yield "Published", published.RepetitionsPage.path
        yield from ((listing.title, listing.path) for listing in self.listings)
        if self.runs:
            yield "All runs", overview.RunsPage.path
            yield "How to read this", ReadingPage.path

    @cached_property
    def _detailed(self) -> frozenset[str]:
        telling = {change.point.first_bad for change in self._changes}
        for run in self.runs:
            if any(self.sections(run.id, [c.cell for c in run.comparison.cells]).values()):
                telling.add(run.id)
        return detailed(self.runs, telling) | {self.first.id}

    @cached_property
    def _listed(self) -> tuple[Run, ...]:
        return tuple(map(Run.summary, self.runs))

    @cached_property
    def _runners(self) -> tuple[RunnerPage, ...]:
        return runner.pages(self.runs)

    @cached_property
    def _points(self) -> dict[str, list[tuple[SeriesKey, HistoryPoint]]]:
        return {run.id: [*history.points_of(run.comparison)] for run in self.runs}

    @cached_property
    def _series(self) -> tuple[HistorySeries, ...]:
        return history.of_points(chain.from_iterable(self._points.values()))

    @cached_property
    def _looks(self) -> dict[str, int]:
        return charts.looks(run.comparison.header.servers for run in reversed(self.runs))

    @cached_property
    def _histories(self) -> tuple[SeriesPage, ...]:
        return series_pages(self._series, self._changes, self._looks)

    @cached_property
    def _changes(self) -> tuple[Change, ...]:
        return level_changes(self._series, self.acknowledged, self.runs[0].comparison.header.started)

    @cached_property
    def _loaded(self) -> dict[str, Run]:
        return {}

    def load(self, judged: JudgedRun) -> Run:
        """Read the whole run; keeps only the last one in memory, as each takes some 100 MB."""
        if judged.id not in self._loaded:
            self._loaded.clear()
            document, comparison = judged.whole()
            sections = self.sections(judged.id, [c.cell for c in comparison.cells])
            pages = {page.path for page in self._histories}
            latest = self._latest(judged)
            reader = _for_readers(document, comparison)
            self._loaded[judged.id] = Run(document, comparison, latest, sections, pages, reader, self._looks)
        return self._loaded[judged.id]

    def _latest(self, run: JudgedRun) -> dict[Cell, ChangePoint]:
        """The latest change of each changed cell's level until then: a run's pages never change."""
        verdicts = (Verdict.REGRESSED, Verdict.IMPROVED)
        changed = {c.cell for c in run.comparison.cells if c.verdict in verdicts}
        keys = {key for key, _ in self._points[run.id] if key.cell in changed}
        until_then = (point for id_, points in self._points.items() if id_ <= run.id for point in points)
        series = history.of_points((key, point) for key, point in until_then if key in keys)
        return {one.cell: one.changes[-1] for one in series if one.changes}


def _for_readers(document: RunDocument, comparison: Comparison) -> Comparison | None:
    base = matrix.reader_base(document.header.profile_name)
    measured = {c.cell.server for c in comparison.cells if c.figures}
    if base not in measured or all(c.base.server == base for c in comparison.cells):
        return None
    return compare.compare(document, base=base)


def _newest_first(runs: Iterable[JudgedRun], front: str | None) -> tuple[JudgedRun, ...]:
    newest_first = tuple(sorted(runs, key=lambda run: run.id, reverse=True))
    profiles = sorted({run.comparison.header.profile_name for run in newest_first})
    if front is not None and front not in profiles:
        raise InputError(
            f"no run of profile {front!r} for the first page; expected one of {', '.join(profiles)}"
        )
    return newest_first
