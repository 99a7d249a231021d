"""What a capability knows of a cell: sentences for terminal and comments, a section of the cell's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shootout.model.plan import Cell


@dataclass(frozen=True)
class Point:
    """A sentence, and what it introduces."""

    text: str
    items: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # for a shell


@dataclass(frozen=True)
class Section:
    """A section of a cell's page; its template reads `context` as `section`."""

    name: str  # in JSON, and of its place on the page
    about: str  # what it has, in a few words
    title: str
    points: tuple[Point, ...]
    template: str  # below templates/, without its endings
    context: object
    cause: str = ""  # why the cell changed, with figures; empty: not found
    value: object = None  # of evidence: encoded as JSON


Sections = Mapping[Cell, Sequence[Section]]  # of a run's cells
NO_SECTIONS: Sections = {}
