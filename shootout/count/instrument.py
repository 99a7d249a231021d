"""Instructions in place of time: how a bisection compares servers by what was counted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from shootout.count import evidence, instructions, judge, measure
from shootout.count.documents import COUNTS
from shootout.count.values import MIX, CountChange, CountDocument
from shootout.measure.plan import Plan
from shootout.model.run import Observe


@dataclass(frozen=True)
class Counted:
    """A count of one workload."""

    counts: Mapping[str, CountChange]  # those with a ratio to the base's, by the server's label
    failed: Mapping[str, str]  # why servers have none
    started: Collection[str]  # the servers that were measured
    bar: float  # the smallest change worth a verdict
    seconds: float  # that it took


class Callgrind:
    """Counts of whole workloads: of the sum of a workload's kinds, or else of its whole transaction."""

    name = "count"  # of its option, and of the command that compares two servers by it
    stored = "work"  # its name in bisections: another would need a new number of their format
    title = "instructions"
    profile = "count"  # its default for a comparison

    def check(self, plan: Plan) -> None:
        """Raise InputError if Valgrind, or a server that can run under it, is missing."""
        measure.check(plan)

    def measure(self, plan: Plan, results: Path, observe: Observe) -> None:
        """Count the plan's workload on all its servers."""
        measure.measure(plan, results, observe)

    def counted(self, results: Path, base: str) -> dict[str, Counted]:
        """Read the counts of the last workload, server by server."""
        return {path.name: _counted(COUNTS.read(path), base) for path in COUNTS.find(results)}

    def differences(self, results: Path, older: str, newer: str) -> tuple[str, ...]:
        """Name the statements and functions by which two servers differ, of the newest document with both."""
        for document in COUNTS.newest_first(results, lambda reason: None):
            if {older, newer} <= {count.server for count in document.counts}:
                workload = document.workloads[-1].name
                found = instructions.compare_workload(
                    judge.compare(document, older), workload, (older, newer)
                )
                return tuple(evidence.differences(found))
        return ()


CALLGRIND = Callgrind()


def _counted(document: CountDocument, base: str) -> Counted:
    names = [kind.name for kind in document.kinds]
    whole = MIX if MIX in names else "".join(names[-1:])
    changes = judge.compare(document, base).changes
    return Counted(
        counts={each.server: each for each in changes if each.kind == whole and each.ratio is not None},
        failed={failure.server: failure.reason for failure in document.failures},
        started={count.server for count in document.counts},
        bar=document.bar, seconds=document.elapsed_s or 0.0,
    )  # fmt: skip
