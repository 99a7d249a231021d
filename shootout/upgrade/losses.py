"""Losses of an upgrade, and what restores them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shootout.count.values import MIX, TRANSACTION, CountChange, CountComparison
from shootout.model.execution_plan import PlanChange
from shootout.model.verdict import CellComparison, Comparison, Interval


@dataclass(frozen=True)
class Restored:
    """The effect of an old value of a setting on the new server's statements."""

    setting: str  # NAME=VALUE
    restores: tuple[CountChange, ...]  # fewer instructions with it, for kinds that cost more than on the old
    saves: tuple[CountChange, ...]  # fewer, too, but nothing that was lost
    cost: tuple[CountChange, ...]  # more
    plans: tuple[PlanChange, ...]  # changed on the new server, and as on the old one with it
    failed: str  # why it has no counts


@dataclass(frozen=True)
class Loss:
    """A kind of statement that costs more, and what is left of it with the old settings."""

    change: CountChange
    left: CountChange | None  # the new server with all old values, against the old without these features


@dataclass(frozen=True)
class Worst:
    """The loss that the headline shows, and what was tried against it."""

    workload: str
    kinds: tuple[CountChange, ...]  # the one that is lost, or those of the workload that cost more
    throughput: tuple[Comparison, CellComparison] | None  # None: instructions were lost
    tested: bool  # each of these kinds was counted with old values
    restored_by: tuple[str, ...]  # NAME=VALUE, by instructions
    untimed: tuple[str, ...]  # variables that differed in the run, and cost it time only


def kinds(comparison: CountComparison, server: str) -> Iterator[CountChange]:
    """Every kind on a server; a whole transaction only of a workload that has nothing else."""
    whole = (TRANSACTION, MIX)
    in_parts = {kind.workload for kind in comparison.document.kinds if kind.name not in whole}
    for change in comparison.changes:
        if change.server == server and (change.kind not in whole or change.workload not in in_parts):
            yield change


def place(change: CountChange) -> tuple[str, str]:
    return change.workload, change.kind


def interval(change: CountChange) -> Interval:
    assert change.ratio is not None  # of what is judged
    return change.ratio
