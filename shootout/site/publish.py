"""A site's pages, all of them, put in their place."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from shootout import history
from shootout.errors import InputError
from shootout.model import Cell, ChangePoint, Comparison, RunDocument
from shootout.places import TEMPLATES
from shootout.site.cell import CellPage
from shootout.site.findings import Findings
from shootout.site.names import cell_stem, server_page
from shootout.site.render import PLOTLY, Renderer, renderer
from shootout.site.run import Run
from shootout.site.server import ServerPage
from shootout.site.workload import WorkloadPage


def build(results: Sequence[tuple[RunDocument, Comparison]], out: Path) -> Path:
    """Write the site of these runs into `out` and return its index page, the overview of the newest.

    All pages are rendered before the first is put in place, the index last. Raises InputError where there is
    nothing to show, a run occurs twice, or `out` cannot be written.
    """
    changes = _changes(comparison for _, comparison in results)
    runs = sorted(
        (Run(*result, changes=changes.get(result[0].header.run, {})) for result in results),
        key=lambda run: run.id,
        reverse=True,
    )
    if not runs:
        raise InputError("No run document to make a site from: measure one first, with `shootout run`.")
    for name, count in Counter(run.id for run in runs).items():
        if count > 1:
            raise InputError(f"Run {name} is given {count} times; a site shows each run once.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as folder:
            built = Path(folder)
            for path, text in _pages(runs, renderer()):
                page = built / path
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text, encoding="utf-8", errors="replace")
            _publish(built, out)
    except OSError as error:
        raise InputError(f"{out}: the site cannot be written there: {error.strerror or error}.") from error
    return out / "index.html"


def _changes(comparisons: Iterable[Comparison]) -> dict[str, dict[Cell, ChangePoint]]:
    """By run, the cells that history sees on a new level; of each series only its newest run is told."""
    found: dict[str, dict[Cell, ChangePoint]] = {}
    for each in history.series(comparisons):
        if each.changes:
            cell = Cell(
                workload=each.workload, dataset=each.dataset, server=each.server, threads=each.threads
            )
            found.setdefault(each.points[-1].run, {})[cell] = each.changes[-1]
    return found


def _pages(runs: Sequence[Run], render: Renderer) -> Iterator[tuple[str, str]]:
    """Every page's place in the site, and its text."""
    newest = runs[0]
    yield "index.html", render("run", root="", run=newest, findings=Findings(newest), runs=runs)
    yield "how-to-read.html", render("reading", root="")
    yield "runs/index.html", render("runs", root="../", runs=runs)
    for run in runs:
        for path, text in run_pages(run, render):
            yield f"{run.folder}/{path}", text


def run_pages(run: Run, render: Renderer) -> Iterator[tuple[str, str]]:
    """Every page of one run: its place in the run's folder, and its text."""
    common = {"root": "../../", "run": run}
    yield "index.html", render("run", **common, findings=Findings(run), runs=())
    yield "cells.html", render("cells", **common)
    yield "settings.html", render("settings", **common)
    for cells in run.sets:
        yield cells.page, render("workload", **common, page=WorkloadPage(run=run, set=cells))
    for record in run.servers.values():
        page = ServerPage(run=run, record=record)
        yield server_page(record.label), render("server", **common, page=page)
    for comparison in run.comparison.cells:
        name = f"{cell_stem(comparison.cell)}.html"
        yield name, render("cell", **common, page=CellPage(run=run, comparison=comparison))


def _publish(built: Path, out: Path) -> None:
    """Move what was built to its place, each file in one step, the index last."""
    assets = built / "assets"
    assets.mkdir()
    (assets / PLOTLY).write_bytes((files("plotly") / "package_data" / "plotly.min.js").read_bytes())
    for name in ("style.css", "site.js"):
        (assets / name).write_bytes((TEMPLATES / name).read_bytes())
    index = built / "index.html"
    for page in [*(path for path in built.rglob("*") if path.is_file() and path != index), index]:
        place = out / page.relative_to(built)
        place.parent.mkdir(parents=True, exist_ok=True)
        page.replace(place)
