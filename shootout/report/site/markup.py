"""Markup of long tables' fields and rows, and of links between cells.

A cell's page has a thousand fields. As template macros they took most of a large site's build time
(benchmarks/site.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from markupsafe import Markup

from shootout import figures, numbers
from shootout.model.plan import Cell
from shootout.model.verdict import CellComparison
from shootout.report import wording
from shootout.report.site.names import cell_stem
from shootout.report.site.run import Run


def href(root: str, run: Run, c: CellComparison, place: str = "") -> Markup:
    """The attribute that leads to a cell's page, or to a place in it; empty if the cell has no page."""
    return Markup(f' href="{root}{run.folder}/{cell_stem(c.cell)}.html{place}"' if run.has_page(c) else "")


def neighbours(root: str, run: Run, here: Cell, cells: Iterable[CellComparison]) -> Markup:
    """Links to cells by threads, with the symbols of their verdicts; the current cell is plain text."""
    links = []
    for c in cells:
        if c.cell == here:
            links.append(f'<b aria-current="page">{c.cell.threads}</b>')
        else:
            sign = f'<span aria-hidden="true">{wording.symbol(c)}</span>'
            links.append(f"<a{href(root, run, c)}>{c.cell.threads} {sign}</a>")
    return Markup("".join(links))


@lru_cache(8192, typed=True)  # the pages of all heads repeat their base's numbers
def num(value: float | None, places: int | None = None, absent: str = figures.NONE) -> Markup:
    """A table field for a number, with the exact value for sorting."""
    if value is None:
        return Markup(f'<td class="num">{absent}</td>\n')
    return Markup(f'<td class="num" data-value="{value}">{numbers.number(value, places)}</td>\n')
