"""A bisection by an instrument: counts are exact, so each one says on which side of a step it lies. Pure.

Two revisions differ if their change is beyond the bar, with an interval that excludes no change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from shootout.analysis import stats
from shootout.bisect.halving import Pair
from shootout.bisect.judge import SAME, Attempt, Judged, Measured, left_out
from shootout.bisect.values import Bisection
from shootout.count.instrument import Counted
from shootout.model.verdict import Interval, Verdict


def measured(bisection: Bisection, documents: Mapping[str, Counted], title: str) -> Measured:
    """Judge each revision against the base; `documents`: by file name; `title`: of what is counted."""
    labels = [revision.label for revision in bisection.revisions]
    counts = {label: count for document in documents.values() for label, count in document.counts.items()}
    numbered = [(number, label) for number, label in enumerate(labels) if number and label in counts]
    ratios = {number: counts[label].ratio or SAME for number, label in numbered}
    bar = max((document.bar for document in documents.values()), default=0.0)

    def compare(pair: Pair) -> Judged:
        older, newer = (_logarithm(ratios.get(number, SAME)) for number in pair)
        reach = math.hypot(older.high - older.estimate, newer.high - newer.estimate)
        middle = newer.estimate - older.estimate
        ratio = stats.as_ratio(Interval(estimate=middle, low=middle - reach, high=middle + reach))
        if ratio.low <= 1 <= ratio.high or abs(middle) < math.log1p(bar):
            return Judged(Verdict.EQUIVALENT, ratio)
        return Judged(Verdict.REGRESSED if middle > 0 else Verdict.IMPROVED, ratio)

    to_base = {number: compare((0, number)) for number in ratios}
    last = len(labels) - 1
    if last in to_base and to_base[last].verdict is Verdict.EQUIVALENT:
        to_base[last] = Judged(counts[labels[last]].verdict, ratios[last])  # which may be inconclusive
    starts: Counter[str] = Counter()
    for document in documents.values():
        starts.update({label: each.head.starts for label, each in document.counts.items() if each.head})
        starts[labels[0]] += max(
            (each.base.starts for each in document.counts.values() if each.base), default=0
        )
    attempts = (Attempt(document.failed, document.started) for document in documents.values())
    return Measured(
        to_base=to_base, compare=compare, unusable=left_out(bisection, attempts), starts=starts,
        spread=max((count.spread or 0.0 for count in counts.values()), default=0.0),
        seconds=sum(document.seconds for document in documents.values()),
        documents=tuple(documents), margin=bar, title=title, repeats=False,
    )  # fmt: skip


def _logarithm(ratio: Interval) -> Interval:
    return Interval(estimate=math.log(ratio.estimate), low=math.log(ratio.low), high=math.log(ratio.high))
