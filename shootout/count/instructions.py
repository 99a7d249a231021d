"""Count of a cell: instructions of base and head for each kind of statement, by function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shootout.analysis import function_names, subsystems
from shootout.count.judge import compare
from shootout.count.values import CountChange, CountComparison, CountDocument, CountedFunctions, CountedKind
from shootout.model.run import RunHeader, ServerRecord, WorkloadRecord
from shootout.model.verdict import Verdict

BELOW = "functions of less than 0.1 %"  # a document leaves them out


@dataclass(frozen=True)
class PartCount:
    """Instructions for each unit of a kind of statement."""

    name: str  # of a function, or of a part of the server
    base: float
    head: float

    @property
    def difference(self) -> float:
        """The instructions that the head executes more."""
        return self.head - self.base


@dataclass(frozen=True)
class FunctionCount:
    """A function's instructions: its own, and with what it calls."""

    own: PartCount
    inclusive: PartCount


@dataclass(frozen=True)
class Statement:
    """A kind of statement, or a whole transaction, on base and head."""

    kind: CountedKind
    change: CountChange
    functions: tuple[FunctionCount, ...]  # largest change first; none if other kinds say what this one is
    bar: float  # smaller changes are not worth a mention

    @property
    def difference(self) -> float | None:
        """Instructions that the head executes more for each unit; None: not counted."""
        base, head = self.change.base, self.change.head
        return None if base is None or head is None else head.mean - base.mean

    @property
    def changed(self) -> tuple[FunctionCount, ...]:
        """The functions that changed by the bar or more, by themselves or with what they call."""
        return tuple(
            function
            for function in self.functions
            if max(abs(function.own.difference), abs(function.inclusive.difference)) >= self._least
        )

    @property
    def explaining(self) -> tuple[PartCount, ...]:
        """The functions that explain most of a certain change, by their own instructions."""
        sign = {Verdict.REGRESSED: 1, Verdict.IMPROVED: -1}.get(self.change.verdict, 0)
        alike = (
            function.own
            for function in self.functions
            if sign * function.own.difference >= self._least and not function.own.name.startswith("[")
        )
        return tuple(sorted(alike, key=lambda own: -sign * own.difference))

    @property
    def unnamed(self) -> PartCount:
        """All functions without a name: one that a version strips of its symbol seems gone."""
        nameless = [function.own for function in self.functions if function.own.name.startswith("[")]
        base, head = sum(own.base for own in nameless), sum(own.head for own in nameless)
        return PartCount("functions without a name", base, head)

    @property
    def parts(self) -> tuple[PartCount, ...]:
        """Instructions by part of the server, largest change first."""
        base, head = self.change.base, self.change.head
        if not self.functions or base is None or head is None:
            return ()
        sums = {part: [0.0, 0.0] for part in (*subsystems.ALL, BELOW)}
        sums[BELOW] = [base.mean, head.mean]
        for function in self.functions:
            for at, own in enumerate((function.own.base, function.own.head)):
                sums[subsystems.subsystem_of(function.own.name)][at] += own
                sums[BELOW][at] -= own
        counts = (PartCount(name, *values) for name, values in sums.items() if any(values))
        return tuple(sorted(counts, key=lambda count: -abs(count.difference)))

    @property
    def _least(self) -> float:
        return self.bar * self.change.base.mean if self.change.base else math.inf


@dataclass(frozen=True)
class Instructions:
    """The counts of a cell's servers on its workload."""

    run: str  # of the document
    statements: tuple[Statement, ...]  # the whole transaction last

    @property
    def whole(self) -> Statement:
        """The whole transaction; of a workload with one statement, this."""
        return self.statements[-1]


def find(documents: Iterable[CountDocument], header: RunHeader) -> Instructions | None:
    """Find the first of these documents that has a run's workload, and the first two of its servers."""
    for document in documents:
        engines = {dataset.engine.lower() for dataset in document.datasets}
        pair = _pair(document, header.servers[:2])
        workload = _workload(document, header)
        if pair and workload and engines == {header.profile.dataset.engine.lower()}:
            return compare_workload(compare(document, pair[0]), workload, pair)
    return None


def compare_workload(comparison: CountComparison, workload: str, pair: tuple[str, str]) -> Instructions:
    """Select a comparison's findings on a workload; `pair`: the labels of base and head."""
    document = comparison.document
    changes = {
        change.kind: change
        for change in comparison.changes
        if (change.workload, change.server) == (workload, pair[1])
    }
    profiles = {
        (profile.kind, profile.server): profile
        for profile in document.profiles
        if profile.workload == workload
    }
    statements = []
    for kind in document.kinds:
        if kind.workload == workload:
            counted = [profiles.get((kind.name, server)) for server in pair]
            known = [] if kind.less or kind.sums else [profile for profile in counted if profile is not None]
            functions = _functions(document, known) if len(known) == 2 else ()
            statements.append(Statement(kind, changes[kind.name], functions, document.bar))
    return Instructions(document.run, tuple(statements))


def explained_by(
    document: CountDocument, change: CountChange, pair: Sequence[CountedFunctions]
) -> tuple[PartCount, ...]:
    """The functions that explain most of a kind's certain change; `pair`: those of base and head."""
    kind = next(
        kind for kind in document.kinds if (kind.workload, kind.name) == (change.workload, change.kind)
    )
    return Statement(kind, change, _functions(document, pair), document.bar).explaining


def _functions(document: CountDocument, pair: Sequence[CountedFunctions]) -> tuple[FunctionCount, ...]:
    own, inclusive = [dict[str, float](), dict[str, float]()], [dict[str, float](), dict[str, float]()]
    for at, profile in enumerate(pair):
        for index, alone, whole in zip(profile.names, profile.exclusive, profile.inclusive, strict=True):
            name = function_names.counted(document.functions[index])
            own[at][name] = own[at].get(name, 0.0) + alone
            inclusive[at][name] = max(inclusive[at].get(name, 0.0), whole)  # clones call one another
    renamed = function_names.renamed(own[0].keys() - own[1].keys(), own[1].keys() - own[0].keys())
    for before, after in renamed.items():
        for of_base, _ in (own, inclusive):
            of_base[after] = of_base.pop(before)
    functions = (
        FunctionCount(
            *(PartCount(name, base.get(name, 0.0), head.get(name, 0.0)) for base, head in (own, inclusive))
        )
        for name in {**own[0], **own[1]}
    )
    return tuple(sorted(functions, key=lambda function: (-abs(function.own.difference), function.own.name)))


def _pair(document: CountDocument, servers: Sequence[ServerRecord]) -> tuple[str, str] | None:
    counted = {count.server for count in document.counts}
    labels: list[str] = []
    for server in servers:
        alike = (one.label for one in document.servers if _is_same(one, server) and one.label in counted)
        labels += [label for label in alike if label not in labels][:1]
    return (labels[0], labels[1]) if len(labels) == 2 else None


def _is_same(one: ServerRecord, other: ServerRecord) -> bool:
    known = one.build and other.build
    identity = [server.build if known else f"{server.family} {server.version}" for server in (one, other)]
    return identity[0] == identity[1] and one.settings_name == other.settings_name


def _workload(document: CountDocument, header: RunHeader) -> str | None:
    known = {kind.workload for kind in document.kinds}
    for sent in header.workloads[:1]:
        alike = document.digests.get(sent.name) == header.digests.get(sent.name)
        if alike and any(one.name in known and _sent(one) == _sent(sent) for one in document.workloads):
            return sent.name
    return None


def _sent(record: WorkloadRecord) -> tuple[object, ...]:
    return record.name, record.protocol, record.options, record.distribution
