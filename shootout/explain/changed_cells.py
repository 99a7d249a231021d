"""A run's changed cells: explains them, and shows what is known of each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from shootout.answer import Answer
from shootout.conclusion import Conclusion
from shootout.count import instructions
from shootout.count.documents import COUNTS
from shootout.count.instructions import Instructions
from shootout.document import journal
from shootout.errors import InputError, MeasureError, Skip
from shootout.explain import answer as answers
from shootout.explain import judge, measure
from shootout.explain.documents import EXPLANATIONS
from shootout.figures import counted
from shootout.model.plan import Cell
from shootout.model.run import Observe, RunDocument
from shootout.model.verdict import Comparison, Verdict
from shootout.report import commands, wording
from shootout.report.sections import Section

UNCOMPARED = (Verdict.FAILED, Verdict.UNJUDGED)
CELL_MIN = 1.5  # minutes for a cell at least: three starts of two servers


def explain(conclusion: Conclusion, budget_min: float, observe: Observe, skip: Skip) -> None:
    """Explain what regressed, then what improved; `skip` receives what is not, and why.

    Whatever fails here costs the run nothing, and no other cell its explanation.
    """
    servers = {} if conclusion.prepared is None else conclusion.prepared.plan.servers
    passwords = {label: server.password for label, server in servers.items()}
    with _leaving_out("explain", skip):
        every = changed(conclusion.comparison)
        wanted = every[: max(1, int(budget_min // CELL_MIN))]
        for left_out in every[len(wanted) :]:
            skip(f"explanation of {left_out.name}: the budget allows {counted(len(wanted), 'cell')}")
        for cell in wanted:
            with _leaving_out(f"explanation of {cell.name}", skip):
                question = measure.Question(conclusion.document, cell, conclusion.path.parent)
                measured(question, budget_min / len(wanted), observe, passwords)


@contextmanager
def _leaving_out(what: str, skip: Skip) -> Iterator[None]:
    try:
        yield
    except (InputError, MeasureError) as error:
        skip(f"{what}: {error}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a defect: the engine's panics are no Exception
        skip(f"{what}: {type(error).__name__}: {error}")


def measured(
    question: measure.Question, budget_min: float, observe: Observe, passwords: Mapping[str, str]
) -> Path:
    """Measure what explains a cell; returns the explanation's file. Raises InputError and MeasureError."""
    planned = measure.plan(question, 60 * budget_min, os.environ, passwords)
    return measure.explain(question, planned, observe)


def known(question: measure.Question) -> Path | None:
    """Find the file of an explanation that the cell has already; None if it was interrupted, or not read."""
    path = EXPLANATIONS.path_of_cell(question.results, question.document.header.run, question.cell.name)
    try:
        explained = EXPLANATIONS.read(path)
        end = journal.read(path.parent / explained.document).end
    except InputError:
        return None
    return path if explained.cell == question.cell and end and not end.interrupted else None


def answer(path: Path, out: Path | None = None) -> Answer:
    """Answer why a cell changed; `out`: the folder that commands name. Raises InputError."""
    explained = judge.read(path)
    return answers.answer(explained, _counted(path, explained), out)


def sections(results: Path, run: str, cells: Sequence[Cell], skip: Skip) -> dict[Cell, tuple[Section, ...]]:
    """Find the explanations of these cells; `skip` receives why an explanation cannot be read."""
    found: dict[Cell, tuple[Section, ...]] = {}
    for cell in cells:
        path = EXPLANATIONS.path_of_cell(results, run, cell.name)
        try:
            if path.exists():
                explained = judge.read(path)
                if (explained.explanation.run, explained.explanation.cell) != (run, cell):
                    raise InputError(f"{path}: not an explanation of this run's {cell.name}")
                found[cell] = (answers.section(explained, _counted(path, explained)),)
        except InputError as error:
            skip(str(error))
        except Exception as error:  # a defect, which costs no verdict
            skip(f"explain, {cell.name}: {type(error).__name__}: {error}")
    return found


def _counted(path: Path, explained: judge.Explained) -> Instructions | None:
    """The newest count of the servers in an explanation's file."""
    return instructions.find(COUNTS.newest_first(path.parents[2], lambda reason: None), explained.header)


# --- which cells ------------------------------------------------------------------------------------


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
    heads = [cell for cell in cells if cell.server != measure.base_of(header, cell)]
    alike = [cell for cell in heads if text in (f"{cell.workload}-t{cell.threads}", cell.name)]
    if len(alike) != 1:
        names = ", ".join(cell.name for cell in alike or heads)
        raise InputError(
            f"cell {text!r}: expected {'one of ' if names else ''}{names or 'a run with two servers'}"
        )
    return alike[0]
