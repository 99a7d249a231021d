"""A bisection by time: the starts of all its runs, judged as those of one run. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import structs

from shootout.analysis import decisions
from shootout.analysis.decisions import Decided
from shootout.bisect.halving import Pair
from shootout.bisect.judge import Attempt, Judged, Measured, left_out
from shootout.bisect.values import Bisection
from shootout.model.plan import THROUGHPUT, Policy
from shootout.model.run import RunDocument
from shootout.model.verdict import Verdict


def measured(bisection: Bisection, documents: Mapping[str, RunDocument]) -> Measured:
    """Judge each revision against the base, by the rule of runs; `documents`: by file name."""
    labels = [revision.label for revision in bisection.revisions]
    run = _joined(labels, [*documents.values()])
    policy = run.header.profile.policy if run else Policy()

    @cache
    def beside(base: str) -> dict[str, Decided]:
        cells = decisions.of_run(run, policy, base).cells if run else ()
        return {each.pair.cell.server: each for each in cells}

    def compare(pair: Pair) -> Judged | None:
        older, newer = (labels[number] for number in pair)
        return _judged(beside(older).get(newer))

    to_base = {number: judged for number in range(len(labels)) if (judged := compare((0, number)))}
    every = beside(labels[0])
    failed = {label: one.decision for label, one in every.items() if one.decision.verdict is Verdict.FAILED}
    other_rows = {label: decision.reason for label, decision in failed.items()}
    effects = (one.pair.throughput for one in every.values())
    return Measured(
        to_base=to_base, compare=compare,
        unusable=other_rows | left_out(bisection, map(_attempt, documents.values())),
        starts=Counter(samples.server for start in (run.starts if run else ()) for samples in start.samples),
        spread=max((effect.spread for effect in effects if effect), default=0.0),
        seconds=sum(map(_seconds, documents.values())), documents=tuple(documents),
        margin=policy.margin_of(THROUGHPUT, bisection.workload), title="throughput", repeats=True,
    )  # fmt: skip


def _joined(labels: Sequence[str], documents: Sequence[RunDocument]) -> RunDocument | None:
    """One run with the starts of all; failures are told apart by chance or not elsewhere."""
    starts, last = [], 0
    for document in documents:
        for start in document.starts:
            known = tuple(samples for samples in start.samples if samples.server in labels)
            starts.append(structs.replace(start, start=last + start.start, samples=known))
        last = max((start.start for start in starts), default=0)
    if not starts:
        return None
    here = {samples.server for start in starts for samples in start.samples} | {labels[0]}
    newest = documents[-1]
    servers = {record.label: record for document in documents for record in document.header.servers}
    (block,) = newest.header.blocks
    block = structs.replace(block, servers=tuple(label for label in labels if label in here))
    header = structs.replace(newest.header, blocks=(block,), servers=tuple(servers.values()))
    return structs.replace(newest, header=header, starts=tuple(starts), failures=())


def _judged(decided: Decided | None) -> Judged | None:
    """A verdict on a cell that was compared."""
    if decided is None or decided.pair.throughput is None or decided.pair.cell == decided.pair.base:
        return None
    verdict = decided.decision.verdict
    known = verdict in (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.EQUIVALENT)
    return Judged(verdict if known else Verdict.INCONCLUSIVE, decided.pair.throughput.ratio)


def _attempt(document: RunDocument) -> Attempt:
    absent = {record.label: record.absent for record in document.header.servers if record.absent}
    return Attempt(
        failed=absent | {failure.cell.server: failure.reason for failure in document.failures},
        started={samples.server for start in document.starts for samples in start.samples},
    )


def _seconds(document: RunDocument) -> float:
    """Time for a run; of one that was cut short, up to its last start."""
    return document.end.elapsed_s if document.end else document.spent_s
