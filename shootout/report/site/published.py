"""What the templates see of a published comparison beside the newest run that repeats it."""

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
from shootout.model.verdict import CellComparison, Interval, JudgedClaim, Outcome, Verdict
from shootout.report import wording
from shootout.report.judgement_cache import Judged
from shootout.report.site import charts
from shootout.report.site.charts import Line, Series
from shootout.report.site.run import Run

CLAIM_COLUMNS = (
    "claim", "text", "outcome", "in_their_figures", "contrast", "ratio", "ratio_low", "ratio_high",
    "bound_low", "bound_high", "reason",
)  # fmt: skip
LAST_S = 60  # what the queries of a report are counted over
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
    """One figure of a comparison's table, or why there is none."""

    text: str
    value: float | None = None  # exactly, for sorting
    relative: str = ""  # to the reference's


@dataclass(frozen=True)
class TableRow:
    """A row of a comparison's table."""

    title: str
    note: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True)
class Table:
    """A comparison's table, in the shape in which it was published."""

    caption: str
    corner: str
    head: tuple[tuple[str, str], ...]  # of each column its title and a note
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class Contestant:
    """A server of the comparison: as published, as measured, or both."""

    name: str
    published: PublishedServer | None
    record: ServerRecord | None
    note: str = ""  # what was measured in its place, or why nothing was


