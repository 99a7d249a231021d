"""What a run found, for its first page: regressions, what could not be measured, improvements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shootout import metrics, wording
from shootout.model import CellComparison, ChangePoint, Verdict
from shootout.site.run import Run

SHOWN_MAX = 12  # of each kind; the table of all cells has the others
MOVED_MAX = 4


@dataclass(frozen=True)
class Finding:
    """A cell that changed, and what is known of the change."""

    comparison: CellComparison
    change: ChangePoint | None  # since when; None: history does not know
    doubt: float  # p-values below it are significant

    @property
    def confirmed(self) -> bool | None:
        """Whether it held again after fresh starts; None: it was seen once."""
        return self.comparison.judged[0].confirmed if self.comparison.judged else None

    @property
    def since(self) -> ChangePoint | None:
        """Since when it is so: where history last saw a change in this direction."""
        found = wording.decisive(self.comparison)
        if self.change is None or found is None:
            return None
        slower = self.change.after < self.change.before
        return self.change if slower == (self.comparison.verdict is Verdict.REGRESSED) else None

    @property
    def moved(self) -> tuple[str, ...]:
        """What else changed significantly in this cell, the largest change first."""
        decided = self.comparison.judged[0].metric if self.comparison.judged else ""
        found = [
            each
            for each in self.comparison.metrics
            if each.p_value < self.doubt and each.ratio and each.name != decided
        ]
        found.sort(key=lambda each: -abs(each.ratio.estimate - 1) if each.ratio else 0)
        return tuple(
            f"{metrics.TITLES[each.name]} {wording.change(each.ratio)}"
            for each in found[:MOVED_MAX]
            if each.ratio
        )

    @property
    def certain(self) -> float:
        """The change that is there at least, as a share of the base: the end of the interval next to zero."""
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
    """All of a run's."""

    run: Run

    @cached_property
    def regressed(self) -> tuple[Finding, ...]:
        """What nobody has acknowledged first, then by what is certain of the change."""
        found = sorted(self._of(Verdict.REGRESSED), key=lambda each: -each.certain)
        return tuple(sorted(found, key=lambda each: each.comparison.acknowledged is not None))

    @cached_property
    def improved(self) -> tuple[Finding, ...]:
        """By what is certain of the change."""
        return tuple(sorted(self._of(Verdict.IMPROVED), key=lambda each: -each.certain))

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """Server by server, reason by reason."""
        found: dict[tuple[str, str], list[CellComparison]] = {}
        for c in self.run.judged:
            if c.verdict is Verdict.FAILED:
                reason = (c.reason.splitlines() or [""])[0]
                found.setdefault((c.cell.server, reason), []).append(c)
        return tuple(
            Failure(server=server, reason=reason, cells=tuple(cells))
            for (server, reason), cells in found.items()
        )

    def _of(self, verdict: Verdict) -> Iterator[Finding]:
        doubt = 1 - self.run.comparison.policy.confidence
        for c in self.run.judged:
            if c.verdict is verdict:
                yield Finding(comparison=c, change=self.run.changes.get(c.cell), doubt=doubt)
