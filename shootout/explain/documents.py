"""Explanations on disk: `explained/RUN/CELL.json` beside the run documents."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from shootout.document import whole
from shootout.errors import InputError
from shootout.explain.values import Explanation
from shootout.paths import file_stem

DEPTH_MAX = 1024  # calls on a path; perf follows 127 by default
VALUES_MAX = 10_000_000  # that evaluating all profiles takes memory for

FOLDER = "explained"  # beside the run documents


def folder_of(results: Path, run: str) -> Path:
    """The folder of a run's explanations."""
    return results / FOLDER / file_stem(run)


def results_of(file: Path) -> Path:
    """The folder of run documents that an explanation's file belongs to."""
    return file.parents[2]


def write(results: Path, explanation: Explanation) -> Path:
    """Write an explanation whole, in place of an earlier one of this cell; returns its file.

    Raises MeasureError if it cannot be written.
    """
    folder = folder_of(results, explanation.run)
    path = folder / f"{file_stem(explanation.cell.name)}.json"
    earlier = None
    with suppress(InputError):
        earlier = read(path)
    whole.write(path, explanation)
    if earlier is not None and earlier.document != explanation.document:
        (folder / earlier.document).unlink(missing_ok=True)
    return path


def read(path: Path) -> Explanation:
    """Read and check an explanation. Raises InputError."""
    found = whole.read(path, Explanation, "an explanation")
    _check(path, found)
    return found


def find(results: Path, run: str) -> tuple[Path, ...]:
    """The files of a run's explanations, by name."""
    return tuple(sorted(folder_of(results, run).glob("*.json")))


def _check(path: Path, explanation: Explanation) -> None:
    """Raise InputError for indexes that point nowhere, and for endless paths: documents are untrusted."""
    tree = explanation.tree
    sound = tree.parents[:1] == tree.function[:1] == (-1,) and len(tree.parents) == len(tree.function)
    sound = sound and all(0 <= parent <= node for node, parent in enumerate(tree.parents[1:]))
    sound = sound and all(0 <= function < len(tree.functions) for function in tree.function[1:])
    for each in explanation.profiles:
        sound = sound and len(each.nodes) == len(each.samples)
        sound = sound and all(0 <= node < len(tree.parents) for node in each.nodes)
    sound = sound and Path(explanation.document).name == explanation.document
    depths = [0]
    for parent in tree.parents[1:] if sound else ():
        depths.append(depths[parent] + 1)
    sound = sound and max(depths) <= DEPTH_MAX
    sound = sound and len(explanation.profiles) * max(len(tree.parents), len(tree.functions)) <= VALUES_MAX
    if not sound:
        raise InputError(f"{path}: not an explanation: its call tree or its samples are damaged")
