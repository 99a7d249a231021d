"""A bisection of instructions: counts are exact, so each one says on which side of a step it lies. Pure.

A workload counts as the sum of its kinds, or else as its whole transaction. Two revisions differ if `work`
says so: beyond the bar, with an interval that excludes no change.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from shootout.analysis import stats
from shootout.bisect import judge as bisected
from shootout.bisect.judge import Attempt
from shootout.bisect.posterior import Evidence
from shootout.bisect.values import Answer, Bisection, Kind, RevisionFinding
from shootout.model.verdict import Interval, Verdict
from shootout.work import judge as work
from shootout.work.values import MIX, WorkChange, WorkDocument

Documents = Mapping[str, WorkDocument]  # by file name
Pair = tuple[int, int]  # two revisions, the older first
_DIFFERS = (Verdict.REGRESSED, Verdict.IMPROVED)
_SAME = Interval(estimate=0.0, low=0.0, high=0.0)


@dataclass(frozen=True)
class _Known:
    """What has been counted."""

    last: int
    end: int  # the revision that is counted for the last: perhaps an older one, of the same files
    usable: tuple[int, ...]
    runs: tuple[Pair, ...]  # places that can be told apart, first and last revision
    counted: Mapping[int, WorkChange]  # by revision, to the base
    bar: float

    @property
    def neighbours(self) -> list[Pair]:
        return [*itertools.pairwise(sorted({0, *self.counted}))]

    def to_base(self, number: int) -> Interval:
        """A revision's instructions to the base's, as a logarithm."""
        ratio = self.counted[number].ratio if number else None
        return _SAME if ratio is None else _logarithm(ratio)

    def step(self, pair: Pair) -> Interval:
        """Instructions of the newer to those of the older."""
        older, newer = map(self.to_base, pair)
        reach = math.hypot(older.high - older.estimate, newer.high - newer.estimate)
        middle = newer.estimate - older.estimate
        return stats.as_ratio(Interval(estimate=middle, low=middle - reach, high=middle + reach))

    def differ(self, pair: Pair) -> bool:
        return work.verdict(self.step(pair), self.bar) in _DIFFERS

    @property
    def changed(self) -> list[Pair]:
        """Counted neighbours that differ, the largest step first."""
        found = filter(self.differ, self.neighbours)
        return sorted(found, key=lambda pair: -abs(math.log(self.step(pair).estimate)))

    def between(self, pair: Pair) -> list[int]:
        """What could still be counted between two revisions."""
        return [number for number in self.usable if pair[0] < number < pair[1]]


def unusable(found: Bisection, documents: Documents) -> dict[str, str]:
    """Why revisions cannot be counted, by label."""
    return bisected.left_out(found, map(_attempt, documents.values()))


def _attempt(document: WorkDocument) -> Attempt:
    return Attempt(
        failed={failure.server: failure.reason for failure in document.failures},
        started={count.server for count in document.counts},
    )


def next_revisions(found: Bisection, documents: Documents) -> tuple[int, ...]:
    """What to count beside the base: the newest, then the middle of the largest step; empty: nothing."""
    known = _known(found, documents)
    if known.last not in known.counted:
        return (known.end,)
    between = known.between(known.changed[0]) if known.changed else []
    return (between[len(between) // 2],) if between else ()


def answer(found: Bisection, documents: Documents) -> Answer:
    """The answer so far."""
    known = _known(found, documents)
    failed = unusable(found, documents)
    pair = known.changed[0] if known.changed else (0, len(found.revisions) - 1)
    place = (pair[0] + 1, pair[1])
    possible = [run for run in known.runs if place[0] <= run[0] and run[1] <= place[1]]
    kind = _kind(known)
    steps = {newer: known.step((older, newer)) for older, newer in known.neighbours}
    starts = {number: change.head.starts for number, change in known.counted.items() if change.head}
    base = next((change.base.starts for change in known.counted.values() if change.base), 0)
    at = {run[1]: 1 / len(possible) for run in possible} if known.changed else {}
    return Answer(
        bisection=found,
        kind=kind,
        probability=float(kind != "open"),
        first=found.revisions[place[0]].label,
        last=found.revisions[place[1]].label,
        size=known.step(pair) if known.counted else stats.as_ratio(_SAME),
        none=float(kind == "none"),
        several=float(kind == "several"),
        noise=max((change.spread or 0.0 for change in known.counted.values()), default=0.0),
        starts=base + sum(starts.values()),
        spent_s=spent_s(found, documents),
        findings=tuple(
            RevisionFinding(
                revision=revision,
                probability=at.get(number, 0.0),
                starts=starts.get(number, 0 if number else base),
                ratio=stats.as_ratio(known.to_base(number)) if number in known.counted else None,
                step=steps.get(number),
                reason=failed.get(revision.label, ""),
            )
            for number, revision in enumerate(found.revisions)
        ),
        documents=tuple(documents),
    )


def spent_s(found: Bisection, documents: Documents) -> float:
    """Time for builds and counts."""
    counting = sum(document.elapsed_s or 0.0 for document in documents.values())
    return counting + sum(build.seconds for build in found.builds.values())


def _kind(known: _Known) -> Kind:
    if known.last not in known.counted:
        return "open"
    if not known.changed:
        if known.differ((0, known.last)):
            return "several"  # steps below the bar, which add up
        return "none" if known.counted[known.last].verdict == Verdict.EQUIVALENT else "open"
    if known.between(known.changed[0]):
        return "open"
    return "step" if len(known.changed) == 1 else "several"


def _known(found: Bisection, documents: Documents) -> _Known:
    numbers = {revision.label: number for number, revision in enumerate(found.revisions)}
    counted = {
        numbers[change.server]: change
        for document in documents.values()
        for change in work.compare(document, found.revisions[0].label).changes
        if change.kind == _whole(document) and change.ratio is not None and change.server in numbers
    }
    equal = bisected.equal(found)
    for older, newer in equal:  # the same files: whatever is known of one is known of the other
        same = counted.get(older, counted.get(newer)) if older else _unchanged(found.revisions[newer].label)
        if same is not None:
            counted |= {newer: same} if older == 0 else {older: same, newer: same}
    evidence = Evidence(
        last=len(numbers) - 1,
        starts=(),
        unusable=[numbers[label] for label in unusable(found, documents)],
        equal=equal,
    )
    bar = max((document.bar for document in documents.values()), default=0.0)
    end = next((older for older, newer in equal if newer == evidence.last), evidence.last)
    return _Known(evidence.last, end, evidence.usable, evidence.runs, counted, bar)


def _unchanged(label: str) -> WorkChange:
    """That of a revision that is the base's files."""
    return WorkChange(
        workload="", kind="", server=label, base=None, head=None,
        ratio=stats.as_ratio(_SAME), spread=None, verdict=Verdict.EQUIVALENT,
    )  # fmt: skip


def _whole(document: WorkDocument) -> str:
    """The kind that stands for the workload."""
    names = [kind.name for kind in document.kinds]
    return MIX if MIX in names else names[-1]


def _logarithm(ratio: Interval) -> Interval:
    return Interval(estimate=math.log(ratio.estimate), low=math.log(ratio.low), high=math.log(ratio.high))
