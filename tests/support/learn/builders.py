"""Logs and schemas, made of few words."""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from shootout.learn.binding import Bound, bind, pieces
from shootout.learn.learning import LearningReport
from shootout.learn.schema import Column, Schema
from shootout.learn.values import Link, Log, LogSequence, Slot, Template


def a_schema() -> Schema:
    """Customers and their orders, and two tables of a family."""
    return Schema(
        {
            "customer": a_table("customer", id="int unique", name="varchar", city="varchar"),
            "orders": a_table(
                "orders", id="int unique", customer_id="int of customer.id", total="decimal", at="datetime"
            ),
            "line": a_table("line", order_id="int key", number="int key", code="varbinary"),
            "part1": a_table("part1", id="int unique", note="varchar"),
            "part2": a_table("part2", id="int unique", note="varchar"),
        },
        {"customer": 100, "orders": 1000, "line": 3000, "part1": 5, "part2": 5},
    )


def a_table(table: str, /, **types: str) -> dict[str, Column]:
    found = {}
    for name, text in types.items():
        words, _, parent = text.partition(" of ")
        type, *keys = words.split()
        found[name] = Column(table, name, type, "unique" in keys, bool(keys), parent=parent)
    return found


def a_slot(*literals: str | int, times: int = 100, table: bool = False) -> Slot:
    """A slot that had each of these equally often."""
    texts = tuple(str(each).encode() for each in literals)
    kind: Literal["number", "text"] = "number" if all(isinstance(each, int) for each in literals) else "text"
    counted = dict.fromkeys(texts, 0)
    for text in texts:
        counted[text] += times
    return Slot(
        kind=kind,
        distinct=len(counted),
        top=tuple(counted.items()) if len(counted) <= 64 else (),
        sample=texts * max(1, 1000 // len(texts)),
        nulls=0,
        table=table,
    )


def a_template(sql: str, *slots: Slot, count: int = 100, rows_sent: int | None = None) -> Template:
    """A template; slots that are not given are numbers."""
    number = sum(piece in ("?", "?+") for piece in pieces(sql, [*slots, *[a_slot(1)] * 99]))
    every = (*slots, *(a_slot(1) for _ in range(number - len(slots))))
    return Template(sql=sql, count=count, seconds=1.0, rows_examined=count, rows_sent=rows_sent, slots=every)


def bound(sql: str, *slots: Slot) -> Bound:
    return bind(a_template(sql, *slots), a_schema())


def targets(sql: str, *slots: Slot) -> list[str]:
    """Use and column of each slot, in words."""
    return [
        f"{each.use} {each.column.full_name}" if each.column else each.use
        for each in bound(sql, *slots).slots
    ]


def a_log(*templates: Template, sequences: tuple[LogSequence, ...] | None = None) -> Log:
    """A log of these templates, each by itself unless there are sequences."""
    alone = (
        LogSequence(statements=(at,), count=each.count, explicit=False) for at, each in enumerate(templates)
    )
    every = tuple(alone) if sequences is None else sequences
    return Log(
        kind="slow",
        templates=templates,
        sequences=every,
        left_out=(),
        statements=sum(each.count for each in templates),
        transactions=sum(each.count for each in every),
        connections=1,
        span_s=10.0,
        think_s=0.0,
        seconds=1.0,
        ordered=True,
    )


def a_link(place: tuple[int, int], of: tuple[int, int], difference: int = 0, share: float = 1.0) -> Link:
    (statement, slot), (of_statement, of_slot) = place, of
    return Link(
        statement=statement, slot=slot, of_statement=of_statement, of_slot=of_slot, difference=difference,
        share=share,
    )  # fmt: skip


def a_report(**values: Any) -> LearningReport:
    """A report of statements that are given, or of none."""
    report = LearningReport(
        logs=("slow.log",), server="5.7.22", rows={"t": 3}, statements=(), left_out=(), transactions=100,
        kinds=2, per_transaction=1.0, connections=1, think_s=0.0, ordered=True, kept_values=False,
    )  # fmt: skip
    return replace(report, **values)
