"""The pages of published comparisons, each with the newest run that repeats it, and the list of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Literal

from shootout.analysis import claims
from shootout.chart import Axis, Chart, Series
from shootout.inputs import published
from shootout.inputs.options import renewed
from shootout.model.published import Published, PublishedServer
from shootout.model.run import ServerRecord
from shootout.model.verdict import CellComparison, ClaimResult, Interval, Outcome, Verdict
from shootout.paths import file_stem
from shootout.report.judged_runs import JudgedRun
from shootout.report.site import charts
from shootout.report.site.page import Page
from shootout.report.site.run import Run

FOLDER = "published"  # of the site
ABSENT = "not available here"
LOG_TPS = Axis(title="transactions / s", log=True)


Tps = float | Literal["error"] | None  # "error": tried, but without a throughput
Row = tuple[str, str, str, int | None, Sequence[tuple[Tps, Interval | None]]]


@dataclass(frozen=True)
class ComparedServer:
    """A server of the comparison: published, measured or both."""

    name: str
    is_published: bool
    record: ServerRecord | None
    note: str  # what was measured in its place, or why nothing was


@dataclass(frozen=True)
class PublishedPage(Page):
    name: str
    publication: Published
    run: Run
    template = "published"

    @property
    def path(self) -> str:
        return f"{FOLDER}/{file_stem(self.name)}.html"

    @cached_property
    def servers(self) -> tuple[ComparedServer, ...]:
        header = self.run.document.header
        return (
            *(
                ComparedServer(s.name, True, record, _note(record, s))
                for s in self.publication.servers
                for record in [published.record_of(s, header)]
            ),
            *(
                ComparedServer(r.label, False, r, _note(r, None))
                for r in published.unpublished(self.publication, header)
            ),
        )

    @cached_property
    def claims(self) -> tuple[ClaimResult, ...]:
        return claims.evaluate_all(self.run.document, self.run.comparison.policy)

    @cached_property
    def outcomes(self) -> dict[Outcome, int]:
        counts = Counter(claim.outcome for claim in self.claims)
        return {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}

    @cached_property
    def told(self) -> tuple[ClaimResult, ...]:
        return tuple(claim for claim in self.claims if claim.ratio or claim.outcome != Outcome.INCONCLUSIVE)

    @cached_property
    def untold(self) -> tuple[ClaimResult, ...]:
        return tuple(claim for claim in self.claims if claim not in self.told)

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(runner.cpus for runner in self.run.document.header.runners))

    @property
    def given(self) -> dict[str, str]:
        return renewed(self.run.document.header.given)

    @property
    def scale(self) -> str:
        return self.given.get("--set scale", "")

    @cached_property
    def figures(self) -> tuple[Row, ...]:
        """Server, note, workload and threads (None: the peak), with both throughputs and their ratios.

        The ratios are to the reference's. Servers that this machine lacks are left out.
        """
        rows: list[Row] = []
        for workload in self._workloads:
            for threads in self._counts(workload):
                found = {server.name: self._both(server, workload, threads) for server in self.servers}
                bases = found[self.publication.reference]
                for server in self.servers:
                    both = found[server.name]
                    if server.note != ABSENT and both != (None, None):
                        ratios = map(_ratio, both, [None] * 2 if both is bases else bases)
                        pairs = (*zip(both, ratios, strict=True),)
                        rows.append((server.name, server.note, workload, threads, pairs))
        return tuple(rows)

    @property
    def without_figures(self) -> tuple[str, ...]:
        shown = {server for server, *_ in self.figures}
        return tuple(server.name for server in self.servers if server.name not in shown)

    @cached_property
    def _workloads(self) -> tuple[str, ...]:
        peaks = (workload for server in self.publication.servers for workload in server.peaks)
        return tuple(dict.fromkeys((*(b.workload for b in self.run.document.header.blocks), *peaks)))

    def _counts(self, workload: str) -> tuple[int | None, ...]:
        """The thread counts, published or measured; None for peaks, if these were published."""
        theirs = self.publication.threads if workload == self.publication.workload else ()
        peaks = any(workload in server.peaks for server in self.publication.servers)
        return (*sorted({*self.run.threads, *theirs}), *((None,) if peaks else ()))

    def _both(self, server: ComparedServer, workload: str, threads: int | None) -> tuple[Tps, Tps]:
        """The published and the measured throughput."""
        theirs = self.publication.figure(server.name, workload, threads) if server.is_published else None
        cells = [c for c in self._cells(server, workload) if threads in (None, c.cell.threads)]
        ours = max((c.figures.tps.estimate for c in cells if c.figures), default=None)
        failed = ours is None and any(c.verdict is Verdict.FAILED for c in cells)
        return theirs, "error" if failed else ours

    def _cells(self, server: ComparedServer, workload: str) -> Sequence[CellComparison]:
        here = (server.record.label if server.record else None, workload)
        cells = (c for c in self.run.comparison.cells if (c.cell.server, c.cell.workload) == here)
        return sorted(cells, key=lambda c: c.cell.threads)

    @cached_property
    def series(self) -> dict[str, Series]:
        """Each server's look in all charts: that of the server that was measured in its place."""
        looks = {label: one.number for label, one in self.run.series.items()}
        others = count(1 + max(looks.values(), default=0))
        labels = {server.name: server.record.label if server.record else "" for server in self.servers}
        return {name: Series(name, looks.get(label) or next(others)) for name, label in labels.items()}

    @property
    def charted(self) -> tuple[Series, ...]:
        charted = {server.name for server in self.publication.servers if server.tps}
        charted |= {server.name for server in self.servers if server.record and not server.record.absent}
        return tuple(series for name, series in self.series.items() if name in charted)

    @property
    def published_chart(self) -> Chart | None:
        if len(self.publication.threads) < 2:
            return None
        points = {
            self.series[server.name]: [
                (threads, Interval.exactly(tps))
                for threads, tps in zip(self.publication.threads, server.tps, strict=False)
                if not isinstance(tps, str)
            ]
            for server in self.publication.servers
        }
        return charts.curves(points, LOG_TPS, self.publication.cpus)

    @property
    def measured_charts(self) -> dict[str, Chart]:
        cpus = self.cpus[0] if len(self.cpus) == 1 else None
        shown = {}
        for workload in self._workloads if len(self.run.threads) > 1 else ():
            points = {
                self.series[server.name]: [
                    (c.cell.threads, c.figures.tps) for c in self._cells(server, workload) if c.figures
                ]
                for server in self.servers
            }
            if (chart := charts.curves(points, LOG_TPS, cpus)) is not None:
                shown[workload] = chart
        return shown


