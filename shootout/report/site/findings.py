"""A run's findings for its overview: regressions, failures, improvements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shootout.analysis import metrics
from shootout.model.history import ChangePoint
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import families, figures, wording
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
            (each.name, each.ratio)
            for each in self.comparison.metrics
            if each.ratio and each.p_value < 1 - policy.confidence and each.name not in named
        ]
        workload = self.comparison.cell.workload
        large = [
            (metrics.TITLES[name], ratio)
            for name, ratio in found
            if abs(ratio.estimate - 1) >= policy.margin_of(name, workload)
        ]
        large.sort(key=lambda each: -abs(each[1].estimate - 1))
        return tuple(f"{title} {figures.change(ratio)}" for title, ratio in large[:OTHER_CHANGES_MAX])


@dataclass(frozen=True)
class Group:
    """A server's cells with one verdict, the largest change first, acknowledged ones last."""

    server: str
    verdict: Verdict
    found: tuple[Finding, ...]

    @property
    def size(self) -> str:
        """The range of their changes, `+42 to +61 %`."""
        return families.size([each.comparison for each in self.found], self.verdict)


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
    def groups(self) -> tuple[Group, ...]:
        """Regressions first, each kind by the largest change, descending."""
        return tuple(
            Group(server, verdict, tuple(Finding(self.run, c) for c in cells))
            for verdict in (Verdict.REGRESSED, Verdict.IMPROVED)
            for server, cells in self._by_server(verdict).items()
        )

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        found: dict[tuple[str, str], list[CellComparison]] = {}
        for c in self.run.judged:
            if c.verdict is Verdict.FAILED:
                found.setdefault((c.cell.server, wording.first_line(c.reason)), []).append(c)
        return tuple(Failure(*of, tuple(cells)) for of, cells in found.items())

    def _by_server(self, verdict: Verdict) -> dict[str, list[CellComparison]]:
        cells = [c for c in self.run.judged if c.verdict is verdict]
        cells.sort(key=lambda c: (c.acknowledged is not None, -_size(c)))
        found: dict[str, list[CellComparison]] = {}
        for c in cells:
            found.setdefault(c.cell.server, []).append(c)
        return found


def _size(c: CellComparison) -> float:
    decisive = wording.decisive(c)
    return abs(wording.worsening(decisive[0], decisive[1].estimate)) if decisive else 0.0
