"""Test published claims on a run: each holds, does not hold, or cannot be told.

A claim bounds the ratio of two throughputs. Each start measures ln(ratio), and the spread of these over
starts is their whole variance, whether the claim spans one block or several (as in stats.curve_effects). A
claim holds if the interval lies within its bounds, and does not hold if the interval lies beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from shootout.analysis import stats
from shootout.analysis.interval_verdict import place
from shootout.analysis.pairs import start_log_tps
from shootout.analysis.stats import STARTS_MIN
from shootout.inputs import published
from shootout.model.plan import Policy
from shootout.model.published import Claim, DataPoint, Published, threads_text
from shootout.model.run import RunDocument
from shootout.model.verdict import ClaimResult, Interval, Outcome

Curve = Mapping[int, Mapping[int, float]]  # each start's ln(transactions/s), by threads


class _UntestedError(Exception):
    """The reason why a claim cannot be tested."""


def evaluate_all(document: RunDocument, policy: Policy) -> tuple[ClaimResult, ...]:
    """Test every claim of the comparison that a run repeats; empty if it repeats none. Raises InputError."""
    name = document.header.profile.published
    if name is None:
        return ()
    publication = published.load(name)
    return tuple(evaluate(claim, document, policy, publication) for claim in publication.claims)


def evaluate(
    claim: Claim, document: RunDocument, policy: Policy, publication: Published | None = None
) -> ClaimResult:
    """Test one claim of the comparison that the run repeats. Raises InputError for an unknown comparison."""
    publication = publication or published.load(document.header.profile.published or "")
    ratio, reason = None, "; ".join(_stand_ins(claim, publication, document))
    try:
        log_ratios = _log_ratios(claim, publication, document)
        ratio = stats.over_starts(log_ratios, policy.confidence).ratio
    except _UntestedError as error:
        reason = str(error)
    theirs = published_ratio(claim, publication)
    return ClaimResult(
        claim=claim,
        outcome=_outcome(claim, ratio),
        ratio=ratio,
        reason=reason,
        published_ratio=theirs,
        published_outcome=_outcome(claim, theirs),
    )


def _stand_ins(claim: Claim, publication: Published, document: RunDocument) -> Iterator[str]:
    for name in dict.fromkeys((claim.head.server, claim.base.server)):
        server = publication.server(name)
        record = published.record_of(server, document.header)
        if record is not None and document.header.profile.stand_ins.get(server.server) == record.reference:
            yield f"{record.label} stands in for {name}"


def published_ratio(claim: Claim, publication: Published) -> Interval | None:
    """Compute the ratio in the published figures; None if they do not have both throughputs."""
    throughputs = []
    for point in (claim.head, claim.base):
        if len(point.threads) > 1:
            return None
        threads = next(iter(point.threads), None)
        throughputs.append(publication.figure(point.server, point.workload or publication.workload, threads))
    head, base = throughputs
    return Interval.exactly(head / base) if isinstance(head, float) and isinstance(base, float) else None


def _outcome(claim: Claim, ratio: Interval | None) -> Outcome:
    if ratio is None:
        return Outcome.INCONCLUSIVE
    low, high = claim.low, claim.high
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    known = {"within": Outcome.HOLDS, "unclear": Outcome.INCONCLUSIVE}
    return known.get(place(ratio, bounds, unchanged=bounds), Outcome.FAILS)


def _log_ratios(claim: Claim, publication: Published, document: RunDocument) -> list[float]:
    """ln(head / base) of each start that has both. Raises _UntestedError if too few have."""
    points = (claim.head, claim.base)
    head, base = (_curve(point, publication, document) for point in points)
    of_head, of_base = _counts(claim.head, head, base), _counts(claim.base, base, head)
    workloads = [point.workload or publication.workload for point in points]
    blocks = {(workloads[0], n) for n in of_head} | {(workloads[1], n) for n in of_base}
    runners = {
        document.header.part(block.cells[0]).runner.fingerprint
        for block in document.header.blocks
        if (block.workload, block.threads) in blocks
    }
    if len(runners) > 1 and (workloads[0] != workloads[1] or of_head != of_base):
        raise _UntestedError("measured by two machines")
    measured = [*(head[threads] for threads in of_head), *(base[threads] for threads in of_base)]
    starts = sorted(set.intersection(*map(set, measured)))
    if len(starts) < STARTS_MIN:
        raise _UntestedError(f"fewer than {STARTS_MIN} starts were steady")
    return [_mean_log(head, of_head, start) - _mean_log(base, of_base, start) for start in starts]


def _curve(point: DataPoint, publication: Published, document: RunDocument) -> Curve:
    """Read a server's or its stand-in's throughputs from steady samples; _UntestedError if there are none."""
    workload = point.workload or publication.workload
    record = published.record_of(publication.server(point.server), document.header)
    if record is None:
        raise _UntestedError(f"{point.server}: not in the run")
    if record.absent:
        raise _UntestedError(f"{point.server}: not available here")
    threads = {block.key: block.threads for block in document.header.blocks if block.workload == workload}
    curve: dict[int, dict[int, float]] = {}
    for start in (start for start in document.starts if start.block in threads):
        for samples in start.samples:
            if samples.server == record.label and samples.steady:
                curve.setdefault(threads[start.block], {})[start.start] = start_log_tps(samples)
    if not curve:
        reasons = (
            failure.reason.strip().splitlines()[0]
            for failure in document.failures
            if (failure.cell.server, failure.cell.workload) == (record.label, workload)
        )
        raise _UntestedError(f"{point.server}: {next(reasons, 'not measured, or not steady')}")
    return curve


def _counts(point: DataPoint, curve: Curve, other: Curve) -> tuple[int, ...]:
    """The thread counts of a point; within a range, those at which both sides share enough starts."""
    match point.threads:
        case ():
            return (max(curve, key=lambda threads: sum(curve[threads].values()) / len(curve[threads])),)
        case (threads,) if threads in curve:
            return (threads,)
        case (first, last):
            both = (n for n in sorted(curve.keys() & other.keys()) if first <= n <= last)
            if shared := tuple(n for n in both if len(curve[n].keys() & other[n].keys()) >= STARTS_MIN):
                return shared
    where = threads_text(point.threads)
    raise _UntestedError(f"{point.server}: not measured at {where}, or not steady")


def _mean_log(curve: Curve, counts: tuple[int, ...], start: int) -> float:
    return sum(curve[threads][start] for threads in counts) / len(counts)
