"""The JSON and CSV files of pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from shootout.model.run import RunHeader
from shootout.model.verdict import CellComparison, Interval
from shootout.report import characters, wording

File = tuple[str, str | bytes]  # path in the site, content

CELL_COLUMNS = (
    "run", "started", "runner", "workload", "dataset", "threads", "server", "base", "verdict", "leaning",
    "acknowledged",
    "metric", "ratio", "ratio_low", "ratio_high", "p_value", "tps", "tps_low", "tps_high", "base_tps",
    "latency_p50_s", "latency_p95_s", "latency_p99_s", "server_cpu_s", "starts", "rounds", "reason",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets would evaluate fields that begin so


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV by RFC 4180; formulas are escaped, None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*map(_column, zip(*rows, strict=True)), strict=True))
    return text.getvalue()


def _column(values: Sequence[object]) -> Iterable[object]:
    """Escape a column; columns of numbers, the most frequent, pass unchecked."""
    return map(_plain, values) if any(issubclass(kind, str) for kind in {*map(type, values)}) else values


def about(header: RunHeader) -> dict[str, Any]:
    return {
        "run": header.run,
        "started": header.started,
        "runners": fingerprints(header),
        "shootout": header.shootout,
    }


def fingerprints(header: RunHeader) -> list[str]:
    """Of the machines that measured a run."""
    return [runner.fingerprint for runner in header.runners]


def bounds(interval: Interval | None) -> tuple[float, float, float] | tuple[None, None, None]:
    """The fields of an interval; empty if there is none."""
    return (interval.estimate, interval.low, interval.high) if interval else (None, None, None)


def cell_row(header: RunHeader, c: CellComparison) -> tuple[object, ...]:
    """A cell's fields in the order of CELL_COLUMNS."""
    figures = c.figures
    latency = figures.latency if figures else None
    runner = header.runner_of(c.cell)
    metric, ratio = wording.decisive(c) or ("", None)
    return (
        header.run, header.started, runner and runner.fingerprint, c.cell.workload, c.cell.dataset,
        c.cell.threads, c.cell.server, c.base.server, c.verdict.value, c.leaning or "",
        c.acknowledged is not None, metric,
        *bounds(ratio), c.p_value, *bounds(figures.tps if figures else None),
        c.base_figures.tps.estimate if c.base_figures else None,
        *((latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None,) * 3),
        *((figures.server_cpu_s, figures.starts, figures.rounds) if figures else (None,) * 3),
        c.reason,
    )  # fmt: skip


@lru_cache(4096, typed=True)  # most of the millions of fields are names
def _plain(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = characters.visible(value)
    return f"'{text}" if text.startswith(FORMULA) else text
