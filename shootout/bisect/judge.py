"""What a bisection's run documents and builds say: evidence for the posterior, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from shootout.analysis import pairs, stats
from shootout.bisect import batches as bisection_batches
from shootout.bisect import posterior as bisection
from shootout.bisect.posterior import Evidence
from shootout.bisect.values import Answer, Bisection, Kind, RevisionFinding
from shootout.model.plan import Policy
from shootout.model.run import RunDocument

Documents = Mapping[str, RunDocument]  # by file name


class Attempt(NamedTuple):
    """What became of servers in one batch."""

    failed: Mapping[str, str]  # why, by label
    started: Collection[str]  # labels of those that gave a start


def evidence(found: Bisection, documents: Documents) -> Evidence:
    """The starts of all documents, as logarithms of throughput to the base's."""
    numbers = {revision.label: number for number, revision in enumerate(found.revisions)}
    starts: list[dict[int, float]] = []
    for document in documents.values():
        by_start: dict[int, dict[int, float]] = {}
        for label, logs in _log_ratios(found, document).items():
            for start, log in logs.items():
                by_start.setdefault(start, {0: 0.0})[numbers[label]] = log
        starts += by_start.values()
    return Evidence(
        last=len(found.revisions) - 1,
        starts=tuple(starts),
        unusable=tuple(sorted(numbers[label] for label in unusable(found, documents))),
        equal=tuple(equal(found)),
    )


def unusable(found: Bisection, documents: Documents) -> dict[str, str]:
    """Why revisions cannot be measured, by label."""
    return left_out(found, map(_attempt, documents.values()))


def left_out(found: Bisection, attempts: Iterable[Attempt]) -> dict[str, str]:
    """Why revisions are unusable, by label: their builds failed, or their servers did.

    A server may fail by chance: one that gave a start is left out once it fails in two batches in a row.
    """
    reasons = {label: build.reason for label, build in found.builds.items() if build.reason}
    batches = [*attempts]
    for label in (revision.label for revision in found.revisions):
        tried = [each.failed.get(label, "") for each in batches if label in {*each.failed, *each.started}]
        never = not any(label in each.started for each in batches)
        if tried and all(tried[-2:]) and (never or len(tried) > 1):
            reasons.setdefault(label, tried[-1])
    return reasons


def _attempt(document: RunDocument) -> Attempt:
    absent = {record.label: record.absent for record in document.header.servers if record.absent}
    return Attempt(
        failed=absent | {failure.cell.server: failure.reason for failure in document.failures},
        started={samples.server for start in document.starts for samples in start.samples},
    )


def answer(found: Bisection, documents: Documents) -> Answer:
    """The answer so far."""
    known = evidence(found, documents)
    posterior = bisection.posterior(known)
    levels = {level.revision: level for level in bisection.levels(known, found.confidence)}
    reasons = unusable(found, documents)
    counts = Counter(number for start in known.starts for number in start)
    findings = [
        RevisionFinding(
            revision=revision,
            probability=float(posterior.at[number]),
            starts=counts[number],
            ratio=stats.as_ratio(levels[number].to_base) if number and number in levels else None,
            step=stats.as_ratio(levels[number].to_previous) if number and number in levels else None,
            reason=reasons.get(revision.label, ""),
        )
        for number, revision in enumerate(found.revisions)
    ]
    step = max(known.runs, key=posterior.within, default=(0, 0))
    possible = [number for number in range(step[0], step[1] + 1) if posterior.at[number] > 0]
    chances: dict[Kind, float] = {
        "step": posterior.within(step),
        "none": posterior.none,
        "several": posterior.several,
    }
    likeliest = max(chances, key=lambda kind: chances[kind])
    return Answer(
        bisection=found,
        kind=likeliest if bisection_batches.answered(known, posterior) else "open",
        probability=chances[likeliest],
        first=found.revisions[min(possible, default=step[1])].label,
        last=found.revisions[step[1]].label,
        size=stats.as_ratio(posterior.size),
        none=posterior.none,
        several=posterior.several,
        noise=posterior.noise,
        starts=counts.total(),
        spent_s=spent_s(found, documents),
        findings=tuple(findings),
        documents=tuple(documents),
    )


def spent_s(found: Bisection, documents: Documents) -> float:
    """Time for builds and runs; of a run that was cut short, up to its last start."""
    building = sum(build.seconds for build in found.builds.values())
    runs = (document.end.elapsed_s if document.end else document.spent_s for document in documents.values())
    return building + sum(runs)


def exit_code(answer: Answer) -> int:
    """1: slower since some revision; 4: no answer; else 0."""
    if answer.kind == "open":
        return 4
    if answer.kind == "several":
        last = next((each.ratio for each in reversed(answer.findings) if each.ratio), None)
        return int(last is not None and answer.bisection.is_worse(last))
    return int(answer.kind == "step" and answer.bisection.is_worse(answer.size))


def _log_ratios(found: Bisection, document: RunDocument) -> dict[str, dict[int, float]]:
    """What each start contributes to a server's log-ratio to the base, by label."""
    base = found.revisions[0].label
    policy = Policy(confidence=found.confidence, trim=found.trim)
    result = {}
    for block in document.header.blocks:
        for pair in pairs.of_block(document, block, policy, base):
            rounds = pairs.log_ratios(pair.base_starts, pair.starts) if pair.cell != pair.base else {}
            if rounds:
                means = stats.contributions([*rounds.values()], found.trim)
                result[pair.cell.server] = dict(zip(rounds, means, strict=True))
    return result


def equal(found: Bisection) -> list[tuple[int, int]]:
    """Revisions whose servers are the same files, the older first."""
    first: dict[str, int] = {}
    pairs_ = []
    for number, revision in enumerate(found.revisions):
        digest = found.builds[revision.label].digest if revision.label in found.builds else ""
        if digest and first.setdefault(digest, number) != number:
            pairs_.append((first[digest], number))
    return pairs_
