"""A run's findings for its overview: regressions, failures, improvements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shootout.analysis import metrics
from shootout.model.history import ChangePoint
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import wording
from shootout.report.site.run import Run

LISTED_MAX = 12  # findings of each kind; the page of all cells lists every one
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
    def other_changes(self) -> tuple[str, ...]:
        """Other metrics that changed significantly and by at least the margin, largest change first.

        They leave out the metric that decided the verdict and its likeliest cause.
        """
        policy = self.run.comparison.policy
        named: set[str] = {each.metric for each in self.comparison.judged[:1]}
        named |= {cause.name for cause in self.comparison.causes[:1]}
        found = [
            (metrics.TITLES[each.name], each.ratio)
            for each in self.comparison.metrics
            if each.ratio and each.p_value < 1 - policy.confidence and each.name not in named
        ]
        large = [(title, ratio) for title, ratio in found if abs(ratio.estimate - 1) >= policy.margin]
        large.sort(key=lambda each: -abs(each[1].estimate - 1))
        return tuple(f"{title} {wording.change(ratio)}" for title, ratio in large[:OTHER_CHANGES_MAX])

    @property
    def smallest_change(self) -> float:
        """The smallest likely change as a share of the base: the end of the interval nearest to zero."""
        found = wording.decisive(self.comparison)
        if found is None:
            return 0.0
        metric, ratio = found
        return min(abs(wording.worsening(metric, end)) for end in (ratio.low, ratio.high))


@dataclass(frozen=True)
class Failure:
    """Cells of one server that failed for the same reason."""

    server: str
    reason: str  # its first line
    cells: tuple[CellComparison, ...]


@dataclass(frozen=True)
class Findings:
    run: Run

    @cached_property
    def regressed(self) -> tuple[Finding, ...]:
        """Unacknowledged ones first, each group by smallest likely change, descending."""
        found = sorted(self._of(Verdict.REGRESSED), key=lambda each: -each.smallest_change)
        return tuple(sorted(found, key=lambda each: each.comparison.acknowledged is not None))

    @cached_property
    def improved(self) -> tuple[Finding, ...]:
        """By smallest likely change, descending."""
        return tuple(sorted(self._of(Verdict.IMPROVED), key=lambda each: -each.smallest_change))

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        found: dict[tuple[str, str], list[CellComparison]] = {}
        for c in self.run.judged:
            if c.verdict is Verdict.FAILED:
                reason = (c.reason.splitlines() or [""])[0]
                found.setdefault((c.cell.server, reason), []).append(c)
        return tuple(Failure(*of, tuple(cells)) for of, cells in found.items())

    def _of(self, verdict: Verdict) -> Iterator[Finding]:
        return (Finding(self.run, c) for c in self.run.judged if c.verdict is verdict)
