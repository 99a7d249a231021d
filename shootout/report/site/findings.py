"""A run's findings for its overview: regressions, failures, improvements."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from shootout.model.history import ChangePoint
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import next_steps, wording
from shootout.report.next_steps import NextSteps
from shootout.report.site.run import Run

LISTED_MAX = 10  # findings of each kind; the page of all cells lists every one
OTHERS_MAX = 4  # profiles, and changes of level, on the first page


@dataclass(frozen=True)
class Finding:
    run: Run
    comparison: CellComparison

    @property
    def confirmed(self) -> bool | None:
        return self.comparison.judged[0].confirmed if self.comparison.judged else None

    @property
    def since(self) -> ChangePoint | None:
        """The latest change point of the cell's history, if it has the direction of the verdict."""
        change = self.run.changes.get(self.comparison.cell)
        if change is None or wording.decisive(self.comparison) is None:
            return None
        slower = change.after < change.before
        return change if slower == (self.comparison.verdict is Verdict.REGRESSED) else None

    @property
    def next(self) -> NextSteps:
        return next_steps.steps_after(self.run.comparison, self.comparison)

    @property
    def why(self) -> tuple[str, tuple[str, ...], str]:
        """A title, why the cell changed, and the command that looks for a cause, if none is known."""
        c = self.comparison
        return wording.leading_causes(c, self.run.sections.get(c.cell, ()), self.run.id)


@dataclass(frozen=True)
class Failure:
    server: str
    reason: str  # its first line
    cells: tuple[CellComparison, ...]


def failures(run: Run) -> tuple[Failure, ...]:
    failed: defaultdict[tuple[str, str], list[CellComparison]] = defaultdict(list)
    for c in run.judged:
        if c.verdict is Verdict.FAILED:
            failed[c.cell.server, wording.first_line(c.reason)].append(c)
    return tuple(Failure(*of, tuple(cells)) for of, cells in failed.items())
