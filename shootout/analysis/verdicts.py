"""The verdict on a cell: the rule of docs/method.md, and one sentence why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from shootout import numbers
from shootout.analysis import metrics, power, stats
from shootout.analysis.pairs import Change, Pair, unsteady
from shootout.model.plan import THROUGHPUT, Cell, Policy
from shootout.model.verdict import Interval, MetricVerdict, Verdict

DETECTABLE_MAX = math.log(1000)  # a thousandfold; more is not told apart
CellMetric = tuple[Cell, str]
# The worst of a cell's metrics is the cell's.
_WORST_FIRST = (Verdict.REGRESSED, Verdict.INCONCLUSIVE, Verdict.IMPROVED, Verdict.EQUIVALENT)


class Judgement(NamedTuple):
    """A cell's verdict, one sentence why, and each of its metrics; the one that decided comes first."""

    verdict: Verdict
    reason: str
    metrics: tuple[MetricVerdict, ...] = ()


def judge(
    pair: Pair, policy: Policy, p_values: Mapping[CellMetric, float], spreads: Mapping[str, float]
) -> Judgement:
    """Judge a cell. `p_values` are adjusted; `spreads`: how much starts of A/A cells differ, by metric."""
    if pair.failure is not None:
        return Judgement(Verdict.FAILED, pair.failure)
    if not pair.starts:
        why = "the run was cut short before it, or its shard is missing"
        return Judgement(Verdict.UNJUDGED, pair.absent or f"not measured: {why}")
    if pair.cell == pair.base:
        instead = f"the base, in place of {pair.replaces}" if pair.replaces else "the base"
        return Judgement(Verdict.UNJUDGED, instead)
    if pair.base_failure is not None:
        return Judgement(Verdict.UNJUDGED, f"its base, {pair.base.server}, failed: {pair.base_failure}")
    if not pair.judged and (doubt := unsteady(pair)):
        return Judgement(Verdict.INCONCLUSIVE, f"nothing is judged on unsteady samples: {doubt}")
    if not pair.judged and pair.throughput is not None:
        return Judgement(Verdict.UNJUDGED, "none of the metrics to judge was visible in every start")
    if not pair.judged:
        return Judgement(
            Verdict.UNJUDGED, f"nothing to compare with: {pair.base.server} was not measured beside it"
        )
    found = [
        metric(pair.cell, change, policy, p_values, _floor(change, policy, spreads)) for change in pair.judged
    ]
    found.sort(key=lambda each: _WORST_FIRST.index(each[0].verdict))
    judged, reason = found[0]
    verdict = judged.verdict
    if pair.unseen and verdict is not Verdict.REGRESSED:
        names = " and ".join(metrics.TITLES[name] for name in pair.unseen)
        reason += f"; but {names} could not be compared: not visible, or 0, in some start"
        verdict = Verdict.INCONCLUSIVE
    return Judgement(verdict, reason, tuple(each for each, _ in found))


def metric(
    cell: Cell, change: Change, policy: Policy, p_values: Mapping[CellMetric, float], floor: float | None
) -> tuple[MetricVerdict, str]:
    """Judge one metric of a cell; and why, in words. `floor`: its A/A noise floor, where that is known."""
    margin = policy.margin_of(change.metric, cell.workload)
    bar = max(math.log1p(margin), policy.floor_factor * (floor or 0.0))
    hurdle = _Hurdle(margin, bar, p_values[cell, change.metric], len(p_values))
    verdict, why, confirmed = _rule(change, policy, hurdle)
    judged = MetricVerdict(
        metric=change.metric,
        verdict=verdict,
        ratio=ratio(change.metric, change.whole),
        p_value=hurdle.p_value,
        margin=margin,
        spread=change.whole.spread,
        floor=floor,
        detectable=_detectable(change, policy, bar, hurdle.comparisons),
        confirmed=confirmed,
    )
    return judged, f"{measured(change.metric, change.whole, policy.confidence)}{why}"


class _Hurdle(NamedTuple):
    """What a change has to pass."""

    margin: float
    bar: float  # of the logarithm: the margin's, or more where noise alone shows as much
    p_value: float  # adjusted
    comparisons: int


