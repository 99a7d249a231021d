"""The column that each literal of a template is compared with or written to."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlglot
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from shootout.learn.schema import Column, Schema
from shootout.learn.values import Log, Slot, Template

Use = Literal["equal", "range", "like", "insert", "set", "limit", "table", "other"]

# A quoted name may have a `?` of its own; the one that ends it may be a slot, in place of a table's digits.
_MARK = re.compile(r"(?<!\?)`(?:[^`?]|``|\?(?!`(?!`)))*+(?:`|(?P<table>\?)(?=`))|(?P<slot>\?\+?)")
_SAVEPOINT = re.compile(r"SAVEPOINT|RELEASE\b|ROLLBACK\b", re.IGNORECASE)  # not all are read by sqlglot
_SLOT = re.compile(r"slot_(\d+)_")
_NUMBER = 7_770_000_000  # of the first slot; no number of a statement without literals is like it
_WRAPPERS = (exp.Paren, exp.Neg, exp.Introducer, exp.Cast, exp.Collate)
# Functions that a value passes through as it is, or nearly; REPLACE and COALESCE from their first argument.
_KEEPING = (exp.Lower, exp.Upper, exp.Trim, exp.Replace, exp.Coalesce)
_EQUALS = (exp.EQ, exp.NullSafeEQ, exp.NEQ)
# A value's use by predicate: beside the first operand, or beside the other one.
_WITHIN: Mapping[type, Use] = {exp.Between: "range", exp.In: "equal", exp.Like: "like"}
_BESIDE: Mapping[type, Use] = {
    **dict.fromkeys((exp.GT, exp.GTE, exp.LT, exp.LTE), "range"), **dict.fromkeys(_EQUALS, "equal")
}  # fmt: skip
_SCOPES = (exp.Select, exp.Update, exp.Delete, exp.Insert)

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it cannot parse is reported by us


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a slot's values go."""

    use: Use
    column: Column | None = None  # None: to no column that is known
    family: tuple[str, ...] = ()  # the digits that a table's name may end with


UNBOUND = Binding("other")


@dataclass(frozen=True, slots=True)
class Bound:
    """A template with a binding for each slot."""

    slots: tuple[Binding, ...]
    tables: tuple[str, ...]  # that it names, as far as it could be parsed
    outputs: tuple[Column | None, ...] = ()  # of a SELECT: the columns that it returns; None: anything else
    missing: tuple[str, ...] = ()  # tables that the dump does not have
    databases: tuple[str, ...] = ()  # that names of the dump's tables are qualified with
    problem: str = ""  # why it could not be parsed


def pieces(sql: str, slots: Sequence[Slot]) -> Iterator[str]:
    """Split a template's text at its slots: text, slot, text, …, text."""
    end = number = 0
    for match in _MARK.finditer(sql):
        if match["slot"] or (match["table"] and any(slot.table for slot in slots[number : number + 1])):
            start, stop = match.span("slot" if match["slot"] else "table")
            yield sql[end:start]
            yield sql[start:stop]
            end, number = stop, number + 1
    yield sql[end:]


def bind(template: Template, schema: Schema) -> Bound:
    """Parse a template and follow each slot to its column."""
    if _SAVEPOINT.match(template.sql):
        return Bound((), ())
    try:
        tree = sqlglot.parse_one(_marked(template, schema), dialect="mysql")
        problem = "not a statement that sqlglot reads" if isinstance(tree, exp.Command) else ""
    except RecursionError:
        problem = "nested too deep for sqlglot"
    except SqlglotError as error:
        problem = re.sub(r"\x1b\[\d+m", "", str(error)).splitlines()[0].partition(" Line ")[0].strip()
    if problem:
        return Bound(_slots(template, schema, {}), (), problem=problem)
    nodes = ((_slot_of(node), node) for node in tree.find_all(exp.Literal, exp.HexString))
    bindings = {number: _binding(node, schema) for number, node in nodes if number is not None}
    tables = [table for table in tree.find_all(exp.Table) if table.name and not _only_named(table)]
    common = (table.alias for table in tree.find_all(exp.CTE))
    known = {*schema.tables, *schema.views, *common, "dual"}
    names = dict.fromkeys(table.name for table in tables if table.name in schema.tables)
    selected = tree.selects if isinstance(tree, exp.Select) and not tree.is_star else []
    return Bound(
        _slots(template, schema, bindings),
        tuple(names),
        tuple(_resolved(output.unalias(), schema) for output in selected),
        tuple(dict.fromkeys(table.name for table in tables if table.name not in known)),
        tuple(dict.fromkeys(table.db for table in tables if table.db and table.name in known)),
    )


