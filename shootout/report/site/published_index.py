"""The page of all published comparisons: repetitions and claims that hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shootout.inputs import published
from shootout.model.published import Published
from shootout.model.verdict import Outcome
from shootout.report.site.page import Page
from shootout.report.site.published import FOLDER, PublishedPage

COLUMNS = ("name", "title", "year", "claims", *Outcome, "run", "started", "scale", "page")


@dataclass(frozen=True)
class Repetition:
    """A published comparison and the page of its newest run, if any."""

    name: str
    publication: Published
    page: PublishedPage | None

    @property
    def command(self) -> str:
        return f"shootout run --profile {self.name} --scale small"

    @property
    def scale(self) -> str:
        """The scale of the run; empty: full."""
        return self.page.run.document.header.given.get("--scale", "") if self.page else ""

    @property
    def row(self) -> tuple[object, ...]:
        """Its fields in the order of COLUMNS."""
        known = (self.name, self.publication.title, self.publication.year, len(self.publication.claims))
        if (page := self.page) is None:
            return (*known, *(None for _ in range(len(COLUMNS) - len(known))))
        outcomes = (page.outcomes.get(outcome, 0) for outcome in Outcome)
        started = page.run.document.header.started
        return (*known, *outcomes, page.run.id, started, self.scale or "full", page.path)


@dataclass(frozen=True)
class RepetitionsPage(Page):
    every: tuple[Repetition, ...]
    template = "repetitions"
    path = f"{FOLDER}/index.html"
    columns = COLUMNS

    @property
    def rows(self) -> list[tuple[object, ...]]:
        return [each.row for each in self.every]

    @property
    def done(self) -> tuple[PublishedPage, ...]:
        return tuple(each.page for each in self.every if each.page)

    @property
    def outcomes(self) -> dict[Outcome, int]:
        return {outcome: sum(page.outcomes.get(outcome, 0) for page in self.done) for outcome in Outcome}


def page_of(repeated: Iterable[PublishedPage]) -> RepetitionsPage:
    """The page of all comparisons that ship with shootout, with the pages of the repeated ones."""
    pages = {page.name: page for page in repeated}
    every = (Repetition(name, published.load(name), pages.get(name)) for name in published.known())
    return RepetitionsPage(
        tuple(sorted(every, key=lambda each: (each.publication.year or 0, each.publication.title)))
    )
