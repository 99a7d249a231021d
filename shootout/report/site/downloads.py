"""The same pages for machines: JSON, and CSV for spreadsheets, beside each of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from shootout.model.plan import Cell
from shootout.model.run import RunHeader, Runner
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import wording
from shootout.report.site.archive import Listed
from shootout.report.site.cell import CellPage
from shootout.report.site.history import HISTORY_COLUMNS, SeriesPage, history_rows
from shootout.report.site.incremental import File
from shootout.report.site.run import Run

CELL_COLUMNS = (
    "run", "started", "runner", "workload", "dataset", "threads", "server", "base", "verdict", "acknowledged",
    "metric", "ratio", "ratio_low", "ratio_high", "p_value", "tps", "tps_low", "tps_high", "base_tps",
    "latency_p50_s", "latency_p95_s", "latency_p99_s", "server_cpu_s", "starts", "rounds", "reason",
)  # fmt: skip
RUN_COLUMNS = ("run", "started", "runners", "page", *Verdict, "says")
ROUND_COLUMNS = ("start", "round", "tps", "base_tps")
LINE_END = "\r\n"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would calculate


def beside(page: str, value: object, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[File]:
    """A page's JSON and CSV."""
    stem = page.removesuffix(".html")
    return [(f"{stem}.json", msgspec.json.encode(value)), (f"{stem}.csv", table(columns, rows))]


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV as RFC 4180 has it; nothing in it is a formula, None is an empty field."""
    return "".join([*_lines([columns]), *_lines(rows)])


def _lines(rows: Iterable[Sequence[object]]) -> list[str]:
    lines = _Lines()
    csv.writer(lines, lineterminator=LINE_END).writerows(
        zip(*map(_column, zip(*rows, strict=True)), strict=True)
    )
    return lines


class _Lines(list[str]):
    """What a CSV writer takes for a file."""

    write = list.append


def _column(values: Sequence[object]) -> Iterable[object]:
    """Most hold numbers alone, of which nothing need be looked at."""
    return map(_plain, values) if any(issubclass(kind, str) for kind in {*map(type, values)}) else values


def about(header: RunHeader) -> dict[str, Any]:
    """What says which run it is."""
    return {
        "run": header.run,
        "started": header.started,
        "runners": fingerprints(header.runners),
        "shootout": header.shootout,
    }


def fingerprints(runners: Iterable[Runner]) -> list[str]:
    """Machines in a word each."""
    return [runner.fingerprint for runner in runners]


def of_cells(page: str, run: Run, cells: Sequence[CellComparison]) -> list[File]:
    """Some cells of a run; each of them has more in a file of its own."""
    slim = [
        msgspec.structs.replace(cell, metrics=(), statements=(), warnings=(), judged=cell.judged[:1])
        for cell in cells
    ]
    value = {**about(run.document.header), "cells": slim}
    return beside(page, value, CELL_COLUMNS, (cell_row(run.document.header, c, run.cells) for c in cells))


def cell_row(
    header: RunHeader, c: CellComparison, cells: Mapping[Cell, CellComparison]
) -> tuple[object, ...]:
    """A cell's line of CELL_COLUMNS."""
    base = cells.get(c.base)
    figures = c.figures
    latency = figures.latency if figures else None
    judged = c.judged[0].ratio if c.judged else c.ratio
    return (
        header.run, header.started, header.part(c.cell).runner.fingerprint, c.cell.workload, c.cell.dataset,
        c.cell.threads, c.cell.server, c.base.server, c.verdict.value, c.acknowledged is not None,
        c.judged[0].metric if c.judged else "",
        *((judged.estimate, judged.low, judged.high) if judged else (None,) * 3),
        c.p_value,
        *((figures.tps.estimate, figures.tps.low, figures.tps.high) if figures else (None,) * 3),
        base.figures.tps.estimate if base and base.figures else None,
        *((latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None,) * 3),
        *((figures.server_cpu_s, figures.starts, figures.rounds) if figures else (None,) * 3),
        c.reason,
    )  # fmt: skip


def of_cell(page: str, cell: CellPage) -> list[File]:
    """All that is known of a cell, and its rounds."""
    header = cell.run.document.header
    value = {**about(header), "command": cell.command, "cell": cell.comparison}
    rows = ((each.start, each.number, each.here, each.base) for each in cell.rounds)
    return beside(page, value, ROUND_COLUMNS, rows)


def of_settings(page: str, run: Run) -> list[File]:
    """Requested and effective settings, server by server."""
    servers = run.document.header.servers
    rows = (
        (
            server.label, each.name, each.requested, each.effective, each.differs, each.lacking,
            " ".join(each.variables), each.note,
        )
        for server in servers
        for each in server.settings
    )  # fmt: skip
    columns = ("server", "setting", "requested", "effective", "differs", "lacking", "variables", "note")
    value = {**about(run.document.header), "servers": servers}
    return beside(page, value, columns, rows)


def of_history(page: str, shown: SeriesPage) -> list[File]:
    """A workload's history. What all lines of a series have in common is worked out once for them."""
    lines = _lines([HISTORY_COLUMNS])
    for beginning, points in history_rows(shown.series):
        (common,) = _lines([beginning])
        lines += [f"{common.removesuffix(LINE_END)},{line}" for line in _lines(points)]
    stem = page.removesuffix(".html")
    return [(f"{stem}.json", msgspec.json.encode(shown.series)), (f"{stem}.csv", "".join(lines))]


def of_runs(page: str, runs: Sequence[Listed]) -> list[File]:
    """All runs of the site, the newest first."""
    return beside(page, [run_value(run) for run in runs], RUN_COLUMNS, map(run_row, runs))


def run_value(run: Listed) -> dict[str, Any]:
    """What is to be known of a run to find more; places are relative to the site's top."""
    said = run.outline
    return {
        "run": said.run,
        "started": said.started,
        "runners": fingerprints(said.runners),
        "shootout": said.shootout,
        "complete": said.complete,
        "description": said.description,
        "servers": said.servers,
        "verdicts": said.verdicts,
        "says": said.headline,
        "page": f"{run.folder}/index.html",
        "cells": f"{run.folder}/index.json",
        "csv": f"{run.folder}/index.csv",
        "badge": f"{run.folder}/badge.svg",
    }


def run_row(run: Listed) -> tuple[object, ...]:
    """A run's line of RUN_COLUMNS."""
    said = run.outline
    counts = (said.verdicts.get(verdict, 0) for verdict in Verdict)
    place = f"{run.folder}/index.html"
    runners = " ".join(fingerprints(said.runners))
    return (said.run, said.started, runners, place, *counts, said.headline)


@lru_cache(4096, typed=True)  # of millions of fields most are names
def _plain(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = wording.visible(value)
    return f"'{text}" if text.startswith(FORMULA) else text
