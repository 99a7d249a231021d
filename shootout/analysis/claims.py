"""Published claims held against a run: each holds, does not hold, or cannot be told.

Each is a set of contrasts, sums of ln(throughput) of one start with weights, so that their spread over starts
is their whole variance, whether they stand in one block or in several (as in stats.curve_effects). A claim
holds where every contrast's interval lies within its bounds, and does not hold where one lies beyond, by
Bonferroni for their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from shootout.analysis import stats
from shootout.analysis.pairs import whole_log_tps
from shootout.inputs import published
from shootout.model.plan import Policy
from shootout.model.published import (
    Claim,
    OpenClaim,
    OrderClaim,
    PeakClaim,
    Published,
    RatioClaim,
    Spot,
    TopClaim,
    WithinClaim,
)
from shootout.model.run import RunDocument
from shootout.model.verdict import Contrast, Interval, JudgedClaim, Outcome

STARTS_MIN = 2

Curve = Mapping[int, Mapping[int, float]]  # each start's ln(transactions/s), by threads
Place = tuple[str, str, int]  # server as published, workload, threads


class _UntoldError(Exception):
    """Why a claim cannot be told, or not of one server."""

    def __init__(self, why: str, server: str = "") -> None:
        super().__init__(f"{server}: {why}" if server else why)
        self.server = server
        self.why = why


class _Question(NamedTuple):
    """A contrast that is still to be computed."""

    what: str
    weights: Mapping[Place, float]
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Figures:
    """Throughputs of a comparison, published or measured."""

    cpus: int | None
    curves: Mapping[tuple[str, str], Curve]  # by server as published, and workload
    missing: Mapping[tuple[str, str], str]  # why there is no curve
    exact: bool  # single values, as published: nothing is known of their spread
    machines: Mapping[tuple[str, int], str] = field(default_factory=dict)  # by workload and threads

    @property
    def starts_min(self) -> int:
        """So many starts have an interval, or need none."""
        return 1 if self.exact else STARTS_MIN

    def comparable(self, weights: Mapping[Place, float]) -> bool:
        """Whether a contrast says something of servers: of shards, what machines differ in must cancel."""
        of_machine: dict[str | None, float] = {}
        for (_, workload, threads), weight in weights.items():
            machine = self.machines.get((workload, threads))
            of_machine[machine] = of_machine.get(machine, 0.0) + weight
        return len(of_machine) == 1 or all(abs(total) < 1e-9 for total in of_machine.values())

    def curve(self, server: str, workload: str) -> Curve:
        """A server's throughputs. Raises _UntoldError with the reason where there are none."""
        if found := self.curves.get((server, workload)):
            return found
        raise _UntoldError(self.missing.get((server, workload), f"{workload} was not measured"), server)


def judge(claim: Claim, document: RunDocument, policy: Policy) -> JudgedClaim:
    """One claim of the comparison that the run repeats. Raises InputError for an unknown one."""
    said = published.load(document.header.profile.published or "")
    return judge_in(said, claim, of_run(said, document), policy.confidence)


def judge_all(document: RunDocument, policy: Policy) -> tuple[JudgedClaim, ...]:
    """Every claim of the comparison that the run repeats, in its order; none where it repeats none.

    Raises InputError for an unknown one.
    """
    name = document.header.profile.published
    if name is None:
        return ()
    said = published.load(name)
    figures = of_run(said, document)
    return tuple(judge_in(said, claim, figures, policy.confidence) for claim in said.claims)


def judge_in(said: Published, claim: Claim, figures: Figures, confidence: float) -> JudgedClaim:
    """One claim held against these figures, and against the published ones."""
    outcome, contrasts, reason = _judge(said, claim, figures, confidence)
    theirs, _, _ = _judge(said, claim, of_publication(said), confidence)
    return JudgedClaim(
        claim=claim, outcome=outcome, contrasts=contrasts, reason=reason, in_their_figures=theirs
    )


def of_publication(said: Published) -> Figures:
    """The published figures."""
    curves: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for server in said.servers:
        for threads, tps in zip(said.threads, server.tps, strict=False):
            if not isinstance(tps, str):
                curves.setdefault((server.name, said.workload), {})[threads] = {1: math.log(tps)}
        for workload, peak in server.peaks.items():
            curves.setdefault((server.name, workload), {})[peak.threads] = {1: math.log(peak.tps)}
        if server.report is not None:
            at = {threads: {1: math.log(server.report.tps)} for threads in said.threads[:1]}
            curves[server.name, said.workload] = at
    return Figures(said.cpus, curves, {}, exact=True)


