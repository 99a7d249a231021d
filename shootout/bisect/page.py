"""The pages of bisections: the answer, and each measured revision along the history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shootout import numbers
from shootout.bisect import report
from shootout.bisect.values import Answer, Revision, RevisionFinding
from shootout.chart import Axis, Chart, Line, Series, readouts
from shootout.paths import file_stem
from shootout.report.site.page import Listing, ListPage, Page

FOLDER = "bisections"
TICKS_MAX = 8


@dataclass(frozen=True)
class BisectionPage(Page):
    """One bisection."""

    answer: Answer
    template = "bisect/page"
    headings = report.COLUMNS

    @property
    def path(self) -> str:
        """Named after the bisection."""
        return path_of(self.answer.bisection.id)

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        return report.headline(self.answer)

    @property
    def steps(self) -> tuple[str, ...]:
        """Neighbours that differ, where there are several steps."""
        return report.steps(self.answer)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to say."""
        return tuple(report.notes(self.answer))

    @property
    def shown(self) -> tuple[tuple[RevisionFinding, tuple[str, ...], str], ...]:
        """The table: each revision, its cells, and its address."""
        return tuple(
            (finding, report.row(self.answer, finding), report.link(self.answer, finding.revision))
            for finding in report.shown(self.answer)
        )

    @property
    def why(self) -> str:
        """The command that asks what the neighbours of the step differ in."""
        return report.why(self.answer)

    @property
    def ratios(self) -> Chart | None:
        """What measured revisions have to the base's; None before two starts."""
        measured = [(n, finding.ratio) for n, finding in enumerate(self.answer.findings) if finding.ratio]
        if not measured:
            return None
        line = Line(
            Series(self.answer.measure, 1),
            ((0.0, 1.0), *((float(n), ratio.estimate) for n, ratio in measured)),
            intervals=((1.0, 1.0), *((ratio.low, ratio.high) for _, ratio in measured)),
            dashed=False,
        )
        title = f"{self.answer.measure}, {self.answer.findings[0].revision.label} = 1"
        revisions = self.answer.bisection.revisions
        step = max(1, -(-len(revisions) // TICKS_MAX))
        return Chart(
            Axis(
                title="revision",
                ticks=tuple((float(n), revisions[n].label) for n in range(0, len(revisions), step)),
                ends=(-0.25, len(revisions) - 0.75),
            ),
            Axis(title=title),
            (line,),
            readouts=readouts((line,), lambda x: _named(revisions[int(x)]), lambda y: numbers.number(y, 3)),
        )


@dataclass(frozen=True)
class BisectionListPage(ListPage):
    """All bisections, the newest first."""

    every: tuple[BisectionPage, ...]
    template = "bisect/list"


def path_of(bisection: str) -> str:
    """The page of a bisection, from the site's root."""
    return f"{FOLDER}/{file_stem(bisection)}.html"


def listing(answers: Iterable[Answer]) -> Listing | None:
    """The pages of these bisections, if there are any."""
    every = tuple(map(BisectionPage, answers))
    return Listing("Bisections", BisectionListPage(every=every, folder=FOLDER), every) if every else None


def _named(revision: Revision) -> str:
    return " ".join(part for part in (revision.label, revision.subject) if part)
