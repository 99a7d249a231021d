"""The page of a cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest

from shootout.analysis import metrics, pairs, stats
from shootout.analysis.histograms import merged
from shootout.analysis.stats import STARTS_MIN
from shootout.chart import Chart, Series
from shootout.measure.rounds import STEADY_TOLERANCE
from shootout.model.plan import Cell, block_key
from shootout.model.run import FLUSH_S, FLUSHES, Samples, SettingRecord
from shootout.model.verdict import CellComparison, CellFigures, Interval, Latency, MetricComparison
from shootout.report import commands
from shootout.report.sections import Section
from shootout.report.site import charts
from shootout.report.site.names import cell_stem
from shootout.report.site.page import RunPage
from shootout.report.site.run import CellSet, WarningEntry
from shootout.report.site.settings import compared_settings

Tps = float | None
Round = tuple[int, int, Tps, Tps]  # start, number; tps here and of the base
SERVER_CPU = "server CPU, µs"
# Counted by the server's kernel.
HOST_FIGURES = (SERVER_CPU, "context_switches", "disk_written_bytes", "run_queue_s", FLUSHES, FLUSH_S)
LATENCIES = {
    "min_s": "fastest", "p50_s": "50 %", "mean_s": "mean", "p95_s": "95 %", "p99_s": "99 %",
    "p999_s": "99.9 %", "max_s": "slowest",
}  # fmt: skip
DISPLAY_UNITS = {"s": ("ms", 1e3), "bytes": ("bytes", 1.0), "": ("", 1.0)}


@dataclass(frozen=True)
class Row:
    name: str
    here: float | None
    base: float | None
    here_hidden: bool = False  # unknown rather than absent: counted on a host not visible from the runner
    base_hidden: bool = False

    @property
    def ratio(self) -> float | None:
        """The cell's figure over its base's, if both have one."""
        return self.here / self.base if self.here is not None and self.base else None

    @property
    def weight(self) -> float:
        """Size of the change in either direction; damped for events below 1 in 1000 transactions."""
        rare = 0.001
        return abs(math.log((max(self.here or 0, 0) + rare) / (max(self.base or 0, 0) + rare)))


@dataclass(frozen=True)
class CellPage(RunPage):
    comparison: CellComparison
    template = "cell"

    @property
    def file(self) -> str:
        return f"{cell_stem(self.cell)}.html"

    @property
    def cell(self) -> Cell:
        return self.comparison.cell

    @property
    def base(self) -> CellComparison | None:
        """The cell it is compared with; None if it is a base itself."""
        return None if self.cell == self.comparison.base else self.run.cells.get(self.comparison.base)

    @cached_property
    def changes(self) -> dict[int, float]:
        """Each start's change, head / base, by its number; none of a failed cell."""
        starts = pairs.log_ratios(dict(self.base_samples), dict(self.samples))
        return dict(zip(starts, self.comparison.per_start, strict=False))

    @property
    def confirming(self) -> str:
        """The numbers of the starts that were made to confirm the change; empty if none was."""
        key = block_key(self.cell.workload, self.cell.threads)
        confirming = {s.start for s in self.run.document.starts if s.block == key and s.confirming}
        return ", ".join(str(start) for start in self.changes if start in confirming)

    @property
    def gaps(self) -> bool:
        """Whether numbers of starts are missing."""
        return [*self.changes] != [*range(1, len(self.changes) + 1)]

    @property
    def students(self) -> Interval | None:
        """Student's plain interval over the starts, beside the one that verdicts use; None with one start."""
        if len(self.comparison.per_start) < STARTS_MIN:
            return None
        logs = [math.log(ratio) for ratio in self.comparison.per_start]
        return stats.over_starts(logs, self.run.comparison.policy.confidence).ratio

    @cached_property
    def samples(self) -> tuple[tuple[int, Samples], ...]:
        return self.run.samples(self.cell)

    @cached_property
    def base_samples(self) -> tuple[tuple[int, Samples], ...]:
        return self.run.samples(self.base.cell) if self.base else ()

    @staticmethod
    def _used(samples: tuple[tuple[int, Samples], ...], of: CellFigures | None) -> Iterator[Samples]:
        """The samples that figures are of."""
        return (one for start, one in samples if of is None or start not in of.left_out)

    @cached_property
    def both(self) -> tuple[tuple[Series, tuple[tuple[int, Samples], ...]], ...]:
        here = (self.run.series[self.cell.server], self.samples)
        return ((self.run.series[self.base.cell.server], self.base_samples), here) if self.base else (here,)

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        theirs = {start: charts.throughputs(samples) for start, samples in self.base_samples}
        rounds: list[Round] = []
        for start, samples in self.samples:
            here, base = charts.throughputs(samples), theirs.get(start, ())
            both = islice(zip_longest(here, base), len(here))
            rounds += [(start, number, *tps) for number, tps in enumerate(both, start=1)]
        return tuple(rounds)

    @property
    def metrics(self) -> Iterator[tuple[str, str, float, MetricComparison]]:
        """Each compared metric: title, display unit, factor to it, and change."""
        for change in self.comparison.metrics:
            metric = metrics.BY_NAME[change.name]
            unit, factor = ("µs", 1e6) if change.name == "server_cpu" else DISPLAY_UNITS[metric.unit]
            title = f"{metric.title}, background included" if metric.background else metric.title
            yield title, unit, factor, change

    @cached_property
    def latency(self) -> tuple[Row, ...]:
        return self._figures(
            lambda f: {title: getattr(f.latency, field) for field, title in LATENCIES.items()}
        )

    @cached_property
    def costs(self) -> tuple[Row, ...]:
        """The cost of a transaction, CPU time first."""
        return self._figures(
            lambda f: {
                SERVER_CPU: None if f.server_cpu_s is None else f.server_cpu_s * 1e6,
                "client CPU, µs": f.client_cpu_s * 1e6,
                "reads": f.reads,
                "writes": f.writes,
                "other statements": f.other,
            }
        )

    @cached_property
    def counters(self) -> tuple[Row, ...]:
        """The server's counters per transaction, largest change first."""
        rows = self._figures(lambda f: f.counters)
        return tuple(sorted(rows, key=lambda row: (-row.weight if self.base else 0, row.name)))

    @cached_property
    def errors(self) -> tuple[Row, ...]:
        return self._figures(lambda f: f.errors, absent=0)

    @property
    def statements(self) -> tuple[tuple[str, Latency, Latency | None], ...]:
        here = self.comparison.figures.statements if self.comparison.figures else {}
        theirs = self.comparison.base_figures.statements if self.comparison.base_figures else {}
        return tuple((kind, latency, theirs.get(kind)) for kind, latency in here.items())

    @cached_property
    def settings(self) -> tuple[tuple[SettingRecord, str | None], ...]:
        """Settings that deviate from the request or the base, with the base's effective value."""
        base = self.run.servers[self.base.cell.server] if self.base else None
        return tuple(
            (setting, theirs)
            for setting, theirs in compared_settings(self.run.servers[self.cell.server], base)
            if setting.differs or setting.lacking or (base and theirs != setting.effective)
        )

    @cached_property
    def warnings(self) -> tuple[WarningEntry, ...]:
        """All warnings about this cell and its servers."""
        servers = (self.cell.server, self.comparison.base.server)
        return (
            *(WarningEntry("this cell", warning) for warning in self.run.own_warnings(self.comparison)),
            *(entry for entry in self.run.shared_warnings if entry.about in servers),
        )

    @property
    def siblings(self) -> tuple[CellComparison, ...]:
        """Cells of the same workload and server by threads, including this one."""
        siblings = (c for c in self.set.cells if c.cell.server == self.cell.server)
        return tuple(sorted(siblings, key=lambda c: c.cell.threads))

    @cached_property
    def set(self) -> CellSet:
        return self.run.set_of(self.cell)

    @property
    def block_cells(self) -> tuple[CellComparison, ...]:
        """Cells of the same workload and number of threads, including this one."""
        return tuple(c for c in self.set.cells if c.cell.threads == self.cell.threads)

    @staticmethod
    def settled(samples: Samples) -> str:
        """Say how a warm-up ended."""
        if not samples.steady:
            return "not steady"
        return "steady" if abs(samples.drift) <= STEADY_TOLERANCE else "too noisy to tell"

    @property
    def command(self) -> str:
        """Command that measures this cell again with the same base and seed."""
        return commands.measure_again(self.run.document.header, self.comparison.base.server, self.cell)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The findings of capabilities about it."""
        return self.run.sections.get(self.cell, ())

    @property
    def charts(self) -> dict[str, Chart | None]:
        """Charts by name; None if nothing was measured."""
        series = self.run.series[self.cell.server]
        of = (self.comparison.base_figures, self.comparison.figures)
        histograms = [
            (one, merged(tuple(samples.latencies for samples in self._used(starts, figures))))
            for (one, starts), figures in zip(self.both, of[-len(self.both) :], strict=True)
            if starts
        ]
        return {
            "starts": charts.per_start(self.comparison, [*self.changes], self.run.comparison.policy, series),
            "slices": charts.slices(self.both),
            "latencies": charts.latencies(histograms),
        }

    def _figures(
        self, figures: Callable[[CellFigures], Mapping[str, float | None]], absent: float | None = None
    ) -> tuple[Row, ...]:
        here = figures(self.comparison.figures) if self.comparison.figures else {}
        there = figures(self.comparison.base_figures) if self.comparison.base_figures else {}
        return tuple(
            Row(
                name=name,
                here=here.get(name, absent),
                base=there.get(name, absent),
                here_hidden=name in HOST_FIGURES and bool(here) and here.get(name) is None,
                base_hidden=name in HOST_FIGURES and bool(there) and there.get(name) is None,
            )
            for name in dict.fromkeys((*here, *there))
        )
