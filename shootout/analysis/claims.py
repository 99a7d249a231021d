"""Test published claims on a run: each holds, does not hold, or cannot be told.

A claim is a set of contrasts: weighted sums of one start's ln(throughput). Their spread over starts is their
whole variance, whether they span one block or several (as in stats.curve_effects). A claim holds if every
contrast's interval lies within its bounds. It does not hold if one lies beyond them, after Bonferroni for the
number of contrasts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from shootout.analysis import stats
from shootout.analysis.pairs import start_log_tps
from shootout.inputs import published
from shootout.model.plan import Policy
from shootout.model.published import (
    Claim,
    DataPoint,
    OpenClaim,
    OrderClaim,
    PeakClaim,
    Published,
    RatioClaim,
    TopClaim,
    WithinClaim,
)
from shootout.model.run import RunDocument
from shootout.model.verdict import ClaimResult, Contrast, Interval, Outcome

STARTS_MIN = 2

Curve = Mapping[int, Mapping[int, float]]  # each start's ln(transactions/s), by threads
Point = tuple[str, str, int]  # server as published, workload, threads


class _UntestedError(Exception):
    """The reason why a claim cannot be tested, or not for one server."""

    def __init__(self, why: str, server: str = "") -> None:
        super().__init__(f"{server}: {why}" if server else why)
        self.server = server
        self.why = why


class _PlannedContrast(NamedTuple):
    """A contrast before it is computed."""

    what: str
    weights: Mapping[Point, float]
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Throughputs:
    """Throughputs of a comparison, published or measured."""

    cpus: int | None
    curves: Mapping[tuple[str, str], Curve]  # by server as published, and workload
    missing: Mapping[tuple[str, str], str]  # why there is no curve
    exact: bool  # single published values, whose spread is unknown
    machines: Mapping[tuple[str, int], str] = field(default_factory=dict)  # by workload and threads

    @property
    def starts_min(self) -> int:
        """Starts that an interval takes; published values need none."""
        return 1 if self.exact else STARTS_MIN

    def comparable(self, weights: Mapping[Point, float]) -> bool:
        """Whether a contrast compares servers alone: differences between shards' machines must cancel out."""
        by_machine: dict[str | None, float] = {}
        for (_, workload, threads), weight in weights.items():
            machine = self.machines.get((workload, threads))
            by_machine[machine] = by_machine.get(machine, 0.0) + weight
        return len(by_machine) == 1 or all(abs(total) < 1e-9 for total in by_machine.values())

    def curve(self, server: str, workload: str) -> Curve:
        """A server's throughputs. Raises _UntestedError with the reason if there are none."""
        if found := self.curves.get((server, workload)):
            return found
        raise _UntestedError(self.missing.get((server, workload), f"{workload} was not measured"), server)


def evaluate(claim: Claim, document: RunDocument, policy: Policy) -> ClaimResult:
    """Test one claim of the comparison that the run repeats. Raises InputError for an unknown comparison."""
    publication = published.load(document.header.profile.published or "")
    return evaluate_in(publication, claim, of_run(publication, document), policy.confidence)


def evaluate_all(document: RunDocument, policy: Policy) -> tuple[ClaimResult, ...]:
    """Test every claim of the comparison that the run repeats, in published order; empty if it repeats none.

    Raises InputError for an unknown comparison.
    """
    name = document.header.profile.published
    if name is None:
        return ()
    publication = published.load(name)
    tps = of_run(publication, document)
    return tuple(evaluate_in(publication, claim, tps, policy.confidence) for claim in publication.claims)


def evaluate_in(publication: Published, claim: Claim, tps: Throughputs, confidence: float) -> ClaimResult:
    """Test one claim on these throughputs, and on the published ones."""
    outcome, contrasts, reason = _evaluate(publication, claim, tps, confidence)
    as_published, _, _ = _evaluate(publication, claim, of_publication(publication), confidence)
    return ClaimResult(
        claim=claim, outcome=outcome, contrasts=contrasts, reason=reason, published_outcome=as_published
    )


def of_publication(publication: Published) -> Throughputs:
    """The published throughputs."""
    curves: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for server in publication.servers:
        for threads, tps in zip(publication.threads, server.tps, strict=False):
            if not isinstance(tps, str):
                curves.setdefault((server.name, publication.workload), {})[threads] = {1: math.log(tps)}
        for workload, peak in server.peaks.items():
            curves.setdefault((server.name, workload), {})[peak.threads] = {1: math.log(peak.tps)}
        if server.report is not None:
            at = {threads: {1: math.log(server.report.tps)} for threads in publication.threads[:1]}
            curves[server.name, publication.workload] = at
    return Throughputs(publication.cpus, curves, {}, exact=True)


