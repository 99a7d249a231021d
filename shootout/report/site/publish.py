"""The site: all pages and their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from shootout.analysis import history
from shootout.errors import InputError
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries, SeriesKey
from shootout.model.plan import Cell
from shootout.model.verdict import Acknowledgement, Verdict
from shootout.paths import TEMPLATES, file_stem
from shootout.report.judgement_cache import JudgedRun
from shootout.report.sections import Section
from shootout.report.site import (
    feeds,
    output,
    overview,
    published,
    published_index,
    retention,
    runner,
    single,
)
from shootout.report.site import history as history_pages
from shootout.report.site.cell import CellPage
from shootout.report.site.downloads import File
from shootout.report.site.history import HistoryPage
from shootout.report.site.output import Part
from shootout.report.site.overview import AllCellsPage, FrontPage, OverviewPage, RunsPage, SummaryPage
from shootout.report.site.page import Listing, Page, Render
from shootout.report.site.render import renderer
from shootout.report.site.run import Run
from shootout.report.site.runner import RunnerPage
from shootout.report.site.server import ServerPage
from shootout.report.site.settings import SettingsPage
from shootout.report.site.workload import WorkloadPage

ASSETS = ("style.css", "site.js")

Sections = Callable[[str, Sequence[Cell]], Mapping[Cell, tuple[Section, ...]]]  # of a run's cells


def _no_sections(run: str, cells: Sequence[Cell]) -> Mapping[Cell, tuple[Section, ...]]:
    return {}


def build(
    runs: Sequence[JudgedRun],
    out: Path,
    acknowledged: Sequence[Acknowledgement] = (),
    listings: Sequence[Listing] = (),
    *,
    sections: Sections = _no_sections,
    front: str | None = None,
) -> Path:
    """Write the site; returns the path of its index, the overview of the newest run, or of profile `front`'s.

    Without runs it has the listings' pages alone, and begins with the first list. `sections` says what
    else is known of a run's cells. Raises InputError if there is nothing to show, if no run is of
    that profile, or if `out` cannot be written. No run may occur twice.
    """
    if not runs and not listings:
        raise InputError("no run document for the site; create one with `shootout run`")
    _require_profile(runs, front)
    site = _Site(_newest_first(runs), tuple(acknowledged), tuple(listings), sections, front)
    try:
        output.write(out, site.parts if runs else site.beside_runs)
    except OSError as error:
        raise InputError(f"{out}: cannot write the site: {error.strerror or error}") from error
    return out / output.LAST


def report(runs: Sequence[JudgedRun], front: str | None = None) -> str:
    """The overview of the newest run, or of profile `front`'s, as one file. Raises InputError without one."""
    if not runs:
        raise InputError("no run document for the report; create one with `shootout run`")
    _require_profile(runs, front)
    site = _Site(_newest_first(runs), front=front)
    return single.of(OverviewPage(site._load(site.first)), renderer())


def _newest_first(runs: Iterable[JudgedRun]) -> tuple[JudgedRun, ...]:
    return tuple(sorted(runs, key=lambda run: run.id, reverse=True))


def _require_profile(runs: Iterable[JudgedRun], front: str | None) -> None:
    """Raise InputError if no run is of the profile `front`."""
    profiles = sorted({_profile(run) for run in runs})
    if front is not None and front not in profiles:
        raise InputError(
            f"no run of profile {front!r} for the first page; expected one of {', '.join(profiles)}"
        )


def _profile(run: JudgedRun) -> str:
    return run.comparison.header.profile_name


def run_pages(run: Run) -> Iterator[Page]:
    yield OverviewPage(run)
    yield AllCellsPage(run)
    yield SettingsPage(run)
    yield from (WorkloadPage(run, cells) for cells in run.sets)
    yield from (ServerPage(run, record) for record in run.servers.values())
    yield from (CellPage(run, comparison) for comparison in run.comparison.cells)


class ReadingPage(Page):
    """The explanation of the site's terms and charts."""

    template = "reading"
    path = "how-to-read.html"


