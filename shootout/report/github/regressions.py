"""Regressions that persist, with what else changed and the command that reproduces them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from shootout import figures
from shootout.analysis import acknowledgements, metrics
from shootout.model.history import ChangePoint, HistorySeries, Regression
from shootout.model.plan import THROUGHPUT
from shootout.model.run import Part, RunHeader, ServerRecord
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison
from shootout.report import commands

COST_MIN = math.log(1.05)  # smaller changes in cost per transaction are omitted
WORK_MAX = 3  # lines
SETTINGS_MAX = 5  # lines
COMMIT_SHOWN = 12  # characters


def unrecovered(
    series: Iterable[HistorySeries],
    comparisons: Iterable[Comparison],
    accepted: Sequence[Acknowledgement] = (),
) -> tuple[Regression, ...]:
    """The regressions of these series that have not recovered; `comparisons` are the runs behind them.

    A regression is a confirmed loss of at least the newest run's margin. It has recovered when a later
    confirmed level is within the margin of the level before it. One of `accepted` acknowledges it
    if it covers the step to the newest level.
    """
    runs = {comparison.header.run: comparison for comparison in comparisons}
    return tuple(regression for one in series for regression in _unrecovered(one, runs, accepted))


def _unrecovered(
    series: HistorySeries, runs: Mapping[str, Comparison], accepted: Sequence[Acknowledgement]
) -> Iterator[Regression]:
    newest = runs[series.points[-1].run]
    threshold = 1 - newest.policy.margin_of(THROUGHPUT, series.workload)
    loss: ChangePoint | None = None
    confirmed = [change for change in series.changes if change.confirmed]
    for change in confirmed:
        if loss is None and change.after <= threshold * change.before:
            loss = change
        elif loss is not None and change.after > threshold * loss.before:
            loss = None
    if loss is None:
        return
    of, both, after = series.cell, (runs[loss.last_good], runs[loss.first_bad]), confirmed[-1].after
    good, bad = (run.header.part(of) for run in both)
    cells = (next(c for c in run.cells if c.cell == of) for run in both)
    conditions = (*_builds(good, bad, series.anchor), *_conditions(good, bad, (series.server, series.anchor)))
    options = commands.options_again(newest.header, series.anchor, of)
    yield Regression(
        **structs.asdict(series.key),
        last_good=loss.last_good,
        first_bad=loss.first_bad,
        newest=newest.header.run,
        before=loss.before,
        after=after,
        changed=(*_builds(good, bad, series.server), *conditions, *_work(*cells)),
        repeat=commands.line("run", options),
        options=options,
        conditions=conditions,
        good_commit=loss.good_commit,
        bad_commit=loss.bad_commit,
        newest_commit=series.points[-1].commit,
        acknowledged=acknowledgements.of_change(
            series, structs.replace(loss, after=after), accepted, newest.header.started
        ),
    )


def _builds(good: Part | RunHeader, bad: Part | RunHeader, label: str) -> Iterator[str]:
    for then, now in _both(good, bad, label):
        if then.version != now.version:
            yield f"{label}: version {then.version} → {now.version}"
        if then.commit and now.commit and then.commit != now.commit:
            yield f"{label}: commit {then.commit[:COMMIT_SHOWN]} → {now.commit[:COMMIT_SHOWN]}"
        elif then.version == now.version and then.build != now.build:
            yield f"{label}: different build of {now.version}"


def _conditions(good: Part | RunHeader, bad: Part | RunHeader, labels: Iterable[str]) -> Iterator[str]:
    for label in labels:
        for then, now in _both(good, bad, label):
            old, new = ({each.name: each.effective for each in record.settings} for record in (then, now))
            different = [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
            for name in sorted(different)[:SETTINGS_MAX]:
                yield f"{label}: {name} {old.get(name) or figures.NONE} → {new.get(name) or figures.NONE}"
    if good.runner.kernel != bad.runner.kernel:
        yield f"kernel {good.runner.kernel} → {bad.runner.kernel}"


def _both(
    good: Part | RunHeader, bad: Part | RunHeader, label: str
) -> Iterator[tuple[ServerRecord, ServerRecord]]:
    """A server in two runs; nothing if one lacks it."""
    then, now = ({record.label: record for record in part.servers}.get(label) for part in (good, bad))
    if then is not None and now is not None:
        yield then, now


def _work(then: CellComparison, now: CellComparison) -> Iterator[str]:
    """The figures per transaction that changed most beside the anchor's, without background threads' work."""
    old, new = _ratios(then), _ratios(now)
    changes = {what: math.log(new[what] / old[what]) for what in new if what in old}
    largest = sorted(changes, key=lambda what: -abs(changes[what]))[:WORK_MAX]
    for what in largest:
        if abs(changes[what]) >= COST_MIN:
            yield f"{what}: {figures.percent(math.exp(changes[what]))} per transaction"


def _ratios(cell: CellComparison) -> dict[str, float]:
    times = {f"time in {time.kind}": (time.base_s, time.head_s) for time in cell.statements}
    costs = {
        known.title: (metric.base, metric.head)
        for metric in cell.metrics
        if not (known := metrics.BY_NAME[metric.name]).background
    }
    return {what: head / base for what, (base, head) in (times | costs).items() if base > 0 and head > 0}
