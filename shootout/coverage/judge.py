"""Coverage of a change: the functions that it touches, held against a map."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    unknown: str = ""  # why it is not known whether any statement executes it


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
        """The functions that the program has, and that none executes."""
        return tuple(each for each in self.functions if not each.executions and not each.unknown)

    @property
    def unknown(self) -> tuple[FunctionCoverage, ...]:
        """The functions of which it is not known whether any executes them."""
        return tuple(each for each in self.functions if each.unknown)

    @property
    def is_unseen(self) -> bool:
        """Whether all that the change touches is known, and no thread executes any of it."""
        seen = any(each.executions or each.unknown or each.beside for each in self.functions)
        return not seen and not self.elsewhere

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
    names = {*document.functions, *document.symbols}
    owners = {name.rpartition("::")[0] for name in names}
    beside = {index for server in document.mapped for index in server.beside}
    found = []
    for touched in touches.functions:
        own = _symbols(touched, names)
        lambdas = (name for name in rows for each in own if name.startswith(f"{each}::{{lambda"))
        symbols = (*(name for name in own if name in rows), *lambdas)
        indexes = [rows[name] for name in symbols]
        executions = _executions(document, indexes)
        unknown = "" if indexes or names.intersection(own) else _unknown(document, touched, owners)
        threads = not beside.isdisjoint(indexes)
        found.append(FunctionCoverage(touched, symbols, executions, threads, unknown))
    found.sort(key=lambda each: -max((one.share for one in each.executions), default=-1.0))
    return ChangeCoverage(document, touches, tuple(found))


def _symbols(touched: Touched, names: Collection[str]) -> tuple[str, ...]:
    """The names that a function may have in the map; a header alone does not say its namespace."""
    if touched.parsed or touched.name in names:
        return (touched.name, *touched.aliases)
    alike = [name for name in names if name.endswith(f"::{touched.name}")]
    return (*alike, *touched.aliases) if len(alike) == 1 else (touched.name, *touched.aliases)


def _unknown(document: MapDocument, touched: Touched, owners: Collection[str]) -> str:
    """Say why it is not known whether any statement executes a function whose name the map lacks."""
    owner = touched.name.rpartition("::")[0]
    if not document.symbols:
        return "the map does not say which functions the program has"
    if not touched.parsed:
        return "its source cannot be parsed, and the program has no function of this name"
    if owner and owner not in owners:
        other = " or ".join(alias.rpartition("::")[0] for alias in touched.aliases)
        typedef = f"a typedef of {other}" if other else "a typedef that was not resolved"
        return f"no symbol, nor any of {owner}: new, inlined, or {typedef}"
    return "no symbol"


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
