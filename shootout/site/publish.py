"""A site's pages, all of them, put in their place."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from shootout.errors import InputError
from shootout.model import Comparison, RunDocument
from shootout.places import TEMPLATES
from shootout.site import published
from shootout.site.cell import CellPage
from shootout.site.names import cell_stem, file_stem
from shootout.site.render import PLOTLY, Renderer, renderer
from shootout.site.run import Run


def build(results: Sequence[tuple[RunDocument, Comparison]], out: Path) -> Path:
    """Write the site of these runs into `out` and return its index page, the overview of the newest.

    All pages are rendered before the first is put in place, the index last. Raises InputError where there is
    nothing to show, a run occurs twice, or `out` cannot be written.
    """
    runs = sorted((Run(*result) for result in results), key=lambda run: run.id, reverse=True)
    if not runs:
        raise InputError("No run document to make a site from: measure one first, with `shootout run`.")
    for name, count in Counter(run.id for run in runs).items():
        if count > 1:
            raise InputError(f"Run {name} is given {count} times; a site shows each run once.")
    render = renderer(runs)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as folder:
            built = Path(folder)
            for path, text in _pages(runs, render):
                page = built / path
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(text, encoding="utf-8", errors="replace")
            _publish(built, out)
    except OSError as error:
        raise InputError(f"{out}: the site cannot be written there: {error.strerror or error}.") from error
    return out / "index.html"


def _pages(runs: Sequence[Run], render: Renderer) -> Iterator[tuple[str, str]]:
    """Every page's place in the site, and its text."""
    yield "index.html", render("run", root="", run=runs[0])
    yield "how-to-read.html", render("reading", root="")
    for each in published.of(runs):
        yield (
            f"published/{file_stem(each.name)}.html",
            render("published", root="../", run=each.run, page=each),
        )
    for run in runs:
        yield f"{run.folder}/index.html", render("run", root="../../", run=run)
        for comparison in run.comparison.cells:
            page = CellPage(run=run, comparison=comparison)
            yield (
                f"{run.folder}/{cell_stem(comparison.cell)}.html",
                render("cell", root="../../", run=run, page=page),
            )


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
