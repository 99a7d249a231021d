"""What the templates see of a server of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shootout.model.run import ServerRecord, SettingRecord
from shootout.model.verdict import CellComparison, Verdict
from shootout.report import wording
from shootout.report.site import charts
from shootout.report.site.run import CellSet, Doubt, Run, tally


@dataclass(frozen=True)
class ServerPage:
    """All that one server's page shows."""

    run: Run
    record: ServerRecord

    @property
    def label(self) -> str:
        """What it is called in the run."""
        return self.record.label

    @cached_property
    def cells(self) -> tuple[CellComparison, ...]:
        """Its own, in the run's order."""
        return tuple(c for c in self.run.comparison.cells if c.cell.server == self.label)

    @cached_property
    def sets(self) -> tuple[CellSet, ...]:
        """The workloads that it ran."""
        return tuple(s for s in self.run.sets if self.label in s.servers)

    def cells_of(self, cells: CellSet) -> tuple[CellComparison, ...]:
        """Its own in one workload."""
        return tuple(c for c in cells.cells if c.cell.server == self.label)

    @property
    def headline(self) -> wording.Headline | None:
        """What the run says of it; None for a server that was only compared with."""
        return dict(zip(self.run.heads, self.run.headlines, strict=False)).get(self.label)

    @property
    def bases(self) -> tuple[str, ...]:
        """What it is compared with."""
        return tuple(dict.fromkeys(c.base.server for c in self.cells if c.base.server != self.label))

    @cached_property
    def verdicts(self) -> dict[Verdict, int]:
        """How many of its cells have each verdict."""
        return tally(c for c in self.cells if c.cell != c.base or c.verdict is not Verdict.UNJUDGED)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What is to be said against it."""
        return tuple(Doubt(about=self.label, warning=warning) for warning in self.record.warnings)

    def chart(self, cells: CellSet) -> charts.Figure:
        """Its throughput in one workload, beside its base's."""
        shown = [one for label, one in self.run.series.items() if label in (self.label, *self.bases)]
        return charts.throughput(cells.cells, shown, {})

    @cached_property
    def settings(self) -> tuple[tuple[SettingRecord, str | None], ...]:
        """Each setting with the base's effective value, deviations first."""
        return compared_settings(self.record, self.run.servers.get(self.bases[0]) if self.bases else None)


def compared_settings(
    here: ServerRecord, base: ServerRecord | None
) -> tuple[tuple[SettingRecord, str | None], ...]:
    """Each setting of a server with its base's effective value, deviations first."""
    theirs = {setting.name: setting.effective for setting in base.settings} if base else {}
    rows = [(setting, theirs.get(setting.name)) for setting in here.settings]
    fine = {setting.name: not (setting.differs or setting.lacking) for setting in here.settings}
    return tuple(sorted(rows, key=lambda row: (fine[row[0].name], row[0].requested is None)))