@dataclass(frozen=True)
class PublishedPage:
    """A published comparison, and a run that repeats it."""

    name: str
    said: Published
    run: Run

    @cached_property
    def theirs(self) -> tuple[Contestant, ...]:
        """The published servers."""
        header = self.run.document.header
        return tuple(Contestant(s.name, s, published.record_of(s, header)) for s in self.said.servers)

    @cached_property
    def contestants(self) -> tuple[Contestant, ...]:
        """Those, and what was measured beside them."""
        more = published.unpublished(self.said, self.run.document.header)
        every = (*self.theirs, *(Contestant(record.label, None, record) for record in more))
        return tuple(replace(one, note=_note(one)) for one in every)

    @cached_property
    def tabled(self) -> tuple[Contestant, ...]:
        """Those that have a figure, here or there."""
        return tuple(c for c in self.contestants if (c.record and not c.record.absent) or _has_figures(c))

    @property
    def untabled(self) -> tuple[str, ...]:
        """The names of the others."""
        return tuple(c.name for c in self.contestants if c not in self.tabled)

    @cached_property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """Every claim with its verdict."""
        return claims.judge_all(self.run.document, self.run.comparison.policy)

    @cached_property
    def outcomes(self) -> dict[Outcome, int]:
        """How many claims hold, do not, and cannot be told; without those that none is."""
        counts = {outcome: sum(c.outcome is outcome for c in self.claims) for outcome in Outcome}
        return {outcome: count for outcome, count in counts.items() if count}

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """How many the machine has; several numbers only where shards were measured by several machines."""
        return tuple(dict.fromkeys(runner.cpus for runner in self.run.document.header.runners))

    @property
    def value(self) -> dict[str, Any]:
        """The same for machines."""
        header = self.run.document.header
        tables = (*([self.published_table] if self.published_table else []), *self.measured_tables)
        return {
            "published": self.name,
            "title": self.said.title,
            "run": header.run,
            "started": header.started,
            "runners": [runner.fingerprint for runner in header.runners],
            "given": header.given,
            "claims": self.claims,
            "tables": tables,
        }

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """A line of CLAIM_COLUMNS for each contrast of each claim; one for a claim that has none."""
        return [
            (
                judged.claim.name, judged.claim.text, judged.outcome, judged.in_their_figures,
                *(
                    (each.what, each.ratio.estimate, each.ratio.low, each.ratio.high, each.low, each.high)
                    if each
                    else (None,) * 6
                ),
                judged.reason,
            )
            for judged in self.claims
            for each in (judged.contrasts or (None,))
        ]  # fmt: skip

    # --- tables -----------------------------------------------------------------------------------

    @cached_property
    def published_table(self) -> Table | None:
        """Theirs; None where it was published as charts only."""
        if not any(map(_has_figures, self.theirs)):
            return None
        figures = {
            (s.name, threads): tps
            for s in self.said.servers
            for threads, tps in zip(self.said.threads, s.tps, strict=False)
        }

        def figure(one: Contestant, threads: int) -> TableCell:
            tps, of_reference = figures.get((one.name, threads)), figures.get((self.said.reference, threads))
            if tps is None or tps == "none":
                return TableCell(wording.NONE)
            if isinstance(tps, str):
                return TableCell(tps)
            return _tps(tps, _exactly(tps), None if isinstance(of_reference, str) else of_reference)

        match self.said.shape:
            case "peaks":
                return self._peaks(self.theirs, self._published_peak, "Published")
            case "report":
                return self._report(self.theirs, self._published_lines, "Published")
        return self._grid(self.theirs, self.said.threads, figure, "Published, transactions/s")

    @cached_property
    def measured_tables(self) -> tuple[Table, ...]:
        """Ours in the same shape, one for each workload where they stand apart."""
        match self.said.shape:
            case "peaks":
                return (self._peaks(self.tabled, self._measured_peak, "Measured"),)
            case "report":
                return (self._report(self.tabled, self._measured_lines, "Measured"),)
        return tuple(
            self._grid(
                self.tabled,
                sorted({*self.run.threads, *(self.said.threads if workload == self.said.workload else ())}),
                partial(self._measured, workload=workload),
                f"Measured, transactions/s of {workload}",
            )
            for workload in self._workloads
        )

    def _grid(
        self,
        contestants: Sequence[Contestant],
        threads: Sequence[int],
        figure: Callable[[Contestant, int], TableCell],
        caption: str,
    ) -> Table:
        """Servers by threads, or threads by servers."""
        counts = tuple((str(count), "") for count in threads)
        if self.said.shape == "servers":
            rows = (
                TableRow(c.name, c.note, tuple(figure(c, count) for count in threads)) for c in contestants
            )
            return Table(caption, "server", counts, tuple(rows))
        columns = tuple((c.name, c.note) for c in contestants)
        by_threads = (
            TableRow(str(count), "", tuple(figure(c, count) for c in contestants)) for count in threads
        )
        return Table(caption, "threads", columns, tuple(by_threads))

    def _peaks(
        self,
        contestants: Sequence[Contestant],
        peak: Callable[[Contestant, str], tuple[float, int] | str],
        caption: str,
    ) -> Table:
        """Servers by their peaks, and the quotient of the first two workloads."""
        workloads = tuple(dict.fromkeys(w for s in self.said.servers for w in s.peaks))
        (reference,) = (c for c in contestants if c.name == self.said.reference)
        rows = []
        for one in contestants:
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
        contestants: Sequence[Contestant],
        lines: Callable[[Contestant], Sequence[TableCell]],
        caption: str,
    ) -> Table:
        """The lines of sysbench's report, a column for each server; throughput beside the reference's."""
        columns = {one.name: lines(one) for one in contestants}
        reference = columns[self.said.reference][0].value
        rows = [
            TableRow(title, "", tuple(columns[one.name][number] for one in contestants))
            for number, title in enumerate(REPORT)
        ]
        relative = (
            cell if cell.value is None else _tps(cell.value, cell.text, reference) for cell in rows[0].cells
        )
        rows[0] = replace(rows[0], cells=tuple(relative))
        return Table(caption, "figure", tuple((c.name, c.note) for c in contestants), tuple(rows))

    def _published_peak(self, one: Contestant, workload: str) -> tuple[float, int] | str:
        peak = one.published.peaks.get(workload) if one.published else None
        return wording.NONE if peak is None else (peak.tps, peak.threads)

    def _measured_peak(self, one: Contestant, workload: str) -> tuple[float, int] | str:
        found = [
            (cell.figures.tps.estimate, cell.cell.threads)
            for cell in self._cells(one, workload)
            if cell.figures is not None
        ]
        return max(found) if found else self._why_not(one, workload, None)

    def _published_lines(self, one: Contestant) -> Sequence[TableCell]:
        report = one.published.report if one.published else None
        if report is None:
            return [TableCell(wording.NONE)] * len(REPORT)
        values = (report.tps, report.requests_per_s, report.other_per_s)
        counts = (report.reads, report.writes, report.other, report.total)
        times = TableCell("/".join(map(_exactly, report.latency_ms)))
        return [*(TableCell(_exactly(value), value) for value in (*values, *counts)), times]

    def _measured_lines(self, one: Contestant) -> Sequence[TableCell]:
        (threads,) = self.run.threads[:1]
        cells = self._cells(one, self.said.workload)
        figures = next((c.figures for c in cells if c.cell.threads == threads), None)
        if figures is None:
            return [TableCell(self._why_not(one, self.said.workload, threads))] * len(REPORT)
        tps, each = figures.tps.estimate, (figures.reads, figures.writes, figures.other)
        counts = [kind * tps * LAST_S for kind in each]
        values = (tps, (figures.reads + figures.writes) * tps, figures.other * tps, *counts, sum(counts))
        latency = figures.latency
        times = (latency.min_s, latency.mean_s, latency.max_s, latency.p95_s)
        return [
            *(TableCell(numbers.number(value), value) for value in values),
            TableCell("/".join(numbers.number(time * 1000) for time in times)),
        ]

    def _measured(self, one: Contestant, threads: int, workload: str) -> TableCell:
        cell = next((c for c in self._cells(one, workload) if c.cell.threads == threads), None)
        if cell is None or cell.figures is None:
            return TableCell(self._why_not(one, workload, threads))
        (reference,) = (c for c in self.theirs if c.name == self.said.reference)
        against = next((c for c in self._cells(reference, workload) if c.cell.threads == threads), None)
        tps = cell.figures.tps
        of_reference = against.figures.tps.estimate if against and against.figures else None
        return _tps(tps.estimate, wording.estimate(tps), of_reference)

    def _cells(self, one: Contestant, workload: str) -> Sequence[CellComparison]:
        """The server's cells, from few to many threads."""
        label = one.record.label if one.record else None
        found = [
            c for c in self.run.comparison.cells if (c.cell.server, c.cell.workload) == (label, workload)
        ]
        return sorted(found, key=lambda c: c.cell.threads)

    def _why_not(self, one: Contestant, workload: str, threads: int | None) -> str:
        """What stands where a figure would."""
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
        """How each server looks in all charts; number 0 would be the run's base."""
        return {one.name: Series(one.name, number) for number, one in enumerate(self.contestants, 1)}

    @property
    def drawn(self) -> tuple[Series, ...]:
        """Those that are in a chart."""
        measured = {one.name for one in self.contestants if one.record and not one.record.absent}
        drawn = measured | {s.name for s in self.said.servers if s.tps}
        return tuple(series for name, series in self.series.items() if name in drawn)

    @property
    def published_chart(self) -> charts.Figure | None:
        """Their throughput over threads."""
        lines = [
            Line(
                self.series[s.name],
                tuple(
                    (threads, Interval.exactly(tps))
                    for threads, tps in zip(self.said.threads, s.tps, strict=False)
                    if not isinstance(tps, str)
                ),
            )
            for s in self.said.servers
        ]
        return charts.beside_cpus(lines, self.said.cpus)

    @property
    def measured_charts(self) -> dict[str, charts.Figure]:
        """Ours, by workload; none of a single number of threads."""
        found = {
            workload: charts.beside_cpus(
                [
                    Line(
                        self.series[one.name],
                        tuple(
                            (c.cell.threads, c.figures.tps) for c in self._cells(one, workload) if c.figures
                        ),
                    )
                    for one in self.contestants
                ],
                self.cpus[0] if len(self.cpus) == 1 else None,
            )
            for workload in (self._workloads if len(self.run.threads) > 1 else ())
        }
        return {workload: figure for workload, figure in found.items() if figure is not None}

    # --- what readers asked -----------------------------------------------------------------------

    @property
    def answers(self) -> tuple[tuple[str, str], ...]:
        """What readers of such comparisons ask, and what this run says to it."""
        cpus = " and ".join(map(str, self.cpus))
        marked = " Charts mark them." if self.measured_charts else ""
        forks = [record.label for record in self._measured_records if record.family != "mysql"]
        return (
            ("Which settings exactly?", "Those below, as each server says itself."),
            ("Did all versions have the same?", self._sameness()),
            ("Do the old versions really accept them?", self._acceptance()),
            (
                "How many cores?",
                f"{cpus} CPUs here; there {self.said.cpus or 'it was not said'}.{marked}",
            ),
            (
                "And the forks?",
                f"{', '.join(forks)}: measured here." if forks else "None of them was measured.",
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
        kept = "every server runs with what was requested" if not deviating else "; ".join(deviating)
        return f"{what}, written for each version; {kept}{'' if not deviating else ' differ from it'}."

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
            else "Yes: each started with all of them, and none is lacking."
        )


def newest(runs: Iterable[Judged]) -> tuple[Judged, ...]:
    """Of each comparison that runs repeat the newest run; `runs`: the newest first."""
    found: dict[str, Judged] = {}
    for run in runs:
        name = run.outline.published
        if name is not None and name in published.known():
            found.setdefault(name, run)
    return tuple(found.values())


def page_of(run: Run) -> PublishedPage:
    """The page of a run that repeats a comparison."""
    name = run.document.header.profile.published or ""
    return PublishedPage(name, published.load(name), run)


def _has_figures(one: Contestant) -> bool:
    """Whether figures of it were published."""
    server = one.published
    return server is not None and bool(server.tps or server.peaks or server.report)


def _note(one: Contestant) -> str:
    if one.record is None:
        return "not in this run"
    if one.record.absent:
        return "not available here"
    if one.published is None:
        return "beside it"
    if one.record.reference.startswith("path:"):
        return ""
    own = one.record.reference == one.published.server
    return one.record.label if own else f"stand-in: {one.record.label}"


def _exactly(value: float) -> str:
    """A published number, with the digits that it has."""
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
