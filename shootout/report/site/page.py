"""A page of the site: its path, its template, the template's values, and its JSON and CSV."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Self

from shootout.model.verdict import CellComparison
from shootout.report.site import downloads
from shootout.report.site.downloads import File

if TYPE_CHECKING:
    from shootout.report.site.run import Run

Render = Callable[..., str]  # fills a template, given its name and its values as keywords


class Page(ABC):
    """A page; templates read the properties of its subclass as `page`."""

    template: ClassVar[str]
    columns: ClassVar[Sequence[str]] = ()  # of its CSV; empty: neither JSON nor CSV

    @property
    @abstractmethod
    def path(self) -> str:
        """Its path from the site's root."""

    @property
    def root(self) -> str:
        """The relative path to the site's root."""
        return "../" * self.path.count("/")

    @property
    def data(self) -> str | None:
        """The stem of the JSON and CSV files that it links to, if any."""
        return PurePosixPath(self.path).stem if self.columns else None

    @property
    def value(self) -> object:
        """The content of its JSON; by default the CSV's lines as objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """The lines of its CSV."""
        return ()

    def files(self, render: Render) -> Iterator[File]:
        """The page with its JSON and CSV."""
        run = getattr(self, "run", None)
        yield self.path, render(f"{self.template}.html", page=self, run=run, root=self.root, data=self.data)
        if self.columns:
            yield from downloads.beside(self.path, self.value, self.columns, self.rows)


@dataclass(frozen=True, kw_only=True)
class ListPage(Page):
    """The list of all pages of a folder."""

    folder: ClassVar[str]
    first: bool = False  # whether the site begins here

    @property
    def path(self) -> str:
        return "index.html" if self.first else f"{self.folder}/index.html"

    def at_the_front(self) -> Self:
        """The same where the site begins."""
        return replace(self, first=True)


@dataclass(frozen=True)
class Listing:
    """Pages beside those of runs: a list of all, which navigation leads to, and the others."""

    title: str
    front: ListPage
    pages: tuple[Page, ...]


class CellsPage(Page):
    run: Run
    columns = downloads.CELL_COLUMNS

    @property
    def cells(self) -> Sequence[CellComparison]:
        """The cells that it is about, in the run's order; by default all."""
        return self.run.comparison.cells

    @property
    def value(self) -> object:
        return downloads.cells_value(self.run.document.header, self.cells)

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        return (downloads.cell_row(self.run.document.header, c, self.run.cells) for c in self.cells)
