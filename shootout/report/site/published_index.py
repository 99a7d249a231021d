"""What the templates see of all published comparisons: which were repeated, and what came of their claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shootout.inputs import published
from shootout.model.published import Published
from shootout.model.verdict import Outcome
from shootout.paths import file_stem
from shootout.report.site.published import PublishedPage

FOLDER = "published"  # in the site
COLUMNS = ("name", "title", "year", "claims", *Outcome, "run", "started", "scale", "page")


@dataclass(frozen=True)
class Repeated:
    """What is told of the newest run of a comparison."""

    run: str
    folder: str  # of the run's pages
    started: str  # ISO
    scale: str  # empty: as it was published
    finished: bool
    outcomes: Mapping[Outcome, int]

    @classmethod
    def of(cls, page: PublishedPage) -> Repeated:
        """The gist of a comparison's page."""
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
    """A published comparison, and its repetition where there is one."""

    name: str
    said: Published
    repeated: Repeated | None

    @property
    def page(self) -> str:
        """Where its page is, or would be, from the site's top."""
        return path_of(self.name)

    @property
    def command(self) -> str:
        """What repeats it on a machine of any size."""
        return f"shootout run --profile {self.name} --scale small"

    @property
    def row(self) -> tuple[object, ...]:
        """Its line of COLUMNS."""
        known = (self.name, self.said.title, self.said.year, len(self.said.claims))
        if (done := self.repeated) is None:
            return (*known, *(None for _ in range(len(COLUMNS) - len(known))))
        return (*known, *done.outcomes.values(), done.run, done.started, done.scale or "full", self.page)


@dataclass(frozen=True)
class RepetitionsPage:
    """All of them, the oldest publication first."""

    every: tuple[Repetition, ...]

    @property
    def done(self) -> tuple[Repeated, ...]:
        """Those that were repeated."""
        return tuple(each.repeated for each in self.every if each.repeated)

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """How many claims of those hold, do not, and cannot be told."""
        return {outcome: sum(each.outcomes[outcome] for each in self.done) for outcome in Outcome}


def path_of(name: str) -> str:
    """A comparison's page, from the site's top."""
    return f"{FOLDER}/{file_stem(name)}.html"


def overview(pages: Iterable[tuple[str, Repeated]]) -> RepetitionsPage:
    """Every comparison that comes with shootout; `pages`: the repeated ones, by name."""
    repeated = dict(pages)
    every = (Repetition(name, published.load(name), repeated.get(name)) for name in published.known())
    return RepetitionsPage(tuple(sorted(every, key=lambda each: (each.said.year or 0, each.said.title))))
