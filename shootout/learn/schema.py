"""The schema in a loaded dump: tables, columns, keys, and the values of columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shootout.measure.dataset import SCAN_TIMEOUT_S, quoted
from shootout.servers.external.external import MARK
from shootout.servers.running import Running

_FAMILY = re.compile(r"(.*?[^0-9])([0-9]+)")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    table: str
    name: str
    type: str  # without its size
    unique: bool  # alone
    key: bool  # part of a unique key
    automatic: bool = False  # the server numbers its rows
    parent: str = ""  # the column that its foreign key names
    beside: str = ""  # the first column of that key, if it has others: rows of the parent have them together

    @property
    def full_name(self) -> str:
        return f"{self.table}.{self.name}"


@dataclass(frozen=True)
class Schema:
    """All tables, each with its columns by lower-case name, in order."""

    tables: Mapping[str, Mapping[str, Column]]
    rows: Mapping[str, int]
    views: frozenset[str] = frozenset()
    # The columns of unique keys, by table and name.
    keys: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)

    def key_of(self, column: Column) -> str:
        """Find the column whose values a foreign key repeats, through all parents; or the column itself."""
        seen = {column.full_name}
        while column.parent and column.parent not in seen:
            seen.add(column.parent)
            table, _, name = column.parent.partition(".")
            if (parent := self.tables.get(table, {}).get(name.lower())) is None:
                break
            column = parent
        return column.full_name

    def is_key(self, name: str) -> bool:
        """Whether TABLE.COLUMN is part of a unique key."""
        table, _, column = name.partition(".")
        found = self.tables.get(table, {}).get(column.lower())
        return found is not None and found.key

    @cached_property
    def numbered(self) -> frozenset[str]:
        """The columns that the server numbers."""
        every = (column for columns in self.tables.values() for column in columns.values())
        return frozenset(column.full_name for column in every if column.automatic)

    @cached_property
    def families(self) -> dict[str, tuple[str, ...]]:
        """The digits that end the names of tables which have them alone apart, and equal columns; by stem."""
        numbered: dict[str, dict[str, tuple[str, ...]]] = {}
        for table, columns in self.tables.items():
            if name := _FAMILY.fullmatch(table):
                numbered.setdefault(name[1], {})[name[2]] = tuple(columns)
        return {
            stem: tuple(sorted(tables, key=lambda digits: (int(digits), digits)))
            for stem, tables in numbered.items()
            if len(tables) > 1 and len(set(tables.values())) == 1
        }


def read_schema(instance: Running, schema: str) -> Schema:
    """Read it from the server that has loaded the dump. Raises MeasureError."""
    keys: dict[tuple[str, str], list[str]] = {}
    for table, key, column in instance.query(
        "SELECT table_name, index_name, column_name FROM information_schema.statistics "
        f"WHERE table_schema = '{schema}' AND non_unique = 0 ORDER BY table_name, index_name, seq_in_index"
    ):
        keys.setdefault((table, key), []).append(str(column))
    foreign: dict[tuple[str, str], tuple[str, str]] = {}  # a column's parent, and `beside`
    firsts: dict[tuple[str, str], str] = {}  # columns of foreign keys, by table and constraint
    for table, key, column, parent, name in instance.query(
        "SELECT table_name, constraint_name, column_name, referenced_table_name, referenced_column_name "
        "FROM information_schema.key_column_usage "
        f"WHERE table_schema = '{schema}' AND referenced_table_schema = '{schema}' "
        "ORDER BY table_name, constraint_name, ordinal_position"
    ):
        first = firsts.setdefault((table, key), str(column))
        foreign[table, column] = f"{parent}.{name}", "" if first == column else first
    tables: dict[str, dict[str, Column]] = {}
    for table, name, type, extra in instance.query(
        "SELECT table_name, column_name, LOWER(data_type), extra FROM information_schema.columns "
        "JOIN information_schema.tables USING (table_schema, table_name) "
        f"WHERE table_schema = '{schema}' AND table_type = 'BASE TABLE' AND table_name <> '{MARK}' "
        "ORDER BY table_name, ordinal_position"
    ):
        own = [columns for (of, _), columns in keys.items() if of == table and name in columns]
        unique, automatic = any(len(columns) == 1 for columns in own), "auto_increment" in extra.lower()
        column = Column(table, name, type, unique, bool(own), automatic, *foreign.get((table, name), ()))
        tables.setdefault(table, {})[name.lower()] = column
    rows = {}
    for table in tables:
        count = f"SELECT COUNT(*) FROM {quoted(schema)}.{quoted(table)}"
        rows[table] = int(instance.query(count, SCAN_TIMEOUT_S)[0][0])
    views = instance.query(
        "SELECT table_name FROM information_schema.tables "
        f"WHERE table_schema = '{schema}' AND table_type = 'VIEW'"
    )
    return Schema(tables, rows, frozenset(str(name) for (name,) in views), keys)
