"""A page of the site: its path, its template, the template's values, and its JSON and CSV."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Protocol

from shootout.model.verdict import CellComparison
from shootout.report.site import downloads
from shootout.report.site.downloads import File

if TYPE_CHECKING:
    from shootout.report.site.run import Run


class Render(Protocol):
    """Fills a template."""

    def __call__(self, template: str, **values: object) -> str:
        """Returns the rendered text."""


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
        """The content of its JSON."""
        return None

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


class CellsPage(Page):
    """A page about several cells of a run."""

    run: Run
    columns = downloads.CELL_COLUMNS

    @property
    @abstractmethod
    def cells(self) -> Sequence[CellComparison]:
        """The cells, in the run's order."""

    @property
    def value(self) -> object:
        """The cells in brief."""
        return downloads.cells_value(self.run.document.header, self.cells)

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """One line per cell."""
        return (downloads.cell_row(self.run.document.header, c, self.run.cells) for c in self.cells)
