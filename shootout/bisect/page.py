"""The pages of bisections: where a step is likely, and how the servers went along the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shootout import numbers
from shootout.bisect import report as bisection
from shootout.bisect.values import Answer, Revision, RevisionFinding
from shootout.paths import file_stem
from shootout.report.site.charts import Axis, Chart, Line, Series, readouts
from shootout.report.site.page import ListPage, Page

FOLDER = "bisections"
TICKS_MAX = 8

COLUMNS = (
    "number", "revision", "server", "commit", "date", "author", "subject", "probability",
    "ratio", "ratio_low", "ratio_high", "step", "step_low", "step_high", "starts", "reason",
)  # fmt: skip
LIST_COLUMNS = ("bisection", "started", "answer", "page")


@dataclass(frozen=True)
class BisectionPage(Page):
    """One bisection."""

    answer: Answer
    template = "bisection"
    columns = COLUMNS
    headings = bisection.COLUMNS

    @property
    def path(self) -> str:
        """Named after the bisection."""
        return f"{FOLDER}/{file_stem(self.answer.bisection.id)}.html"

    @property
    def value(self) -> object:
        """The answer."""
        return bisection.value(self.answer)

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """One line for each revision."""
        for number, found in enumerate(self.answer.findings):
            what = found.revision
            yield (
                number, what.label, what.server, what.commit, what.date, what.author, what.subject,
                found.probability,
                *(bound for ratio in (found.ratio, found.step) for bound in (
                    (ratio.estimate, ratio.low, ratio.high) if ratio else (None, None, None)
                )),
                found.starts, found.reason,
            )  # fmt: skip

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        return bisection.headline(self.answer)

    @property
    def steps(self) -> tuple[str, ...]:
        """Neighbours that differ, where there are several steps."""
        return bisection.steps(self.answer)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to say."""
        return tuple(bisection.notes(self.answer))

    @property
    def shown(self) -> tuple[tuple[RevisionFinding, tuple[str, ...], str], ...]:
        """The table: each revision, its cells, and its address."""
        return tuple(
            (found, bisection.row(self.answer, found), bisection.link(self.answer, found.revision))
            for found in bisection.shown(self.answer)
        )

    @property
    def why(self) -> str:
        """The command that asks what the neighbours of the step differ in."""
        return bisection.why(self.answer)

    @property
    def probabilities(self) -> Chart | None:
        """The posterior, by revision; None for counts, which need none, and where no step is likely."""
        likely = any(each.probability >= bisection.PROBABLE for each in self.answer.findings)
        if self.answer.bisection.instrument == "work" or not likely:
            return None
        points = tuple((float(n), 100 * each.probability) for n, each in enumerate(self.answer.findings))
        line = Line(Series("probability", 1), points, marked=False, filled=True)
        return self._along(line, Axis(title="probability, %", from_zero=True), lambda y: f"{y:.1f}")

    @property
    def measure(self) -> str:
        """What is compared."""
        return "instructions" if self.answer.bisection.instrument == "work" else "throughput"

    @property
    def ratios(self) -> Chart | None:
        """What measured revisions have to the base's; None before two starts."""
        measured = [(n, each.ratio) for n, each in enumerate(self.answer.findings) if each.ratio]
        if not measured:
            return None
        line = Line(
            Series(self.measure, 1),
            ((0.0, 1.0), *((float(n), ratio.estimate) for n, ratio in measured)),
            intervals=((1.0, 1.0), *((ratio.low, ratio.high) for _, ratio in measured)),
            dashed=False,
        )
        title = f"{self.measure}, {self.answer.findings[0].revision.label} = 1"
        return self._along(line, Axis(title=title), lambda y: numbers.number(y, 3))

    def _along(self, line: Line, y: Axis, text: Callable[[float], str]) -> Chart:
        """A chart over the history."""
        revisions = [each.revision for each in self.answer.findings]
        step = max(1, -(-len(revisions) // TICKS_MAX))
        return Chart(
            Axis(
                ticks=tuple((float(n), revisions[n].label) for n in range(0, len(revisions), step)),
                ends=(-0.25, len(revisions) - 0.75),
            ),
            y,
            (line,),
            readouts=readouts((line,), lambda x: _named(revisions[int(x)]), text),
        )


@dataclass(frozen=True)
class BisectionListPage(ListPage):
    """All bisections, the newest first."""

    every: tuple[BisectionPage, ...]
    template = "bisections"
    columns = LIST_COLUMNS
    folder = FOLDER

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """One line for each bisection."""
        return [
            (page.answer.bisection.id, page.answer.bisection.started, page.headline, page.path)
            for page in self.every
        ]


def pages(answers: Iterable[Answer]) -> tuple[Page, ...]:
    """The pages of these bisections, and their list, if there are any."""
    every = tuple(BisectionPage(each) for each in answers)
    return (*every, BisectionListPage(every)) if every else ()


def _named(revision: Revision) -> str:
    return " ".join(part for part in (revision.label, revision.subject) if part)
