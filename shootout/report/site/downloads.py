"""The JSON and CSV files: of each run, of history, and the index of all runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import structs

from shootout import __version__, characters
from shootout.model.run import RunHeader
from shootout.model.verdict import CellComparison, Interval, Verdict
from shootout.report import wording
from shootout.report.site.history import Change, SeriesPage
from shootout.report.site.page import File
from shootout.report.site.run import Run
from shootout.report.site.runner import RunnerPage

CELL_COLUMNS = (
    "run", "started", "runner", "workload", "dataset", "threads", "server", "base", "verdict", "leaning",
    "acknowledged",
    "metric", "ratio", "ratio_low", "ratio_high", "p_value", "tps", "tps_low", "tps_high", "base_tps",
    "latency_p50_s", "latency_p95_s", "latency_p99_s", "server_cpu_s", "starts", "rounds", "reason",
)  # fmt: skip
HISTORY_COLUMNS = (
    "runner", "workload", "dataset", "settings", "threads", "server", "anchor", "run", "started",
    "ratio", "ratio_low", "ratio_high", "tps", "commit",
)  # fmt: skip
RUN_COLUMNS = ("run", "started", "runners", "page", *Verdict, "says")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets would evaluate fields that begin so


def of_run(run: Run) -> Iterator[File]:
    """A run's cells in brief; `shootout compare FILE --json` prints them whole."""
    header, cells = run.document.header, run.comparison.cells
    brief = [structs.replace(c, metrics=(), statements=(), warnings=(), judged=c.judged[:1]) for c in cells]
    rows = (_cell_row(header, c) for c in cells)
    yield from _files(f"{run.folder}/index", {**_about(header), "cells": brief}, CELL_COLUMNS, rows)


def of_history(pages: Sequence[SeriesPage], changes: Iterable[Change]) -> Iterator[File]:
    """All series with their points, one per CSV line, and all changes of level, newest first."""
    value = {
        "changes": [change.value for change in changes],
        "pages": [{"page": page.path, "series": page.series} for page in pages],
    }
    yield from _files("history", value, HISTORY_COLUMNS, (row for page in pages for row in page.points))


def of_site(front: Run, runs: Sequence[Run], runners: Iterable[RunnerPage]) -> Iterator[File]:
    """The index of all runs, newest first; `front`: the run on the first page."""
    index = {
        "shootout": __version__,
        "newest": runs[0].id,
        "history": "history.json",
        "feed": "feed.xml",
        "front": front.id,
        "badge": "badge.svg",
        "runners": [{"runner": page.runner.fingerprint, "page": page.path} for page in runners],
        "runs": [_run_value(run) for run in runs],
    }
    yield from _files("index", index, RUN_COLUMNS, map(_run_row, runs))


def _files(
    stem: str, value: object, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> Iterator[File]:
    yield f"{stem}.json", msgspec.json.encode(value)
    yield f"{stem}.csv", table(columns, rows)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV by RFC 4180; formulas are escaped, None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(map(_plain, row) for row in rows)
    return text.getvalue()


def _about(header: RunHeader) -> dict[str, Any]:
    return {
        "run": header.run,
        "started": header.started,
        "runners": [runner.fingerprint for runner in header.runners],
        "shootout": header.shootout,
    }


def _bounds(interval: Interval | None) -> tuple[float, float, float] | tuple[None, None, None]:
    return (interval.estimate, interval.low, interval.high) if interval else (None, None, None)


def _cell_row(header: RunHeader, c: CellComparison) -> tuple[object, ...]:
    figures = c.figures
    latency = figures.latency if figures else None
    runner = header.runner_of(c.cell)
    metric, ratio = wording.decisive(c) or ("", None)
    return (
        header.run, header.started, runner and runner.fingerprint, c.cell.workload, c.cell.dataset,
        c.cell.threads, c.cell.server, c.base.server, c.verdict.value, c.leaning or "",
        c.acknowledged is not None, metric,
        *_bounds(ratio), c.p_value, *_bounds(figures.tps if figures else None),
        c.base_figures.tps.estimate if c.base_figures else None,
        *((latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None,) * 3),
        *((figures.server_cpu_s, figures.starts, figures.rounds) if figures else (None,) * 3),
        c.reason,
    )  # fmt: skip


def _run_row(run: Run) -> tuple[object, ...]:
    header = run.document.header
    return (
        run.id, header.started, " ".join(each.fingerprint for each in header.runners),
        f"{run.folder}/index.html",
        *(run.verdicts[verdict] for verdict in Verdict), run.headline.text,
    )  # fmt: skip


def _run_value(run: Run) -> dict[str, Any]:
    header = run.document.header
    return {
        **_about(header),
        "complete": run.complete,
        "description": header.profile.description,
        "servers": [server.label for server in header.servers],
        "verdicts": run.verdicts,
        "says": run.headline.text,
        "page": f"{run.folder}/index.html",
        "cells": f"{run.folder}/index.json",
        "csv": f"{run.folder}/index.csv",
    }


@lru_cache(4096, typed=True)  # most of the millions of fields are names
def _plain(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = characters.visible(value)
    return f"'{text}" if text.startswith(FORMULA) else text
