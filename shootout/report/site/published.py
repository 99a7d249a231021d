"""The pages of published comparisons, each with the newest run that repeats it, and the list of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from shootout.analysis import claims
from shootout.chart import Chart, Series
from shootout.inputs import published
from shootout.inputs.options import renewed
from shootout.model.published import Published, PublishedReport, PublishedServer
from shootout.model.run import ServerRecord
from shootout.model.verdict import CellComparison, CellFigures, ClaimResult, Interval, Outcome, Verdict
from shootout.paths import file_stem
from shootout.report.judged_runs import JudgedRun
from shootout.report.site import charts
from shootout.report.site.page import Page
from shootout.report.site.run import Run

FOLDER = "published"  # of the site
ABSENT = "not available here"


@dataclass(frozen=True)
class Figure:
    """A server's throughput, published or measured, and its ratio to the reference's."""

    tps: float | None = None
    ratio: Interval | None = None
    failed: bool = False  # tried, but without a throughput


@dataclass(frozen=True)
class Row:
    """The figures of a server in one block, or at its peak."""

    workload: str
    threads: int | None  # None: its peak
    server: str
    note: str
    published: Figure
    measured: Figure


@dataclass(frozen=True)
class Report:
    """Sysbench's report of a run, published or measured."""

    server: str
    published: bool
    tps: float
    requests_per_s: float  # reads and writes
    reads_per_s: float
    writes_per_s: float
    other_per_s: float
    latency_ms: tuple[float, float, float, float]  # minimum, mean, maximum, 95 %


@dataclass(frozen=True)
class ComparedServer:
    """A server of the comparison: published, measured or both."""

    name: str
    published: PublishedServer | None
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
        """The published servers and those measured in addition."""
        header = self.run.document.header
        return (
            *(_compared(s.name, s, published.record_of(s, header)) for s in self.publication.servers),
            *(_compared(r.label, None, r) for r in published.unpublished(self.publication, header)),
        )

    @cached_property
    def claims(self) -> tuple[ClaimResult, ...]:
        return claims.evaluate_all(self.run.document, self.run.comparison.policy)

    @cached_property
    def outcomes(self) -> dict[Outcome, int]:
        """The number of claims by outcome, without zeros."""
        counts = Counter(claim.outcome for claim in self.claims)
        return {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}

    @cached_property
    def told(self) -> tuple[ClaimResult, ...]:
        """The claims of which something was measured."""
        return tuple(claim for claim in self.claims if claim.ratio or claim.outcome != Outcome.INCONCLUSIVE)

    @cached_property
    def untold(self) -> tuple[ClaimResult, ...]:
        return tuple(claim for claim in self.claims if claim not in self.told)

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """The runner's number of CPUs; several numbers only if different runners measured shards."""
        return tuple(dict.fromkeys(runner.cpus for runner in self.run.document.header.runners))

    @property
    def given(self) -> dict[str, str]:
        return renewed(self.run.document.header.given)

    @property
    def scale(self) -> str:
        """The scale of the run; empty: full."""
        return self.given.get("--set scale", "")

    # --- figures ----------------------------------------------------------------------------------

    @cached_property
    def figures(self) -> tuple[Row, ...]:
        """The published and measured figures by workload and threads; servers that this machine had."""
        rows = (
            Row(workload, threads, server.name, server.note, theirs, ours)
            for workload in self._workloads
            for threads in self._counts(workload)
            for server, theirs, ours in zip(
                self.servers,
                self._relative([self._published(server, workload, threads) for server in self.servers]),
                self._relative([self._measured(server, workload, threads) for server in self.servers]),
                strict=True,
            )
        )
        return tuple(
            row for row in rows if row.note != ABSENT and {row.published, row.measured} != {Figure()}
        )

    @cached_property
    def reports(self) -> tuple[Report, ...]:
        """The published reports, each with that of this run after it; empty if none was published."""
        (threads, *_) = self.publication.threads
        workload = self.publication.workload
        reports: list[Report] = []
        for server in self.servers:
            if server.published is None or (theirs := server.published.report) is None:
                continue
            tps = self.publication.figure(server.name, workload, threads)
            if isinstance(tps, float):
                reports.append(_published_report(server.name, tps, theirs))
            for c in self._cells(server, workload):
                if c.figures and c.cell.threads == threads:
                    reports.append(_measured_report(server.name, c.figures))
        return tuple(reports)

    @property
    def without_figures(self) -> tuple[str, ...]:
        shown = {row.server for row in self.figures}
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

    def _relative(self, figures: Sequence[Figure]) -> list[Figure]:
        """The servers' figures with their ratios to the reference's, where there are both."""
        at = [server.name for server in self.servers].index(self.publication.reference)
        base = figures[at].tps
        return [
            replace(figure, ratio=Interval.exactly(figure.tps / base))
            if figure.tps and base and place != at
            else figure
            for place, figure in enumerate(figures)
        ]

    def _published(self, server: ComparedServer, workload: str, threads: int | None) -> Figure:
        tps = self.publication.figure(server.name, workload, threads) if server.published else None
        return Figure(failed=True) if tps == "error" else Figure(tps)

    def _measured(self, server: ComparedServer, workload: str, threads: int | None) -> Figure:
        cells = [c for c in self._cells(server, workload) if threads in (None, c.cell.threads)]
        tps = max((c.figures.tps.estimate for c in cells if c.figures), default=None)
        return Figure(tps, failed=tps is None and any(c.verdict is Verdict.FAILED for c in cells))

    def _cells(self, server: ComparedServer, workload: str) -> Sequence[CellComparison]:
        """The server's cells by threads, ascending."""
        here = (server.record.label if server.record else None, workload)
        cells = (c for c in self.run.comparison.cells if (c.cell.server, c.cell.workload) == here)
        return sorted(cells, key=lambda c: c.cell.threads)

    # --- charts -----------------------------------------------------------------------------------

    @cached_property
    def series(self) -> dict[str, Series]:
        """Each server's series in all charts; number 0 is reserved for the run's base."""
        return {server.name: Series(server.name, number) for number, server in enumerate(self.servers, 1)}

    @property
    def charted(self) -> tuple[Series, ...]:
        charted = {server.name for server in self.publication.servers if server.tps}
        charted |= {server.name for server in self.servers if server.record and not server.record.absent}
        return tuple(series for name, series in self.series.items() if name in charted)

    @property
    def published_chart(self) -> Chart | None:
        """Published throughput over threads; None with a single number of threads."""
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
        return charts.throughput_and_cpus(points, self.publication.cpus)

    @property
    def measured_charts(self) -> dict[str, Chart]:
        """Measured throughput over threads by workload; empty with a single number of threads."""
        cpus = self.cpus[0] if len(self.cpus) == 1 else None
        shown = {}
        for workload in self._workloads if len(self.run.threads) > 1 else ():
            points = {
                self.series[server.name]: [
                    (c.cell.threads, c.figures.tps) for c in self._cells(server, workload) if c.figures
                ]
                for server in self.servers
            }
            if (chart := charts.throughput_and_cpus(points, cpus)) is not None:
                shown[workload] = chart
        return shown