def of_run(said: Published, document: RunDocument) -> Figures:
    """What a run measured of the published servers, or what stands in for them; steady samples only."""
    header = document.header
    curves: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    missing: dict[tuple[str, str], str] = {}
    workloads = tuple(dict.fromkeys(block.workload for block in header.blocks))
    by_key = {block.key: block for block in header.blocks}
    for server in said.servers:
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
                    curve.setdefault(block.threads, {})[start.start] = whole_log_tps(samples)
    cpus = {runner.cpus for runner in header.runners}
    machines = {
        (block.workload, block.threads): header.part(block.cells[0]).runner.fingerprint
        for block in header.blocks
    }
    return Figures(cpus.pop() if len(cpus) == 1 else None, curves, missing, exact=False, machines=machines)


# --- the rule -------------------------------------------------------------------------------------


def _judge(
    said: Published, claim: Claim, figures: Figures, confidence: float
) -> tuple[Outcome, tuple[Contrast, ...], str]:
    left_out: list[_UntoldError] = []
    try:
        asked = [*_questions(said, claim, figures, left_out)]
    except _UntoldError as reason:
        return Outcome.UNTOLD, (), str(reason)
    fair = [each for each in asked if figures.comparable(each.weights)]
    left_out += [_UntoldError("measured by two machines", each.what) for each in asked if each not in fair]
    questions = [each for each in fair if len(_per_start(figures, each)) >= figures.starts_min]
    left_out += [_few(figures, each.what) for each in fair if each not in questions]
    contrasts = tuple(_contrast(figures, each, confidence) for each in questions)
    each_confidence = 1 - (1 - confidence) / max(1, len(questions))
    strict = [_contrast(figures, each, each_confidence).outcome for each in questions]
    if not contrasts:
        return Outcome.UNTOLD, (), _grouped(left_out)
    if all(each.outcome is Outcome.HOLDS for each in contrasts):
        outcome = Outcome.HOLDS
    else:
        outcome = Outcome.FAILS if Outcome.FAILS in strict else Outcome.UNTOLD
    return outcome, contrasts, f"Not told of {_grouped(left_out)}" if left_out else ""


def _grouped(left_out: Sequence[_UntoldError]) -> str:
    """The servers that are missing, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for each in left_out:
        by_reason.setdefault(each.why, []).append(each.server)
    return "; ".join(f"{', '.join(dict.fromkeys(names))} ({why})" for why, names in by_reason.items())


def _questions(
    said: Published, claim: Claim, figures: Figures, left_out: list[_UntoldError]
) -> Iterator[_Question]:
    """The claim's contrasts over what was measured; `left_out` gets the reasons for what was not."""
    match claim:
        case RatioClaim():
            yield _ratio(said, figures, claim)
        case WithinClaim():
            workload = claim.workload or said.workload
            places = [(name, workload, claim.threads) for name in claim.servers]
            present = _present(figures, places, left_out)
            mean = dict.fromkeys(present, 1 / max(1, len(present)))
            for place in present if len(present) > 1 else ():
                weights = {each: (each == place) - share for each, share in mean.items()}
                what = f"{place[0]} over the mean of {len(present)}"
                yield _Question(what, weights, 1 - claim.tolerance, 1 + claim.tolerance)
        case OrderClaim():
            workload = claim.workload or said.workload
            places = [(name, workload, claim.threads) for name in claim.servers]
            present = _present(figures, places, left_out)
            for before, after in pairwise(present):
                yield _Question(f"{after[0]} over {before[0]}", {after: 1.0, before: -1.0}, None, 1.0)
        case TopClaim(threads=threads, workload=workload):
            head = Spot(server=claim.server, threads=threads, workload=workload)
            for other in claim.others:
                base = Spot(server=other, threads=threads, workload=workload)
                ahead = RatioClaim(name=claim.name, text=claim.text, head=head, base=base, low=1.0)
                try:
                    yield _ratio(said, figures, ahead)
                except _UntoldError as reason:
                    left_out.append(reason)
        case PeakClaim():
            for name in claim.servers:
                try:
                    yield _peak(figures, name, claim, claim.workload or said.workload)
                except _UntoldError as reason:
                    left_out.append(reason)
        case OpenClaim(reason=why):
            raise _UntoldError(why)


