"""Which cells are explained: those that changed, or the one that is named."""

from __future__ import annotations

from pathlib import Path

from shootout.document import journal
from shootout.errors import InputError
from shootout.explain.measure import base_of
from shootout.model.plan import Cell
from shootout.model.run import RunDocument
from shootout.model.verdict import Comparison, Verdict
from shootout.report import wording


def changed(comparison: Comparison) -> list[Cell]:
    """What regressed, then what improved; the largest changes first."""
    cells = wording.worst_first(comparison.cells)
    regressed = [c.cell for c in cells if c.verdict is Verdict.REGRESSED]
    return regressed + [c.cell for c in reversed(cells) if c.verdict is Verdict.IMPROVED]


def worst(comparison: Comparison) -> Cell:
    """The cell that most needs an explanation. Raises InputError if none changed."""
    cells = changed(comparison)
    if not cells:
        raise InputError(f"run {comparison.header.run}: no cell changed; name the one to explain")
    return cells[0]


def document_of(run: str | None, results: Path) -> Path:
    """The document of a run that is given by its path or its id; the newest one's. Raises InputError."""
    paths = [path for path in journal.find(results) if run in (None, journal.stem(path))][-1:]
    if run is None and not paths:
        raise InputError(f"{results}: no run document found; `shootout run` makes one")
    given = Path(run or "")
    if not paths and not given.is_file():
        raise InputError(f"run {run!r}: neither a run document nor the id of one in {results}")
    return paths[0] if paths else given


def named(document: RunDocument, text: str) -> Cell:
    """The compared cell of that name. Raises InputError with those that there are."""
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
