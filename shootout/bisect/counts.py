"""A bisection by an instrument: counts are exact, so each one says on which side of a step it lies. Pure.

Two revisions differ if their change is beyond the bar, with an interval that excludes no change.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from shootout.analysis import stats
from shootout.bisect.judge import Attempt, building_s, equal, left_out
from shootout.bisect.posterior import Evidence
from shootout.bisect.values import Answer, Bisection, Kind, RevisionFinding
from shootout.capability import Count, Counted
from shootout.model.verdict import Interval, Verdict

Pair = tuple[int, int]  # two revisions, the older first
_SAME = Interval(estimate=1.0, low=1.0, high=1.0)
_BASE = Count(ratio=_SAME, verdict=Verdict.EQUIVALENT, spread=None, starts=0, base_starts=0)


@dataclass(frozen=True)
class Halved:
    """A bisection of counts so far."""

    bisection: Bisection
    documents: Mapping[str, Counted]  # by file name
    title: str  # of what is counted

    @cached_property
    def unusable(self) -> dict[str, str]:
        """Why revisions cannot be counted, by label."""
        attempts = (Attempt(document.failed, document.started) for document in self.documents.values())
        return left_out(self.bisection, attempts)

    @property
    def next_revisions(self) -> tuple[int, ...]:
        """What to count beside the base: the newest, then the middle of the largest step; empty: nothing."""
        if self._last not in self._counts:
            return (self._older.get(self._last, self._last),)
        between = self._between(self._changed[0]) if self._changed else []
        return (between[len(between) // 2],) if between else ()

    @cached_property
    def answer(self) -> Answer:
        """The answer so far."""
        revisions, changed = self.bisection.revisions, self._changed
        before, last = changed[0] if changed else (0, self._last)
        possible = [end for first, end in self._evidence.runs if before < first and end <= last]
        counting_s = sum(document.seconds for document in self.documents.values())
        steps = {newer: self._step((older, newer)) for older, newer in itertools.pairwise(self._counts)}
        return Answer(
            bisection=self.bisection,
            kind=self._kind,
            probability=float(self._kind != "open"),
            first=revisions[before + 1].label,
            last=revisions[last].label,
            size=self._step((before, last)) if last in self._counts else _SAME,
            none=float(self._kind == "none"),
            several=float(self._kind == "several"),
            noise=max((count.spread or 0.0 for count in self._counts.values()), default=0.0),
            starts=self._starts.total(),
            spent_s=building_s(self.bisection) + counting_s,
            findings=tuple(
                RevisionFinding(
                    revision=revision,
                    probability=1 / len(possible) if changed and number in possible else 0.0,
                    starts=self._starts[revision.label],
                    ratio=self._counts[number].ratio if number and number in self._counts else None,
                    step=steps.get(number),
                    reason=self.unusable.get(revision.label, ""),
                )
                for number, revision in enumerate(revisions)
            ),
            documents=tuple(self.documents),
            measure=self.title,
        )

    @property
    def _kind(self) -> Kind:
        if self._last not in self._counts or self.bisection.revisions[-1].label in self.unusable:
            return "open"
        if not self._changed:
            if self._differ((0, self._last)):
                return "several"  # steps below the bar, which add up
            return "none" if self._counts[self._last].verdict is Verdict.EQUIVALENT else "open"
        if self._between(self._changed[0]):
            return "open"
        return "step" if len(self._changed) == 1 else "several"

    @property
    def _last(self) -> int:
        return len(self.bisection.revisions) - 1

    @cached_property
    def _older(self) -> dict[int, int]:
        """The oldest revision of the same files, by those that are newer."""
        return {newer: older for older, newer in equal(self.bisection)}

    @cached_property
    def _counts(self) -> dict[int, Count]:
        """What is known, by revision in their order, the base's own first."""
        numbers = {revision.label: number for number, revision in enumerate(self.bisection.revisions)}
        known = {
            self._older.get(numbers[label], numbers[label]): count
            for document in self.documents.values()
            for label, count in document.counts.items()
            if label in numbers
        } | {0: _BASE}
        ours = ((number, self._older.get(number, number)) for number in numbers.values())
        return {number: known[older] for number, older in ours if older in known}

    @cached_property
    def _starts(self) -> Counter[str]:
        """How often servers were started, by label; the base for each document."""
        starts: Counter[str] = Counter()
        for document in self.documents.values():
            counts = document.counts
            starts.update({label: count.starts for label, count in counts.items()})
            of_base = max((count.base_starts for count in counts.values()), default=0)
            starts[self.bisection.revisions[0].label] += of_base
        return starts

    @cached_property
    def _evidence(self) -> Evidence:
        unusable = [
            number
            for number, revision in enumerate(self.bisection.revisions)
            if revision.label in self.unusable
        ]
        return Evidence(last=self._last, starts=(), unusable=unusable, equal=equal(self.bisection))

    @cached_property
    def _changed(self) -> list[Pair]:
        """Counted neighbours that differ, the largest step first."""
        changed = filter(self._differ, itertools.pairwise(self._counts))
        return sorted(changed, key=lambda pair: -abs(math.log(self._step(pair).estimate)))

    def _differ(self, pair: Pair) -> bool:
        step = self._step(pair)
        bar = max((document.bar for document in self.documents.values()), default=0.0)
        return not step.low <= 1 <= step.high and abs(math.log(step.estimate)) >= math.log1p(bar)

    def _step(self, pair: Pair) -> Interval:
        """The newer to the older."""
        older, newer = (_logarithm(self._counts[number].ratio) for number in pair)
        reach = math.hypot(older.high - older.estimate, newer.high - newer.estimate)
        middle = newer.estimate - older.estimate
        return stats.as_ratio(Interval(estimate=middle, low=middle - reach, high=middle + reach))

    def _between(self, pair: Pair) -> list[int]:
        """What could still be counted between two revisions."""
        return [number for number in self._evidence.usable if pair[0] < number < pair[1]]


def _logarithm(ratio: Interval) -> Interval:
    return Interval(estimate=math.log(ratio.estimate), low=math.log(ratio.low), high=math.log(ratio.high))
