"""A dump of invented rows, for where the real ones must stay: as many, as distinct, and related as they were.

Each column's distinct values are replaced by invented ones in the same order; frequencies and NULLs stay. The
columns of one key keep their combinations; all others are shuffled, so that no row stays together.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shootout.errors import InputError
from shootout.learn import invented
from shootout.learn.invented import Key, Kind
from shootout.learn.schema import Column, Schema
from shootout.measure import dump
from shootout.measure.dataset import SCAN_TIMEOUT_S, quoted
from shootout.servers.running import Running

_HEADER = b"""\
SET NAMES utf8mb4;
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
SET time_zone = '+00:00';
SET foreign_key_checks = 0;
"""
_TABLE = re.compile(rb"CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(?P<name>[^`\s(]+)", re.IGNORECASE)
# All that is written of the original: whatever else it has may hold rows.
_DEFINES = re.compile(rb"(?:/\*!\d+\s+)?(?:CREATE|ALTER|DROP|SET)\b", re.IGNORECASE)
_STATEMENT_BYTES = 500_000  # of an INSERT, below every version's max_allowed_packet
_RISING = 0.9  # share of neighbours in order, from which a column rises with the primary key
_NULL = -1  # in place of a rank
_GENERATED = "^(VIRTUAL|STORED|PERSISTENT)"

Ranks = NDArray[np.int64]


@dataclass(frozen=True)
class _Keys:
    """What ties columns together; columns by full name."""

    primary: Mapping[str, Sequence[str]]  # by table
    together: Sequence[Sequence[str]]  # columns of one composite key
    related: Sequence[tuple[str, str]]  # columns whose values are one set: foreign keys and joins


def write(
    original: Path,
    copy: Path,
    instance: Running,
    schema: str,
    *,
    known: Schema,
    joined: Iterable[tuple[Column, Column]],
) -> None:
    """Write the dump `copy`: the `original`'s definitions with invented rows.

    `schema` on `instance` has the original loaded; `joined` are columns that queries compare. The same dump
    always gives the same copy. Raises InputError for what cannot be invented, and MeasureError.
    """
    keys = _keys(instance, schema, known, joined)
    columns = _invented(instance, schema, known, keys)
    missing = set(known.tables)
    with copy.open("wb") as file:
        file.write(_HEADER)
        for _, statement in dump.prepared(original):
            if not _DEFINES.match(statement):
                continue
            file.write(_delimited(statement))
            if created := _TABLE.match(statement):
                name = created["name"].decode()
                missing.discard(name)
                own = {column: columns[column.full_name] for column in known.tables.get(name, {}).values()}
                file.writelines(_inserts(name, {column: of for column, of in own.items() if of}, keys))
    if missing:
        raise InputError(f"{original}: no CREATE TABLE for {', '.join(sorted(missing))}")


# --- what the server says -------------------------------------------------------------------------


def _keys(instance: Running, schema: str, known: Schema, joined: Iterable[tuple[Column, Column]]) -> _Keys:
    unique = {key: [f"{key[0]}.{column}" for column in columns] for key, columns in known.keys.items()}
    foreign: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for table, key, column, parent, referenced in instance.query(
        "SELECT table_name, constraint_name, column_name, referenced_table_name, referenced_column_name "
        f"FROM information_schema.key_column_usage WHERE table_schema = '{schema}' "
        "AND referenced_table_name IS NOT NULL ORDER BY table_name, constraint_name, ordinal_position"
    ):
        foreign.setdefault((table, key), []).append((f"{table}.{column}", f"{parent}.{referenced}"))
    return _Keys(
        {table: columns for (table, key), columns in unique.items() if key == "PRIMARY"},
        [*unique.values(), *([own for own, _ in pairs] for pairs in foreign.values())],
        [
            *(pair for pairs in foreign.values() for pair in pairs),
            *((one.full_name, other.full_name) for one, other in joined),
        ],
    )


def _invented(
    instance: Running, schema: str, known: Schema, keys: _Keys
) -> dict[str, tuple[Ranks, list[str]] | None]:
    """For each column its rows' ranks, and a literal for each rank; None: the server fills it."""
    every = {column.full_name: column for columns in known.tables.values() for column in columns.values()}
    invented_columns: dict[str, tuple[Ranks, list[str]] | None] = dict.fromkeys(every)
    generated = {
        f"{table}.{column}"
        for table, column in instance.query(
            "SELECT table_name, column_name FROM information_schema.columns "
            f"WHERE table_schema = '{schema}' AND extra REGEXP '{_GENERATED}'"
        )
    }
    kinds = {name: invented.kind(name, every[name].type) for name in every.keys() - generated}
    alike = [(one, other) for one, other in keys.related if kinds.get(one) == kinds.get(other)]
    for related in _united(sorted(kinds), alike):
        values = {name: _values(instance, schema, every[name], kinds[name], keys) for name in related}
        ordered = sorted({value for of in values.values() for value in of if value is not None})
        ranks = {value: rank for rank, value in enumerate(ordered)}
        literals = kinds[related[0]].literals(related[0], ordered) if ordered else []
        for name, of in values.items():
            numbers = np.array([_NULL if value is None else ranks[value] for value in of], np.int64)
            invented_columns[name] = numbers, literals
    return invented_columns


