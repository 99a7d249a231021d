"""What a command found: lines and tables for people, a value for machines, an exit code for scripts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
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
    """A result in all its forms."""

    text: tuple[Line | Table, ...]
    value: Any  # encoded as JSON
    exit_code: int = 0
    markdown: str = ""  # for a step summary

    def at(self, document: Path, page: Path | None = None) -> Judged:
        """The same with its files; the last line says where the page is or, without one, the document.

        Its value must be a mapping.
        """
        places = {"document": str(document)} | ({} if page is None else {"page": str(page)})
        lines = (Line(f"document      {document}" if page is None else f"report        {page.as_uri()}"),)
        return replace(self, text=(*self.text, *lines), value={**places, **self.value})
