"""The history pages: ratios to the anchor over all runs, and their change points."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from msgspec.structs import asdict, astuple

from shootout import figures
from shootout.analysis import acknowledgements
from shootout.chart import Axis, Chart, Line, Point, Rule, Series, readouts
from shootout.model.history import ChangePoint, HistorySeries
from shootout.model.verdict import Acknowledgement
from shootout.report.site.charts import padded
from shootout.report.site.names import history_page
from shootout.report.site.page import Page

CHANGES_MAX = 200  # changes on the page, the newest
MARKED_MAX = 60  # runs; in charts of more, markers and whiskers would overlap
TICKS = 6
SPARK_POINTS = 40
SPARK_SIZE = (96, 24)  # CSS pixels


@dataclass(frozen=True)
class Change:
    series: HistorySeries
    point: ChangePoint
    started: str  # ISO time of the first run on the new level
    acknowledged: Acknowledgement | None

    @property
    def size(self) -> float:
        return self.point.after / self.point.before

    @property
    def worse(self) -> bool:
        return self.size < 1

    @property
    def kind(self) -> str:
        decided = "regressed" if self.worse else "improved"
        return decided if self.point.confirmed else "inconclusive"

    @property
    def page(self) -> str:
        return f"{history_page(self.series)}#t{self.series.threads}"

    @property
    def value(self) -> dict[str, object]:
        return {
            **asdict(self.series.key),
            **asdict(self.point),
            "commits": self.point.commits,
            "started": self.started,
            "acknowledged": self.acknowledged is not None,
            "page": self.page,
        }


def level_changes(
    every: Iterable[HistorySeries], acknowledged: Sequence[Acknowledgement], newest: str
) -> tuple[Change, ...]:
    """All changes of level, newest first; `newest`: ISO time at which the newest run started."""
    changes = []
    for series in every:
        started = {point.run: point.started for point in series.points}
        for point in series.changes:
            accepted = None
            if point.after < point.before:
                accepted = acknowledgements.of_change(series, point, acknowledged, newest)
            changes.append(Change(series, point, started[point.first_bad], accepted))
    return tuple(sorted(changes, key=lambda change: (change.point.first_bad, -change.size), reverse=True))


@dataclass(frozen=True)
class Table:
    """The series of a workload at one number of threads."""

    threads: int
    series: tuple[HistorySeries, ...]
    styles: tuple[Series, ...]  # one per series
    changes: tuple[Change, ...]

    @property
    def chart(self) -> Chart:
        return chart(self.series, self.styles, self.changes)


@dataclass(frozen=True)
class SeriesPage(Page):
    """The series of a workload and dataset on a runner, with equal settings and one anchor."""

    series: tuple[HistorySeries, ...]
    changes: tuple[Change, ...]
    looks: Mapping[str, int]
    template = "series"

    @property
    def key(self) -> HistorySeries:
        """A series, for the facts that all have in common."""
        return self.series[0]

    @property
    def path(self) -> str:
        return history_page(self.key)

    @property
    def points(self) -> Iterator[tuple[object, ...]]:
        """All points, in the order of the CSV's columns."""
        for one in self.series:
            key = one.runner, one.workload, one.dataset, one.settings, one.threads, one.server, one.anchor
            yield from ((*key, *astuple(point)) for point in one.points)

    @property
    def conditions(self) -> str:
        settings = self.key.settings and f"settings {self.key.settings}"
        return ", ".join(filter(None, (self.key.dataset, settings)))

    @property
    def runs(self) -> int:
        return len({point.run for series in self.series for point in series.points})

    @property
    def most_threads(self) -> dict[str, HistorySeries]:
        return {series.server: series for series in sorted(self.series, key=lambda s: s.threads)}

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        tables = []
        for threads in sorted({series.threads for series in self.series}):
            here = tuple(series for series in self.series if series.threads == threads)
            changes = tuple(change for change in self.changes if change.series.threads == threads)
            styles = tuple(Series(series.server, self.looks[series.server]) for series in here)
            tables.append(Table(threads, here, styles, changes))
        return tuple(tables)


def series_pages(
    every: Iterable[HistorySeries], changes: Iterable[Change], looks: Mapping[str, int]
) -> tuple[SeriesPage, ...]:
    """One page per runner, workload, dataset, settings and anchor that several runs share."""
    groups: defaultdict[str, list[HistorySeries]] = defaultdict(list)
    for series in every:
        groups[history_page(series)].append(series)
    changed: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        changed[history_page(change.series)].append(change)
    pages = (SeriesPage(tuple(group), tuple(changed[path]), looks) for path, group in groups.items())
    return tuple(page for page in pages if page.runs > 1)


