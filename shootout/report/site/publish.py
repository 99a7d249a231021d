"""A site's pages, all of them, put in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.resources import files
from itertools import chain
from pathlib import Path

import msgspec

from shootout.analysis import history
from shootout.errors import InputError
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries, SeriesKey
from shootout.model.plan import Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, Verdict
from shootout.paths import TEMPLATES, file_stem
from shootout.report import judgement_cache
from shootout.report.judgement_cache import Judged
from shootout.report.site import (
    archive,
    compare,
    downloads,
    feeds,
    incremental,
    published,
    published_index,
    runner,
)
from shootout.report.site import (
    history as history_pages,
)
from shootout.report.site.cell import CellPage
from shootout.report.site.findings import Findings
from shootout.report.site.incremental import File, Group
from shootout.report.site.names import cell_stem, run_folder, server_page
from shootout.report.site.published_index import Repeated
from shootout.report.site.render import PLOTLY, Renderer, made_by, renderer
from shootout.report.site.run import Run
from shootout.report.site.server import ServerPage
from shootout.report.site.workload import WorkloadPage
from shootout.report.site.workload_svg import Picture

ASSETS = ("style.css", "site.js", "compare.js")

CELLS_TOGETHER = 25  # of a run, whose pages are made at once: few enough for two processes to end together

Loader = Callable[[Judged], tuple[Run, tuple[CellComparison, ...]]]


def build(results: Sequence[tuple[RunDocument, Comparison]], out: Path) -> Path:
    """Write the site of runs that are in memory; as `update`."""
    return update([judgement_cache.held(*result) for result in results], out)


def update(runs: Sequence[Judged], out: Path, acknowledged: Sequence[Acknowledgement] = ()) -> Path:
    """Bring the site of these runs in `out` up to date; returns its index page, the overview of the newest.

    What was made from the same is not made again. All pages are rendered before the first is put in place,
    the index last. Raises InputError where there is nothing to show, a run occurs twice, or `out` cannot be
    written.
    """
    newest_first = sorted(runs, key=lambda run: run.id, reverse=True)
    if not runs:
        raise InputError("No run document to make a site from: measure one first, with `shootout run`.")
    for name, count in Counter(run.id for run in runs).items():
        if count > 1:
            raise InputError(f"Run {name} is given {count} times; a site shows each run once.")
    site = _Site(newest_first, acknowledged)
    try:
        with judgement_cache.uncollected():
            incremental.update(out, list(site.groups()), site.read_newest)
    except OSError as error:
        raise InputError(f"{out}: the site cannot be written there: {error.strerror or error}.") from error
    return out / incremental.LAST


def run_pages(run: Run, render: Renderer) -> Iterator[File]:
    """Every page of one run, and its data: its place in the run's folder, and what is in it."""
    yield from _pages_of_parts(run, render)
    yield from _cell_pages(run, render, run.comparison.cells)


def _pages_of_parts(run: Run, render: Renderer) -> Iterator[File]:
    cells = run.comparison.cells
    common = {"root": "../../", "run": run}
    yield "index.html", render("run", **common, data="index", findings=Findings(run), runs=())
    yield "cells.html", render("cells", **common, data="index")
    yield from downloads.of_cells("index.html", run, cells)
    yield "settings.html", render("settings", **common, data="settings")
    yield from downloads.of_settings("settings.html", run)
    for of_workload in run.sets:
        page = of_workload.page
        shown = WorkloadPage(run=run, set=of_workload)
        yield page, render("workload", **common, data=page.removesuffix(".html"), page=shown)
        yield of_workload.picture, render("picture.svg", picture=Picture(run=run, set=of_workload))
        yield from downloads.of_cells(page, run, of_workload.cells)
    for record in run.servers.values():
        page = server_page(record.label)
        of_server = ServerPage(run=run, record=record)
        yield page, render("server", **common, data=page.removesuffix(".html"), page=of_server)
        yield from downloads.of_cells(page, run, of_server.cells)


def _cell_pages(run: Run, render: Renderer, cells: Sequence[CellComparison]) -> Iterator[File]:
    for comparison in cells:
        stem = cell_stem(comparison.cell)
        cell = CellPage(run=run, comparison=comparison)
        yield f"{stem}.html", render("cell", root="../../", run=run, data=stem, page=cell)
        yield from downloads.of_cell(f"{stem}.html", cell)