def unqualified(log: Log, schema: Schema) -> Log:
    """Strip the log of databases before the dump's tables, which are loaded into another one."""
    families = (f"{stem}?" for stem in schema.families)
    names = "|".join(map(re.escape, (*schema.tables, *schema.views, *families)))

    def plain(template: Template) -> Template:
        sql = template.sql
        for database in bind(template, schema).databases if "." in sql else ():
            sql = re.sub(rf"(?<![\w$`.])`?{re.escape(database)}`?\s*\.\s*(?=`?(?:{names})(?![\w$]))", "", sql)
        return replace(template, sql=sql)

    return replace(log, templates=tuple(map(plain, log.templates)))


def _slots(template: Template, schema: Schema, bindings: Mapping[int, Binding]) -> tuple[Binding, ...]:
    texts = [*pieces(template.sql, template.slots)][::2]
    return tuple(
        Binding("table", family=_family(text, schema)) if slot.table else bindings.get(number, UNBOUND)
        for number, (text, slot) in enumerate(zip(texts, template.slots, strict=False))
    )


def _family(text: str, schema: Schema) -> tuple[str, ...]:
    """The digits that may follow a text which ends with the stem of numbered tables."""
    stems = filter(text.endswith, schema.families)
    return schema.families[max(stems, key=len)]


