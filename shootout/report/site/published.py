"""The page of a published comparison with the newest run that repeats it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from shootout import numbers
from shootout.analysis import claims
from shootout.inputs import published
from shootout.model.published import Published, PublishedServer
from shootout.model.run import ServerRecord
from shootout.model.verdict import CellComparison, ClaimResult, Interval, Outcome, Verdict
from shootout.paths import file_stem
from shootout.report import wording
from shootout.report.judgement_cache import JudgedRun
from shootout.report.site import charts
from shootout.report.site.charts import Chart, Series
from shootout.report.site.page import Page
from shootout.report.site.run import Run

FOLDER = "published"  # of the site
CLAIM_COLUMNS = (
    "claim", "text", "outcome", "in_their_figures", "contrast", "ratio", "ratio_low", "ratio_high",
    "bound_low", "bound_high", "reason",
)  # fmt: skip
REPORT_S = 60  # the period over which a report counts queries
REPORT = (
    "transactions/s",
    "read and write requests/s",
    "other requests/s",
    f"read queries in 60{numbers.SPACE}s",
    f"write queries in 60{numbers.SPACE}s",
    f"other queries in 60{numbers.SPACE}s",
    f"queries in 60{numbers.SPACE}s",
    f"latency min/avg/max/95{numbers.SPACE}%, ms",
)


@dataclass(frozen=True)
class TableCell:
    """A figure in a comparison's table, or the reason why it is missing."""

    text: str
    value: float | None = None  # exact, for sorting
    relative: str = ""  # to the reference's figure


@dataclass(frozen=True)
class TableRow:
    """A row of a comparison's table."""

    title: str
    note: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True)
class Table:
    """A comparison's table in its published shape."""

    caption: str
    corner: str
    head: tuple[tuple[str, str], ...]  # title and note of each column
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class ComparedServer:
    """A server of the comparison: published, measured or both."""

    name: str
    published: PublishedServer | None
    record: ServerRecord | None
    note: str = ""  # what was measured in its place, or why nothing was


