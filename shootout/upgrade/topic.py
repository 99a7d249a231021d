"""A part of an upgrade's answer, in words."""

from __future__ import annotations

from dataclasses import dataclass

from shootout.model.statement_plan import PlanChange


@dataclass(frozen=True)
class Topic:
    """A part of the answer."""

    title: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # `#` before a name: numbers
    rows: tuple[tuple[str, ...], ...] = ()
    commands: tuple[str, ...] = ()  # to copy
    caption: str = ""  # of the rows
    plans: tuple[tuple[str, PlanChange], ...] = ()  # to show side by side, with their workloads
