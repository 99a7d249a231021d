"""The page of a published comparison with the newest run that repeats it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from shootout.analysis import claims
from shootout.inputs import published
from shootout.model.published import Published, PublishedServer
from shootout.model.run import ServerRecord
from shootout.model.verdict import CellComparison, ClaimResult, Interval, Outcome, Verdict
from shootout.paths import file_stem
from shootout.report.judgement_cache import JudgedRun
from shootout.report.site import charts
from shootout.report.site.charts import Chart, Series
from shootout.report.site.page import Page
from shootout.report.site.run import Run

FOLDER = "published"  # of the site
CLAIM_COLUMNS = (
    "claim", "text", "outcome", "published_ratio", "published_outcome", "ratio", "ratio_low", "ratio_high",
    "bound_low", "bound_high", "reason",
)  # fmt: skip


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
class ComparedServer:
    """A server of the comparison: published, measured or both."""

    name: str
    published: PublishedServer | None
    record: ServerRecord | None
    note: str = ""  # what was measured in its place, or why nothing was


@dataclass(frozen=True)
class PublishedPage(Page):
    name: str
    publication: Published
    run: Run
    template = "published"
    columns = CLAIM_COLUMNS

    @property
    def path(self) -> str:
        return f"{FOLDER}/{file_stem(self.name)}.html"

    @cached_property
    def servers(self) -> tuple[ComparedServer, ...]:
        """The published servers and those measured in addition."""
        header = self.run.document.header
        theirs = [ComparedServer(s.name, s, published.record_of(s, header)) for s in self.publication.servers]
        more = published.unpublished(self.publication, header)
        every = (*theirs, *(ComparedServer(record.label, None, record) for record in more))
        return tuple(replace(one, note=_note(one)) for one in every)

    @cached_property
    def claims(self) -> tuple[ClaimResult, ...]:
        return claims.evaluate_all(self.run.document, self.run.comparison.policy)

    @cached_property
    def outcomes(self) -> dict[Outcome, int]:
        """The number of claims by outcome, without zeros."""
        counts = {outcome: sum(c.outcome is outcome for c in self.claims) for outcome in Outcome}
        return {outcome: count for outcome, count in counts.items() if count}

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """The runner's number of CPUs; several numbers only if different runners measured shards."""
        return tuple(dict.fromkeys(runner.cpus for runner in self.run.document.header.runners))

    @property
    def value(self) -> dict[str, Any]:
        header = self.run.document.header
        return {
            "published": self.name,
            "title": self.publication.title,
            "run": header.run,
            "started": header.started,
            "runners": [runner.fingerprint for runner in header.runners],
            "given": header.given,
            "claims": self.claims,
            "statements": self.publication.statements,
            "figures": self.figures,
        }

    @property
    def rows(self) -> list[tuple[object, ...]]:
        return [
            (
                result.claim.name, result.claim.text, result.outcome,
                theirs.estimate if (theirs := result.published_ratio) else None, result.published_outcome,
                *((ours.estimate, ours.low, ours.high) if (ours := result.ratio) else (None,) * 3),
                result.claim.low, result.claim.high, result.reason,
            )
            for result in self.claims
        ]  # fmt: skip

    # --- figures ----------------------------------------------------------------------------------

    @cached_property
    def figures(self) -> tuple[Row, ...]:
        """The published and measured figures by workload and threads, without empty rows."""
        rows = (
            Row(
                workload,
                threads,
                one.name,
                one.note,
                published=self._relative(self._published, one, workload, threads),
                measured=self._relative(self._measured, one, workload, threads),
            )
            for workload in self._workloads
            for threads in self._counts(workload)
            for one in self.servers
        )
        return tuple(row for row in rows if row.published != Figure() or row.measured != Figure())

    @property
    def without_figures(self) -> tuple[str, ...]:
        known = {row.server for row in self.figures}
        return tuple(one.name for one in self.servers if one.name not in known)

    @cached_property
    def _reference(self) -> ComparedServer:
        return next(one for one in self.servers if one.name == self.publication.reference)

    @cached_property
    def _workloads(self) -> tuple[str, ...]:
        peaks = (workload for server in self.publication.servers for workload in server.peaks)
        return tuple(dict.fromkeys((*(b.workload for b in self.run.document.header.blocks), *peaks)))

    def _counts(self, workload: str) -> tuple[int | None, ...]:
        """The thread counts, published or measured; None for peaks, if these were published."""
        theirs = self.publication.threads if workload == self.publication.workload else ()
        peaks = any(workload in server.peaks for server in self.publication.servers)
        return (*sorted({*self.run.threads, *theirs}), *((None,) if peaks else ()))

    def _relative(
        self,
        figure: Callable[[ComparedServer, str, int | None], Figure],
        one: ComparedServer,
        workload: str,
        threads: int | None,
    ) -> Figure:
        """A figure with its ratio to the reference's, if there are both."""
        found = figure(one, workload, threads)
        reference = figure(self._reference, workload, threads)
        if one == self._reference or not found.tps or not reference.tps:
            return found
        return replace(found, ratio=Interval.exactly(found.tps / reference.tps))

    def _published(self, one: ComparedServer, workload: str, threads: int | None) -> Figure:
        tps = self.publication.figure(one.name, workload, threads) if one.published else None
        return Figure(failed=True) if tps == "error" else Figure(tps)

    def _measured(self, one: ComparedServer, workload: str, threads: int | None) -> Figure:
        cells = [c for c in self._cells(one, workload) if threads in (None, c.cell.threads)]
        tps = max((c.figures.tps.estimate for c in cells if c.figures), default=None)
        return Figure(tps, failed=tps is None and any(c.verdict is Verdict.FAILED for c in cells))

    def _cells(self, one: ComparedServer, workload: str) -> Sequence[CellComparison]:
        """The server's cells by threads, ascending."""
        label = one.record.label if one.record else None
        found = [
            c for c in self.run.comparison.cells if (c.cell.server, c.cell.workload) == (label, workload)
        ]
        return sorted(found, key=lambda c: c.cell.threads)

    # --- charts -----------------------------------------------------------------------------------

    @cached_property
    def series(self) -> dict[str, Series]:
        """Each server's series in all charts; number 0 is reserved for the run's base."""
        return {one.name: Series(one.name, number) for number, one in enumerate(self.servers, 1)}

    @property
    def charted(self) -> tuple[Series, ...]:
        measured = {one.name for one in self.servers if one.record and not one.record.absent}
        charted = measured | {s.name for s in self.publication.servers if s.tps}
        return tuple(series for name, series in self.series.items() if name in charted)

    @property
    def published_chart(self) -> Chart | None:
        """Published throughput over threads; None with a single number of threads."""
        if len(self.publication.threads) < 2:
            return None
        found = {
            self.series[s.name]: [
                (threads, Interval.exactly(tps))
                for threads, tps in zip(self.publication.threads, s.tps, strict=False)
                if not isinstance(tps, str)
            ]
            for s in self.publication.servers
        }
        return charts.throughput_and_cpus(found, self.publication.cpus)

    @property
    def measured_charts(self) -> dict[str, Chart]:
        """Measured throughput over threads by workload; empty with a single number of threads."""
        found = {
            workload: charts.throughput_and_cpus(
                {
                    self.series[one.name]: [
                        (c.cell.threads, c.figures.tps) for c in self._cells(one, workload) if c.figures
                    ]
                    for one in self.servers
                },
                self.cpus[0] if len(self.cpus) == 1 else None,
            )
            for workload in (self._workloads if len(self.run.threads) > 1 else ())
        }
        return {workload: chart for workload, chart in found.items() if chart is not None}


def newest(runs: Iterable[JudgedRun]) -> tuple[JudgedRun, ...]:
    """The newest run of each repeated comparison; `runs`: newest first."""
    found: dict[str, JudgedRun] = {}
    for run in runs:
        name = run.comparison.header.profile.published
        if name is not None and name in published.known():
            found.setdefault(name, run)
    return tuple(found.values())


def page_of(run: Run) -> PublishedPage:
    name = run.document.header.profile.published or ""
    return PublishedPage(name, published.load(name), run)


def _note(one: ComparedServer) -> str:
    if one.record is None:
        return "not in this run"
    if one.record.absent:
        return "not available here"
    if one.published is None:
        return "not published"
    if one.record.reference.startswith("path:"):
        return ""
    own = one.record.reference == one.published.server
    return one.record.label if own else f"stand-in: {one.record.label}"
