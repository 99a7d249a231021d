"""Counts of work to verdicts: a server against the base, for each kind of statement.

Base and head get the same statements in the same order, so each start gives one ratio of counts. The interval
is Student's over the starts. Counting is exact; what varies between starts is where memory lies, and what
else the server's threads had done by then.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median, stdev

from shootout.analysis import stats
from shootout.model.verdict import Interval, Verdict
from shootout.model.work import WorkChange, WorkComparison, WorkDocument, WorkFigure, WorkKind

STARTS_MIN = 2  # for an interval

ByStart = Mapping[int, float]  # instructions for each unit
Key = tuple[str, str, str]  # server, workload, kind


def compare(document: WorkDocument, base: str | None = None) -> WorkComparison:
    """Judge every kind on every server against the base, by default the first server."""
    labels = [server.label for server in document.servers]
    base = labels[0] if base is None else base
    counted = per_unit(document)
    reasons = {(failure.server, failure.workload): failure.reason for failure in document.failures}
    changes = []
    for kind in document.kinds:
        for server in sorted(labels, key=lambda label: label != base):
            reason = reasons.get((server, kind.workload)) or reasons.get((server, ""), "")
            changes.append(_change(document, kind, (base, server), counted, reason))
    return WorkComparison(document=document, changes=tuple(changes))


def per_unit(document: WorkDocument) -> dict[Key, ByStart]:
    """Instructions for each unit of every kind by start: the median of its repetitions, less other kinds."""
    whole: defaultdict[Key, dict[int, float]] = defaultdict(dict)
    units = {(kind.workload, kind.name): kind.units for kind in document.kinds}
    for count in document.counts:
        key = count.workload, count.kind
        whole[count.server, *key][count.start] = median(count.instructions) / units[key]
    return {
        (server.label, kind.workload, kind.name): dict(_less(server.label, kind, whole))
        for server in document.servers
        for kind in document.kinds
    }


def exit_code(comparison: WorkComparison) -> int:
    """The exit code that docs/cli.md defines: 3 if something was not counted, 1 if something regressed."""
    verdicts = {change.verdict for change in comparison.changes}
    if Verdict.FAILED in verdicts:
        return 3
    return 1 if Verdict.REGRESSED in verdicts else 0


def verdict(ratio: Interval, bar: float) -> Verdict:
    """More work is a regression: beyond the bar, with an interval that excludes no change."""
    if ratio.low > 1 and ratio.estimate >= 1 + bar:
        return Verdict.REGRESSED
    if ratio.high < 1 and ratio.estimate <= 1 / (1 + bar):
        return Verdict.IMPROVED
    if ratio.high < 1 + bar and ratio.low > 1 / (1 + bar):
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE


def _less(server: str, kind: WorkKind, whole: Mapping[Key, ByStart]) -> Iterator[tuple[int, float]]:
    for start, instructions in whole.get((server, kind.workload, kind.name), {}).items():
        others = [whole.get((server, kind.workload, other), {}).get(start) for other in kind.less]
        rest = instructions - sum(
            times * (other or 0.0) for times, other in zip(kind.less.values(), others, strict=True)
        )
        if None not in others and rest > 0:
            yield start, rest


def _change(
    document: WorkDocument,
    kind: WorkKind,
    pair: tuple[str, str],
    counted: Mapping[Key, ByStart],
    reason: str,
) -> WorkChange:
    base, server = pair
    of_base = counted.get((base, kind.workload, kind.name), {})
    of_head = counted[server, kind.workload, kind.name]
    ratio = None
    found = Verdict.UNJUDGED
    pairs = [math.log(of_head[start] / of_base[start]) for start in of_head if start in of_base]
    if not of_head:
        found, reason = Verdict.FAILED, reason or "not counted"
    elif server == base:
        reason = "the base"
    elif len(pairs) < STARTS_MIN:
        reason = f"{len(pairs)} starts of both servers; expected {STARTS_MIN} or more"
    else:
        effect = stats.over_starts(pairs, document.confidence)
        ends = (stats.ratio(end) for end in (effect.estimate, effect.low, effect.high))
        ratio = Interval(**dict(zip(("estimate", "low", "high"), ends, strict=True)))
        found = verdict(ratio, document.bar)
    return WorkChange(
        workload=kind.workload,
        kind=kind.name,
        server=server,
        base=_figure(list(of_base.values())),
        head=_figure(list(of_head.values())),
        ratio=ratio,
        verdict=found,
        reason=reason,
    )


def _figure(values: Sequence[float]) -> WorkFigure | None:
    if not values:
        return None
    mean = fmean(values)
    spread = stdev(values) / mean if len(values) > 1 else 0.0
    return WorkFigure(mean=mean, spread=spread, starts=len(values))
