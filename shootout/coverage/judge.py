"""Coverage of a change: the functions that it touches, held against a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shootout.coverage.diffs import Touched, Touches
from shootout.coverage.values import MapDocument, MapKind


@dataclass(frozen=True)
class Execution:
    """A kind of statement that executes a function."""

    kind: MapKind
    server: str  # that executes most of it
    share: float  # of the kind's instructions, with what the function calls; 0: less than a thousandth


@dataclass(frozen=True)
class FunctionCoverage:
    """A function that a change touches, and what executes it."""

    touched: Touched
    symbols: tuple[str, ...]  # of the map, that it is, with its lambdas
    executions: tuple[Execution, ...]  # the largest share first
    beside: bool  # threads without a connection execute it


@dataclass(frozen=True)
class ChangeCoverage:
    """A change, held against a map."""

    map: MapDocument
    touches: Touches
    functions: tuple[FunctionCoverage, ...]  # those that most is executed of first

    @property
    def executed(self) -> tuple[FunctionCoverage, ...]:
        """The functions that kinds of statement execute."""
        return tuple(each for each in self.functions if each.executions)

    @property
    def unseen(self) -> tuple[FunctionCoverage, ...]:
        """The functions that none executes."""
        return tuple(each for each in self.functions if not each.executions)

    @cached_property
    def kinds(self) -> frozenset[MapKind]:
        """The kinds that execute what the change touches."""
        return frozenset(execution.kind for each in self.functions for execution in each.executions)

    @property
    def workloads(self) -> frozenset[str]:
        """The workloads that execute what the change touches."""
        return frozenset(kind.workload for kind in self.kinds)

    @property
    def elsewhere(self) -> bool:
        """Whether the change touches more than functions: macros, types, variables."""
        return bool(self.touches.macros or self.touches.outside)


def coverage(document: MapDocument, touches: Touches) -> ChangeCoverage:
    """Hold a change against a map."""
    rows = {name: index for index, name in enumerate(document.functions)}
    beside = {index for server in document.mapped for index in server.beside}
    found = []
    for touched in touches.functions:
        own = touched.name
        lambdas = (name for name in rows if name.startswith(f"{own}::{{lambda"))
        symbols = (*([own] if own in rows else []), *lambdas)
        indexes = [rows[name] for name in symbols]
        executions = _executions(document, indexes)
        found.append(FunctionCoverage(touched, symbols, executions, not beside.isdisjoint(indexes)))
    found.sort(key=lambda each: -max((one.share for one in each.executions), default=-1.0))
    return ChangeCoverage(document, touches, tuple(found))


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