@dataclass(frozen=True)
class Repetition:
    """A published comparison and the page of its newest run, if any."""

    name: str
    publication: Published
    page: PublishedPage | None

    @property
    def command(self) -> str:
        return f"shootout run --profile {self.name} --set scale=small"

    @property
    def scale(self) -> str:
        """The scale of the run; empty: full."""
        return self.page.scale if self.page else ""


@dataclass(frozen=True)
class RepetitionsPage(Page):
    """All comparisons that ship with shootout."""

    every: tuple[Repetition, ...]
    template = "repetitions"
    path = f"{FOLDER}/index.html"

    @property
    def done(self) -> tuple[PublishedPage, ...]:
        return tuple(repetition.page for repetition in self.every if repetition.page)

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
    """`repeated`: the pages of the comparisons that were repeated."""
    pages = {page.name: page for page in repeated}
    every = [Repetition(name, published.load(name), pages.get(name)) for name in published.known()]
    every.sort(key=lambda repetition: (repetition.publication.year or 0, repetition.publication.title))
    return RepetitionsPage(tuple(every))


def _published_report(server: str, tps: float, report: PublishedReport) -> Report:
    return Report(
        server=server,
        published=True,
        tps=tps,
        requests_per_s=report.requests_per_s,
        reads_per_s=report.reads / report.seconds,
        writes_per_s=report.writes / report.seconds,
        other_per_s=report.other_per_s,
        latency_ms=report.latency_ms,
    )


def _measured_report(server: str, figures: CellFigures) -> Report:
    tps, latency = figures.tps.estimate, figures.latency
    return Report(
        server=server,
        published=False,
        tps=tps,
        requests_per_s=tps * (figures.reads + figures.writes),
        reads_per_s=tps * figures.reads,
        writes_per_s=tps * figures.writes,
        other_per_s=tps * figures.other,
        latency_ms=(
            1e3 * latency.min_s, 1e3 * latency.mean_s, 1e3 * latency.max_s, 1e3 * latency.p95_s,
        ),
    )  # fmt: skip


def _compared(name: str, theirs: PublishedServer | None, record: ServerRecord | None) -> ComparedServer:
    if record is None:
        note = "not in this run"
    elif record.absent:
        note = ABSENT
    elif theirs is None:
        note = "not published"
    elif record.reference.startswith("path:"):
        note = ""
    else:
        note = record.label if record.reference == theirs.server else f"stand-in: {record.label}"
    return ComparedServer(name, theirs, record, note)
