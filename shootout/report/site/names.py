"""Names of the site's pages and cells."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

from shootout import figures
from shootout.model.history import SeriesKey
from shootout.model.plan import Cell
from shootout.paths import file_stem


def page_of(folder: str, name: str) -> str:
    """The page of a document of this name, from the site's root."""
    return f"{folder}/{file_stem(name)}.html"


def run_folder(run: str) -> str:
    return f"runs/{file_stem(run)}"


@lru_cache(4096)  # many pages link to each cell's page
def cell_stem(cell: Cell) -> str:
    """A readable file name, unique among the cells of a run."""
    return _unique(cell.name, (cell.workload, cell.dataset, cell.server, str(cell.threads)))


def cell_text(cell: Cell) -> str:
    return f"{cell.workload}, {figures.threads(cell.threads)}, {cell.server}"


def history_page(key: SeriesKey) -> str:
    """The path of a workload's history on a runner, from the site's root."""
    identity = key.runner, key.workload, key.dataset, key.settings, key.anchor
    return f"history/{_unique(key.workload, identity)}.html"


def workload_page(workload: str, dataset: str) -> str:
    return f"workload-{file_stem(f'{workload} {dataset}' if dataset else workload)}.html"


def runner_page(fingerprint: str) -> str:
    """The path of a runner's page from the site's root."""
    return f"runner-{file_stem(fingerprint)}.html"


def _unique(readable: str, identity: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join(identity).encode(errors="surrogatepass")).hexdigest()[:10]
    return f"{re.sub('[^A-Za-z0-9._]+', '-', readable)[:80].strip('-.')}~{digest}"
