"""A run's findings for its overview: regressions, failures, improvements."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from shootout import figures
from shootout.analysis import metrics
from shootout.model.history import ChangePoint
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import next_steps, wording
from shootout.report.next_steps import NextSteps
from shootout.report.site.run import Run

LISTED_MAX = 10  # findings of each kind; the page of all cells lists every one
OTHERS_MAX = 4  # profiles, and changes of level, on the first page
OTHER_CHANGES_MAX = 4


@dataclass(frozen=True)
class Finding:
    """A cell that changed, with details of the change."""

    run: Run
    comparison: CellComparison

    @property
    def confirmed(self) -> bool | None:
        """Whether fresh starts confirmed the change; None if it was measured once."""
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

    @property
    def other_changes(self) -> tuple[str, ...]:
        """Other metrics that changed significantly and by at least the margin, largest change first.

        They leave out the metric that decided the verdict, the causes that stand beside it, what background
        threads also do, and amounts too small for a cause.
        """
        c, policy = self.comparison, self.run.comparison.policy
        trivial = {m.name for m in metrics.METRICS if m.background or m.cpu_s or m.wait_s}
        trivial |= {m.name for m in metrics.METRICS if m.name.startswith("latency_")}  # echoes of throughput
        trivial -= {cause.name for cause in c.causes}
        shown = {cause.name for cause in c.causes[: wording.CAUSES_SHOWN]}
        named = trivial | shown | {decided.metric for decided in c.judged[:1]}
        changes = [
            (metrics.TITLES[metric.name], metric.ratio)
            for metric in c.metrics
            if metric.ratio and metric.p_value < 1 - policy.confidence and metric.name not in named
            if abs(metric.ratio.estimate - 1) >= policy.margin_of(metric.name, c.cell.workload)
        ]
        changes.sort(key=lambda change: -abs(change[1].estimate - 1))
        return tuple(f"{title} {figures.change(ratio)}" for title, ratio in changes[:OTHER_CHANGES_MAX])


@dataclass(frozen=True)
class Failure:
    """Cells of one server that failed for the same reason."""

    server: str
    reason: str  # its first line
    cells: tuple[CellComparison, ...]


def failures(run: Run) -> tuple[Failure, ...]:
    failed: defaultdict[tuple[str, str], list[CellComparison]] = defaultdict(list)
    for c in run.judged:
        if c.verdict is Verdict.FAILED:
            failed[c.cell.server, wording.first_line(c.reason)].append(c)
    return tuple(Failure(*of, tuple(cells)) for of, cells in failed.items())