@dataclass(frozen=True)
class _Site:
    runs: tuple[JudgedRun, ...]  # newest first
    acknowledged: tuple[Acknowledgement, ...] = ()
    listings: tuple[Listing, ...] = ()
    sections: Sections = _no_sections
    front: str | None = None  # the profile on the first page; None: that of the newest run

    @cached_property
    def first(self) -> JudgedRun:
        """The run on the first page."""
        return next(run for run in self.runs if self.front in (None, _profile(run)))

    def parts(self) -> Iterator[Part]:
        yield from self._history()
        yield from self._front()
        for run in self.runs:
            yield from self._of_run(run)
        yield from self._published(published.newest(self.runs))
        yield from self._parts(RunsPage(self._listed), *self._runners, ReadingPage())
        yield from self.beside_runs()

    def beside_runs(self) -> Iterator[Part]:
        for each in self.listings:
            yield from self._parts(*each.pages, each.front)
        if not self.runs:
            yield from self._parts(self.listings[0].front.at_the_front())
        yield [(f"assets/{name}", (TEMPLATES / name).read_bytes()) for name in ASSETS]

    def _history(self) -> Iterator[Part]:
        pages = history_pages.pages(self._series, self._changes)
        yield from self._parts(HistoryPage(pages, self._changes, len(self.runs)), *pages)
        yield self._feed()

    def _feed(self) -> Iterator[File]:
        yield (
            "feed.xml",
            self._render(
                "feed.xml",
                id=feeds.site_id(self.runs[-1].id),
                entries=feeds.entries(self.runs, self._changes, self._detailed),
                updated=feeds.moment(self.runs[0].comparison.header.started),
            ),
        )

    def _front(self) -> Iterator[Part]:
        run = self._load(self.first)
        index = feeds.index(
            [overview.run_value(each) for each in self._listed],
            [{"runner": page.runner.fingerprint, "page": page.path} for page in self._runners],
            history="history.json",
            feed="feed.xml",
            front=run.id,
            badge="badge.svg",
            published=f"{published.FOLDER}/index.json",
        )
        yield from self._parts(FrontPage(run, self._listed, self._changes, index))
        yield [self._badge("badge.svg", run)]
        yield [self._badge(f"badge-{file_stem(server)}.svg", run, server) for server in run.heads]

    def _of_run(self, judged: JudgedRun) -> Iterator[Part]:
        if judged.id in self._detailed:
            run = self._load(judged)
            yield from self._parts(*run_pages(run))
        else:
            run = Run.summary(judged)
            yield from self._parts(SummaryPage(run))
        yield [self._badge(f"{run.folder}/badge.svg", run)]

    def _published(self, repeated: Iterable[JudgedRun]) -> Iterator[Part]:
        pages = []
        for judged in repeated:
            run = self._load(judged)
            pages.append(published.page_of(run))
            yield from self._parts(pages[-1])
        yield from self._parts(published_index.page_of(pages))

    def _parts(self, *pages: Page) -> Iterator[Part]:
        return (page.files(self._render) for page in pages)

    def _badge(self, path: str, run: Run, server: str | None = None) -> File:
        return path, self._render("badge.svg", badge=feeds.badge(run.comparison, server))

    # --- values that several pages share ----------------------------------------------------------

    @cached_property
    def _render(self) -> Render:
        listed = tuple((each.title, each.front.path) for each in self.listings)
        return partial(renderer(), alone=not self.runs, listed=listed, front=self.front)

    @cached_property
    def _detailed(self) -> frozenset[str]:
        return retention.detailed(self.runs) | {self.first.id}

    @cached_property
    def _listed(self) -> tuple[Run, ...]:
        return tuple(map(Run.summary, self.runs))

    @cached_property
    def _runners(self) -> tuple[RunnerPage, ...]:
        return runner.pages(self.runs)

    @cached_property
    def _points(self) -> dict[str, list[tuple[SeriesKey, HistoryPoint]]]:
        """The history points that each run adds."""
        return {run.id: [*history.points_of(run.comparison)] for run in self.runs}

    @cached_property
    def _series(self) -> tuple[HistorySeries, ...]:
        return history.of_points(chain.from_iterable(self._points.values()))

    @cached_property
    def _changes(self) -> tuple[history_pages.Change, ...]:
        newest = self.runs[0].comparison.header.started
        return history_pages.changes(self._series, self.acknowledged, newest)

    @cached_property
    def _loaded(self) -> dict[str, Run]:
        return {}

    def _load(self, judged: JudgedRun) -> Run:
        """The whole run; keeps only the last one in memory, as each takes some 100 MB."""
        if judged.id not in self._loaded:
            self._loaded.clear()
            whole = judged.whole()
            cells = [each.cell for each in whole.comparison.cells]
            self._loaded[judged.id] = Run(
                whole.document,
                whole.comparison,
                self._known(judged),
                self.sections(judged.id, cells),
                whole.aa_before,
            )
        return self._loaded[judged.id]

    def _known(self, run: JudgedRun) -> dict[Cell, ChangePoint]:
        """The latest change of level for each changed cell of a run.

        Ignores later runs, so that a run's pages never change.
        """
        changed = {
            each.cell
            for each in run.comparison.cells
            if each.verdict in (Verdict.REGRESSED, Verdict.IMPROVED)
        }
        until_then = (point for id_, points in self._points.items() if id_ <= run.id for point in points)
        own = {key for key, _ in self._points[run.id] if key.cell in changed}
        found = history.of_points((key, point) for key, point in until_then if key in own)
        return {series.cell: series.changes[-1] for series in found if series.changes}
