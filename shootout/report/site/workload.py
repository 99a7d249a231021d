"""The page of a workload: its cells over threads, with the tables usual in published comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shootout.chart import Chart
from shootout.model.run import FLUSH_S, FLUSHES
from shootout.model.verdict import CellComparison, CellFigures
from shootout.report.site import charts
from shootout.report.site.page import RunPage
from shootout.report.site.run import CellSet

KILO = 1000.0

SmallChart = tuple[str, str, Chart]  # id, title, chart
Getter = Callable[[CellFigures], float | None]


@dataclass(frozen=True)
class WorkloadPage(RunPage):
    set: CellSet
    template = "workload"

    @property
    def file(self) -> str:
        return self.set.page

    @property
    def panel(self) -> Chart | None:
        """Its servers by version; None with fewer than two heads."""
        standing = self.run.standing
        return standing.panels.get((self.set.workload, self.set.dataset)) if standing else None

    @property
    def measured(self) -> tuple[CellComparison, ...]:
        order = {label: number for number, label in enumerate(self.set.servers)}
        cells = [c for c in self.set.cells if c.figures]
        return tuple(sorted(cells, key=lambda c: (order[c.cell.server], c.cell.threads)))

    @property
    def latencies(self) -> Iterator[SmallChart]:
        return self._small(LATENCIES, log=True)

    @property
    def efficiency(self) -> Iterator[SmallChart]:
        return self._small((*EFFICIENCY, FLUSH))

    @property
    def costs(self) -> Iterator[tuple[CellComparison, list[float | None]]]:
        for c in self.measured:
            if c.figures:
                yield c, [figure(c.figures) for _, _, figure in EFFICIENCY]

    def _small(
        self, figures: Iterable[tuple[str, str, Getter]], *, log: bool = False
    ) -> Iterator[SmallChart]:
        for id, title, figure in figures:
            chart = charts.over_threads(self.set.cells, self.run.series.values(), figure, log=log)
            if chart is not None:
                yield id, title, chart


def flush_ms(figures: CellFigures) -> float | None:
    """Compute how long a flush of the disk took; None where nearly no transaction waits for one."""
    flushes = figures.counters.get(FLUSHES, 0.0)
    return KILO * figures.counters.get(FLUSH_S, 0.0) / flushes if flushes >= FLUSHES_MIN else None


LATENCIES: tuple[tuple[str, str, Getter], ...] = (
    ("latency-p50_s", "median latency, ms", lambda f: f.latency.p50_s * KILO),
    ("latency-p95_s", "95 % latency, ms", lambda f: f.latency.p95_s * KILO),
    ("latency-p99_s", "99 % latency, ms", lambda f: f.latency.p99_s * KILO),
    ("latency-p999_s", "99.9 % latency, ms", lambda f: f.latency.p999_s * KILO),
)
EFFICIENCY: tuple[tuple[str, str, Getter], ...] = (
    ("server-cpu", "server CPU, µs / transaction", lambda f: f.server_cpu_s and f.server_cpu_s * 1e6),
    ("disk-written", "written, bytes / transaction", lambda f: f.counters.get("disk_written_bytes")),
    ("switches", "context switches / transaction", lambda f: f.counters.get("context_switches")),
)
FLUSH: tuple[str, str, Getter] = ("flush", "latency of a disk flush, ms", flush_ms)
FLUSHES_MIN = 0.01  # per transaction; rarer ones come from the background
