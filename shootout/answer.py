"""Answers to people: sentences, tables and charts in topics, with every figure as a value.

A judged result becomes one Answer; terminal, Markdown, pages, JSON and CSV write it and compute nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any, Literal, Protocol

from shootout import figures
from shootout.chart import Chart, Series
from shootout.figures import MULTIPLE, NONE, counted
from shootout.model.verdict import Interval, Verdict
from shootout.numbers import SPACE, number, percent_places, significant

SYMBOLS = {
    Verdict.REGRESSED: "▼",
    Verdict.IMPROVED: "▲",
    Verdict.EQUIVALENT: "=",
    Verdict.INCONCLUSIVE: "?",
    Verdict.FAILED: "✕",
    Verdict.UNJUDGED: "○",
}

SEEN = 0.0005  # a change that is printed as more than 0.0 %
ROWS_MAX = 12  # of a table in terminal and Markdown; the page has all

Form = Literal["number", "signed", "change", "times"]  # 0.76 as 0.76, as +0.76, as −24 %, as ×0.76


@dataclass(frozen=True)
class Figure:
    """A number as every writer prints it, with its interval if it has one."""

    value: float
    unit: str = ""
    places: int | None = None  # decimals; None: three significant digits
    form: Form = "number"
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        return f"{self._end(self.value)}{self._unit}"

    @property
    def range(self) -> str:
        """Its interval, `−25.3 to −22.9 %`; empty without one."""
        if self.low is None or self.high is None:
            return ""
        return f"{self._end(self.low)} to {self._end(self.high)}{self._unit}"

    @property
    def whole(self) -> str:
        """The number, and its interval in parentheses."""
        return f"{self} ({self.range})" if self.range else str(self)

    @property
    def _unit(self) -> str:
        unit = "%" if self.form == "change" else self.unit
        return f"{SPACE}{unit}" if unit else ""

    def _end(self, value: float) -> str:
        if self.form == "times":
            return f"×{number(value, self.places)}"
        if self.form == "change":
            change = 100 * (value - 1)
            places = self.places if self.places is not None else 1 if abs(change) < 100 else 0
            return figures.signed_to(round(change, places), places)
        text = number(value, self.places)
        return f"+{text}" if self.form == "signed" and value > 0 and text.strip("0.") else text


def change(ratio: Interval | float, places: int | None = None) -> Figure:
    """Show a ratio as a change, at its interval's precision: 0.76 is −24 %."""
    if not isinstance(ratio, Interval):
        return Figure(ratio, places=places, form="change")
    rounded = percent_places(ratio.low, ratio.high) if places is None else places
    return Figure(ratio.estimate, places=rounded, form="change", low=ratio.low, high=ratio.high)


def factor(ratio: Interval | float, places: int | None = None) -> Figure:
    """Show a ratio as a change; as a multiple from 3 on."""
    shown = change(ratio, places)
    return replace(shown, places=None, form="times") if shown.value >= MULTIPLE else shown


def throughput(tps: float) -> Figure:
    """Transactions per second, as `figures.throughput` has them."""
    return Figure(tps, places=significant(tps, figures.DIGITS))


def beside(
    base: float | None, head: float | None, digits: int = 3, seen: float = SEEN
) -> tuple[Figure | None, Figure | None]:
    """Show two figures with so many digits that their change shows, if it is at least `seen`."""
    if base and head and seen <= abs(head / base - 1) < 0.01:
        digits = max(digits, 2 - math.floor(math.log10(abs(head / base - 1))))
    of_base, of_head = (
        None if value is None else Figure(value, places=significant(value, digits)) for value in (base, head)
    )
    return of_base, of_head


@dataclass(frozen=True)
class Range:
    """The interval of a figure, in a column of its own."""

    of: Figure

    def __str__(self) -> str:
        return self.of.range


@dataclass(frozen=True)
class Whole:
    """A figure with its interval, in one column."""

    of: Figure

    def __str__(self) -> str:
        return self.of.whole


@dataclass(frozen=True)
class Mark:
    """A verdict with its symbol."""

    verdict: Verdict
    text: str = ""  # in place of the verdict's name
    note: str = ""
    symbol: str = ""  # in place of the verdict's

    def __str__(self) -> str:
        return f"{self.symbol or SYMBOLS[self.verdict]} {self.text or self.verdict}"


@dataclass(frozen=True)
class Link:
    """A text that leads to a page of the site, by its path from the site's root, or to an address."""

    text: str
    to: str
    note: str = ""  # small, beside it

    @property
    def is_address(self) -> bool:
        """Whether it leads out of the site."""
        return self.to.startswith(("https://", "http://"))

    def __str__(self) -> str:
        return f"{self.text} {self.note}".rstrip()


