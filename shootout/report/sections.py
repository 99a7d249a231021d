"""Findings on why a cell changed: a cause, and topics of the cell's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shootout.answer import Point, Topic
from shootout.model.plan import Cell


@dataclass(frozen=True)
class Section:
    """A part of a cell's page."""

    name: str  # of its place on the page
    about: str  # what it has, in a few words
    title: str
    topics: tuple[Topic, ...] = ()
    cause: str = ""  # why the cell changed, with figures; empty: not found

    @property
    def points(self) -> tuple[Point, ...]:
        """Points for terminal and comments."""
        return tuple(point for topic in self.topics for point in topic.points)


Sections = Mapping[Cell, Sequence[Section]]  # of a run's cells
NO_SECTIONS: Sections = {}
