"""The page of a server in a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shootout.answer import Table
from shootout.chart import Chart
from shootout.model.run import ServerRecord
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import headlines, wording
from shootout.report.site import charts, settings
from shootout.report.site.names import server_page
from shootout.report.site.page import RunPage
from shootout.report.site.run import CellSet, WarningEntry, tally


@dataclass(frozen=True)
class ServerPage(RunPage):
    record: ServerRecord
    template = "server"

    @property
    def file(self) -> str:
        return server_page(self.label)

    @property
    def label(self) -> str:
        return self.record.label

    @cached_property
    def cells(self) -> tuple[CellComparison, ...]:
        return tuple(c for c in self.run.comparison.cells if c.cell.server == self.label)

    @property
    def sets(self) -> tuple[CellSet, ...]:
        return tuple(s for s in self.run.sets if self.label in s.servers)

    def cells_of(self, cells: CellSet) -> tuple[CellComparison, ...]:
        return tuple(c for c in cells.cells if c.cell.server == self.label)

    @property
    def headline(self) -> headlines.Headline | None:
        """Its result; None for a base."""
        return dict(zip(self.run.heads, self.run.headlines, strict=False)).get(self.label)

    @property
    def bases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c.base.server for c in self.cells if c.base.server != self.label))

    @property
    def verdicts(self) -> dict[Verdict, int]:
        return tally(filter(wording.needs_verdict, self.cells))

    @property
    def warnings(self) -> tuple[WarningEntry, ...]:
        return tuple(WarningEntry(self.label, warning) for warning in self.record.warnings)

    def chart(self, cells: CellSet) -> Chart:
        series = [one for label, one in self.run.series.items() if label in (self.label, *self.bases)]
        return charts.throughput(cells.cells, series)

    @property
    def settings(self) -> Table:
        """Its settings with the base's effective values, deviations first."""
        base = self.run.servers.get(self.bases[0]) if self.bases else None
        return settings.compared(self.record, base, "requested and effective values")