class _Site:
    """What is shown of all runs, worked out once, and when it is asked for."""

    def __init__(self, runs: Sequence[Judged], acknowledged: Sequence[Acknowledgement]) -> None:
        self._runs = tuple(runs)  # the newest first
        self._render = renderer()
        self._whole = archive.whole(runs)
        self._acknowledged = acknowledged
        self._listed = tuple(archive.Listed(run.outline) for run in runs)
        self._runners = runner.pages(runs)
        self._load = _loader(self._known)

    @cached_property
    def _points(self) -> dict[str, list[tuple[SeriesKey, HistoryPoint]]]:
        """What each run adds to the histories of its cells."""
        return {run.id: [*run.points] for run in self._runs}

    @cached_property
    def _series(self) -> tuple[HistorySeries, ...]:
        return history.of_points(chain.from_iterable(self._points.values()))

    @cached_property
    def _changes(self) -> tuple[history_pages.Change, ...]:
        newest = self._runs[0].outline.started
        return history_pages.changes(self._series, self._acknowledged, newest)

    def _known(self, run: Judged) -> dict[Cell, ChangePoint]:
        """For a run's cells that changed: what began the level on which history saw them then.

        Later runs do not count: so what a run's pages say stays what it is.
        """
        changed = {
            cell
            for cell, verdict in zip(run.cells, run.outline.said.verdicts, strict=True)
            if verdict in (Verdict.REGRESSED, Verdict.IMPROVED)
        }
        until_then = (point for id_, points in self._points.items() if id_ <= run.id for point in points)
        found = history.of_points((key, point) for key, point in until_then if key in changed)
        return {history_pages.cell_of(series): series.changes[-1] for series in found if series.changes}

    def read_newest(self) -> None:
        """Read the run that most new pages are about."""
        self._load(self._runs[0])

    def groups(self) -> Iterator[Group]:
        """Every file of the site, grouped by what it is made from; what takes long comes first."""
        runs, newest = self._runs, self._runs[0]
        all_runs = [run.key for run in runs]
        known = [_text(each) for each in self._acknowledged]
        yield self._group(["history", *all_runs, *known], self._history)
        yield self._group(["index", *self._told(newest), *all_runs], self._index)
        yield self._group(["compare", *all_runs], self._compare)
        for run in runs:
            yield self._group(["run", *self._told(run)], partial(self._of_run, run))
            if run.id in self._whole:
                for first in range(0, len(run.cells), CELLS_TOGETHER):
                    key = ["cells", str(first), *self._told(run)]
                    yield self._group(key, partial(self._of_cells, run, first))
        repeated = published.newest(runs)
        key = ["published", *(run.key for run in repeated)]
        yield self._group(key, partial(self._published, repeated))
        yield self._group(["runs", *all_runs], self._all_runs)
        for page in self._runners:
            key = ["runner", *(run.key for run in page.runs)]
            yield self._group(key, partial(self._runner, page))
        yield self._group(["fixed"], self._fixed)

    def _group(self, parts: Sequence[str], made: Callable[[], Iterable[File]]) -> Group:
        return Group(judgement_cache.digest(made_by(), *(part.encode() for part in parts)), made)

    def _told(self, run: Judged) -> list[str]:
        """All that a run's own pages are made from."""
        if run.id not in self._whole:
            return ["archived", run.key]
        return [run.key, *(each.key for each in self._runs if each.id < run.id)]

    def _index(self) -> Iterator[File]:
        run, _ = self._load(self._runs[0])
        findings = Findings(run)
        yield (
            incremental.LAST,
            self._render("run", root="", data="index", run=run, findings=findings, runs=self._listed),
        )
        (_, _), table = downloads.of_cells(incremental.LAST, run, run.comparison.cells)
        yield table
        runners = [{"runner": page.runner.fingerprint, "page": page.path} for page in self._runners]
        value = feeds.index(
            [downloads.run_value(each) for each in self._listed],
            runners,
            history="history.json",
            feed="feed.xml",
            badge="badge.svg",
            published=f"{published_index.FOLDER}/index.json",
        )
        yield "index.json", msgspec.json.encode(value)
        yield "badge.svg", self._badge(feeds.badge(run.comparison))
        for server in run.heads:
            yield f"badge-{file_stem(server)}.svg", self._badge(feeds.badge(run.comparison, server))

    def _of_run(self, judged: Judged) -> Iterator[File]:
        folder = run_folder(judged.id)
        others: tuple[CellComparison, ...] = ()
        if judged.id in self._whole:
            run, others = self._load(judged)
            for place, content in _pages_of_parts(run, self._render):
                yield f"{folder}/{place}", content
        else:
            run = archive.gist_of(judged)
            yield f"{folder}/index.html", self._render("archived", root="../../", data="index", run=run)
            for place, content in downloads.of_cells("index.html", run, run.comparison.cells):
                yield f"{folder}/{place}", content
        yield f"{folder}/badge.svg", self._badge(feeds.badge(run.comparison))
        yield f"{folder}/{compare.DATA}", compare.script(run.comparison, others)

    def _of_cells(self, judged: Judged, first: int) -> Iterator[File]:
        run, _ = self._load(judged)
        some = run.comparison.cells[first : first + CELLS_TOGETHER]
        for place, content in _cell_pages(run, self._render, some):
            yield f"{run_folder(judged.id)}/{place}", content

    def _published(self, repeated: Iterable[Judged]) -> Iterator[File]:
        found: dict[str, Repeated] = {}
        for judged in repeated:
            run, _ = self._load(judged)
            page = published.page_of(run)
            path = published_index.path_of(page.name)
            stem = Path(path).stem
            yield path, self._render("published", root="../", data=stem, run=run, page=page)
            yield from downloads.beside(path, page.value, published.CLAIM_COLUMNS, page.rows)
            found[page.name] = Repeated.of(page)
        every = published_index.overview(found.items())
        path = f"{published_index.FOLDER}/index.html"
        yield path, self._render("repetitions", root="../", data="index", page=every)
        rows = [each.row for each in every.every]
        value = [dict(zip(published_index.COLUMNS, row, strict=True)) for row in rows]
        yield from downloads.beside(path, value, published_index.COLUMNS, rows)

    def _all_runs(self) -> Iterator[File]:
        yield "runs/index.html", self._render("runs", root="../", data="index", runs=self._listed)
        yield from downloads.of_runs("runs/index.html", self._listed)

    def _compare(self) -> Iterator[File]:
        run, others = self._load(self._runs[0])
        page = compare.ComparePage(runs=self._runs, whole=self._whole, others=others)
        yield "compare.html", self._render("compare", root="", data="compare", run=run, page=page)
        value = {**downloads.about(run.document.header), "pairs": page.rows}
        yield from downloads.beside("compare.html", value, compare.SERVER_COLUMNS, page.rows)

    def _runner(self, page: runner.RunnerPage) -> Iterator[File]:
        stem = page.path.removesuffix(".html")
        yield page.path, self._render("runner", root="", data=stem, page=page)
        value = {"runner": page.runner, "false_alarms": page.false_alarms, "entries": page.entries}
        yield from downloads.beside(page.path, value, runner.ENTRY_COLUMNS, page.rows)

    def _history(self) -> Iterator[File]:
        pages = history_pages.pages(self._series, self._changes)
        yield "history.html", self._render(
            "history", root="", data="history", pages=pages, changes=self._changes, runs=len(self._runs),
            shown=history_pages.CHANGES_SHOWN, servers=history_pages.servers(pages),
        )  # fmt: skip
        found = [change.row for change in self._changes]
        columns = history_pages.CHANGE_COLUMNS
        value = {
            "changes": [dict(zip(columns, row, strict=True)) for row in found],
            "pages": [page.path for page in pages],
        }
        yield from downloads.beside("history.html", value, columns, found)
        for page in pages:
            stem = Path(page.path).stem
            yield page.path, self._render("series", root="../", data=stem, page=page)
            yield from downloads.of_history(page.path, page)
        entries = feeds.entries(self._runs, self._changes, self._whole, self._acknowledged)
        oldest, newest = self._runs[-1], self._runs[0]
        yield "feed.xml", self._render(
            "feed.xml", id=feeds.site_id(oldest.id), entries=entries,
            updated=feeds.moment(newest.outline.started),
        )  # fmt: skip

    def _fixed(self) -> Iterator[File]:
        yield "how-to-read.html", self._render("reading", root="")
        yield f"assets/{PLOTLY}", (files("plotly") / "package_data" / "plotly.min.js").read_bytes()
        for name in ASSETS:
            yield f"assets/{name}", (TEMPLATES / name).read_bytes()

    def _badge(self, badge: feeds.Badge) -> str:
        return self._render("badge.svg", badge=badge)


def _loader(known: Callable[[Judged], Mapping[Cell, ChangePoint]]) -> Loader:
    """Reads the whole of a run; only the last one that was asked for is held: each takes some 100 MB."""
    held: dict[str, tuple[Run, tuple[CellComparison, ...]]] = {}

    def load(judged: Judged) -> tuple[Run, tuple[CellComparison, ...]]:
        if judged.id not in held:
            held.clear()
            whole = judged.whole()
            held[judged.id] = Run(whole.document, whole.comparison, known(judged)), whole.others
        return held[judged.id]

    return load


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