@dataclass(frozen=True)
class PublishedPage(Page):
    """A published comparison and a run that repeats it."""

    name: str
    publication: Published
    run: Run
    template = "published"
    columns = CLAIM_COLUMNS

    @property
    def path(self) -> str:
        """Named after the comparison."""
        return path_of(self.name)

    @cached_property
    def published_servers(self) -> tuple[ComparedServer, ...]:
        """The published servers."""
        header = self.run.document.header
        return tuple(
            ComparedServer(s.name, s, published.record_of(s, header)) for s in self.publication.servers
        )

    @cached_property
    def servers(self) -> tuple[ComparedServer, ...]:
        """The published servers and those measured in addition."""
        more = published.unpublished(self.publication, self.run.document.header)
        every = (*self.published_servers, *(ComparedServer(record.label, None, record) for record in more))
        return tuple(replace(one, note=_note(one)) for one in every)

    @cached_property
    def with_figures(self) -> tuple[ComparedServer, ...]:
        """The servers with published or measured figures."""
        return tuple(c for c in self.servers if (c.record and not c.record.absent) or _has_figures(c))

    @property
    def without_figures(self) -> tuple[str, ...]:
        """The names of the other servers."""
        return tuple(c.name for c in self.servers if c not in self.with_figures)

    @cached_property
    def claims(self) -> tuple[ClaimResult, ...]:
        """All claims with their outcomes."""
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
        """The run, the claims and the tables."""
        header = self.run.document.header
        tables = (*([self.published_table] if self.published_table else []), *self.measured_tables)
        return {
            "published": self.name,
            "title": self.publication.title,
            "run": header.run,
            "started": header.started,
            "runners": [runner.fingerprint for runner in header.runners],
            "given": header.given,
            "claims": self.claims,
            "tables": tables,
        }

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """One line per contrast of each claim, and one per claim without a contrast."""
        return [
            (
                result.claim.name, result.claim.text, result.outcome, result.published_outcome,
                *(
                    (each.what, each.ratio.estimate, each.ratio.low, each.ratio.high, each.low, each.high)
                    if each
                    else (None,) * 6
                ),
                result.reason,
            )
            for result in self.claims
            for each in (result.contrasts or (None,))
        ]  # fmt: skip

    # --- tables -----------------------------------------------------------------------------------

    @cached_property
    def published_table(self) -> Table | None:
        """The published table; None if only charts were published."""
        if not any(map(_has_figures, self.published_servers)):
            return None
        figures = {
            (s.name, threads): tps
            for s in self.publication.servers
            for threads, tps in zip(self.publication.threads, s.tps, strict=False)
        }

        def figure(one: ComparedServer, threads: int) -> TableCell:
            tps, of_reference = (
                figures.get((one.name, threads)),
                figures.get((self.publication.reference, threads)),
            )
            if tps is None or tps == "none":
                return TableCell(wording.NONE)
            if isinstance(tps, str):
                return TableCell(tps)
            return _tps(tps, _exactly(tps), None if isinstance(of_reference, str) else of_reference)

        match self.publication.shape:
            case "peaks":
                return self._peaks(self.published_servers, self._published_peak, "Published")
            case "report":
                return self._report(self.published_servers, self._published_lines, "Published")
        return self._grid(
            self.published_servers, self.publication.threads, figure, "Published, transactions/s"
        )

    @cached_property
    def measured_tables(self) -> tuple[Table, ...]:
        """The measured tables in the shape of the published one."""
        match self.publication.shape:
            case "peaks":
                return (self._peaks(self.with_figures, self._measured_peak, "Measured"),)
            case "report":
                return (self._report(self.with_figures, self._measured_lines, "Measured"),)
        return tuple(
            self._grid(
                self.with_figures,
                sorted(
                    {
                        *self.run.threads,
                        *(self.publication.threads if workload == self.publication.workload else ()),
                    }
                ),
                partial(self._measured, workload=workload),
                f"Measured, transactions/s in {workload}",
            )
            for workload in self._workloads
        )

    def _grid(
        self,
        servers: Sequence[ComparedServer],
        threads: Sequence[int],
        figure: Callable[[ComparedServer, int], TableCell],
        caption: str,
    ) -> Table:
        """A table of servers by threads, or of threads by servers."""
        counts = tuple((str(count), "") for count in threads)
        if self.publication.shape == "servers":
            rows = (TableRow(c.name, c.note, tuple(figure(c, count) for count in threads)) for c in servers)
            return Table(caption, "server", counts, tuple(rows))
        columns = tuple((c.name, c.note) for c in servers)
        by_threads = (TableRow(str(count), "", tuple(figure(c, count) for c in servers)) for count in threads)
        return Table(caption, "threads", columns, tuple(by_threads))

    def _peaks(
        self,
        servers: Sequence[ComparedServer],
        peak: Callable[[ComparedServer, str], tuple[float, int] | str],
        caption: str,
    ) -> Table:
        """The servers' peaks by workload, and the quotient of two workloads."""
        workloads = tuple(dict.fromkeys(w for s in self.publication.servers for w in s.peaks))
        (reference,) = (c for c in servers if c.name == self.publication.reference)
        rows = []
        for one in servers:
            found = [peak(one, workload) for workload in workloads]
            cells = [
                TableCell(each) if isinstance(each, str) else _peak_cell(each, peak(reference, workload))
                for workload, each in zip(workloads, found, strict=True)
            ]
            peaks = [each[0] for each in found if not isinstance(each, str)]
            quotient = peaks[0] / peaks[1] if len(peaks) == 2 else None
            cells.append(TableCell(wording.NONE if quotient is None else numbers.number(quotient), quotient))
            released = one.published.released if one.published else ""
            rows.append(TableRow(one.name, ", ".join(filter(None, (released, one.note))), tuple(cells)))
        head = (*((f"{w}: peak tps @ clients", "") for w in workloads), ("quotient", ""))
        return Table(caption, "server", head, tuple(rows))

    def _report(
        self,
        servers: Sequence[ComparedServer],
        lines: Callable[[ComparedServer], Sequence[TableCell]],
        caption: str,
    ) -> Table:
        """A sysbench report with a column per server, throughput also relative to the reference."""
        columns = {one.name: lines(one) for one in servers}
        reference = columns[self.publication.reference][0].value
        rows = [
            TableRow(title, "", tuple(columns[one.name][number] for one in servers))
            for number, title in enumerate(REPORT)
        ]
        relative = (
            cell if cell.value is None else _tps(cell.value, cell.text, reference) for cell in rows[0].cells
        )
        rows[0] = replace(rows[0], cells=tuple(relative))
        return Table(caption, "figure", tuple((c.name, c.note) for c in servers), tuple(rows))

    def _published_peak(self, one: ComparedServer, workload: str) -> tuple[float, int] | str:
        peak = one.published.peaks.get(workload) if one.published else None
        return wording.NONE if peak is None else (peak.tps, peak.threads)

    def _measured_peak(self, one: ComparedServer, workload: str) -> tuple[float, int] | str:
        found = [
            (cell.figures.tps.estimate, cell.cell.threads)
            for cell in self._cells(one, workload)
            if cell.figures is not None
        ]
        return max(found) if found else self._why_not(one, workload, None)

    def _published_lines(self, one: ComparedServer) -> Sequence[TableCell]:
        report = one.published.report if one.published else None
        if report is None:
            return [TableCell(wording.NONE)] * len(REPORT)
        values = (report.tps, report.requests_per_s, report.other_per_s)
        counts = (report.reads, report.writes, report.other, report.total)
        times = TableCell("/".join(map(_exactly, report.latency_ms)))
        return [*(TableCell(_exactly(value), value) for value in (*values, *counts)), times]

    def _measured_lines(self, one: ComparedServer) -> Sequence[TableCell]:
        (threads,) = self.run.threads[:1]
        cells = self._cells(one, self.publication.workload)
        figures = next((c.figures for c in cells if c.cell.threads == threads), None)
        if figures is None:
            return [TableCell(self._why_not(one, self.publication.workload, threads))] * len(REPORT)
        tps, each = figures.tps.estimate, (figures.reads, figures.writes, figures.other)
        counts = [kind * tps * REPORT_S for kind in each]
        values = (tps, (figures.reads + figures.writes) * tps, figures.other * tps, *counts, sum(counts))
        latency = figures.latency
        times = (latency.min_s, latency.mean_s, latency.max_s, latency.p95_s)
        return [
            *(TableCell(numbers.number(value), value) for value in values),
            TableCell("/".join(numbers.number(time * 1000) for time in times)),
        ]

    def _measured(self, one: ComparedServer, threads: int, workload: str) -> TableCell:
        cell = next((c for c in self._cells(one, workload) if c.cell.threads == threads), None)
        if cell is None or cell.figures is None:
            return TableCell(self._why_not(one, workload, threads))
        (reference,) = (c for c in self.published_servers if c.name == self.publication.reference)
        against = next((c for c in self._cells(reference, workload) if c.cell.threads == threads), None)
        tps = cell.figures.tps
        of_reference = against.figures.tps.estimate if against and against.figures else None
        return _tps(tps.estimate, wording.estimate(tps), of_reference)

    def _cells(self, one: ComparedServer, workload: str) -> Sequence[CellComparison]:
        """The server's cells by threads, ascending."""
        label = one.record.label if one.record else None
        found = [
            c for c in self.run.comparison.cells if (c.cell.server, c.cell.workload) == (label, workload)
        ]
        return sorted(found, key=lambda c: c.cell.threads)

    def _why_not(self, one: ComparedServer, workload: str, threads: int | None) -> str:
        """The reason for a missing figure."""
        if one.record is None or one.record.absent:
            return one.note
        cells = [c for c in self._cells(one, workload) if threads in (None, c.cell.threads)]
        return "error" if any(c.verdict is Verdict.FAILED for c in cells) else "not measured"

    @property
    def _workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(block.workload for block in self.run.document.header.blocks))

    # --- charts -----------------------------------------------------------------------------------

    @cached_property
    def series(self) -> dict[str, Series]:
        """Each server's series in all charts; number 0 is reserved for the run's base."""
        return {one.name: Series(one.name, number) for number, one in enumerate(self.servers, 1)}

    @property
    def charted(self) -> tuple[Series, ...]:
        """The series that appear in a chart."""
        measured = {one.name for one in self.servers if one.record and not one.record.absent}
        charted = measured | {s.name for s in self.publication.servers if s.tps}
        return tuple(series for name, series in self.series.items() if name in charted)

    @property
    def published_chart(self) -> Chart | None:
        """Published throughput over threads."""
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

    # --- readers' questions -----------------------------------------------------------------------

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """Frequent questions about published comparisons with this run's answers."""
        cpus = " and ".join(map(str, self.cpus))
        marked = " The charts mark the number." if self.measured_charts else ""
        forks = [record.label for record in self._measured_records if record.family != "mysql"]
        return (
            ("Which settings exactly?", "Those listed below, as reported by each server."),
            ("Did all versions use the same settings?", self._sameness()),
            ("Do the old versions really accept them?", self._acceptance()),
            (
                "How many cores?",
                f"{cpus} CPUs here; {self.publication.cpus or 'not stated'} in the publication.{marked}",
            ),
            (
                "And the forks?",
                f"{', '.join(forks)}: measured here." if forks else "None was measured.",
            ),
        )

    @cached_property
    def _measured_records(self) -> tuple[ServerRecord, ...]:
        return tuple(record for record in self.run.document.header.servers if not record.absent)

    def _sameness(self) -> str:
        names = dict.fromkeys(record.settings_name for record in self._measured_records)
        what = (
            f"One settings profile ({next(iter(names))})"
            if len(names) == 1
            else f"{len(names)} settings profiles"
        )
        deviating = [
            f"{record.label}: {', '.join(differing)}"
            for record in self._measured_records
            if (differing := [s.name for s in record.settings if s.differs])
        ]
        if deviating:
            return f"{what}, translated for each version. Deviations: {'; '.join(deviating)}."
        return f"{what}, translated for each version; every server runs with the requested values."

    def _acceptance(self) -> str:
        lacking = [
            f"{record.label} has no {setting.name} ({setting.note})"
            for record in self._measured_records
            for setting in record.settings
            if setting.lacking and setting.note
        ]
        return (
            f"{'; '.join(lacking)}."
            if lacking
            else "Yes: each server started with all of them; none is lacking."
        )


