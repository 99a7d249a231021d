"""A page of the site: its path, its template, what the template sees, and the same for machines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Protocol

from shootout.report.site import downloads
from shootout.report.site.downloads import File


class Render(Protocol):
    """Fills a template."""

    def __call__(self, template: str, **values: object) -> str:
        """The text of that template."""


class Page(ABC):
    """A page: a subclass has the properties that its template reads as `page`."""

    template: ClassVar[str]
    columns: ClassVar[Sequence[str]] = ()  # of the CSV beside it; none: no files for machines

    @property
    @abstractmethod
    def path(self) -> str:
        """Where it lies, from the site's top."""

    @property
    def root(self) -> str:
        """The way up to the site's top."""
        return "../" * self.path.count("/")

    @property
    def data(self) -> str | None:
        """The stem of the JSON and CSV files that it links to."""
        return PurePosixPath(self.path).stem if self.columns else None

    @property
    def value(self) -> object:
        """What its JSON holds."""
        return None

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """The lines of its CSV."""
        return ()

    def files(self, render: Render) -> Iterator[File]:
        """The page, and its JSON and CSV."""
        run = getattr(self, "run", None)
        yield self.path, render(f"{self.template}.html", page=self, run=run, root=self.root, data=self.data)
        if self.columns:
            yield from downloads.beside(self.path, self.value, self.columns, self.rows)
