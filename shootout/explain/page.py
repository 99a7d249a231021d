"""The section of a cell's page that explains its change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from markupsafe import Markup

from shootout.explain import call_paths, flame, plan_changes
from shootout.explain import report as explanation
from shootout.explain.functions import Change
from shootout.explain.judge import Explained
from shootout.explain.plan_changes import PlanChange
from shootout.explain.report import Point
from shootout.work import page as work
from shootout.work.values import JOINT, WorkKind


@dataclass(frozen=True)
class Why:
    """An explanation as the template sees it."""

    found: Explained

    @property
    def points(self) -> Iterator[Point]:
        return explanation.points(self.found)

    @property
    def hidden_waits(self) -> tuple[str, ...]:
        """Which of base and head do not count waits by event."""
        variables = self.found.explanation.variables
        return tuple(each for each in variables if variables[each].get("performance_schema") != "ON")

    @cached_property
    def graph(self) -> Markup | None:
        """The differential flame graph; None without profiles."""
        if self.found.cpu is None:
            return None
        return flame.drawing(flame.frames(call_paths.aligned(self.found.paths), self.found.confidence))

    @property
    def functions(self) -> tuple[tuple[str, Change | None, Change | None], ...]:
        """Without what they call and with it; None: too few samples."""
        whole = {each.name: each for each in self.found.inclusive}
        own = {each.name: each for each in self.found.functions}
        return tuple((name, own.get(name), whole.get(name)) for name in {**own, **whole})

    def handlers(self, change: PlanChange) -> tuple[tuple[str, float, float], ...]:
        base, head = change.base.handlers, change.head.handlers
        return tuple((name, base.get(name, 0.0), head.get(name, 0.0)) for name in {**base, **head})

    @property
    def work_page(self) -> str | None:
        """The page of the count that has the servers' instructions, from the site's root."""
        return work.path_of(self.found.counted.run) if self.found.counted else None

    def rows(self, kind: WorkKind) -> tuple[float | None, float | None]:
        """The rows that one execution of a statement reads on base and head; None: not known."""
        plans = {each.kind: each for each in self.found.plans}
        changes = [plans.get(name) for name in kind.name.split(JOINT)]
        read = [
            [None if each is None else plan_changes.rows_read(of(each)) for each in changes]
            for of in (attrgetter("base"), attrgetter("head"))
        ]
        base, head = (None if None in each else sum(count or 0.0 for count in each) for each in read)
        return base, head