def newest(runs: Iterable[JudgedRun]) -> tuple[JudgedRun, ...]:
    """The newest run of each repeated comparison; `runs`: newest first."""
    found: dict[str, JudgedRun] = {}
    for run in runs:
        name = run.comparison.header.profile.published
        if name is not None and name in published.known():
            found.setdefault(name, run)
    return tuple(found.values())


def path_of(name: str) -> str:
    """The path of a comparison's page from the site's root."""
    return f"{FOLDER}/{file_stem(name)}.html"


def page_of(run: Run) -> PublishedPage:
    """The page for a run that repeats a comparison."""
    name = run.document.header.profile.published or ""
    return PublishedPage(name, published.load(name), run)


def _has_figures(one: ComparedServer) -> bool:
    """Whether figures of it were published."""
    server = one.published
    return server is not None and bool(server.tps or server.peaks or server.report)


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


def _exactly(value: float) -> str:
    """A published number with all its digits."""
    _, _, decimals = f"{value:.10g}".partition(".")
    return numbers.number(value, len(decimals))


def _tps(tps: float, text: str, of_reference: float | None) -> TableCell:
    ratio = tps / of_reference if of_reference else None
    relative = "" if ratio is None or ratio == 1 else _relative(ratio)
    return TableCell(text, tps, relative)


def _peak_cell(peak: tuple[float, int], of_reference: tuple[float, int] | str) -> TableCell:
    tps, threads = peak
    text = f"{numbers.number(tps)} @ {threads}"
    return _tps(tps, text, None if isinstance(of_reference, str) else of_reference[0])


def _relative(ratio: float) -> str:
    return wording.percent(ratio) if 1 / 3 < ratio < 3 else f"×{numbers.number(ratio)}"
