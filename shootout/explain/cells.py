"""Cells to explain: those that changed, or the one that is named."""

from __future__ import annotations

from shootout.errors import InputError
from shootout.explain.measure import base_of
from shootout.model.plan import Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import Comparison, Verdict
from shootout.report import commands, wording

UNCOMPARED = (Verdict.FAILED, Verdict.UNJUDGED)


def changed(comparison: Comparison) -> list[Cell]:
    """List the regressed cells, then the improved ones; the largest changes first."""
    cells = wording.worst_first(comparison.cells)
    regressed = [c.cell for c in cells if c.verdict is Verdict.REGRESSED]
    return regressed + [c.cell for c in reversed(cells) if c.verdict is Verdict.IMPROVED]


def worst(comparison: Comparison) -> Cell:
    """Find the cell that most needs an explanation. Raises InputError if none changed."""
    cells = changed(comparison)
    if not cells:
        run = comparison.header.run
        heads = [c.cell.name for c in comparison.cells if c.cell != c.base and c.verdict not in UNCOMPARED]
        if not heads:
            raise InputError(f"run {run}: no cell was measured on two servers; none can be explained")
        asked = commands.line("explain", {}, run, heads[0])
        raise InputError(f"run {run}: no cell changed; name the one to explain: {asked}")
    return cells[0]


def named(document: RunDocument, text: str) -> Cell:
    """Find the compared cell of that name. Raises InputError with those that there are."""
    header = document.header
    cells = [cell for block in header.blocks for cell in block.cells]
    heads = [cell for cell in cells if cell.server != base_of(header, cell)]
    alike = [cell for cell in heads if text in (f"{cell.workload}-t{cell.threads}", cell.name)]
    if len(alike) != 1:
        names = ", ".join(cell.name for cell in alike or heads)
        raise InputError(
            f"cell {text!r}: expected {'one of ' if names else ''}{names or 'a run with two servers'}"
        )
    return alike[0]
