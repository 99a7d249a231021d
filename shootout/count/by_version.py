"""The cost of each kind of statement by version: every server beside the version before it, in its family."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from shootout.analysis import plan_changes
from shootout.count.judge import change_of, per_unit
from shootout.count.values import JOINT, MIX, TRANSACTION, CountChange, CountDocument, CountedKind
from shootout.model.run import ServerRecord

# The series that most people upgrade from: what all versions of a family are compared with, too.
REFERENCES = {"mysql": "5.7.", "mariadb": "10.11."}
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class Cost:
    """A kind of statement on one server."""

    server: str
    instructions: float | None  # of each statement
    step: CountChange | None  # from the version before; None: there is none in its family
    since: float | None  # instructions, relative to the family's reference
    replanned: bool  # the version before never planned it in this way


@dataclass(frozen=True)
class KindCosts:
    """A kind of statement on all servers."""

    workload: str
    kind: str
    costs: tuple[Cost, ...]  # by family and version

    @cached_property
    def largest(self) -> float:
        """The logarithm of its largest step, without sign."""
        ratios = (cost.step.ratio for cost in self.costs if cost.step is not None)
        return max((abs(math.log(ratio.estimate)) for ratio in ratios if ratio is not None), default=0.0)


def ordered(servers: Sequence[ServerRecord]) -> tuple[ServerRecord, ...]:
    """Sort by family, in the order of their first servers, then by version; equal versions stay in order."""
    families = [server.family for server in servers]
    return tuple(sorted(servers, key=lambda server: (families.index(server.family), _version(server))))


def predecessors(servers: Sequence[ServerRecord]) -> dict[str, str]:
    """Find for each ordered server's label that of the version before it in its family, if there is one."""
    return {
        server.label: previous.label
        for previous, server in pairwise(servers)
        if previous.family == server.family
    }


def references(servers: Sequence[ServerRecord]) -> dict[str, str]:
    """Choose by family the server that all its versions are compared with: by default its first."""
    chosen: dict[str, str] = {}
    for server in servers:
        is_reference = server.version.startswith(REFERENCES.get(server.family, "\0"))
        if server.family not in chosen or is_reference:
            chosen[server.family] = server.label
    return chosen


def costs(document: CountDocument) -> tuple[KindCosts, ...]:
    """Compute the cost of every kind of statement on every server, the kind with the largest step first."""
    servers = ordered(document.servers)
    reference = {server.label: references(servers)[server.family] for server in servers}
    table = _Table(document, predecessors(servers), reference)
    every = (KindCosts(kind.workload, kind.name, tuple(table.row(kind))) for kind in _shown(document.kinds))
    return tuple(sorted(every, key=lambda kind: -kind.largest))


def _shown(kinds: Sequence[CountedKind]) -> Iterator[CountedKind]:
    """Kinds of statement; whole transactions only of workloads without any."""
    parts = {kind.workload for kind in kinds if kind.name not in (TRANSACTION, MIX)}
    return (kind for kind in kinds if kind.workload not in parts or kind.name not in (TRANSACTION, MIX))


@dataclass(frozen=True)
class _Table:
    document: CountDocument
    before: Mapping[str, str]  # labels
    reference: Mapping[str, str]

    @cached_property
    def _counted(self) -> Mapping[tuple[str, str, str], Mapping[int, Sequence[float]]]:
        return per_unit(self.document)

    @cached_property
    def _replanned(self) -> set[tuple[str, str, str]]:
        """Workload, kind of statement and server."""
        return {
            (workload, change.kind, server)
            for workload, plans in self.document.plans.items()
            for server, previous in self.before.items()
            for change in plan_changes.compared(plans, previous, server)
            if change.changed
        }

    def row(self, kind: CountedKind) -> Iterator[Cost]:
        for server, reference in self.reference.items():
            previous = self.before.get(server)
            since = self._change(kind, reference, server)
            yield Cost(
                server=server,
                instructions=None if since.head is None else since.head.mean,
                step=None if previous is None else self._change(kind, previous, server),
                since=None if since.ratio is None else since.ratio.estimate,
                replanned=any(
                    (kind.workload, name, server) in self._replanned for name in kind.name.split(JOINT)
                ),
            )

    def _change(self, kind: CountedKind, base: str, server: str) -> CountChange:
        return change_of(self.document, kind, (base, server), self._counted)


def _version(server: ServerRecord) -> tuple[int, ...]:
    return tuple(map(int, _NUMBERS.findall(server.version)[:3]))
