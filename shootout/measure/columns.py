"""The values of a dataset's columns, which learned parameters are drawn from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace
from pymysql.cursors import SSCursor

from shootout.errors import MeasureError
from shootout.inputs.placeholders import NUMBERS
from shootout.measure.dataset import SCAN_TIMEOUT_S, cursor_on, quoted
from shootout.model.program import Numbers, Program, ProgramColumn
from shootout.servers.running import Running

T = TypeVar("T", int, str)

VALUES_MAX = 65_536  # of a column; larger columns are sampled evenly
_ASKED = 500  # literals at once
_BESIDE_MAX = 8  # values that stand beside one
_DENSE = 0.98  # share of the numbers in a range that must be there to draw from all of them

INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit")
_ORDERED = ("decimal", "float", "double", "date", "datetime", "timestamp", "time")


def filled(program: Program, schema: str, base: Running) -> Program:
    """Fill in the values that all columns have on the base. Raises MeasureError without a column."""
    plain = [
        column if column.values is not None or column.beside else read(column, schema, base)
        for column in program.columns
    ]
    known = {column.name: column for column in plain if not column.beside}
    columns = (
        _beside(column, known[column.beside], schema, base) if column.beside else column for column in plain
    )
    return replace(program, columns=tuple(columns))


def continued(program: Program, schema: str, instance: Running) -> Program:
    """Move the program's new numbers beyond those of this server, too, whatever was inserted before."""
    return replace(
        program,
        columns=tuple(
            replace(column, next=max(column.next, _last(column, schema, instance) + 1))
            if column.fresh and column.next is not None
            else column
            for column in program.columns
        ),
    )


def data_type(instance: Running, schema: str, name: str) -> str:
    """Read the type of TABLE.COLUMN without its size. Raises MeasureError if there is none of that name."""
    table, _, column = name.partition(".")
    rows = instance.query(
        "SELECT LOWER(data_type) FROM information_schema.columns WHERE "
        f"table_schema = {_literal(schema)} AND table_name = {_literal(table)} "
        f"AND column_name = {_literal(column)}"
    )
    if not rows:
        raise MeasureError(f"the dataset has no column {name}")
    return str(rows[0][0])


def present(name: str, schema: str, instance: Running, literals: Sequence[bytes]) -> list[str]:
    """Find the literals that occur in TABLE.COLUMN, as they are stored there; bytes in hexadecimal."""
    source, column = _named(schema, name)
    read = f"HEX({column})" if is_bytes(data_type(instance, schema, name)) else f"CAST({column} AS CHAR)"
    values: list[str] = []
    for first in range(0, len(literals), _ASKED):
        wanted = ", ".join(f"X'{literal.hex()}'" for literal in literals[first : first + _ASKED])
        sql = f"SELECT DISTINCT {read} FROM {source} WHERE CAST({column} AS BINARY) IN ({wanted})"
        values += (str(value) for (value,) in instance.query(sql, SCAN_TIMEOUT_S))
    return values


def is_bytes(type: str) -> bool:
    """Whether a column of this type holds bytes, not characters."""
    return type in _BYTES


def read(column: ProgramColumn, schema: str, base: Running) -> ProgramColumn:
    """Read a column with its values. Raises MeasureError if it is not there."""
    type = data_type(base, schema, column.name)
    source, name = _named(schema, column.name)
    if type not in INTEGERS:
        distinct = f"SELECT DISTINCT {_read(type, name)} AS value FROM {source} WHERE {name} IS NOT NULL"
        texts = f"SELECT CAST(value AS CHAR CHARACTER SET utf8mb4) FROM ({distinct}) v ORDER BY value"
        return replace(column, values=_strided(base, texts, str))
    ((low, high, count),) = base.query(
        f"SELECT MIN({name}), MAX({name}), COUNT(DISTINCT {name}) FROM {source}", SCAN_TIMEOUT_S
    )
    if low is None:
        return replace(column, values=(), next=1)
    low, high = int(low), int(high)
    numbers = f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL ORDER BY {name}"
    if high >= NUMBERS[-1]:  # no number of the engine is beyond
        return replace(column, values=_strided(base, numbers, str))
    if count >= _DENSE * (high - low + 1):
        return replace(column, values=Numbers(min=low, max=high), next=high + 1)
    return replace(column, values=_strided(base, numbers, int), next=high + 1)


def _beside(column: ProgramColumn, anchor: ProgramColumn, schema: str, base: Running) -> ProgramColumn:
    types = [data_type(base, schema, each.name) for each in (anchor, column)]
    (source, first), (_, second) = _named(schema, anchor.name), _named(schema, column.name)
    reads = f"{_read(types[0], first)} AS a, {_read(types[1], second)} AS b"
    pairs = f"SELECT DISTINCT {reads} FROM {source} WHERE {first} IS NOT NULL AND {second} IS NOT NULL"
    texts = ", ".join(f"CAST({name} AS CHAR CHARACTER SET utf8mb4)" for name in "ab")
    values = anchor.values or ()
    every = range(values.min, values.max + 1) if isinstance(values, Numbers) else values
    beside: dict[str, list[str]] = {str(value): [] for value in every}
    with cursor_on(base, pairs, SCAN_TIMEOUT_S, cursorclass=SSCursor) as cursor:
        cursor.execute(f"SELECT {texts} FROM ({pairs}) v ORDER BY a, b")
        for one, other in cursor:
            if one in beside and len(beside[one]) < _BESIDE_MAX:
                beside[one].append(other)
    found = [value for group in beside.values() for value in group]
    starts = (0, *itertools.accumulate(map(len, beside.values())))
    if types[1] in INTEGERS and all(int(value) < NUMBERS[-1] for value in found):
        numbers = tuple(map(int, found))
        return replace(column, values=numbers, next=max(numbers, default=0) + 1, starts=starts)
    return replace(column, values=tuple(found), starts=starts)


def _read(type: str, name: str) -> str:
    """Write the expression that reads a column, or the bytes of its characters, which no collation orders."""
    if is_bytes(type):
        return f"HEX({name})"
    return name if type in (*_ORDERED, *INTEGERS) else f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)"


def _last(column: ProgramColumn, schema: str, instance: Running) -> int:
    source, name = _named(schema, column.name)
    ((last,),) = instance.query(f"SELECT MAX({name}) FROM {source}", SCAN_TIMEOUT_S)
    return 0 if last is None else int(last)


def _named(schema: str, name: str) -> tuple[str, str]:
    table, _, column = name.partition(".")
    return f"{quoted(schema)}.{quoted(table)}", quoted(column)


def _strided(instance: Running, sql: str, make: Callable[[Any], T]) -> tuple[T, ...]:
    """Read the rows' first column; of more than VALUES_MAX, every second, every fourth, …"""
    values: list[T] = []
    stride = 1
    with cursor_on(instance, sql, SCAN_TIMEOUT_S, cursorclass=SSCursor) as cursor:
        cursor.execute(sql)
        for number, (value,) in enumerate(cursor):
            if number % stride == 0:
                values.append(make(value))
            if len(values) > VALUES_MAX:
                values, stride = values[::2], stride * 2
    return tuple(values)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
