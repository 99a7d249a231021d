"""The settings of a run's servers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shootout.model.run import ServerRecord, SettingRecord

GROUPS = (
    "Not as requested, or lacking",
    "As requested",
    "Not requested, and not the same",
    "Not requested, and the same",
)


@dataclass(frozen=True)
class SettingRow:
    """One setting on every server, in the run's order; None: nothing is known of it there."""

    name: str
    records: tuple[SettingRecord | None, ...]

    @property
    def known(self) -> tuple[SettingRecord, ...]:
        """Those of servers that have it."""
        return tuple(record for record in self.records if record is not None)

    @property
    def group(self) -> str:
        """Which of GROUPS it belongs to."""
        deviating, asked, differing, same = GROUPS
        if any(record.differs or record.lacking for record in self.known):
            return deviating
        if any(record.requested is not None for record in self.known):
            return asked
        return differing if len({record and record.effective for record in self.records}) > 1 else same

    @property
    def requested(self) -> tuple[str | None, ...]:
        """What was asked for, each value once."""
        return tuple(dict.fromkeys(record.requested for record in self.known))

    @property
    def notes(self) -> tuple[str, ...]:
        """How values came about, each once."""
        return tuple(dict.fromkeys(r.note for r in self.known if r.note and not r.lacking))

    @property
    def variables(self) -> tuple[str, ...]:
        """What every version calls it; empty where they do not agree."""
        names = {record.variables for record in self.known if record.variables}
        return next(iter(names)) if len(names) == 1 else ()


def grouped(servers: Sequence[ServerRecord]) -> tuple[tuple[str, tuple[SettingRow, ...]], ...]:
    """Every setting of any server, by what is to be said of it; what matters most first."""
    by_name = [{record.name: record for record in server.settings} for server in servers]
    asked_first = sorted(
        (record for server in servers for record in server.settings), key=lambda r: r.requested is None
    )
    groups: dict[str, list[SettingRow]] = {title: [] for title in GROUPS}
    for name in dict.fromkeys(record.name for record in asked_first):
        row = SettingRow(name=name, records=tuple(records.get(name) for records in by_name))
        groups[row.group].append(row)
    return tuple((title, tuple(rows)) for title, rows in groups.items() if rows)