@dataclass(frozen=True)
class HistoryPage(Page):
    pages: tuple[SeriesPage, ...]
    changes: tuple[Change, ...]  # newest first
    runs: int
    template = "history"
    path = "history.html"
    data = "history"

    @property
    def listed(self) -> tuple[Change, ...]:
        return self.changes[:CHANGES_MAX]

    @property
    def newest(self) -> Iterator[tuple[SeriesPage, HistorySeries, int, int]]:
        """Each server's series with most threads, and its changes for the worse and the better."""
        for page in self.pages:
            for server, series in page.most_threads.items():
                worse = [change.worse for change in page.changes if change.series.server == server]
                yield page, series, worse.count(True), worse.count(False)


def spark(series: HistorySeries) -> str:
    """The points of a small SVG polyline for the series."""
    points = series.points
    step = max(1, len(points) / SPARK_POINTS)
    ratios = [points[int(place * step)].ratio for place in range(int(len(points) / step))]
    width, height = SPARK_SIZE
    low, high = min(ratios), max(ratios)
    span = max(high - low, 0.02)  # noise of one percent stays flat
    middle = (high + low) / 2
    return " ".join(
        f"{width * at / max(len(ratios) - 1, 1):.0f},{height * (0.5 - (ratio - middle) / span * 0.9):.1f}"
        for at, ratio in enumerate(ratios)
    )


def chart(every: Sequence[HistorySeries], styles: Sequence[Series], changes: Sequence[Change]) -> Chart:
    """Series of one number of threads over time, as changes against the anchor, with their levels."""
    runs = sorted({(point.run, point.started) for series in every for point in series.points})
    place = {run: number for number, (run, _) in enumerate(runs)}
    few = len(runs) <= MARKED_MAX
    levels, lines = [], []
    for series, style in zip(every, styles, strict=True):
        steps = _levels(series, place)
        levels.append(Line(replace(style, label=""), steps, marked=False, dashed=False, opacity=0.5))
        points = tuple((place[point.run], _percent(point.ratio)) for point in series.points)
        intervals = tuple((_percent(point.low), _percent(point.high)) for point in series.points)
        lines.append(Line(style, points, intervals, whiskers=few, marked=few, width=1.75))
    marks = {
        (place[change.point.first_bad], change.acknowledged is not None): change.kind for change in changes
    }
    ends = [0.0, *(end for line in lines for interval in line.intervals for end in interval)]
    return Chart(
        Axis(title="run", ticks=_ticks([started for _, started in runs]), ends=(-0.5, len(runs) - 0.5)),
        Axis(title="change against the anchor, %", ends=padded(ends)),
        (*levels, *lines),
        rules=(
            Rule(0, "--ink-soft", vertical=False, width=1.25),
            *(
                Rule(at - 0.5, f"--{kind}", width=1.5, dotted=acknowledged)
                for (at, acknowledged), kind in sorted(marks.items())
            ),
        ),
        readouts=readouts(
            lines,
            lambda at: figures.moment(runs[int(at)][1]),
            lambda change: figures.percent(1 + change / 100),
        ),
    )


def _percent(ratio: float) -> float:
    return round((ratio - 1) * 100, 3)


def _levels(series: HistorySeries, place: Mapping[str, int]) -> tuple[Point, ...]:
    runs = [point.run for point in series.points]
    edges = [0, *(runs.index(change.first_bad) for change in series.changes), len(runs)]
    points: list[Point] = []
    for first, end in pairwise(edges):
        level = _percent(statistics.median(point.ratio for point in series.points[first:end]))
        points += [(place[runs[first]] - 0.4, level), (place[runs[end - 1]] + 0.4, level), (0, None)]
    return tuple(points)


def _ticks(started: Sequence[str]) -> tuple[tuple[float, str], ...]:
    """The day of some runs, or the time of those on the same day as the one before."""
    places = range(0, len(started), max(1, len(started) // TICKS))
    days = [figures.day(started[at]) for at in places]
    return tuple(
        (float(at), day if day != before else figures.hour(started[at]))
        for at, day, before in zip(places, days, ["", *days], strict=False)
    )