Field = str | Figure | Range | Whole | Mark | Link | None  # None: there is no figure


def text(value: Field) -> str:
    """Return a field of a table in plain text."""
    return NONE if value is None else str(value)


@dataclass(frozen=True)
class Table:
    """A table; a column of figures is aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Field, ...], ...]
    caption: str = ""
    sortable: bool = False
    folded: str = ""  # the page shows the table after a click on this text
    page_only: bool = False
    whole: bool = False  # terminal and Markdown have all of its rows, too

    @property
    def numeric(self) -> tuple[bool, ...]:
        """The columns that have figures."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return tuple(any(isinstance(each, Figure | Range | Whole) for each in column) for column in columns)

    @property
    def first(self) -> tuple[tuple[Field, ...], ...]:
        """The rows that terminal and Markdown have."""
        return self.rows if self.whole else self.rows[:ROWS_MAX]

    @property
    def more(self) -> str:
        """How many rows these leave out; empty: none."""
        more = len(self.rows) - len(self.first)
        return f"and {counted(more, 'more row')} on the page" if more else ""


def filled(table: Table) -> Table:
    """Drop the columns that no row fills."""
    kept = [any(value is not None for value in column) for column in zip(*table.rows, strict=True)]
    rows = tuple(tuple(compress(row, kept)) for row in table.rows)
    return replace(table, columns=tuple(compress(table.columns, kept)), rows=rows)


@dataclass(frozen=True)
class Detail:
    """Texts side by side, shown after a click, such as a statement's plans on two servers."""

    title: str
    texts: tuple[tuple[str, str], ...]  # a label, and a text in lines of its own
    lines: tuple[str, ...] = ()
    code: str = ""  # what the texts are about, such as a statement
    open: bool = False  # shown without a click


@dataclass(frozen=True)
class Point:
    """A sentence, and what it introduces."""

    text: str
    items: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # for a shell


class Drawing(Protocol):
    """A picture that no chart can draw."""

    def __html__(self) -> str:
        """The markup."""


@dataclass(frozen=True)
class Drawn:
    """A chart with a label that says what it shows; `legend`: its series, unless it names them itself."""

    chart: Chart
    label: str
    title: str = ""
    legend: tuple[Series, ...] = ()


@dataclass(frozen=True)
class Topic:
    """A part of an answer."""

    title: str = ""
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    commands: tuple[str, ...] = ()  # to copy
    charts: tuple[Drawn, ...] = ()
    details: tuple[Detail, ...] = ()
    facts: tuple[tuple[str, Field], ...] = ()  # a name, and its value
    links: tuple[Link, ...] = ()
    points: tuple[Point, ...] = ()
    drawing: Drawing | None = None  # the page has it in place of the tables
    page_only: bool = False
    is_problem: bool = False  # something failed
    folded: bool = False  # Markdown shows it after a click on its title
    is_paired: bool = False  # a page has room for charts and tables side by side


@dataclass(frozen=True)
class Answer:
    """A result as every writer writes it."""

    name: str  # the page's heading
    headline: str
    topics: tuple[Topic, ...] = ()
    value: Any = None  # as JSON has it
    exit_code: int = 0
    conditions: str = ""
    footer: str = ""  # when it was measured, by which version
    listed: tuple[Field, ...] = ()  # in a list of all answers of its kind, before the headline
    description: str = field(default="", kw_only=True)  # of the page, for search and previews
    brief: Topic | None = field(default=None, kw_only=True)  # what the site's first page shows of it

    def at(self, document: Path, page: Path | None = None) -> Answer:
        """Add the files to the value, a mapping; the last line names the page or else the document."""
        places = {"document": str(document)} | ({} if page is None else {"page": str(page)})
        line = f"document      {document}" if page is None else f"report        {page.as_uri()}"
        return replace(self, topics=(*self.topics, Topic(lines=(line,))), value={**places, **self.value})


def joined(parts: Iterable[Topic | None]) -> tuple[Topic, ...]:
    """Drop missing topics."""
    return tuple(part for part in parts if part is not None)


def shown(answer: Answer) -> Iterator[Topic]:
    """Yield the topics that terminal and Markdown have, without empty tables."""
    for topic in answer.topics:
        if not topic.page_only:
            tables = tuple(each for each in topic.tables if each.rows and not each.page_only)
            yield replace(topic, tables=tables)
