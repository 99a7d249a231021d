"""The section of a cell's page that explains its change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from shootout.explain import call_paths, cause, flame, report
from shootout.explain.functions import Change
from shootout.explain.judge import Explained
from shootout.model.statement_plan import PlanChange
from shootout.report import differing
from shootout.report.sections import Point, Section


@dataclass(frozen=True)
class ExplanationSection:
    """An explanation as its template sees it."""

    explained: Explained
    evidence: tuple[Section, ...]  # what others know
    flame_legend = flame.LEGEND
    rows_read = staticmethod(differing.rows_read)
    variable_value = staticmethod(differing.variable_value)

    @property
    def points(self) -> Iterator[Point]:
        """What explains the change."""
        return report.points(self.explained, self.evidence)

    @property
    def hidden_waits(self) -> tuple[str, ...]:
        """Which of base and head do not count waits by event."""
        variables = self.explained.explanation.variables
        return tuple(label for label in variables if variables[label].get("performance_schema") != "ON")

    @cached_property
    def graph(self) -> Markup | None:
        """The differential flame graph; None without profiles."""
        if self.explained.cpu is None:
            return None
        return flame.drawing(
            flame.frames(call_paths.aligned(self.explained.paths), self.explained.confidence)
        )

    @property
    def functions(self) -> tuple[tuple[str, Change | None, Change | None], ...]:
        """Without what they call and with it; None: too few samples."""
        whole = {change.name: change for change in self.explained.inclusive}
        own = {change.name: change for change in self.explained.functions}
        return tuple((name, own.get(name), whole.get(name)) for name in {**own, **whole})

    def handlers(self, change: PlanChange) -> tuple[tuple[str, float, float], ...]:
        """Handler calls of one execution on base and head."""
        base, head = change.base.handlers, change.head.handlers
        return tuple((name, base.get(name, 0.0), head.get(name, 0.0)) for name in {**base, **head})


def section(explained: Explained, evidence: tuple[Section, ...]) -> Section:
    """What a cell's page shows of an explanation, and of what others know."""
    return Section(
        name="why",
        about="statements, functions, plans, settings",
        title=report.title(explained.explanation),
        points=tuple(report.points(explained, evidence)),
        template="explain/section",
        context=ExplanationSection(explained, evidence),
        cause=cause.main_cause(explained),
    )
