"""Apply acknowledgements: regressions accepted up to a size, until a date, by an owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from fnmatch import fnmatchcase

from msgspec import structs

from shootout.model.history import ChangePoint, HistorySeries
from shootout.model.plan import THROUGHPUT, Cell
from shootout.model.run import Warning
from shootout.model.verdict import Acknowledgement, CellComparison, Comparison, MetricVerdict, Verdict

EXPIRED, EXCEEDED = "acknowledgement-expired", "acknowledgement-exceeded"  # codes of warnings


def applied(comparison: Comparison, acknowledged: Sequence[Acknowledgement]) -> Comparison:
    """Mark every known cell of the comparison."""
    started = comparison.header.started
    cells = tuple(of_cell(cell, acknowledged, started) for cell in comparison.cells)
    return structs.replace(comparison, cells=cells)


def of_cell(cell: CellComparison, acknowledged: Sequence[Acknowledgement], started: str) -> CellComparison:
    """Mark a cell whose regressed metrics are all acknowledged; others get a warning. `started`: ISO time."""
    regressed = [each for each in cell.judged if each.verdict is Verdict.REGRESSED]
    if not regressed:
        return cell
    day = _day(started)
    valid = []
    warnings = []
    for metric in regressed:
        matching = [each for each in acknowledged if _matches(each, cell.cell, metric.metric)]
        loss = worsening(metric.metric, metric.ratio.estimate)
        holding = [each for each in matching if _holds(each, loss, day)]
        valid += holding[:1]
        warnings += [] if holding else [*_rejections(matching, metric, day)]
    known = valid[0] if len(valid) == len(regressed) else None
    return structs.replace(cell, acknowledged=known, warnings=(*cell.warnings, *warnings))


def of_change(
    series: HistorySeries, change: ChangePoint, acknowledged: Iterable[Acknowledgement], started: str
) -> Acknowledgement | None:
    """Find the acknowledgement of a loss between runs, by its step; `started`: of the newest run."""
    day, loss = _day(started), worsening(THROUGHPUT, change.after / change.before)
    matching = (each for each in acknowledged if _matches(each, series, THROUGHPUT))
    return next((each for each in matching if _holds(each, loss, day)), None)


def _matches(known: Acknowledgement, of: Cell | HistorySeries, metric: str) -> bool:
    named = (of.workload, known.workload), (of.server, known.server)
    fits = all(fnmatchcase(name, pattern) for name, pattern in named)
    return fits and known.metric == metric and known.threads in (None, of.threads)


def _holds(known: Acknowledgement, loss: float, day: date) -> bool:
    return day <= known.expires and loss <= known.at_most


def _rejections(matching: Iterable[Acknowledgement], metric: MetricVerdict, day: date) -> Iterator[Warning]:
    for known in matching:
        if day > known.expires:
            text = f"Acknowledged by {known.owner} only until {known.expires} ({known.reason})"
            yield Warning(code=EXPIRED, text=text)
        else:
            loss = worsening(metric.metric, metric.ratio.estimate)
            size = f"{100 * loss:.1f} % instead of at most {100 * known.at_most:g} %"
            text = f"Larger than {known.owner} acknowledged: {size} ({known.reason})"
            yield Warning(code=EXCEEDED, text=text)


def worsening(metric: str, ratio: float) -> float:
    """Compute how much worse a metric is than the base's, as a fraction; negative: better."""
    return 1 - ratio if metric == THROUGHPUT else ratio - 1


def _day(started: str) -> date:
    try:
        return datetime.fromisoformat(started).date()
    except ValueError:
        return date.max  # unknown: every acknowledgement counts as expired
