"""Counts to verdicts: a server against the base, for each kind of statement.

Each repetition of equal statements gives a ratio of counts, and a start their median. The interval is
Student's over the starts. Counting is exact; what varies is where memory lies, and the values.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import mul
from statistics import fmean, median

from shootout.analysis import stats
from shootout.analysis.interval_verdict import interval_verdict
from shootout.analysis.stats import MAD, STARTS_MIN, Effect, Noise
from shootout.count.values import (
    CountChange,
    CountComparison,
    CountDocument,
    CountedKind,
    CountFailure,
    CountFigure,
    CountPoint,
    CountSeries,
)
from shootout.errors import InputError
from shootout.model.verdict import Verdict

NOISE = 0.5  # a spread of more than this share of the bar could look like a change, …
CLEAR = 20.0  # … unless the change is as many times larger than the spread
_MEDIAN = math.sqrt(math.pi / 2)  # the error of a median, in errors of a mean; for normal values

Repetitions = Sequence[float]  # instructions for each unit
ByStart = Mapping[int, Repetitions]
Key = tuple[str, str, str]  # server, workload, kind


def compare(document: CountDocument, base: str | None = None) -> CountComparison:
    """Judge every kind on every server against the base, by default the first. Raises InputError."""
    labels = [server.label for server in document.servers]
    base = labels[0] if base is None else base
    if base not in labels:
        raise InputError(f"{base} is not in the document; its servers are {', '.join(labels)}")
    counted = per_unit(document)
    changes = (
        change_of(document, kind, (base, server), counted)
        for kind in document.kinds
        for server in sorted(labels, key=lambda label: label != base)
    )
    return CountComparison(document=document, base=base, changes=tuple(changes))


def per_unit(document: CountDocument) -> dict[Key, ByStart]:
    """Compute the instructions for each unit of every kind, by start and repetition; rests and sums, too."""
    units = {(kind.workload, kind.name): kind.units for kind in document.kinds}
    counted: defaultdict[Key, dict[int, Repetitions]] = defaultdict(dict)
    for count in document.counts:
        own = [instructions / units[count.workload, count.kind] for instructions in count.instructions]
        counted[count.server, count.workload, count.kind][count.start] = own
    for kind in sorted(document.kinds, key=lambda kind: len(kind.sums)):  # sums need what remains
        for server in document.servers:
            key = server.label, kind.workload, kind.name
            if kind.less:
                counted[key] = dict(_remaining(counted, key, kind.less))
            elif kind.sums:
                counted[key] = dict(_summed(counted, key, kind.sums))
    return dict(counted)


def history(comparisons: Iterable[CountComparison]) -> tuple[CountSeries, ...]:
    """Follow every kind on every server, by reference and settings, with equal statements on equal tables."""
    counted: defaultdict[tuple[str, ...], list[tuple[CountDocument, float]]] = defaultdict(list)
    for comparison in sorted(comparisons, key=lambda comparison: comparison.document.run):
        document = comparison.document
        tables = " ".join(dataset.key for dataset in document.datasets)
        servers = {server.label: server for server in document.servers}
        for change in comparison.changes:
            if change.head is not None:
                server, digest = servers[change.server], document.digests.get(change.workload, "")
                built = "commits" if server.commit else server.reference  # all commits share a series
                key = (
                    change.workload, change.kind, change.server, digest, tables, str(document.options),
                    built, server.settings_name,
                )  # fmt: skip
                counted[key].append((document, change.head.mean))
    return tuple(
        CountSeries(
            workload=workload, kind=kind, server=server, bar=counts[-1][0].bar,
            points=tuple(_points(server, counts)),
        )
        for (workload, kind, server, *_), counts in counted.items()
    )  # fmt: skip


def _points(server: str, counts: Sequence[tuple[CountDocument, float]]) -> Iterator[CountPoint]:
    before = None
    for document, instructions in counts:
        (commit,) = (each.commit for each in document.servers if each.label == server)
        step = None if before is None else instructions / before
        yield CountPoint(
            run=document.run, started=document.started, commit=commit, instructions=instructions, step=step
        )
        before = instructions


def _remaining(
    counted: Mapping[Key, ByStart], key: Key, less: Mapping[str, float]
) -> Iterator[tuple[int, Repetitions]]:
    for start, whole in counted.get(key, {}).items():
        others = _of_kinds(counted, key, less, start)
        if others is not None:
            rest = sum(times * median(other) for times, other in zip(less.values(), others, strict=True))
            if min(whole) > rest:
                yield start, [repetition - rest for repetition in whole]


def _summed(
    counted: Mapping[Key, ByStart], key: Key, sums: Mapping[str, float]
) -> Iterator[tuple[int, Repetitions]]:
    for start in sorted({start for name in sums for start in counted.get((*key[:2], name), {})}):
        others = _of_kinds(counted, key, sums, start)
        if others is not None:
            together = zip(*others, strict=False)
            yield start, [sum(map(mul, sums.values(), repetition)) for repetition in together]


def _of_kinds(
    counted: Mapping[Key, ByStart], key: Key, names: Iterable[str], start: int
) -> list[Repetitions] | None:
    others = [counted.get((*key[:2], name), {}).get(start) for name in names]
    return None if None in others else [other for other in others if other is not None]


def _failure(document: CountDocument, server: str, kind: CountedKind) -> CountFailure | None:
    of_server = [failure for failure in document.failures if failure.server == server]
    failures = {(failure.workload, failure.kind): failure for failure in reversed(of_server)}
    names = (kind.name, *kind.less, *kind.sums)
    places = (*((kind.workload, name) for name in names), (kind.workload, ""), ("", ""))
    return next((failures[place] for place in places if place in failures), None)


def _said(failure: CountFailure | None) -> str:
    if failure is None:
        return ""
    return f"lacks it: {failure.reason}" if failure.lacks else failure.reason


def change_of(
    document: CountDocument, kind: CountedKind, pair: tuple[str, str], counted: Mapping[Key, ByStart]
) -> CountChange:
    """Compare a kind on the second server of a pair against the first; `counted`: by `per_unit`."""
    base, server = pair
    failures = [_failure(document, label, kind) for label in pair]
    base_reason, reason = map(_said, failures)
    of_base = counted.get((base, kind.workload, kind.name), {})
    of_head = counted.get((server, kind.workload, kind.name), {})
    effect = None
    verdict = Verdict.UNJUDGED
    both = [zip(of_base[start], of_head[start], strict=False) for start in of_head if start in of_base]
    pairs = [[math.log(head / base) for base, head in start] for start in both]
    too_few = len(pairs) < STARTS_MIN
    lacks = too_few and any(failure is not None and failure.lacks for failure in failures)
    if lacks and failures[1] is not None and failures[1].lacks:
        verdict = Verdict.UNJUDGED
    elif not of_head or (too_few and reason):
        verdict, reason = Verdict.FAILED, reason or "not counted"
    elif server == base:
        reason = "the base"
    elif too_few and base_reason:
        reason = f"its base, {base}, {base_reason if lacks else f'failed: {base_reason}'}"
    elif too_few:
        reason = f"{len(pairs)} starts of both servers; expected {STARTS_MIN} or more"
    else:
        effect = effect_of(pairs, document.confidence)
        verdict = interval_verdict(effect.ratio, document.bar, worse="higher")
        if NOISE * document.bar < effect.spread and abs(effect.estimate) < CLEAR * effect.spread:
            verdict = Verdict.INCONCLUSIVE
            reason = f"starts differ by {100 * effect.spread:.2f} %: too noisy for the bar"
    return CountChange(
        workload=kind.workload, kind=kind.name, server=server, base=_figure(of_base),
        head=_figure(of_head), ratio=effect and effect.ratio, spread=effect and effect.spread,
        verdict=verdict, reason=reason, lacks=lacks,
    )  # fmt: skip


def effect_of(pairs: Sequence[Sequence[float]], confidence: float) -> Effect:
    """Estimate the change of starts, each with the log-ratios of its repetitions.

    Starts may agree by chance: their spread is at least what repetitions, single ones aside, give a median.
    """
    medians = [median(start) for start in pairs]
    count = min(map(len, pairs))
    off = [abs(log - middle) for start, middle in zip(pairs, medians, strict=True) for log in start]
    within = _MEDIAN * MAD * median(off) / math.sqrt(count)
    own = stats.over_starts(medians, confidence)
    if own.spread >= within:
        return own
    error, df = within / math.sqrt(len(pairs)), len(pairs) * (count - 1)
    return stats.with_noise(own, Noise((error,), df), confidence)._replace(spread=within)


def _figure(by_start: ByStart) -> CountFigure | None:
    if not by_start:
        return None
    return CountFigure(mean=fmean(map(median, by_start.values())), starts=len(by_start))
