"""The page of what each kind of statement costs by version, of a count of three servers or more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from shootout import figures
from shootout.count import by_version
from shootout.count.by_version import Cost, KindCosts
from shootout.count.values import CountComparison
from shootout.model.run import ServerRecord
from shootout.model.verdict import Interval, Verdict
from shootout.report.site.page import Page

SERVERS_MIN = 3  # two stand side by side on the count's own page
STRENGTHS = (0.05, 0.15, 0.3)  # sizes of change at which a colour gets stronger
SPARK_SIZE = (96, 24)  # pixels


@dataclass(frozen=True)
class VersionsPage(Page):
    """A table of kinds and servers."""

    comparison: CountComparison
    count: str  # the count's own page
    template = "count/versions"

    @property
    def path(self) -> str:
        """Beside the count's own."""
        return self.count.replace(".html", "-versions.html")

    @cached_property
    def servers(self) -> tuple[ServerRecord, ...]:
        """By family and version."""
        return by_version.ordered(self.comparison.document.servers)

    @property
    def labels(self) -> tuple[str, ...]:
        """Of the servers."""
        return tuple(server.label for server in self.servers)

    @cached_property
    def kinds(self) -> tuple[KindCosts, ...]:
        """The kind with the largest step first."""
        return by_version.costs(self.comparison.document)

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The server of each family that its others are compared with."""
        return tuple(by_version.references(self.servers).values())

    @property
    def headline(self) -> str:
        """How many steps of a version cost instructions, and the largest."""
        steps = [
            (kind, cost.step)
            for kind in self.kinds
            for cost in kind.costs
            if cost.step is not None and cost.step.ratio is not None
        ]
        worse = [(kind, step) for kind, step in steps if step.verdict is Verdict.REGRESSED]
        better = sum(step.verdict is Verdict.IMPROVED for _, step in steps)
        said = f"From version to version, {len(worse)} of {len(steps)} steps execute more, {better} fewer."
        if worse:
            kind, most = max(worse, key=lambda one: one[1].ratio.estimate if one[1].ratio else 0.0)
            if most.ratio is not None:
                said += f" The largest: {kind.kind}, {self.percent(most.ratio)} in {most.server}."
        return said

    @staticmethod
    def percent(ratio: Interval) -> str:
        """A change, to a place: many stand side by side."""
        return figures.percent(ratio.estimate, 1)

    def tone(self, cost: Cost) -> str:
        """The classes of style.css for a cost: its verdict, and how large the change is."""
        if cost.step is None or cost.step.ratio is None:
            return ""
        size = abs(math.log(cost.step.ratio.estimate))
        return f"{cost.step.verdict.value} x{sum(size >= least for least in STRENGTHS)}"

    def order(self, cost: Cost) -> float | None:
        """What a column is sorted by: the change, or the instructions where there is none."""
        return cost.step.ratio.estimate if cost.step and cost.step.ratio else cost.instructions

    def why(self, kind: KindCosts, cost: Cost) -> str:
        """Why a server has no count of a kind."""
        reasons = (
            change.reason
            for change in self.comparison.changes
            if (change.workload, change.kind, change.server) == (kind.workload, kind.kind, cost.server)
        )
        return next(reasons, "")

    def lines(self, kind: KindCosts) -> Iterator[str]:
        """The points of a small SVG polyline for each family: its versions, instructions as logarithms."""
        width, height = SPARK_SIZE
        logs = {cost.server: math.log(cost.instructions) for cost in kind.costs if cost.instructions}
        if not logs:
            return
        low, span = min(logs.values()), max(max(logs.values()) - min(logs.values()), 0.02)
        places = {label: width * at / max(1, len(self.servers) - 1) for at, label in enumerate(self.labels)}
        for _, servers in groupby(self.servers, key=lambda server: server.family):
            yield " ".join(
                f"{places[server.label]:.0f},{height * (0.95 - 0.9 * (logs[server.label] - low) / span):.1f}"
                for server in servers
                if server.label in logs
            )