def _present(figures: Figures, places: Sequence[Place], left_out: list[_UntoldError]) -> list[Place]:
    """Those of the places that have a figure; what stands in for two servers counts once."""
    present: list[Place] = []
    for server, workload, threads in places:
        try:
            curve = figures.curve(server, workload)
            if threads not in curve:
                raise _unmeasured(server, workload, (threads,))
            if len(curve[threads]) < figures.starts_min:
                raise _few(figures, server)
            for other, *_ in present:
                if figures.curve(other, workload) == curve and not figures.exact:
                    raise _UntoldError(f"stood in for like {other}", server)
            present.append((server, workload, threads))
        except _UntoldError as reason:
            left_out.append(reason)
    return present


def _ratio(said: Published, figures: Figures, claim: RatioClaim) -> _Question:
    head, base = claim.head, claim.base
    of_head, of_base = (figures.curve(spot.server, spot.workload or said.workload) for spot in (head, base))
    weights: dict[Place, float] = {}
    for spot, curve, other, sign in ((head, of_head, of_base, 1.0), (base, of_base, of_head, -1.0)):
        workload = spot.workload or said.workload
        counts = _counts(spot, workload, curve, other, figures.starts_min)
        for threads in counts:
            place = (spot.server, workload, threads)
            weights[place] = weights.get(place, 0.0) + sign / len(counts)
    what = f"{_said(head, said)} over {_said(base, said)}"
    return _Question(what, weights, claim.low, claim.high)


def _counts(spot: Spot, workload: str, curve: Curve, other: Curve, starts_min: int) -> tuple[int, ...]:
    """The numbers of threads that a spot stands for; of a range, those that both sides have starts of."""
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


def _peak(figures: Figures, server: str, claim: PeakClaim, workload: str) -> _Question:
    """The best throughput near the number of CPUs over the best elsewhere.

    Both are chosen by the figures that are then compared, which favours neither.
    """
    curve = figures.curve(server, workload)
    if figures.cpus is None:
        raise _UntoldError("the number of CPUs is not known", server)
    low, high = claim.low * figures.cpus, claim.high * figures.cpus
    near = [threads for threads in curve if low <= threads <= high]
    far = [threads for threads in curve if threads not in near]
    if not near or not far:
        where = "near the number of CPUs" if far else "elsewhere"
        raise _UntoldError(f"nothing was measured {where}", server)
    best, rest = _best(curve, near), _best(curve, far)
    weights = {(server, workload, best): 1.0, (server, workload, rest): -1.0}
    return _Question(f"{server} at {best} over {rest} threads", weights, 1.0, None)


def _best(curve: Curve, among: Sequence[int] | Curve) -> int:
    """The number of threads with the highest throughput."""
    return max(among, key=lambda threads: sum(curve[threads].values()) / len(curve[threads]))


def _per_start(figures: Figures, asked: _Question) -> list[float]:
    """The contrast in each of the starts that have all of it."""
    by_place = [figures.curve(server, workload)[threads] for server, workload, threads in asked.weights]
    return [
        sum(weight * logs[start] for weight, logs in zip(asked.weights.values(), by_place, strict=True))
        for start in sorted(set.intersection(*(set(each) for each in by_place)))
    ]


def _contrast(figures: Figures, asked: _Question, confidence: float) -> Contrast:
    """The contrast with its interval over starts; enough of them."""
    per_start = _per_start(figures, asked)
    if figures.exact:
        ratio = Interval.exactly(math.exp(per_start[0]))
    else:
        ratio = stats.over_starts(per_start, confidence).ratio
    return Contrast(
        what=asked.what, ratio=ratio, low=asked.low, high=asked.high, outcome=_outcome(ratio, asked)
    )


def _outcome(ratio: Interval, asked: _Question) -> Outcome:
    low = -math.inf if asked.low is None else asked.low
    high = math.inf if asked.high is None else asked.high
    if low <= ratio.low and ratio.high <= high:
        return Outcome.HOLDS
    return Outcome.FAILS if ratio.high < low or high < ratio.low else Outcome.UNTOLD


def _said(spot: Spot, said: Published) -> str:
    """A spot in words."""
    workload = f", {spot.workload}" if spot.workload not in (None, said.workload) else ""
    return f"{spot.server} at {_threads(spot.threads)}{workload}"


def _few(figures: Figures, what: str) -> _UntoldError:
    return _UntoldError(f"fewer than {figures.starts_min} starts were steady", what)


def _unmeasured(server: str, workload: str, threads: Sequence[int]) -> _UntoldError:
    return _UntoldError(f"{workload} was not measured at {_threads(threads)}, or was not steady", server)


def _threads(threads: Sequence[int]) -> str:
    match threads:
        case (first, last):
            return f"{first} to {last} threads"
        case (1,):
            return "1 thread"
        case (count,):
            return f"{count} threads"
    return "its peak"
