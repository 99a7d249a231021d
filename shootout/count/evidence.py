"""Count of a run's servers, for the explanation of a cell of that run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shootout.count import instructions, page, report
from shootout.count.documents import COUNTS
from shootout.count.instructions import Instructions
from shootout.count.page import Shown
from shootout.count.values import CountDocument
from shootout.model.run import RunHeader
from shootout.report.sections import Section


@dataclass(frozen=True)
class Evidence(Shown):
    """As its template sees it."""

    counted: Instructions | None  # None: not counted yet

    @property
    def path(self) -> str | None:
        """The page of the count, from the site's root."""
        return page.path_of(self.counted.run) if self.counted else None


def find(results: Path, header: RunHeader) -> Section:
    """The instructions of a run's first two servers, from the newest count that has them."""
    return section(COUNTS.newest_first(results, lambda reason: None), header)


def section(documents: Iterable[CountDocument], header: RunHeader) -> Section:
    """What the first of these documents that fits says of a run, or how to count it."""
    counted = instructions.find(documents, header)
    return Section(
        name="instructions",
        about="what each statement executes",
        title="Instructions",
        points=tuple(report.points(counted, header)),
        value=counted,
        template="count/evidence",
        context=Evidence(counted),
    )
