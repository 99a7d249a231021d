"""Judge a bisection by its documents and builds, and choose what to measure next. Pure."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from shootout.bisect.halving import Halving, Pair
from shootout.bisect.values import Bisected, Bisection, Here, RevisionFinding, Step
from shootout.model.verdict import Interval, Verdict

SAME_PROGRAM = (
    "it is the same program as {}, byte for byte: a build command that does nothing, a wrong build.tree, "
    "or commits that do not touch the server"
)
SAME = Interval.exactly(1.0)
FIRST, MOST = 8, 32  # starts of a batch; a revision that stays undecided gets as many as it has had
TOGETHER_MAX = 7  # revisions beside the base


class Attempt(NamedTuple):
    """Servers of one batch, by what became of them."""

    failed: Mapping[str, str]  # why, by label
    started: Collection[str]  # labels of those that gave a start


class Judged(NamedTuple):
    """A revision compared with another."""

    verdict: Verdict
    ratio: Interval


@dataclass(frozen=True)
class Measured:
    """Comparisons and costs, by measure: time or an instrument."""

    to_base: Mapping[int, Judged]  # by revision
    compare: Callable[[Pair], Judged | None]  # measured revisions; None: not measured together
    unusable: Mapping[str, str]  # why, by label
    starts: Counter[str]  # by label
    spread: float  # standard deviation of a start's log-ratio, at most
    seconds: float  # of measuring
    documents: Sequence[str]  # file names
    margin: float  # the smallest change worth a verdict
    title: str  # of the measure
    repeats: bool  # whether more starts can decide what is inconclusive


@dataclass(frozen=True)
class Found:
    """A bisection so far."""

    bisection: Bisection
    measured: Measured

    @cached_property
    def halving(self) -> Halving:
        """Knowledge of the history so far."""
        labels = [revision.label for revision in self.bisection.revisions]
        base = {number: Verdict.EQUIVALENT for number, one in self._measured_as.items() if one == 0}
        others = {number: self.measured.to_base[one] for number, one in self._measured_as.items() if one}
        return Halving(
            last=len(labels) - 1,
            verdicts=base | {number: judged.verdict for number, judged in others.items()},
            pairs=lambda pair: judged.verdict if (judged := self.compared(pair)) else None,
            unusable={number for number, label in enumerate(labels) if label in self.measured.unusable},
            at_once=not self.bisection.revisions[0].commit,
            repeats=self.measured.repeats,
        )

    def compared(self, pair: Pair) -> Judged | None:
        """The newer of two measured revisions compared with the older."""
        older, newer = (self._measured_as[number] for number in pair)
        if older == newer:
            return Judged(Verdict.EQUIVALENT, SAME)
        return self.measured.compare((older, newer)) if older else self.measured.to_base[newer]

    @cached_property
    def answer(self) -> Bisected:
        """The answer so far."""
        revisions, halving = self.bisection.revisions, self.halving
        step = halving.changed[0] if halving.kind == "step" else halving.bracket
        size = self.compared(step) if {*step} <= {*self._measured_as} else None
        here: dict[int, Here] = {
            number: "yes" if newer == older + 1 else "possible"
            for older, newer in halving.places
            for number in range(older + 1, newer + 1)
        }
        before = {newer: older for older, newer in itertools.pairwise(sorted(self._measured_as))}

        def finding(number: int) -> RevisionFinding:
            label = revisions[number].label
            return RevisionFinding(
                revision=revisions[number], verdict=halving.verdicts.get(number) if number else None,
                here=here.get(number, ""), starts=self.measured.starts[label],
                ratio=self._ratio((0, number)) if number and number in self._measured_as else None,
                step=self._ratio((before[number], number)) if number in before else None,
                reason=self.measured.unusable.get(label, ""),
            )  # fmt: skip

        return Bisected(
            bisection=self.bisection,
            kind=halving.kind,
            first=revisions[step[0] + 1].label,
            last=revisions[step[1]].label,
            size=size and size.ratio,
            is_worse=self._is_worse(size),
            margin=self.measured.margin,
            spread=self.measured.spread,
            starts=self.measured.starts.total(),
            spent_s=sum(build.seconds for build in self.bisection.builds.values()) + self.measured.seconds,
            findings=tuple(map(finding, range(len(revisions)))),
            steps=tuple(
                Step(older=revisions[older].label, newer=revisions[newer].label, ratio=judged.ratio)
                for older, newer in halving.changed
                if (judged := self.compared((older, newer)))
            ),
            documents=tuple(self.measured.documents),
            measure=self.measured.title,
        )

    @cached_property
    def _measured_as(self) -> dict[int, int]:
        """Measured revisions, each with the one that was measured: itself, or one of the same files."""
        measured = [0, *self.measured.to_base]
        oldest = {newer: older for older, newer in equal(self.bisection)}  # of the same files
        of_files = {oldest.get(number, number): number for number in reversed(measured)}
        every = ((n, of_files.get(oldest.get(n, n))) for n in range(len(self.bisection.revisions)))
        same = {number: one for number, one in every if one is not None}
        return same | {number: number for number in measured}

    def _is_worse(self, step: Judged | None) -> bool:
        """Whether what follows the step, or the last revision, is a loss."""
        verdict = step.verdict if self.halving.kind == "step" and step else self.halving.end
        return self.halving.kind in ("step", "several") and verdict is Verdict.REGRESSED

    def _ratio(self, pair: Pair) -> Interval | None:
        judged = self.compared(pair)
        return judged.ratio if judged else None


def left_out(bisection: Bisection, attempts: Iterable[Attempt]) -> dict[str, str]:
    """Say why revisions are unusable, by label: a build or a server failed, or both ends are one program.

    A server may fail by chance: one that gave a start is left out once it fails in two batches in a row.
    """
    labels = [revision.label for revision in bisection.revisions]  # and none of a proof
    known = {label: bisection.builds[label].reason for label in labels if label in bisection.builds}
    reasons = {label: reason for label, reason in known.items() if reason}
    batches = [*attempts]
    for label in labels:
        tried = [batch.failed.get(label, "") for batch in batches if label in {*batch.failed, *batch.started}]
        never = not any(label in batch.started for batch in batches)
        if tried and all(tried[-2:]) and (never or len(tried) > 1):
            reasons.setdefault(label, tried[-1])
    if (0, len(labels) - 1) in equal(bisection):
        reasons.setdefault(labels[-1], SAME_PROGRAM.format(labels[0]))
    return reasons


def equal(bisection: Bisection) -> list[Pair]:
    """Revisions whose servers are the same files, the older first."""
    first: dict[str, int] = {}
    same = []
    for number, revision in enumerate(bisection.revisions):
        digest = bisection.builds[revision.label].digest if revision.label in bisection.builds else ""
        if digest and first.setdefault(digest, number) != number:
            same.append((first[digest], number))
    return same


class Costs(NamedTuple):
    """Seconds."""

    build_s: float  # one revision
    start_s: float  # one server in one start
    batch_s: float  # a batch of no starts


def next_batch(found: Found, costs: Costs | None) -> tuple[tuple[int, ...], int] | None:
    """Choose revisions to measure, the base first, and in how many starts; without costs one beside it.

    None: there is nothing to measure.
    """
    numbers = found.halving.next_revisions(lambda among: _together(among, costs) if costs else 1)
    if not numbers:
        return None
    labels = [found.bisection.revisions[number].label for number in numbers]
    made = min(found.measured.starts[label] for label in labels)
    return (0, *numbers), min(max(FIRST, made), MOST)


def _together(among: int, costs: Costs) -> int:
    """The number of revisions that narrows a history most for its cost: k leave one part in k + 1."""

    def cost(count: int) -> float:
        starts_s = FIRST * costs.start_s * (count + 1)
        return (costs.batch_s + count * costs.build_s + starts_s) / math.log(count + 1)

    return min(range(1, min(among, TOGETHER_MAX) + 1), key=cost)
