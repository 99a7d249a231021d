"""What a change reaches: the functions that it touches, held against a map."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.reach.diffs import Touched, Touches
from shootout.reach.values import MapDocument, MapKind


@dataclass(frozen=True)
class Execution:
    """A kind of statement that executes a function."""

    kind: MapKind
    server: str  # that executes most of it
    share: float  # of the kind's instructions, with what the function calls; 0: less than a thousandth


@dataclass(frozen=True)
class Reached:
    """A function that a change touches, and what executes it."""

    touched: Touched
    symbols: tuple[str, ...]  # of the map, that it is; several if the diff does not name its class
    inlined: tuple[str, ...]  # functions that it is inlined into; empty: into none, or it is not known
    executions: tuple[Execution, ...]  # the largest share first
    beside: bool  # threads without a connection execute it


@dataclass(frozen=True)
class Reach:
    """A change, held against a map."""

    map: MapDocument
    touches: Touches
    functions: tuple[Reached, ...]  # those that most is executed of first

    @property
    def executed(self) -> tuple[Reached, ...]:
        """The functions that kinds of statement execute."""
        return tuple(each for each in self.functions if each.executions)

    @property
    def unseen(self) -> tuple[Reached, ...]:
        """The functions that none executes."""
        return tuple(each for each in self.functions if not each.executions)

    @cached_property
    def kinds(self) -> frozenset[MapKind]:
        """The kinds that the change can reach."""
        return frozenset(execution.kind for each in self.functions for execution in each.executions)

    @property
    def workloads(self) -> frozenset[str]:
        """The workloads that the change can reach."""
        return frozenset(kind.workload for kind in self.kinds)

    @property
    def elsewhere(self) -> bool:
        """Whether the change can reach statements by more than functions: macros, types, variables."""
        return bool(self.touches.macros or self.touches.outside)


def reach(
    document: MapDocument, touches: Touches, inlined: Mapping[str, Collection[str]] | None = None
) -> Reach:
    """Hold a change against a map; `inlined`: into which functions debug information says that others are."""
    rows = {name: index for index, name in enumerate(document.functions)}
    beside = {index for server in document.mapped for index in server.beside}
    found = []
    for touched in touches.functions:
        hosts = tuple(sorted((inlined or {}).get(touched.name, ())))
        symbols = _symbols(touched, document.functions)
        indexes = [rows[name] for name in (*symbols, *hosts) if name in rows]
        executions = _executions(document, indexes)
        found.append(Reached(touched, symbols, hosts, executions, not beside.isdisjoint(indexes)))
    found.sort(key=lambda each: -max((one.share for one in each.executions), default=-1.0))
    return Reach(document, touches, tuple(found))


def _symbols(touched: Touched, functions: Sequence[str]) -> tuple[str, ...]:
    """What the map calls a function: its lambdas are it, too."""
    own = touched.name
    exact = [name for name in functions if name == own or name.startswith(f"{own}::{{lambda")]
    if exact or touched.scoped:
        return tuple(exact)
    return tuple(name for name in functions if name.endswith(f"::{own}"))


def _executions(document: MapDocument, indexes: Sequence[int]) -> tuple[Execution, ...]:
    executions = []
    for at, kind in enumerate(document.kinds):
        shares = [
            (server.shares[index][at] / 1000, server.label)
            for server in document.mapped
            for index in indexes
            if server.shares[index][at] >= 0
        ]
        if shares:
            share, server = max(shares)
            executions.append(Execution(kind, server, share))
    return tuple(sorted(executions, key=lambda each: -each.share))
