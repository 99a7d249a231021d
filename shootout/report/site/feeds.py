"""Files for other programs: a feed of regressions, and badges."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from shootout import figures, numbers
from shootout.analysis import history
from shootout.answer import SYMBOLS
from shootout.model.history import SeriesKey
from shootout.model.plan import Policy
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, Verdict
from shootout.report import wording
from shootout.report.judged_runs import JudgedRun
from shootout.report.site.history import Change
from shootout.report.site.names import cell_stem, cell_text, run_folder
from shootout.report.site.run import tally

ENTRIES_MAX = 200  # in the feed
_NAMESPACE = uuid.UUID("6f6b5f6c-0b3c-5d1e-9a51-2f1f3a7c9d10")  # of the entries' ids
_ENDS = (Verdict.IMPROVED, Verdict.EQUIVALENT)  # verdicts that end a regression


@dataclass(frozen=True)
class Entry:
    """A regression that first appears in a run's verdicts or in a history."""

    id: str
    title: str
    text: str
    updated: str  # RFC 3339
    url: str  # relative to the site's root
    kind: str  # "verdict", "change" or "suspicion"
    acknowledged: Acknowledgement | None


COLORS = {  # contrast with white text: at least 4.5
    Verdict.REGRESSED: "#a8261b",
    Verdict.FAILED: "#57317f",
    Verdict.INCONCLUSIVE: "#7a5300",
    Verdict.UNJUDGED: "#59626d",
    Verdict.EQUIVALENT: "#07604f",
    Verdict.IMPROVED: "#07604f",
}


def entries(
    runs: Iterable[JudgedRun], changes: Iterable[Change], detailed: Collection[str]
) -> tuple[Entry, ...]:
    """Regressions in verdicts and changes for the worse in histories, newest first.

    A persistent regression is one entry, for the run in which it began. `detailed`: the runs whose cells have
    pages of their own.
    """
    verdicts = _verdicts(sorted(runs, key=lambda run: run.id), detailed)
    every = [*verdicts, *(_change(change) for change in changes if change.worse)]
    every.sort(key=lambda entry: (entry.updated, entry.id), reverse=True)
    return tuple(every[:ENTRIES_MAX])


def badge(comparison: Comparison) -> tuple[str, str]:
    """A run's result over all servers, and its colour."""
    judged = [*filter(wording.needs_verdict, comparison.cells)]
    measured = wording.measured(judged)
    worst, count = next(((v, count) for v, count in tally(measured).items() if count), (Verdict.UNJUDGED, 0))
    if not measured:
        message = "not measured" if judged else "not compared"
    elif worst not in _ENDS:
        message = f"{SYMBOLS[worst]} {count} of {len(measured)} {worst}"
    elif missing := len(judged) - len(measured):
        worst, message = Verdict.UNJUDGED, f"no regression, {missing} not measured"
    else:
        message = "no regression"
    return message, COLORS[worst]


def _verdicts(runs: Iterable[JudgedRun], detailed: Collection[str]) -> Iterator[Entry]:
    regressed: set[SeriesKey] = set()
    for run in runs:
        for c in run.comparison.cells:
            key = history.key_of(run.comparison.header, c)
            if c.verdict in _ENDS:
                regressed.discard(key)
            elif c.verdict is Verdict.REGRESSED and key not in regressed:
                regressed.add(key)
                yield _regression(run, c, detailed=run.id in detailed)


def _regression(run: JudgedRun, c: CellComparison, *, detailed: bool) -> Entry:
    stem = cell_stem(c.cell)
    sentence = wording.sentence(c, Policy())
    return Entry(
        id=urn("verdict", run.id, stem),
        title=f"{SYMBOLS[c.verdict]} {cell_text(c.cell)}: {sentence}",
        text=f"{sentence}. {c.reason}.",
        updated=moment(run.comparison.header.started),
        url=f"{run_folder(run.id)}/{f'{stem}.html' if detailed else f'index.html#{stem}'}",
        kind="verdict",
        acknowledged=c.acknowledged,
    )


def _change(change: Change) -> Entry:
    series, point = change.series, change.point
    since = "since" if point.confirmed else "suspected since"
    sign, size = SYMBOLS[Verdict.REGRESSED], figures.percent(change.size)
    identity = series.runner, series.anchor, series.settings, cell_stem(series.cell), point.first_bad
    return Entry(
        id=urn("change", *identity),
        title=f"{sign} {cell_text(series.cell)}: {size} {since} run {point.first_bad}",
        text=(
            f"Throughput relative to {series.anchor} fell from {numbers.number(point.before)} to "
            f"{numbers.number(point.after)}. Last good run: {point.last_good}; first bad run: "
            f"{point.first_bad}."
        ),
        updated=moment(change.started),
        url=change.page,
        kind="change" if point.confirmed else "suspicion",
        acknowledged=change.acknowledged,
    )


def moment(iso: str) -> str:
    """An ISO time in RFC 3339 format; the epoch if it is malformed."""
    try:
        at = datetime.fromisoformat(iso)
    except ValueError:
        at = datetime.fromtimestamp(0, UTC)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def urn(*identity: str) -> str:
    return uuid.uuid5(_NAMESPACE, "\0".join(identity)).urn
