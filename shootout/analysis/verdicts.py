"""A cell's verdict, by the rule of docs/method.md, and one sentence why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from shootout import numbers
from shootout.analysis import metrics, power, shrinkage, stats
from shootout.analysis.ledger import Noise
from shootout.analysis.pairs import Change, Pair, unsteady
from shootout.analysis.thresholds import CONFIRMED, DETECTABLE_MAX, WORTH_CONFIRMING
from shootout.figures import counted
from shootout.model.plan import THROUGHPUT, Cell, Policy
from shootout.model.run import LACKS
from shootout.model.verdict import Interval, MetricVerdict, Verdict

CellMetric = tuple[Cell, str]
# A cell's verdict is the worst of its metrics'.
_WORST_FIRST = (Verdict.REGRESSED, Verdict.INCONCLUSIVE, Verdict.IMPROVED, Verdict.EQUIVALENT)


class Decision(NamedTuple):
    """A cell's verdict, one sentence why, and its metrics, the decisive one first."""

    verdict: Verdict
    reason: str
    metrics: tuple[MetricVerdict, ...] = ()


def of_cell(
    pair: Pair, policy: Policy, p_values: Mapping[CellMetric, float], noise: Mapping[str, Noise]
) -> Decision:
    """Decide on a cell; `p_values`: adjusted over all of the run; `noise`: of A/A cells, by metric."""
    if pair.failure is not None:
        lacks = pair.failure.startswith(LACKS)
        return Decision(Verdict.UNJUDGED if lacks else Verdict.FAILED, pair.failure)
    if not pair.starts:
        return Decision(Verdict.UNJUDGED, pair.unmeasured)
    if pair.cell == pair.base:
        instead = f"the base, in place of {pair.missing_base}" if pair.missing_base else "the base"
        return Decision(Verdict.UNJUDGED, instead)
    if pair.base_failure is not None:
        failed = "" if pair.base_failure.startswith(LACKS) else "failed: "
        return Decision(Verdict.UNJUDGED, f"its base, {pair.base.server}, {failed}{pair.base_failure}")
    if not pair.changes:
        return _without_changes(pair)
    judged = [
        of_metric(pair.cell, change, policy, p_values, _floor(change, policy, noise))
        for change in pair.changes
    ]
    judged.sort(key=lambda metric_and_reason: _WORST_FIRST.index(metric_and_reason[0].verdict))
    decisive, reason = judged[0]
    verdict = decisive.verdict
    if pair.not_visible and verdict is not Verdict.REGRESSED:
        names = " and ".join(metrics.TITLES[name] for name in pair.not_visible)
        reason += f"; but {names} could not be compared: not visible, or 0, in some start"
        verdict = Verdict.INCONCLUSIVE
    return Decision(verdict, reason, tuple(metric for metric, _ in judged))


def _without_changes(pair: Pair) -> Decision:
    if why := unsteady(pair):
        return Decision(Verdict.INCONCLUSIVE, f"no verdict on unsteady samples: {why}")
    if pair.throughput is None:
        why = f"nothing to compare with: {pair.base.server} was not measured beside it"
        return Decision(Verdict.UNJUDGED, why)
    if len(pair.throughput.per_start) < 2:
        return Decision(Verdict.INCONCLUSIVE, "1 start; a verdict needs at least two starts")
    why = "none of the policy's metrics could be compared: not visible, or 0, in some start"
    return Decision(Verdict.UNJUDGED, why)


def of_metric(
    cell: Cell, change: Change, policy: Policy, p_values: Mapping[CellMetric, float], floor: float | None
) -> tuple[MetricVerdict, str]:
    """Decide on one metric of a cell, and say why. `floor`: its A/A noise floor, None if unknown."""
    margin = policy.margin_of(change.metric, cell.workload)
    bar, p_value = _bar(margin, floor, policy), p_values[cell, change.metric]
    comparisons = len(p_values)
    verdict, why, confirmed = _rule(change, policy, margin, bar=bar, p_value=p_value, comparisons=comparisons)
    result = MetricVerdict(
        metric=change.metric,
        verdict=verdict,
        ratio=ratio(change.metric, change.effect),
        p_value=p_value,
        margin=margin,
        spread=change.effect.spread,
        floor=floor,
        detectable=_detectable(change, policy, bar, comparisons),
        confirmed=confirmed,
    )
    return result, f"{change_text(change.metric, change.effect, policy.confidence)}{why}"


def worth_confirming(metric: MetricVerdict, policy: Policy) -> bool:
    """Whether fresh starts should measure a change again: as large as the bar, and perhaps not chance."""
    likely = metric.p_value < WORTH_CONFIRMING * (1 - policy.confidence)
    return likely and abs(math.log(metric.ratio.estimate)) >= _bar(metric.margin, metric.floor, policy)


def _bar(margin: float, floor: float | None, policy: Policy) -> float:
    """The least change that counts, as a logarithm: the margin, or more if noise alone reaches it."""
    return max(math.log1p(margin), policy.floor_factor * (floor or 0.0))


