"""What the templates see of a workload: its cells over threads, and the tables that comparisons have had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from shootout.model.verdict import CellComparison, CellFigures, CurveComparison, Interval, ScalingLaw, Verdict
from shootout.report import wording
from shootout.report.site import charts
from shootout.report.site.charts import Series
from shootout.report.site.run import CellSet, Doubt, Run

KILO = 1000.0
PERCENTILES = (("p50_s", "median"), ("p95_s", "95 %"), ("p99_s", "99 %"), ("p999_s", "99.9 %"))
READS, WRITES = "oltp_read_only", "oltp_read_write"  # whose quotient the published tables have

Of = Callable[[CellFigures], float | None]


@dataclass(frozen=True)
class Small:
    """One of several charts side by side."""

    id: str
    title: str
    figure: charts.Figure


@dataclass(frozen=True)
class Peak:
    """How far a server's throughput goes."""

    server: str
    single: Interval | None  # tps of one thread
    single_change: Interval | None  # against the base
    tps: Interval
    threads: int  # at which it is highest
    law: ScalingLaw | None

    @property
    def gain(self) -> float | None:
        """The peak over one thread's throughput."""
        return self.tps.estimate / self.single.estimate if self.single and self.single.estimate else None


@dataclass(frozen=True)
class Quotient:
    """How much more is done where nothing is written."""

    server: str
    of_threads: tuple[float | None, ...]
    of_peaks: float | None


@dataclass(frozen=True)
class WorkloadPage:
    """All that one workload's page shows."""

    run: Run
    set: CellSet

    @property
    def name(self) -> str:
        """The workload's."""
        return self.set.workload

    @cached_property
    def failed(self) -> tuple[CellComparison, ...]:
        """The cells that could not be measured."""
        return tuple(c for c in self.set.cells if c.verdict is Verdict.FAILED)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The warnings of its cells, summed."""
        return self.run.summed_doubts_of(self.set.cells)

    @cached_property
    def peaks(self) -> tuple[Peak, ...]:
        """Server by server."""
        found = []
        for label in self.set.servers:
            cells = [c for c in self.set.cells if c.cell.server == label]
            measured = [(c.figures.tps, c) for c in cells if c.figures]
            if not measured:
                continue
            best, at = max(measured, key=lambda pair: pair[0].estimate)
            single = next((c for c in cells if c.cell.threads == 1), None)
            found.append(
                Peak(
                    server=label,
                    single=single.figures.tps if single and single.figures else None,
                    single_change=single.ratio if single else None,
                    tps=best,
                    threads=at.cell.threads,
                    law=self.set.laws.get(label),
                )
            )
        return tuple(found)

    @property
    def by_threads(self) -> dict[int, Series]:
        """How each number of threads looks in the chart through the servers."""
        return {
            threads: Series(wording.threads(threads), number)
            for number, threads in enumerate(self.set.threads, start=1)
        }

    @property
    def through_servers(self) -> charts.Figure | None:
        """The change from server to server; None with fewer than two beside the base."""
        if len(self.set.heads) < 2:
            return None
        servers = (*(label for label in self.set.servers if label not in self.set.heads), *self.set.heads)
        return charts.through_servers(self.set.cells, servers, self.by_threads)

    @property
    def curves(self) -> tuple[CurveComparison, ...]:
        """Each server's scaling curve against its base's."""
        key = (self.set.workload, self.set.dataset)
        return tuple(c for c in self.run.comparison.curves if (c.workload, c.dataset) == key)

    @cached_property
    def quotients(self) -> tuple[Quotient, ...]:
        """Throughput of the read-only workload over that of the one that writes, too, where both were run."""
        if self.name not in (READS, WRITES):
            return ()
        sets = {s.workload: s for s in self.run.sets if s.dataset == self.set.dataset}
        if READS not in sets or WRITES not in sets:
            return ()
        found = []
        for label in self.set.servers:
            both = [
                {c.cell.threads: c.figures.tps.estimate for c in sets[name].cells
                 if c.figures and c.cell.server == label}
                for name in (READS, WRITES)
            ]  # fmt: skip
            reads, writes = both
            of_threads = tuple(
                reads[count] / writes[count] if count in reads and writes.get(count) else None
                for count in self.set.threads
            )
            peaks = max(reads.values()) / max(writes.values()) if reads and any(writes.values()) else None
            found.append(Quotient(server=label, of_threads=of_threads, of_peaks=peaks))
        return tuple(found)

    @property
    def measured(self) -> tuple[CellComparison, ...]:
        """The cells that have figures, by server."""
        order = {label: number for number, label in enumerate(self.set.servers)}
        cells = [c for c in self.set.cells if c.figures]
        return tuple(sorted(cells, key=lambda c: (order[c.cell.server], c.cell.threads)))

    @property
    def latencies(self) -> tuple[Small, ...]:
        """Percentiles over threads."""
        return tuple(
            small
            for field, title in PERCENTILES
            if (
                small := self._small(f"latency-{field}", f"{title} latency, ms", _latency_ms(field), log=True)
            )
        )

    @property
    def efficiency(self) -> tuple[Small, ...]:
        """What a transaction takes, over threads."""
        shown: tuple[tuple[str, str, Of], ...] = (
            ("server-cpu", "server CPU, µs / transaction", lambda f: scaled(f.server_cpu_s, 1e6)),
            ("disk-written", "written, bytes / transaction", lambda f: f.counters.get("disk_written_bytes")),
            ("switches", "context switches / transaction", lambda f: f.counters.get("context_switches")),
        )
        return tuple(small for each in shown if (small := self._small(*each)))

    def _small(self, id: str, title: str, of: Of, *, log: bool = False) -> Small | None:
        series = tuple(self.run.series.values())
        figure = charts.over_threads(
            self.set.cells, series, lambda c: of(c.figures) if c.figures else None, log=log
        )
        return None if figure is None else Small(id=id, title=title, figure=figure)


def scaled(value: float | None, factor: float) -> float | None:
    """`value` in another unit."""
    return None if value is None else value * factor


def busy_cpus(figures: CellFigures) -> float | None:
    """How many CPUs the server kept busy while it was loaded."""
    return scaled(figures.server_cpu_s, figures.tps.estimate)


def written_kb_per_s(figures: CellFigures) -> float | None:
    """What the server wrote to disks while it was loaded, in kB/s."""
    return scaled(figures.counters.get("disk_written_bytes"), figures.tps.estimate / KILO)


def _latency_ms(field: str) -> Of:
    return lambda figures: getattr(figures.latency, field) * KILO