def _marked(template: Template, schema: Schema) -> str:
    """The template with a literal for each slot that tells its number; a table gets one of its family."""
    texts = [*pieces(template.sql, template.slots)]
    for number, slot in enumerate(template.slots[: len(texts) // 2]):
        marked = str(_NUMBER + number) if slot.kind == "number" else f"'slot_{number}_'"
        texts[2 * number + 1] = _family(texts[2 * number], schema)[0] if slot.table else marked
    return re.sub(r"^\s*REPLACE\b", "INSERT", "".join(texts), flags=re.IGNORECASE)


def _slot_of(node: exp.Expr) -> int | None:
    if node.is_string and not node.this.isdecimal():
        marked = _SLOT.fullmatch(node.this)
        return int(marked[1]) if marked else None
    number = int(node.this) - _NUMBER if str(node.this).isdecimal() else -1
    return number if 0 <= number < 100_000 else None


def _binding(node: exp.Expr, schema: Schema) -> Binding:
    parent = node.parent
    while isinstance(parent, (*_WRAPPERS, *_KEEPING, exp.Concat)) or _is_start(node) or _is_case(node):
        assert parent is not None
        if isinstance(parent, exp.Coalesce | exp.Replace) and parent.this is not node:
            return _compared(parent.this, "equal", schema) if isinstance(parent, exp.Coalesce) else UNBOUND
        if isinstance(parent, exp.Concat) and not isinstance(parent.parent, exp.Like):
            return UNBOUND
        node, parent = parent, parent.parent
    if isinstance(parent, exp.Limit | exp.Offset):
        return Binding("limit")
    if parent and (use := _WITHIN.get(type(parent))):
        return _compared(parent.this, use, schema)
    if parent and (use := _BESIDE.get(type(parent))):
        assigns = isinstance(parent.parent, exp.Update | exp.OnConflict) and parent.arg_key == "expressions"
        return _compared(_other(parent, node), "set" if assigns else use, schema)
    if isinstance(parent, exp.Tuple):
        return _of_tuple(parent, parent.expressions.index(node), schema)
    if isinstance(parent, exp.Select) and isinstance(parent.parent, exp.Insert) and node in parent.selects:
        return _inserted(parent.parent, parent.selects.index(node), schema)
    return UNBOUND


def _is_start(node: exp.Expr) -> bool:
    """Whether a literal is a place to count from: `? - 20`."""
    parent = node.parent
    return isinstance(parent, exp.Add | exp.Sub) and parent.this is node and not parent.find(exp.Column)


def _is_case(node: exp.Expr) -> bool:
    parent = node.parent
    if isinstance(parent, exp.If):
        return node.arg_key == "true" or isinstance(parent.parent, exp.Case)
    return isinstance(parent, exp.Case) and node.arg_key in ("default", "ifs")


def _only_named(table: exp.Table) -> bool:
    """Whether a table is named once more: as what to delete from, or in FOR UPDATE OF."""
    parent = table.parent
    if isinstance(parent, exp.Delete):
        return table.arg_key == "tables" or bool(parent.args.get("using"))
    return isinstance(parent, exp.Lock)


def _other(parent: exp.Expr, node: exp.Expr) -> exp.Expr:
    other: exp.Expr = parent.expression if parent.this is node else parent.this
    return other


def _of_tuple(row: exp.Tuple, index: int, schema: Schema) -> Binding:
    parent = row.parent
    if isinstance(parent, exp.Values) and isinstance(parent.parent, exp.Insert):
        return _inserted(parent.parent, index, schema)
    if isinstance(parent, exp.Tuple):  # a list of rows
        return _of_tuple(parent, index, schema)
    if not isinstance(parent, (exp.In, *_EQUALS)):
        return UNBOUND
    other = parent.this if isinstance(parent, exp.In) else _other(parent, row)
    if isinstance(other, exp.Tuple) and index < len(other.expressions):
        return _compared(other.expressions[index], "equal", schema)
    return UNBOUND


def _inserted(insert: exp.Insert, index: int, schema: Schema) -> Binding:
    into, named = insert.this, isinstance(insert.this, exp.Schema)
    columns = schema.tables.get((into.this if named else into).name, {})
    names = [name.name.lower() for name in into.expressions] if named else list(columns)
    column = columns.get(names[index]) if index < len(names) else None
    return Binding("insert", column) if column else UNBOUND


def _compared(node: exp.Expr, use: Use, schema: Schema) -> Binding:
    while isinstance(node, (exp.Paren, exp.Collate, exp.Cast, *_KEEPING)):
        node = node.this
    column = _resolved(node, schema)
    return Binding(use, column) if column else UNBOUND


def _resolved(column: exp.Expr, schema: Schema) -> Column | None:
    """The table's column that a name means, through aliases, derived tables and outer queries."""
    if not isinstance(column, exp.Column):
        return None
    scope: exp.Expr | None = column.find_ancestor(*_SCOPES)
    while scope is not None:
        for name, source in _sources(scope).items():
            if column.table in ("", name) and (inner := _within(source, column.name, schema)):
                return inner
        scope = scope.find_ancestor(*_SCOPES)
    return None


def _sources(scope: exp.Expr) -> Mapping[str, exp.Expr]:
    return {
        source.alias_or_name: source
        for source in scope.find_all(exp.Table, exp.Subquery)
        if source.alias_or_name and source.find_ancestor(*_SCOPES) is scope
        if not (isinstance(source, exp.Table) and _only_named(source))
    }


def _within(source: exp.Expr, name: str, schema: Schema) -> Column | None:
    if isinstance(source, exp.Table):
        if known := schema.tables.get(source.name):
            return known.get(name.lower())
        commons = (table for table in source.root().find_all(exp.CTE) if table.alias == source.name)
        source = next(commons, source)
    selects = source.this.selects if isinstance(source.this, exp.Query) else ()
    named = next((selected for selected in selects if selected.alias_or_name == name), None)
    return None if named is None else _resolved(named.unalias(), schema)