def _rule(
    change: Change, policy: Policy, share: float, *, bar: float, p_value: float, comparisons: int
) -> tuple[Verdict, str, bool | None]:
    """The first verdict that applies, why, and whether fresh starts confirmed it; `share`: the margin."""
    effect, fresh = change.effect, change.fresh
    if len(effect.per_start) < 2:
        return Verdict.INCONCLUSIVE, "; a verdict needs at least two starts", None
    limit = (1 if fresh is None else CONFIRMED) * (1 - policy.confidence)
    if abs(effect.estimate) >= bar and p_value < limit:
        if fresh == 0:
            return Verdict.INCONCLUSIVE, ": no confirming start was steady", False
        verdict = Verdict.REGRESSED if effect.estimate < 0 else Verdict.IMPROVED
        if fresh is None:
            return verdict, "", None
        return verdict, f", the last {counted(fresh, 'start')} made to confirm it", True
    margin, margin_text = math.log1p(share), _share(share)
    if -margin <= effect.low and effect.high <= margin:
        within = f", all within the margin of {margin_text}"
        if change.metric == THROUGHPUT and unlike(effect, share):
            return Verdict.INCONCLUSIVE, f"{within}; but not all starts are alike", None
        return Verdict.EQUIVALENT, within, None
    if effect.low <= 0 <= effect.high:
        why = f"neither beyond zero nor within the margin of {margin_text}"
    elif abs(effect.estimate) < margin:
        why = f"a change, but possibly below the margin of {margin_text}"
    elif abs(effect.estimate) < bar:
        why = f"not above {policy.floor_factor:g} times the A/A noise floor"
    else:
        among = f"among {comparisons} comparisons"
        asked = "" if fresh is None else f", {limit:g} is asked of fresh starts"
        why = f"not significant {among} (p = {p_value:.2g} after Hommel{asked})"
    return Verdict.INCONCLUSIVE, f": {why}", None


def unlike(effect: stats.Effect, margin: float) -> dict[int, float]:
    """Starts that differ from the others beyond chance and by the margin or more, as `shrinkage.unlike`."""
    every = shrinkage.unlike(effect).items()
    return {place: apart for place, apart in every if abs(apart) >= math.log1p(margin)}


def _floor(change: Change, policy: Policy, noise: Mapping[str, Noise]) -> float | None:
    """The A/A noise floor of so many starts, as a logarithm; None if unknown."""
    if change.metric not in noise:
        return None
    return stats.quantile(policy.confidence) * noise[change.metric].deviation(len(change.effect.per_start))


def _detectable(change: Change, policy: Policy, bar: float, comparisons: int) -> float | None:
    """The smallest loss that four of five such runs would have flagged, as a share; None with one start.

    A run like this has as many starts and comparisons, the same spread, and the policy's confirmation.
    """
    if len(change.effect.per_start) < 2:
        return None
    log = min(power.detectable(change.effect.noise, bar, policy, comparisons), DETECTABLE_MAX)
    return -math.expm1(-log) if change.metric == THROUGHPUT else math.expm1(log)


def leaning(pair: Pair, decision: Decision, policy: Policy) -> Literal["slower", "faster"] | None:
    """Find the side on which the whole interval of an inconclusive throughput lies, beyond the margin.

    None also for a change below the noise floor's bar, or without a steady start to confirm it.
    """
    metric = next((metric for metric in decision.metrics if metric.metric == THROUGHPUT), None)
    if decision.verdict is not Verdict.INCONCLUSIVE or metric is None or metric.confirmed is False:
        return None
    few = pair.throughput is None or len(pair.throughput.per_start) < 2
    if few or abs(math.log(metric.ratio.estimate)) < _bar(metric.margin, metric.floor, policy):
        return None
    if metric.ratio.high < 1 / (1 + metric.margin):
        return "slower"
    return "faster" if metric.ratio.low > 1 + metric.margin else None


# --- wording --------------------------------------------------------------------------------------


def change_text(metric: str, effect: stats.Effect, confidence: float) -> str:
    """Describe a change with its interval, as exactly as the report prints both."""
    interval = ratio(metric, effect)
    places = numbers.percent_places(interval.low, interval.high)

    def told(ratio: float) -> str:
        return f"{numbers.plain_percent(abs(ratio - 1), places)} {less if ratio < 1 else more}"

    low, high = sorted((interval.low, interval.high), key=lambda bound: abs(bound - 1))
    less, more = ("slower", "faster") if metric == THROUGHPUT else ("less", "more")
    title = "" if metric == THROUGHPUT else f"{metrics.TITLES[metric]} "
    if (low < 1) == (high < 1):
        near, far = (numbers.plain_percent(abs(bound - 1), places) for bound in (low, high))
        bounds = f"{near.removesuffix(' %')} to {far}"
    else:
        bounds = f"{told(interval.low)} to {told(interval.high)}"
    change = f"{title}{told(interval.estimate)}, {_share(confidence)} interval {bounds}"
    return f"{change}, in {counted(len(effect.per_start), 'start')}"


def ratio(metric: str, effect: stats.Effect) -> Interval:
    """Head over base, from an effect in which below zero is worse."""
    return (effect if metric == THROUGHPUT else stats.mirrored(effect)).ratio


def _share(part: float) -> str:
    return f"{100 * part:g} %"