@dataclass(frozen=True)
class RepetitionsPage(Page):
    """All comparisons that ship with shootout."""

    every: tuple[tuple[str, Published, PublishedPage | None], ...]  # each with its newest repetition
    template = "repetitions"
    path = f"{FOLDER}/index.html"

    @property
    def done(self) -> tuple[PublishedPage, ...]:
        return tuple(page for _, _, page in self.every if page)

    @property
    def outcomes(self) -> dict[Outcome, int]:
        return {outcome: sum(page.outcomes.get(outcome, 0) for page in self.done) for outcome in Outcome}


def newest(runs: Iterable[JudgedRun]) -> tuple[JudgedRun, ...]:
    """The newest run of each repeated comparison; `runs`: newest first."""
    newest: dict[str, JudgedRun] = {}
    for run in runs:
        name = run.comparison.header.profile.published
        if name is not None and name in published.known():
            newest.setdefault(name, run)
    return tuple(newest.values())


def page_of(run: Run) -> PublishedPage:
    name = run.document.header.profile.published or ""
    return PublishedPage(name, published.load(name), run)


def list_page(repeated: Iterable[PublishedPage]) -> RepetitionsPage:
    pages = {page.name: page for page in repeated}
    every = [(name, published.load(name), pages.get(name)) for name in published.known()]
    every.sort(key=lambda each: (each[1].year or 0, each[1].title))
    return RepetitionsPage(tuple(every))


def _ratio(tps: Tps, base: Tps) -> Interval | None:
    return (
        Interval.exactly(tps / base) if isinstance(tps, float) and isinstance(base, float) and base else None
    )


def _note(record: ServerRecord | None, theirs: PublishedServer | None) -> str:
    """Say what was measured in a server's place, or why nothing was."""
    if record is None:
        return "not in this run"
    if record.absent:
        return ABSENT
    if theirs is None:
        return "not published"
    if record.reference.startswith("path:"):
        return ""
    return record.label if record.reference == theirs.server else f"stand-in: {record.label}"