def _rule(change: Change, policy: Policy, hurdle: _Hurdle) -> tuple[Verdict, str, bool | None]:
    """The first verdict that holds, why, and whether it was confirmed."""
    first, again, whole = change.first, change.again, change.whole
    beyond = first.low > 0 or first.high < 0
    margin, margin_text = math.log1p(hurdle.margin), _share(hurdle.margin)
    if len(first.per_start) < 2:
        return Verdict.INCONCLUSIVE, "; a verdict must hold again after a fresh start", None
    if beyond and abs(first.estimate) >= hurdle.bar and hurdle.p_value < 1 - policy.confidence:
        verdict = Verdict.REGRESSED if first.estimate < 0 else Verdict.IMPROVED
        if again is None and change.unsteady_again:
            return Verdict.INCONCLUSIVE, ": no fresh start that was to confirm it was steady", False
        if again is None:
            return verdict, "", None
        if math.copysign(again.estimate, first.estimate * again.estimate) >= hurdle.bar:
            return verdict, f", the last {_starts(again)} to confirm it", True
        seen = measured(change.metric, again, policy.confidence)
        return Verdict.INCONCLUSIVE, f": did not hold again after fresh starts ({seen})", False
    if -margin <= whole.low and whole.high <= margin:
        return Verdict.EQUIVALENT, f", all within the margin of {margin_text}", None
    if not beyond:
        why = f"neither beyond zero nor within the margin of {margin_text}"
    elif abs(first.estimate) < margin:
        why = f"a change, but perhaps below the margin of {margin_text}"
    elif abs(first.estimate) < hurdle.bar:
        why = f"not above {policy.floor_factor:g} times what the same server against itself shows here"
    else:
        noise = "" if change.p_value == first.p_value else " beside the noise of its rounds"
        among = f"among {hurdle.comparisons} comparisons"
        why = f"not significant{noise} {among} (p = {hurdle.p_value:.2g} after Holm)"
    return Verdict.INCONCLUSIVE, f": {why}", None


def _floor(change: Change, policy: Policy, spreads: Mapping[str, float]) -> float | None:
    """What no change of so many starts may look like."""
    spread = spreads.get(change.metric)
    if spread is None:
        return None
    return stats.quantile(policy.confidence) * spread / math.sqrt(len(change.first.per_start))


def _detectable(change: Change, policy: Policy, bar: float, comparisons: int) -> float | None:
    """The smallest worsening that four of five such runs would have flagged, as a share; None with one start.

    Such a run: as many starts and comparisons, starts that differ as much, and what the policy confirms.
    """
    if len(change.first.per_start) < 2:
        return None
    starts, df = len(change.first.per_start), change.first.df
    error = max(change.first.error, change.rounds.error if change.rounds else 0.0)
    spread = error * math.sqrt(starts)  # after variance shrinkage
    found = power.detectable(spread, starts, bar, policy, comparisons, df=df, rounds=change.rounds)
    change_ = min(found, DETECTABLE_MAX)
    return -math.expm1(-change_) if change.metric == THROUGHPUT else math.expm1(change_)


# --- how it is said -------------------------------------------------------------------------------


def measured(metric: str, effect: stats.Effect, confidence: float) -> str:
    """A change with its interval, in words."""
    found = ratio(metric, effect)
    low, high = sorted((found.low, found.high), key=lambda bound: abs(bound - 1))
    less, more = ("slower", "faster") if metric == THROUGHPUT else ("less", "more")
    title = "" if metric == THROUGHPUT else f"{metrics.TITLES[metric]} "
    if (low < 1) == (high < 1):
        bounds = f"{100 * abs(low - 1):.1f} to {numbers.plain_percent(abs(high - 1))}"
    else:
        bounds = f"{_change(found.low, less, more)} to {_change(found.high, less, more)}"
    change = _change(found.estimate, less, more)
    return f"{title}{change}, {_share(confidence)} interval {bounds}, in {_starts(effect)}"


def ratio(metric: str, effect: stats.Effect) -> Interval:
    """Head over base, of an effect in which below zero is worse."""
    return (effect if metric == THROUGHPUT else stats.mirrored(effect)).ratio


def _starts(effect: stats.Effect) -> str:
    count = len(effect.per_start)
    return f"{count} starts" if count > 1 else "1 start"


def _change(found: float, less: str, more: str) -> str:
    return f"{numbers.plain_percent(abs(found - 1))} {less if found < 1 else more}"


def _share(part: float) -> str:
    """A part of one, in percent as it was written."""
    return f"{100 * part:g} %"
