"""A command's findings: lines and tables for people, a value for machines, an exit code for scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shootout.model.verdict import Verdict

STYLES = {
    Verdict.REGRESSED: "bold red",
    Verdict.FAILED: "bold magenta",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNJUDGED: "dim",
    Verdict.EQUIVALENT: "green",
    Verdict.IMPROVED: "bold cyan",
}


@dataclass(frozen=True)
class Line:
    """A line of text, as long as it is; styles are the terminal's."""

    text: str = ""
    style: str = ""


@dataclass(frozen=True)
class Table:
    """`#` before a column's name: numbers, aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | Line, ...], ...]


@dataclass(frozen=True)
class Judged:
    """A list for people and machines."""

    text: tuple[Line | Table, ...]
    value: Any  # encoded as JSON
