"""The pages of counted work: what a statement costs on each server, and a list of all counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout import numbers
from shootout.model.verdict import Verdict
from shootout.model.work import FRAME, MIX, WorkChange, WorkComparison, WorkFunctions
from shootout.paths import file_stem
from shootout.report import work
from shootout.report.site.charts import NAME_MAX, Axis, Chart, Line, Series, readouts
from shootout.report.site.page import Page

FOLDER = "work"
NAMED_MAX = 8  # functions of a kind on each server

COLUMNS = (
    "run", "workload", "kind", "server", "base", "verdict", "instructions", "base_instructions", "ratio",
    "ratio_low", "ratio_high", "spread", "starts", "allocations", "system_calls", "reason",
)  # fmt: skip
LIST_COLUMNS = ("run", "started", "servers", "workloads", "page")


@dataclass(frozen=True)
class KindRow:
    """A kind of statement on all servers, the base first."""

    kind: str
    per_transaction: float
    changes: tuple[WorkChange, ...]


@dataclass(frozen=True)
class WorkPage(Page):
    """One document: for each workload a table and a chart."""

    comparison: WorkComparison
    template = "work"
    columns = COLUMNS

    @property
    def path(self) -> str:
        """Named after the run."""
        return f"{FOLDER}/{file_stem(self.comparison.document.run)}.html"

    @property
    def value(self) -> object:
        """The comparison."""
        return work.value(self.comparison)

    @property
    def rows(self) -> Iterable[Sequence[object]]:
        """One line for each kind and server."""
        return (self._row(change) for change in self.comparison.changes)

    @property
    def servers(self) -> tuple[str, ...]:
        """Their labels, the base first."""
        return tuple(server.label for server in self.comparison.document.servers)

    @property
    def headline(self) -> str:
        """The result."""
        return work.headline(self.comparison)

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many kinds on heads have each verdict."""
        found = [change.verdict for change in work.shown(self.comparison)]
        return {verdict: found.count(verdict) for verdict in Verdict if verdict in found}

    @cached_property
    def tables(self) -> Mapping[str, tuple[KindRow, ...]]:
        """The kinds of each workload."""
        found: dict[str, list[KindRow]] = {}
        for kind in self.comparison.document.kinds:
            changes = tuple(
                change
                for change in self.comparison.changes
                if (change.workload, change.kind) == (kind.workload, kind.name)
            )
            found.setdefault(kind.workload, []).append(KindRow(kind.name, kind.per_transaction, changes))
        return {name: tuple(rows) for name, rows in found.items()}

    def chart(self, workload: str) -> tuple[Chart, tuple[Series, ...]]:
        """Instructions relative to the base from server to server, one line for each kind.

        Without commits: they vary by so much more that the other lines would be flat.
        """
        lines = []
        for number, row in enumerate(row for row in self.tables[workload] if row.kind != FRAME):
            ratios = {change.server: change.ratio.estimate for change in row.changes if change.ratio}
            points = [(float(place), ratios.get(label)) for place, label in enumerate(self.servers)]
            lines.append(Line(Series(row.kind, number), ((0.0, 1.0), *points[1:])))
        ticks = tuple((float(place), label) for place, label in enumerate(self.servers))
        chart = Chart(
            Axis(ticks=ticks, ends=(-0.25, len(self.servers) - 0.75)),
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
                found = zip(profile.names, profile.exclusive, profile.inclusive, strict=True)
                largest = sorted(found, key=lambda each: -each[1])[:NAMED_MAX]
                named = tuple((document.functions[name], own, whole) for name, own, whole in largest)
                yield profile.kind, profile.server, named

    @cached_property
    def _profiles(self) -> dict[tuple[str, str, str], WorkFunctions]:
        return {(each.workload, each.kind, each.server): each for each in self.comparison.document.profiles}

    def calls(self, change: WorkChange) -> WorkFunctions | None:
        """Where a change's allocations and system calls are; None for what is computed from other kinds."""
        computed = change.kind in (FRAME, MIX)
        return None if computed else self._profiles.get((change.workload, change.kind, change.server))

    @property
    def failures(self) -> tuple[str, ...]:
        """Why counts are missing."""
        return work.failures(self.comparison)

    def _row(self, change: WorkChange) -> tuple[object, ...]:
        ratio, head, base, calls = change.ratio, change.head, change.base, self.calls(change)
        return (
            self.comparison.document.run, change.workload, change.kind, change.server, self.servers[0],
            change.verdict.value, head and head.mean, base and base.mean,
            *((ratio.estimate, ratio.low, ratio.high) if ratio else (None, None, None)),
            change.spread, head and head.starts, calls and calls.allocations, calls and calls.system_calls,
            change.reason,
        )  # fmt: skip


@dataclass(frozen=True)
class KindHistory:
    """A kind of statement on one server over all counts that have it, the newest first."""

    workload: str
    kind: str
    server: str
    changes: tuple[tuple[WorkPage, WorkChange], ...]

    @property
    def step(self) -> float | None:
        """The newest count relative to the one before; None with a single one."""
        means = [change.head.mean for _, change in self.changes if change.head]
        return means[0] / means[1] if len(means) > 1 else None


@dataclass(frozen=True)
class WorkListPage(Page):
    """All counts, the newest first."""

    every: tuple[WorkPage, ...]
    template = "works"
    columns = LIST_COLUMNS

    @property
    def path(self) -> str:
        """In the folder of their pages."""
        return f"{FOLDER}/index.html"

    @cached_property
    def histories(self) -> tuple[KindHistory, ...]:
        """A line for each kind and server that was counted more than once, by equal statements and tables."""
        found: defaultdict[tuple[str, str, str, str, str, str], list[tuple[WorkPage, WorkChange]]] = (
            defaultdict(list)
        )
        for page in self.every:
            document = page.comparison.document
            tables = " ".join(dataset.key for dataset in document.datasets)
            for change in page.comparison.changes:
                if change.head is not None:
                    digest = document.digests.get(change.workload, "")
                    key = change.workload, change.kind, change.server, digest, tables, document.settings
                    found[key].append((page, change))
        return tuple(
            KindHistory(workload, kind, server, tuple(changes))
            for (workload, kind, server, *_), changes in found.items()
            if len(changes) > 1
        )

    @property
    def value(self) -> object:
        """The CSV's lines as objects."""
        return [dict(zip(LIST_COLUMNS, row, strict=True)) for row in self.rows]

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """One line for each count."""
        return [
            (
                page.comparison.document.run,
                page.comparison.document.started,
                " ".join(page.servers),
                " ".join(page.tables),
                page.path,
            )
            for page in self.every
        ]


def pages(counted: Iterable[WorkComparison]) -> tuple[Page, ...]:
    """The pages of these counts, and their list."""
    every = tuple(map(WorkPage, counted))
    return (*every, WorkListPage(every))
