"""The settings of a run's servers, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shootout.model.run import ServerRecord, SettingRecord
from shootout.settings.table import title

GROUPS = (
    "Not as requested, or lacking",
    "As requested",
    "Not requested, different between servers",
    "Not requested, the same on all servers",
)


@dataclass(frozen=True)
class SettingRow:
    """One setting of all servers in the run's order; None if unknown."""

    name: str
    records: tuple[SettingRecord | None, ...]

    @property
    def title(self) -> str:
        """Its name on the first server that has it."""
        return title(self.name, next((each.variables for each in self.recorded if each.variables), ()))

    @property
    def recorded(self) -> tuple[SettingRecord, ...]:
        return tuple(record for record in self.records if record is not None)

    @property
    def group(self) -> str:
        deviating, requested, differing, same = GROUPS
        if any(record.differs or record.lacking for record in self.recorded):
            return deviating
        if any(record.requested is not None for record in self.recorded):
            return requested
        return differing if len({record and record.effective for record in self.records}) > 1 else same

    @property
    def variables(self) -> tuple[str, ...]:
        """Its variables, if they have the same names in all versions."""
        names = {record.variables for record in self.recorded if record.variables}
        return next(iter(names)) if len(names) == 1 else ()


def grouped(servers: Sequence[ServerRecord]) -> tuple[tuple[str, tuple[SettingRow, ...]], ...]:
    """All settings of these servers by group, most important first."""
    by_name = [{record.name: record for record in server.settings} for server in servers]
    requested_first = sorted(
        (record for server in servers for record in server.settings), key=lambda r: r.requested is None
    )
    groups: dict[str, list[SettingRow]] = {title: [] for title in GROUPS}
    for name in dict.fromkeys(record.name for record in requested_first):
        row = SettingRow(name=name, records=tuple(records.get(name) for records in by_name))
        groups[row.group].append(row)
    return tuple((title, tuple(rows)) for title, rows in groups.items() if rows)
