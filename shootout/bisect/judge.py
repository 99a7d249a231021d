"""What a bisection's run documents and builds say: evidence for the posterior, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from shootout.analysis import pairs, stats
from shootout.bisect.batches import answered
from shootout.bisect.posterior import Evidence, Posterior, levels
from shootout.bisect.values import Answer, Bisection, Kind, RevisionFinding
from shootout.model.plan import Policy
from shootout.model.run import RunDocument

SAME_PROGRAM = (
    "it is the same program as {}, byte for byte: a build command that does nothing, a wrong build.tree, "
    "or commits that do not touch the server"
)


class Attempt(NamedTuple):
    """What became of servers in one batch."""

    failed: Mapping[str, str]  # why, by label
    started: Collection[str]  # labels of those that gave a start


@dataclass(frozen=True)
class Timed:
    """A bisection of time so far."""

    bisection: Bisection
    documents: Mapping[str, RunDocument]  # by file name

    @cached_property
    def unusable(self) -> dict[str, str]:
        """Why revisions cannot be measured, by label."""
        return left_out(self.bisection, map(_attempt, self.documents.values()))

    @cached_property
    def evidence(self) -> Evidence:
        """The starts of all documents, as logarithms of throughput to the base's."""
        numbers = {revision.label: number for number, revision in enumerate(self.bisection.revisions)}
        starts: list[dict[int, float]] = []
        for document in self.documents.values():
            by_start: dict[int, dict[int, float]] = {}
            for label, logs in _log_ratios(self.bisection, document).items():
                for start, log in logs.items() if label in numbers else ():
                    by_start.setdefault(start, {0: 0.0})[numbers[label]] = log
            starts += by_start.values()
        return Evidence(
            last=len(self.bisection.revisions) - 1,
            starts=tuple(starts),
            unusable=tuple(sorted(numbers[label] for label in self.unusable)),
            equal=tuple(equal(self.bisection)),
        )

    @cached_property
    def posterior(self) -> Posterior:
        """Probabilities of all histories."""
        return Posterior.of(self.evidence)

    @cached_property
    def answer(self) -> Answer:
        """The answer so far."""
        evidence, posterior, bisection = self.evidence, self.posterior, self.bisection
        known = {level.revision: level for level in levels(evidence, bisection.confidence) if level.revision}
        counts = Counter(number for start in evidence.starts for number in start)
        step = max(evidence.runs, key=posterior.within, default=(0, 0))
        possible = [number for number in range(step[0], step[1] + 1) if posterior.at[number] > 0]
        chances: dict[Kind, float] = {
            "step": posterior.within(step),
            "none": posterior.none,
            "several": posterior.several,
        }
        ends = {bisection.revisions[0].label, bisection.revisions[-1].label}
        likeliest = max(chances, key=lambda kind: chances[kind])
        return Answer(
            bisection=bisection,
            kind=likeliest if answered(evidence, posterior) and not ends & self.unusable.keys() else "open",
            probability=chances[likeliest],
            first=bisection.revisions[min(possible, default=step[1])].label,
            last=bisection.revisions[step[1]].label,
            size=stats.as_ratio(posterior.size),
            none=posterior.none,
            several=posterior.several,
            noise=posterior.noise,
            starts=counts.total(),
            spent_s=self._spent_s,
            findings=tuple(
                RevisionFinding(
                    revision=revision,
                    probability=float(posterior.at[number]),
                    starts=counts[number],
                    ratio=stats.as_ratio(known[number].to_base) if number in known else None,
                    step=stats.as_ratio(known[number].to_previous) if number in known else None,
                    reason=self.unusable.get(revision.label, ""),
                )
                for number, revision in enumerate(bisection.revisions)
            ),
            documents=tuple(self.documents),
        )

    @property
    def _spent_s(self) -> float:
        """Time for builds and runs; of a run that was cut short, up to its last start."""
        return building_s(self.bisection) + sum(
            document.end.elapsed_s if document.end else document.spent_s
            for document in self.documents.values()
        )


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


def equal(bisection: Bisection) -> list[tuple[int, int]]:
    """Revisions whose servers are the same files, the older first."""
    first: dict[str, int] = {}
    same = []
    for number, revision in enumerate(bisection.revisions):
        digest = bisection.builds[revision.label].digest if revision.label in bisection.builds else ""
        if digest and first.setdefault(digest, number) != number:
            same.append((first[digest], number))
    return same


def building_s(bisection: Bisection) -> float:
    """Time for builds."""
    return sum(build.seconds for build in bisection.builds.values())


def _attempt(document: RunDocument) -> Attempt:
    absent = {record.label: record.absent for record in document.header.servers if record.absent}
    return Attempt(
        failed=absent | {failure.cell.server: failure.reason for failure in document.failures},
        started={samples.server for start in document.starts for samples in start.samples},
    )


def _log_ratios(bisection: Bisection, document: RunDocument) -> dict[str, dict[int, float]]:
    """What each start contributes to a server's log-ratio to the base, by label."""
    base = bisection.revisions[0].label
    policy = Policy(confidence=bisection.confidence, trim=bisection.trim)
    result = {}
    for block in document.header.blocks:
        for pair in pairs.of_block(document, block, policy, base):
            rounds = pairs.log_ratios(pair.base_starts, pair.starts) if pair.cell != pair.base else {}
            if rounds:
                means = stats.contributions([*rounds.values()], bisection.trim)
                result[pair.cell.server] = dict(zip(rounds, means, strict=True))
    return result
