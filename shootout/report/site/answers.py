"""Pages of answers: any answer, and a list of all answers of a kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from shootout import answer as answers
from shootout.answer import Answer, Drawing, Field, Figure, Link, Mark, Range, Table, Topic, Whole
from shootout.characters import visible
from shootout.figures import NONE
from shootout.report.site.breaks import breakable
from shootout.report.site.names import page_of
from shootout.report.site.page import Page

LONG = 40  # characters of a text that wraps in its column


@dataclass(frozen=True)
class AnswerPage(Page):
    """One answer."""

    answer: Answer
    title: str  # of the list that has it
    folder: str
    id: str
    template = "answer"

    @property
    def path(self) -> str:
        return page_of(self.folder, self.id)


@dataclass(frozen=True)
class AnswerListPage(Page):
    """All answers of a kind, the newest first."""

    title: str
    about: str  # a sentence
    columns: tuple[str, ...]  # of what `Answer.listed` has; the first leads to the page
    pages: tuple[AnswerPage, ...]
    folder: str
    topics: tuple[Topic, ...] = ()  # below the list
    first: bool = False  # whether the site begins here
    template = "answers"

    @property
    def path(self) -> str:
        return "index.html" if self.first else f"{self.folder}/index.html"

    @property
    def table(self) -> Table:
        rows = tuple(
            (Link(answers.text(first), page.path), *others, page.answer.headline)
            for page in self.pages
            for first, *others in [page.answer.listed]
        )
        return Table((*self.columns, "answer"), rows, "The newest first")


def drawn(drawing: Drawing) -> Markup:
    """The markup of a picture; one that cannot be drawn says so, and costs no page."""
    try:
        return Markup(drawing.__html__())
    except Exception as error:
        return Markup('<p class="notice">{}</p>').format(f"{type(error).__name__}: {error}")


def answer_rows(table: Table, root: str) -> Markup:
    """The rows of a table; its first column has their names. `root`: the way to the site's root."""
    names = [""] * len(table.columns) if table.sortable else table.columns
    kinds = [*zip(names, table.numeric, strict=True)]
    parts = []
    for first, *others in table.rows:
        parts += ["<tr>", _name(first, kinds[0][1], root)]
        parts += [_field(value, *kind, root) for value, kind in zip(others, kinds[1:], strict=True)]
        parts.append("</tr>\n")
    return Markup("".join(parts))


@lru_cache(4096)  # the pages of a run have the same names
def _name(value: Field, numeric: bool, root: str) -> str:
    return Markup('<th scope="row"{}>{}</th>').format(_classes(value, numeric), field(value, root))


@lru_cache(8192)  # the pages of all heads repeat their base's numbers
def _field(value: Field, name: str, numeric: bool, root: str) -> str:
    named = Markup(' data-name="{}"').format(visible(name)) if name else ""  # on a phone columns are stacked
    return Markup("<td{}{}>{}</td>").format(_classes(value, numeric), named, field(value, root))


def _classes(value: Field, numeric: bool) -> Markup:
    """The class of a field, and the number that it is sorted by."""
    match value:
        case Figure(key) | Whole(Figure(key)) | Range(Figure(low=key)):
            sort = Markup(' data-value="{}"').format(key)
        case _:
            sort = Markup("")
    if numeric:
        return Markup(' class="num"{}').format(sort)
    long = isinstance(value, Link) or (isinstance(value, str) and len(value) > LONG)
    return Markup(' class="text"') if long else Markup("")


def field(value: Field, root: str) -> Markup:
    """A field's content. `root`: the way to the site's root."""
    match value:
        case Link(name, to, note):
            small = Markup(" <small>{}</small>").format(breakable(note)) if note else ""
            way = to if value.is_address else f"{root}{to}"
            return Markup('<a href="{}">{}</a>{}').format(way, breakable(name), small)
        case Mark(verdict, note=note):
            small = Markup(" <small>{}</small>").format(breakable(note)) if note else ""
            sign, said = visible(str(value)).split(" ", 1)
            return Markup('<span class="badge {}"><span aria-hidden="true">{}</span> {}</span>{}').format(
                verdict, sign, said, small
            )
        case str():
            return breakable(value) if value else escape(NONE)
    return escape(answers.text(value))