def of_run(publication: Published, document: RunDocument) -> Throughputs:
    """A run's throughputs of the published servers or their stand-ins, from steady samples only."""
    header = document.header
    curves: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    missing: dict[tuple[str, str], str] = {}
    workloads = tuple(dict.fromkeys(block.workload for block in header.blocks))
    by_key = {block.key: block for block in header.blocks}
    for server in publication.servers:
        record = published.record_of(server, header)
        for workload in workloads:
            if record is None:
                missing[server.name, workload] = "not in the run"
            elif record.absent:
                missing[server.name, workload] = "not available here"
            else:
                reasons = (
                    failure.reason.strip().splitlines()[0]
                    for failure in document.failures
                    if (failure.cell.server, failure.cell.workload) == (record.label, workload)
                )
                why = next(reasons, "not measured, or not steady")
                missing[server.name, workload] = why
        if record is None:
            continue
        for start in document.starts:
            block = by_key[start.block]
            for samples in start.samples:
                if samples.server == record.label and samples.steady:
                    curve = curves.setdefault((server.name, block.workload), {})
                    curve.setdefault(block.threads, {})[start.start] = start_log_tps(samples)
    cpus = {runner.cpus for runner in header.runners}
    machines = {
        (block.workload, block.threads): header.part(block.cells[0]).runner.fingerprint
        for block in header.blocks
    }
    return Throughputs(
        cpus.pop() if len(cpus) == 1 else None, curves, missing, exact=False, machines=machines
    )


# --- the rule -------------------------------------------------------------------------------------


def _evaluate(
    publication: Published, claim: Claim, tps: Throughputs, confidence: float
) -> tuple[Outcome, tuple[Contrast, ...], str]:
    left_out: list[_UntestedError] = []
    try:
        planned = [*_planned(publication, claim, tps, left_out)]
    except _UntestedError as reason:
        return Outcome.INCONCLUSIVE, (), str(reason)
    fair = [each for each in planned if tps.comparable(each.weights)]
    left_out += [
        _UntestedError("measured by two machines", each.what) for each in planned if each not in fair
    ]
    tested = [each for each in fair if len(_per_start(tps, each)) >= tps.starts_min]
    left_out += [_few(tps, each.what) for each in fair if each not in tested]
    contrasts = tuple(_contrast(tps, each, confidence) for each in tested)
    adjusted = 1 - (1 - confidence) / max(1, len(tested))
    strict = [_contrast(tps, each, adjusted).outcome for each in tested]
    if not contrasts:
        return Outcome.INCONCLUSIVE, (), _grouped(left_out)
    if all(each.outcome is Outcome.HOLDS for each in contrasts):
        outcome = Outcome.HOLDS
    else:
        outcome = Outcome.FAILS if Outcome.FAILS in strict else Outcome.INCONCLUSIVE
    return outcome, contrasts, f"Not tested: {_grouped(left_out)}" if left_out else ""


def _grouped(left_out: Sequence[_UntestedError]) -> str:
    """The servers left out, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for each in left_out:
        by_reason.setdefault(each.why, []).append(each.server)
    return "; ".join(f"{', '.join(dict.fromkeys(names))} ({why})" for why, names in by_reason.items())


def _planned(
    publication: Published, claim: Claim, tps: Throughputs, left_out: list[_UntestedError]
) -> Iterator[_PlannedContrast]:
    """The claim's contrasts between measured points; adds the reason for each missing point to `left_out`."""
    match claim:
        case RatioClaim():
            yield _ratio(publication, tps, claim)
        case WithinClaim():
            workload = claim.workload or publication.workload
            points = [(name, workload, claim.threads) for name in claim.servers]
            present = _present(tps, points, left_out)
            mean = dict.fromkeys(present, 1 / max(1, len(present)))
            for point in present if len(present) > 1 else ():
                weights = {each: (each == point) - share for each, share in mean.items()}
                what = f"{point[0]} over the mean of {len(present)}"
                yield _PlannedContrast(what, weights, 1 - claim.tolerance, 1 + claim.tolerance)
        case OrderClaim():
            workload = claim.workload or publication.workload
            points = [(name, workload, claim.threads) for name in claim.servers]
            present = _present(tps, points, left_out)
            for before, after in pairwise(present):
                yield _PlannedContrast(f"{after[0]} over {before[0]}", {after: 1.0, before: -1.0}, None, 1.0)
        case TopClaim(threads=threads, workload=workload):
            head = DataPoint(server=claim.server, threads=threads, workload=workload)
            for other in claim.others:
                base = DataPoint(server=other, threads=threads, workload=workload)
                ahead = RatioClaim(name=claim.name, text=claim.text, head=head, base=base, low=1.0)
                try:
                    yield _ratio(publication, tps, ahead)
                except _UntestedError as reason:
                    left_out.append(reason)
        case PeakClaim():
            for name in claim.servers:
                try:
                    yield _peak(tps, name, claim, claim.workload or publication.workload)
                except _UntestedError as reason:
                    left_out.append(reason)
        case OpenClaim(reason=why):
            raise _UntestedError(why)


def _present(tps: Throughputs, points: Sequence[Point], left_out: list[_UntestedError]) -> list[Point]:
    """The points that have a throughput. A stand-in for two servers counts once."""
    present: list[Point] = []
    for server, workload, threads in points:
        try:
            curve = tps.curve(server, workload)
            if threads not in curve:
                raise _unmeasured(server, workload, (threads,))
            if len(curve[threads]) < tps.starts_min:
                raise _few(tps, server)
            for other, *_ in present:
                if tps.curve(other, workload) == curve and not tps.exact:
                    raise _UntestedError(f"same stand-in as {other}", server)
            present.append((server, workload, threads))
        except _UntestedError as reason:
            left_out.append(reason)
    return present


