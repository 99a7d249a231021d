"""Maps: the functions that servers execute for each kind of statement."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from shootout.model.value import Count, Value

UNUSED = -1  # in place of a share

PerMille = Annotated[int, Meta(ge=UNUSED, le=1000)]


class MapKind(Value):
    """A kind of statement, or a whole transaction."""

    workload: str
    name: str


class MapPart(Value):
    """A part of a server's program; functions that share a name count as one."""

    name: str
    functions: Count
    executed: Count  # by any kind, or beside them
    bytes: Count  # of code
    executed_bytes: Count  # of the functions that are executed


class BlindSpot(Value):
    """Functions of a class, or with a common beginning of their names, none of which is executed."""

    name: str
    part: str
    functions: Count
    bytes: Count


class MapServer(Value):
    """Functions that a server's connections executed in each kind's last repetition."""

    label: str
    reference: str
    version: str
    build: str  # digest of its files; "": not visible
    commit: str  # that it was built from; "": not known
    # For each function of the document, by kind: its share of the kind's instructions in per mille, with what
    # it calls; -1: not executed.
    shares: tuple[tuple[PerMille, ...], ...]
    beside: tuple[Count, ...]  # indexes of functions that only other threads executed
    parts: tuple[MapPart, ...]  # empty: the program's symbols could not be read
    # The share of the program's functions that have a name; None: not known.
    named: Annotated[float, Meta(ge=0, le=1)] | None
    blind: tuple[BlindSpot, ...]  # the largest first


class MapDocument(Value):
    """The map that a count leaves."""

    format: Literal[2]
    run: str  # of the count
    started: str  # ISO 8601, UTC
    version: str  # of shootout
    functions: tuple[str, ...]  # executed ones; plain names: without parameters and template arguments
    symbols: tuple[str, ...]  # others that a program has
    kinds: tuple[MapKind, ...]
    mapped: tuple[MapServer, ...]
