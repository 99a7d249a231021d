"""The pages of counts: what a statement costs on each server, and a list of all counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout import numbers
from shootout.chart import NAME_MAX, Axis, Chart, Line, Series, readouts
from shootout.count import judge, report
from shootout.count.findings import findings
from shootout.count.values import (
    COMMIT,
    FRAME,
    MIX,
    CountChange,
    CountComparison,
    CountedFunctions,
    CountSeries,
)
from shootout.count.versions_page import SERVERS_MIN, VersionsPage
from shootout.model.verdict import Comparison, Verdict
from shootout.paths import file_stem
from shootout.report.site.charts import by_family
from shootout.report.site.page import Listing, ListPage, Page

FOLDER = "count"
NAMED_MAX = 8  # functions of a kind on each server

Throughput = dict[str, tuple[str, dict[str, float]]]  # by workload: a run, and its servers' at one thread


@dataclass(frozen=True)
class KindRow:
    """A kind of statement on all servers, the base first."""

    kind: str
    per_transaction: float
    changes: tuple[CountChange, ...]


class Shown:
    """Figures as templates show them."""

    percent = staticmethod(report.percent)
    interval = staticmethod(report.interval)
    spread = staticmethod(report.spread)


@dataclass(frozen=True)
class CountPage(Shown, Page):
    """One document: for each workload a table and a chart."""

    comparison: CountComparison
    throughput: Throughput
    template = "count/page"

    @property
    def path(self) -> str:
        """Named after the run."""
        return path_of(self.comparison.document.run)

    @property
    def servers(self) -> tuple[str, ...]:
        """Their labels, the base first."""
        return tuple(server.label for server in self.comparison.document.servers)

    @cached_property
    def versions(self) -> VersionsPage | None:
        """The table by version; None for fewer servers than are worth one."""
        if len(self.servers) < SERVERS_MIN:
            return None
        return VersionsPage(self.comparison, self.path)

    @property
    def headline(self) -> str:
        """The result."""
        return report.headline(self.comparison)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many kinds on heads have each verdict."""
        verdicts = [change.verdict for change in report.shown(self.comparison)]
        return {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}

    @cached_property
    def tables(self) -> Mapping[str, tuple[KindRow, ...]]:
        """The kinds of each workload."""
        tables: dict[str, list[KindRow]] = {}
        for kind in self.comparison.document.kinds:
            changes = tuple(
                change
                for change in self.comparison.changes
                if (change.workload, change.kind) == (kind.workload, kind.name)
            )
            tables.setdefault(kind.workload, []).append(KindRow(kind.name, kind.per_transaction, changes))
        return {name: tuple(rows) for name, rows in tables.items()}

    def chart(self, workload: str) -> tuple[Chart, tuple[Series, ...]]:
        """Instructions relative to the base from server to server, one line for each kind.

        Without commits: they vary by so much more that the other lines would be flat.
        """
        families = {server.label: server.family for server in self.comparison.document.servers}
        lines = []
        for number, row in enumerate(row for row in self.tables[workload] if row.kind not in (FRAME, COMMIT)):
            ratios = {change.server: change.ratio.estimate for change in row.changes if change.ratio}
            ratios[self.servers[0]] = 1.0
            points = by_family(ratios, families)
            lines.append(Line(Series(row.kind, number), points))
        ticks = tuple((float(place), label) for place, label in enumerate(self.servers))
        chart = Chart(
            Axis(title="server", ticks=ticks, ends=(-0.25, len(self.servers) - 0.75)),
            Axis(title=f"instructions, {self.servers[0][:NAME_MAX]} = 1"),
            tuple(lines),
            readouts=readouts(
                lines,
                lambda place: self.servers[int(place)][:NAME_MAX],
                lambda ratio: numbers.number(ratio, 3),
            ),
        )
        return chart, tuple(line.series for line in lines)

    def functions(self, workload: str) -> Iterator[tuple[str, str, tuple[tuple[str, float, float], ...]]]:
        """For each kind and server the functions with most instructions: name, their own, with callees."""
        document = self.comparison.document
        for profile in document.profiles:
            if profile.workload == workload:
                costs = zip(profile.names, profile.exclusive, profile.inclusive, strict=True)
                largest = sorted(costs, key=lambda cost: -cost[1])[:NAMED_MAX]
                named = tuple((document.functions[name], own, whole) for name, own, whole in largest)
                yield profile.kind, profile.server, named

    @cached_property
    def _profiles(self) -> dict[tuple[str, str, str], CountedFunctions]:
        return {
            (profile.workload, profile.kind, profile.server): profile
            for profile in self.comparison.document.profiles
        }

    def calls(self, change: CountChange) -> CountedFunctions | None:
        """Where a change's allocations and system calls are; None for what is computed from other kinds."""
        computed = change.kind in (FRAME, MIX)
        return None if computed else self._profiles.get((change.workload, change.kind, change.server))

    @cached_property
    def _findings(self) -> Mapping[tuple[str, str, str], tuple[str, ...]]:
        return findings(self.comparison)

    def findings(self, change: CountChange) -> tuple[str, ...]:
        """Other plans, and more system calls or allocations."""
        return self._findings.get((change.workload, change.kind, change.server), ())

    @property
    def failures(self) -> tuple[str, ...]:
        """Why counts are missing."""
        return report.failures(self.comparison)


@dataclass(frozen=True)
class CountListPage(ListPage):
    """All counts, the newest first."""

    every: tuple[CountPage, ...]
    template = "count/list"
    counted = staticmethod(report.counted)

    @cached_property
    def histories(self) -> tuple[CountSeries, ...]:
        """A line for each kind and server that was counted more than once."""
        every = judge.history(page.comparison for page in self.every)
        return tuple(series for series in every if len(series.points) > 1)

    @cached_property
    def paths(self) -> dict[str, str]:
        """The counts' pages, by run."""
        return {page.comparison.document.run: page.path for page in self.every}


def path_of(run: str) -> str:
    """The page of a count, from the site's root."""
    return f"{FOLDER}/{file_stem(run)}.html"


def listing(counted: Iterable[CountComparison], runs: Sequence[Comparison]) -> Listing | None:
    """The pages of counts, if there are any; `runs`, the newest first, have the throughput beside them."""
    every = tuple(CountPage(comparison, _throughput(comparison, runs)) for comparison in counted)
    versions = tuple(page.versions for page in every if page.versions is not None)
    return Listing("Count", CountListPage(every=every, folder=FOLDER), (*every, *versions)) if every else None


def _throughput(counted: CountComparison, runs: Sequence[Comparison]) -> Throughput:
    """For each workload, from the run that has most of the servers at one thread, the newest of such runs."""
    labels = [server.label for server in counted.document.servers]
    throughput: Throughput = {}
    for workload in dict.fromkeys(kind.workload for kind in counted.document.kinds):
        every = [(run.header.run, _single(run, workload, labels)) for run in runs]
        name, tps = max(every, key=lambda one: len(one[1]), default=("", {}))
        if len(tps) > 1:
            throughput[workload] = name, tps
    return throughput


def _single(run: Comparison, workload: str, labels: Sequence[str]) -> dict[str, float]:
    return {
        c.cell.server: c.figures.tps.estimate
        for c in run.cells
        if c.figures and c.cell.workload == workload
        if c.cell.threads == 1 and c.cell.server in labels
    }