def _ratio(publication: Published, tps: Throughputs, claim: RatioClaim) -> _PlannedContrast:
    head, base = claim.head, claim.base
    default = publication.workload
    of_head, of_base = (tps.curve(spot.server, spot.workload or default) for spot in (head, base))
    weights: dict[Point, float] = {}
    for spot, curve, other, sign in ((head, of_head, of_base, 1.0), (base, of_base, of_head, -1.0)):
        workload = spot.workload or default
        counts = _counts(spot, workload, curve, other, tps.starts_min)
        for threads in counts:
            point = (spot.server, workload, threads)
            weights[point] = weights.get(point, 0.0) + sign / len(counts)
    what = f"{_point_text(head, publication)} over {_point_text(base, publication)}"
    return _PlannedContrast(what, weights, claim.low, claim.high)


def _counts(spot: DataPoint, workload: str, curve: Curve, other: Curve, starts_min: int) -> tuple[int, ...]:
    """Thread counts that a spot stands for; within a range, those with enough starts on both sides."""
    match spot.threads:
        case ():
            return (_best(curve, curve),)
        case (threads,) if threads in curve:
            return (threads,)
        case (first, last):
            shared = {n: curve[n].keys() & other[n].keys() for n in curve.keys() & other.keys()}
            counts = (n for n in sorted(shared) if first <= n <= last and len(shared[n]) >= starts_min)
            if found := tuple(counts):
                return found
    raise _unmeasured(spot.server, workload, spot.threads)


def _peak(tps: Throughputs, server: str, claim: PeakClaim, workload: str) -> _PlannedContrast:
    """The best throughput near the number of CPUs over the best elsewhere.

    Both are picked by the throughputs that are then compared, which favours neither.
    """
    curve = tps.curve(server, workload)
    if tps.cpus is None:
        raise _UntestedError("the number of CPUs is unknown", server)
    low, high = claim.low * tps.cpus, claim.high * tps.cpus
    near = [threads for threads in curve if low <= threads <= high]
    far = [threads for threads in curve if threads not in near]
    if not near or not far:
        where = "near the number of CPUs" if far else "elsewhere"
        raise _UntestedError(f"nothing was measured {where}", server)
    best, rest = _best(curve, near), _best(curve, far)
    weights = {(server, workload, best): 1.0, (server, workload, rest): -1.0}
    return _PlannedContrast(f"{server} at {best} over {rest} threads", weights, 1.0, None)


def _best(curve: Curve, among: Sequence[int] | Curve) -> int:
    """The thread count with the highest throughput."""
    return max(among, key=lambda threads: sum(curve[threads].values()) / len(curve[threads]))


def _per_start(tps: Throughputs, planned: _PlannedContrast) -> list[float]:
    """The contrast in each start that has all its points."""
    by_point = [tps.curve(server, workload)[threads] for server, workload, threads in planned.weights]
    return [
        sum(weight * logs[start] for weight, logs in zip(planned.weights.values(), by_point, strict=True))
        for start in sorted(set.intersection(*(set(each) for each in by_point)))
    ]


def _contrast(tps: Throughputs, planned: _PlannedContrast, confidence: float) -> Contrast:
    """The contrast and its interval over starts, of which there must be enough."""
    per_start = _per_start(tps, planned)
    if tps.exact:
        ratio = Interval.exactly(math.exp(per_start[0]))
    else:
        ratio = stats.over_starts(per_start, confidence).ratio
    return Contrast(
        what=planned.what, ratio=ratio, low=planned.low, high=planned.high, outcome=_outcome(ratio, planned)
    )


def _outcome(ratio: Interval, planned: _PlannedContrast) -> Outcome:
    low = -math.inf if planned.low is None else planned.low
    high = math.inf if planned.high is None else planned.high
    if low <= ratio.low and ratio.high <= high:
        return Outcome.HOLDS
    return Outcome.FAILS if ratio.high < low or high < ratio.low else Outcome.INCONCLUSIVE


def _point_text(spot: DataPoint, publication: Published) -> str:
    workload = f", {spot.workload}" if spot.workload not in (None, publication.workload) else ""
    return f"{spot.server} at {_threads(spot.threads)}{workload}"


def _few(tps: Throughputs, what: str) -> _UntestedError:
    return _UntestedError(f"fewer than {tps.starts_min} starts were steady", what)


def _unmeasured(server: str, workload: str, threads: Sequence[int]) -> _UntestedError:
    return _UntestedError(f"{workload} was not measured at {_threads(threads)}, or was not steady", server)


def _threads(threads: Sequence[int]) -> str:
    match threads:
        case (first, last):
            return f"{first} to {last} threads"
        case (1,):
            return "1 thread"
        case (count,):
            return f"{count} threads"
    return "its peak"
