"""Halve a history: where its step lies by what is known, and which revisions to measure next. Pure.

Revision 0 is the base, and each measured revision has a verdict against it. The step lies between the newest
revision without the last one's verdict and the first after it that has it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from shootout.bisect.values import Kind
from shootout.model.verdict import Verdict

Pair = tuple[int, int]  # two revisions, the older first
CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)


@dataclass(frozen=True)
class Halving:
    """Knowledge of the revisions 0 to `last`."""

    last: int
    verdicts: Mapping[int, Verdict]  # against the base, of those that were measured; the base is EQUIVALENT
    pairs: Callable[[Pair], Verdict | None]  # of the newer against the older; None: not measured together
    unusable: Collection[int] = ()
    at_once: bool = False  # all revisions are measured together, so nothing lies between them
    repeats: bool = True  # whether more starts can decide what is inconclusive

    @property
    def end(self) -> Verdict:
        """The verdict on the last revision; inconclusive before it is measured."""
        return self.verdicts.get(self.last, Verdict.INCONCLUSIVE)

    @cached_property
    def bracket(self) -> Pair:
        """The revisions between which the step lies: without it, and with it."""
        decided = [number for number, each in self.verdicts.items() if each is not Verdict.INCONCLUSIVE]
        before = max((number for number in decided if self.verdicts[number] is not self.end), default=0)
        after = min((number for number in decided if number > before), default=self.last)
        return (before, after) if self.end in CHANGED else (0, self.last)

    @cached_property
    def between(self) -> list[int]:
        """Revisions inside the bracket that can be measured and are not decided."""
        inside = range(self.bracket[0] + 1, self.bracket[1])
        return [number for number in inside if number not in self.unusable and not self._is_decided(number)]

    @cached_property
    def neighbours(self) -> list[Pair]:
        """Measured revisions beside each other; not all of them if some were not measured together."""
        every = [*itertools.pairwise(sorted(self.verdicts))]
        if self.at_once or None not in map(self.pairs, every):
            return every
        return [*itertools.pairwise(sorted({0, *self.bracket, self.last} & {*self.verdicts}))]

    @cached_property
    def changed(self) -> list[Pair]:
        """Neighbours that differ."""
        return [pair for pair in self.neighbours if self.pairs(pair) in CHANGED]

    @cached_property
    def kind(self) -> Kind:
        """The answer so far."""
        if {0, self.last} & {*self.unusable} or self.last not in self.verdicts:
            return "open"
        if self.at_once and self.changed:
            return "step" if len(self.changed) == 1 else "several"
        if self.end is Verdict.EQUIVALENT:
            return "none"
        if self.end is Verdict.INCONCLUSIVE or (self.between and not self.at_once):
            return "open"
        judged = {self.pairs(pair) for pair in (self.neighbours if self.at_once else [self.bracket])}
        if None in map(self.pairs, self.neighbours) or Verdict.INCONCLUSIVE in judged:
            return "open"
        if judged == {Verdict.EQUIVALENT}:
            return "several"  # steps too small to be seen one by one
        return "step" if len(self.changed) == 1 else "several"

    @property
    def places(self) -> list[Pair]:
        """Neighbours that differ; of an open bisection, those between which the step may be."""
        if self.kind == "none" or {0, self.last} & {*self.unusable}:
            return []
        return [self.bracket] if self.kind == "open" else self.changed

    def next_revisions(self, together: Callable[[int], int]) -> tuple[int, ...]:
        """Revisions to measure beside the base; empty if the answer is known, or cannot be.

        `together`: how many of so many to measure in one batch.
        """
        undecided = self.at_once or self.end is Verdict.INCONCLUSIVE
        if self.kind != "open" or (undecided and self.last in self.verdicts and not self.repeats):
            return ()
        if self.at_once:
            return tuple(number for number in range(1, self.last + 1) if number not in self.unusable)
        if self.end is Verdict.INCONCLUSIVE:
            return (self.last,)
        if again := [number for number in self.between if number in self.verdicts]:
            return tuple(again)
        if self.between:
            among, count = len(self.between), together(len(self.between))
            return tuple(sorted({self.between[among * (n + 1) // (count + 1)] for n in range(count)}))
        return tuple(sorted({*self.bracket, self.last} - {0}))  # neighbours, to be compared directly

    def _is_decided(self, number: int) -> bool:
        return self.verdicts.get(number, Verdict.INCONCLUSIVE) is not Verdict.INCONCLUSIVE