def _values(instance: Running, schema: str, column: Column, kind: Kind, keys: _Keys) -> list[Key | None]:
    """A column's values as keys, in the order of the primary key."""
    source = f"{quoted(schema)}.{quoted(column.table)}"
    order = ", ".join(quoted(name.partition(".")[2]) for name in keys.primary.get(column.table, ()))
    sql = f"SELECT {kind.sql.format(quoted(column.name))} FROM {source}{order and f' ORDER BY {order}'}"
    return [None if value is None else kind.key(value) for (value,) in instance.query(sql, SCAN_TIMEOUT_S)]


def _united(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The names in groups: those of a pair are in one."""
    group = {name: [name] for name in names}
    for one, other in pairs:
        if one in group and other in group and group[one] is not group[other]:
            group[one] += group[other]
            group |= dict.fromkeys(group[other], group[one])
    return list({id(names): names for names in group.values()}.values())


# --- rows -----------------------------------------------------------------------------------------


def _inserts(table: str, columns: Mapping[Column, tuple[Ranks, list[str]]], keys: _Keys) -> Iterator[bytes]:
    names = {column.full_name: column for column in columns}
    pairs = [pair for columns_ in keys.together for pair in pairwise(columns_)]
    texts: dict[str, list[str]] = {}
    for group in _united(sorted(names), pairs):
        ranks = {name: columns[names[name]][0] for name in group}
        order = _order(group, ranks, keys.primary.get(table, ()))
        for name in group:
            literals = [*columns[names[name]][1], "NULL"]  # the last is that of rank -1
            texts[name] = [literals[rank] for rank in ranks[name][order]]
    listed = [texts[name] for name in names]
    head = f"INSERT INTO {quoted(table)} ({', '.join(quoted(column.name) for column in columns)}) VALUES\n"
    for rows in _batches(",".join(row) for row in zip(*listed, strict=True)):
        yield (head + ",\n".join(f"({row})" for row in rows) + ";\n").encode()


def _order(group: Sequence[str], ranks: Mapping[str, Ranks], primary: Collection[str]) -> NDArray[np.intp]:
    """Which row's combination each row gets: the primary key's its own, other columns' any other's."""
    first = ranks[group[0]]
    if not set(primary).isdisjoint(group):
        return np.arange(first.size)
    if len(group) == 1 and np.count_nonzero(np.diff(first) >= 0) >= _RISING * (first.size - 1):
        return np.argsort(first, kind="stable")
    return np.array(random.Random(group[0]).sample(range(first.size), first.size), np.intp)


def _batches(rows: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for row in rows:
        if batch and size + len(row) > _STATEMENT_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row)
    if batch:
        yield batch


def _delimited(statement: bytes) -> bytes:
    if dump.is_program(statement):
        return b"DELIMITER ;;\n" + statement + b";;\nDELIMITER ;\n"
    return statement + b";\n"
