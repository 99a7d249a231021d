"""A page of the site: its path, its template, the template's values, and its JSON and CSV."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

import msgspec
from msgspec import structs

from shootout.model.verdict import CellComparison
from shootout.report.site import downloads
from shootout.report.site.downloads import File
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

    def html(self, render: Render, data: str | None = None) -> str:
        """The page; `data`: the stem of the files that it links to."""
        root = "../" * self.path.count("/")  # the relative path to the site's root
        return render(
            f"{self.template}.html", page=self, run=getattr(self, "run", None), root=root, data=data
        )

    def files(self, render: Render) -> Iterator[File]:
        """The page with its JSON and CSV."""
        yield self.path, self.html(render, self.data)
        if self.columns:
            stem = self.path.removesuffix(".html")
            yield f"{stem}.json", msgspec.json.encode(self.value)
            yield f"{stem}.csv", downloads.table(self.columns, self.rows)


@dataclass(frozen=True, kw_only=True)
class ListPage(Page):
    """The list of all pages of a folder."""

    folder: ClassVar[str]
    first: bool = False  # whether the site begins here

    @property
    def path(self) -> str:
        return "index.html" if self.first else f"{self.folder}/index.html"


@dataclass(frozen=True)
class Listing:
    """Pages beside those of runs: a list of all, which navigation leads to, and the others."""

    title: str
    front: ListPage
    pages: tuple[Page, ...]
    lead: str = ""  # the template, below templates/, of what the site's first page begins with; reads `page`


@dataclass(frozen=True)
class RunPage(Page):
    """A page in a run's folder."""

    run: Run

    @property
    @abstractmethod
    def file(self) -> str:
        """Its name in the folder."""

    @property
    def path(self) -> str:
        return f"{self.run.folder}/{self.file}"


class CellsPage(RunPage):
    columns = downloads.CELL_COLUMNS

    @property
    def cells(self) -> Sequence[CellComparison]:
        """The cells that it is about, in the run's order; by default all."""
        return self.run.comparison.cells

    @property
    def value(self) -> object:
        """The cells in brief; the JSON of each cell's own page has the details."""
        slim = [
            structs.replace(c, metrics=(), statements=(), warnings=(), judged=c.judged[:1])
            for c in self.cells
        ]
        return {**downloads.about(self.run.document.header), "cells": slim}

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        return (downloads.cell_row(self.run.document.header, c) for c in self.cells)
