"""The page of all published comparisons: repetitions and claims that hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shootout.inputs import published
from shootout.model.published import Published
from shootout.model.verdict import Outcome
from shootout.report.site.page import Page
from shootout.report.site.published import FOLDER, PublishedPage, path_of

COLUMNS = ("name", "title", "year", "claims", *Outcome, "run", "started", "scale", "page")


@dataclass(frozen=True)
class Result:
    """The newest run of a comparison."""

    run: str
    folder: str  # of the run's pages
    started: str  # ISO
    scale: str  # empty: full
    finished: bool
    outcomes: Mapping[Outcome, int]

    @classmethod
    def of(cls, page: PublishedPage) -> Result:
        """The result on a comparison's page."""
        header, end = page.run.document.header, page.run.document.end
        return cls(
            run=page.run.id,
            folder=page.run.folder,
            started=header.started,
            scale=header.given.get("--scale", ""),
            finished=end is not None and not end.interrupted,
            outcomes={outcome: page.outcomes.get(outcome, 0) for outcome in Outcome},
        )


@dataclass(frozen=True)
class Repetition:
    """A published comparison and its repetition, if any."""

    name: str
    publication: Published
    result: Result | None

    @property
    def page(self) -> str:
        """The path of its repetition's page from the site's root."""
        return path_of(self.name)

    @property
    def command(self) -> str:
        """Command that repeats it on a machine of any size."""
        return f"shootout run --profile {self.name} --scale small"

    @property
    def row(self) -> tuple[object, ...]:
        """Its fields in the order of COLUMNS."""
        known = (self.name, self.publication.title, self.publication.year, len(self.publication.claims))
        if (done := self.result) is None:
            return (*known, *(None for _ in range(len(COLUMNS) - len(known))))
        return (*known, *done.outcomes.values(), done.run, done.started, done.scale or "full", self.page)


@dataclass(frozen=True)
class RepetitionsPage(Page):
    """All published comparisons, oldest first."""

    every: tuple[Repetition, ...]
    template = "repetitions"
    columns = COLUMNS

    @property
    def path(self) -> str:
        """In the folder of their pages."""
        return f"{FOLDER}/index.html"

    @property
    def value(self) -> object:
        """The CSV's lines as objects."""
        return [dict(zip(COLUMNS, row, strict=True)) for row in self.rows]

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """One line per comparison."""
        return [each.row for each in self.every]

    @property
    def done(self) -> tuple[Result, ...]:
        """The results of repeated comparisons."""
        return tuple(each.result for each in self.every if each.result)

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """The number of their claims by outcome."""
        return {outcome: sum(each.outcomes[outcome] for each in self.done) for outcome in Outcome}


def page_of(repeated: Iterable[PublishedPage]) -> RepetitionsPage:
    """The page of all comparisons that ship with shootout, with results of the repeated ones."""
    results = {page.name: Result.of(page) for page in repeated}
    every = (Repetition(name, published.load(name), results.get(name)) for name in published.known())
    return RepetitionsPage(
        tuple(sorted(every, key=lambda each: (each.publication.year or 0, each.publication.title)))
    )
