"""Markup of long tables' fields and rows, and of links between cells.

A cell's page has a thousand fields. As template macros they took most of a large site's build time
(benchmarks/site.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from markupsafe import Markup, escape

from shootout import numbers
from shootout.model.history import HistoryPoint
from shootout.model.plan import Cell
from shootout.model.verdict import CellComparison
from shootout.report import characters, figures, wording
from shootout.report.site.names import cell_stem

if TYPE_CHECKING:
    from shootout.report.site.cell import Round, Row
    from shootout.report.site.run import Run

NO_POINT = f'<td class="num">{figures.NONE}</td>'
WHOLE_MAX = 20  # characters that stay on one line: they fit a headline on a phone
# A name such as `mysql-8.0.12`, which browsers would break after the hyphen, or a character to break after.
_PIECES = re.compile(r"(?<![A-Za-z0-9.-])[A-Za-z0-9.]+(?:-[A-Za-z0-9.]+)+|[_/@,]")


@lru_cache(4096, typed=True)  # every page of a run has the same names
def breakable(name: str) -> Markup:
    """A name with sensible places for line breaks; hyphenated parts stay whole while they are short."""
    return Markup(_PIECES.sub(_piece, str(escape(characters.visible(name)))))


def _piece(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) == 1:
        return f"{text}<wbr>"
    return f'<span class="whole">{text}</span>' if len(text) <= WHOLE_MAX else text


def href(root: str, run: Run, cell: Cell) -> Markup:
    """The address of a cell's page, for a page whose relative path to the site's root is `root`."""
    return Markup(f"{root}{run.folder}/{cell_stem(cell)}.html")


def neighbours(
    root: str, run: Run, here: Cell, cells: Iterable[CellComparison], named: Literal["threads", "server"]
) -> Markup:
    """Links to cells with the symbols of their verdicts; the current cell is plain text."""
    made = []
    for each in cells:
        name = str(each.cell.threads) if named == "threads" else breakable(each.cell.server)
        if each.cell == here:
            made.append(f'<b aria-current="page">{name}</b>')
        else:
            sign = f'<span aria-hidden="true">{wording.symbol(each)}</span>'
            made.append(f'<a href="{href(root, run, each.cell)}">{name} {sign}</a>')
    return Markup("".join(made))


def num(value: float | None, places: int | None = None, absent: str = figures.NONE) -> Markup:
    """A table field for a number, with the exact value for sorting."""
    return Markup(_num(value, places, absent))


def delta(ratio: float | None, here: float | None = None) -> Markup:
    """A table field for a ratio as a change; "new" if only `here` has a value."""
    return Markup(_delta(ratio, here))


def history(runs: Sequence[tuple[HistoryPoint, Iterable[HistoryPoint | None]]]) -> Markup:
    """One row per run, newest first, with each cell's percentage change against the anchor."""
    made = []
    for place, (run, points) in zip(range(len(runs), 0, -1), runs, strict=True):
        moment = escape(characters.visible(figures.moment(run.started)))
        made.append(f'<tr><th scope="row" data-value="{place}">{moment}</th>')
        made += [NO_POINT if point is None else _point(point.ratio) for point in points]
        made.append("</tr>\n")
    return Markup("".join(made))


def rounds(every: Iterable[Round], *, base: bool) -> Markup:
    """One row per round of a cell; with `base`, the base's throughput and the change, too."""
    made = []
    for start, number, here, theirs in every:
        made += ["<tr>", _num(start, 0), _num(number, 0), *([_num(theirs)] if base else ()), _num(here)]
        if base:
            made.append(_delta(here / theirs if here is not None and theirs else None, None))
        made.append("</tr>\n")
    return Markup("".join(made))


def compared(every: Iterable[Row], factor: float = 1.0, *, base: bool) -> Markup:
    """One row per figure of a cell, times `factor`; with `base`, the base's figure and the change, too."""
    made = []
    for row in every:
        made += ['<tr><th scope="row">', breakable(row.name), "</th>\n"]
        if base:
            made.append(_num(_times(row.base, factor), None, _absent(row.base_hidden)))
        made.append(_num(_times(row.here, factor), None, _absent(row.here_hidden)))
        if base:
            made.append(_delta(row.ratio, None if row.base_hidden else row.here))
        made.append("</tr>\n")
    return Markup("".join(made))


@lru_cache(8192, typed=True)  # the pages of all heads repeat their base's numbers
def _num(value: float | None, places: int | None = None, absent: str = figures.NONE) -> str:
    if value is None:
        return f'<td class="num">{absent}</td>\n'
    return f'<td class="num" data-value="{value}">{numbers.number(value, places)}</td>\n'


def _point(ratio: float) -> str:
    return f'<td class="num" data-value="{ratio:.5g}">{figures.percent(ratio)[:-2]}</td>'


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _absent(hidden: bool) -> str:
    return figures.NOT_VISIBLE if hidden else figures.NONE


def _delta(ratio: float | None, here: float | None) -> str:
    if ratio is not None:
        return f'<td class="num" data-value="{ratio}">{figures.percent(ratio)}</td>\n'
    return '<td class="num" data-value="1e300">new</td>\n' if here else _num(None)
