"""Explanations on disk: `explained/RUN/CELL.json` beside the run documents."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from shootout.document.formats import Format, Record
from shootout.document.store import Store
from shootout.errors import InputError
from shootout.explain.values import Explanation
from shootout.paths import file_stem

DEPTH_MAX = 1024  # calls on a path; perf follows 127 by default
VALUES_MAX = 10_000_000  # that evaluating all profiles takes memory for

FOLDER = "explained"  # beside the run documents


class _Explanations(Store[Explanation]):
    """Explanations, which lie in a folder for each run, with the run document of their own starts."""

    def folder_of(self, results: Path, run: str) -> Path:
        """The folder of a run's explanations."""
        return results / FOLDER / file_stem(run)

    def path_of_cell(self, results: Path, run: str, cell: str) -> Path:
        """The file of the explanation of a run's cell, which is given by its name."""
        return self.folder_of(results, run) / f"{file_stem(cell)}.json"

    def replace(self, results: Path, explanation: Explanation) -> Path:
        """Write an explanation, in place of an earlier one of its cell; returns its file.

        Raises MeasureError if it cannot be written.
        """
        path = self.path_of_cell(results, explanation.run, explanation.cell.name)
        earlier = None
        with suppress(InputError):
            earlier = self.read(path)
        self.write_to(path, explanation)
        if earlier is not None and earlier.document != explanation.document:
            (path.parent / earlier.document).unlink(missing_ok=True)
        return path


def _fault(explanation: Explanation) -> str:
    """Find indexes that point nowhere, or endless paths: documents are untrusted."""
    tree = explanation.tree
    sound = tree.parents[:1] == tree.function[:1] == (-1,) and len(tree.parents) == len(tree.function)
    sound = sound and all(0 <= parent <= node for node, parent in enumerate(tree.parents[1:]))
    sound = sound and all(0 <= function < len(tree.functions) for function in tree.function[1:])
    for profile in explanation.profiles:
        sound = sound and len(profile.nodes) == len(profile.samples)
        sound = sound and all(0 <= node < len(tree.parents) for node in profile.nodes)
    sound = sound and Path(explanation.document).name == explanation.document
    depths = [0]
    for parent in tree.parents[1:] if sound else ():
        depths.append(depths[parent] + 1)
    sound = sound and max(depths) <= DEPTH_MAX
    sound = sound and len(explanation.profiles) * max(len(tree.parents), len(tree.functions)) <= VALUES_MAX
    return "" if sound else "its call tree or its samples are damaged"


def _explanation_1(record: Record) -> Record:
    """A plan had no warnings of the server."""
    return record | {"format": 2}


EXPLANATIONS = _Explanations(
    "an explanation", f"{FOLDER}/*/*.json", Explanation, "profiler", Format(2, (_explanation_1,)), _fault
)
