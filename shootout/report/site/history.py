"""The history pages: ratios to the anchor over all runs, and their change points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from shootout.analysis import acknowledgements
from shootout.model.history import ChangePoint, HistoryPoint, HistorySeries
from shootout.model.verdict import Acknowledgement
from shootout.report import wording
from shootout.report.site.charts import Axis, Chart, Line, Rule, Series, readouts
from shootout.report.site.downloads import LINE_END, File, lines
from shootout.report.site.names import history_page
from shootout.report.site.page import Page, Render

HISTORY_COLUMNS = (
    "runner", "workload", "dataset", "threads", "server", "anchor", "run", "started", "ratio", "tps",
)  # fmt: skip
CHANGE_COLUMNS = (
    "runner", "workload", "dataset", "threads", "server", "anchor", "last_good", "first_bad", "started",
    "before", "after", "confirmed", "acknowledged", "page",
)  # fmt: skip
CHANGES_MAX = 200  # changes on the page, the newest
MARKED_MAX = 60  # runs; in charts of more, markers would overlap
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
        """The verdict that lends it colour and symbol."""
        if not self.point.confirmed:
            return "inconclusive"
        return "regressed" if self.worse else "improved"

    @property
    def page(self) -> str:
        return f"{page_of(self.series)}#{anchor_of(self.series)}"

    @property
    def row(self) -> tuple[object, ...]:
        series, point = self.series, self.point
        return (
            series.runner, series.workload, series.dataset, series.threads, series.server, series.anchor,
            point.last_good, point.first_bad, self.started, point.before, point.after, point.confirmed,
            self.acknowledged is not None, self.page,
        )  # fmt: skip


def changes(
    series: Sequence[HistorySeries], acknowledged: Sequence[Acknowledgement], newest: str
) -> tuple[Change, ...]:
    """All changes of level, newest first; `newest`: ISO time at which the newest run started."""
    found = []
    for each in series:
        started = {point.run: point.started for point in each.points}
        for change in each.changes:
            known = None
            if change.after < change.before:
                known = acknowledgements.of_change(each, change, acknowledged, newest)
            found.append(Change(each, change, started[change.first_bad], known))
    return tuple(sorted(found, key=lambda change: (change.point.first_bad, -change.size), reverse=True))


def page_of(series: HistorySeries) -> str:
    return history_page(series.runner, series.workload, series.dataset)


def anchor_of(series: HistorySeries) -> str:
    return f"t{series.threads}"


@dataclass(frozen=True)
class Table:
    """The series of a workload at one number of threads: a chart, and a row per run."""

    threads: int
    series: tuple[HistorySeries, ...]
    styles: tuple[Series, ...]  # one per series
    changes: tuple[Change, ...]

    @property
    def id(self) -> str:
        return anchor_of(self.series[0])

    @property
    def columns(self) -> tuple[str, ...]:
        """The servers, with their anchors if these differ."""
        several = len({each.anchor for each in self.series}) > 1
        return tuple(f"{each.server} / {each.anchor}" if several else each.server for each in self.series)

    @cached_property
    def rows(self) -> tuple[tuple[HistoryPoint, tuple[HistoryPoint | None, ...]], ...]:
        """Runs, newest first: one point that identifies the run, then each series' own point."""
        by_run = [{point.run: point for point in each.points} for each in self.series]
        runs = {point.run: point for each in self.series for point in each.points}
        return tuple(
            (runs[run], tuple(points.get(run) for points in by_run)) for run in sorted(runs, reverse=True)
        )

    @property
    def chart(self) -> Chart:
        return chart(self.series, self.styles, self.changes)


@dataclass(frozen=True)
class SeriesPage(Page):
    runner: str
    workload: str
    dataset: str
    series: tuple[HistorySeries, ...]
    changes: tuple[Change, ...]
    template = "series"
    columns = HISTORY_COLUMNS

    @property
    def path(self) -> str:
        return page_of(self.series[0])

    def files(self, render: Render) -> Iterator[File]:
        """The page, its JSON and CSV; fields shared by a series' lines are formatted once."""
        yield next(super().files(render))
        text = lines([HISTORY_COLUMNS])
        for each in self.series:
            key = (each.runner, each.workload, each.dataset, each.threads, each.server, each.anchor)
            (start,) = lines([key])
            points = lines([(point.run, point.started, point.ratio, point.tps) for point in each.points])
            text += [f"{start.removesuffix(LINE_END)},{line}" for line in points]
        stem = self.path.removesuffix(".html")
        yield f"{stem}.json", msgspec.json.encode(self.series)
        yield f"{stem}.csv", "".join(text)

    @cached_property
    def styles(self) -> dict[str, Series]:
        """Each server's series in all charts of the page; number 0 is reserved for the anchor."""
        servers = dict.fromkeys(each.server for each in self.series)
        return {server: Series(server, number) for number, server in enumerate(servers, 1)}

    @property
    def runs(self) -> int:
        return len({point.run for each in self.series for point in each.points})

    @property
    def most_threads(self) -> dict[str, HistorySeries]:
        return {each.server: each for each in sorted(self.series, key=lambda each: each.threads)}

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        tables = []
        for threads in sorted({each.threads for each in self.series}):
            series = tuple(each for each in self.series if each.threads == threads)
            changes = tuple(change for change in self.changes if change.series.threads == threads)
            styles = tuple(self.styles[each.server] for each in series)
            tables.append(Table(threads, series, styles, changes))
        return tuple(tables)


def pages(series: Sequence[HistorySeries], found: Sequence[Change]) -> tuple[SeriesPage, ...]:
    """One page per runner, workload and dataset."""
    grouped: dict[tuple[str, str, str], tuple[list[HistorySeries], list[Change]]] = {}
    for each in series:
        grouped.setdefault((each.runner, each.workload, each.dataset), ([], []))[0].append(each)
    for change in found:
        grouped[change.series.runner, change.series.workload, change.series.dataset][1].append(change)
    return tuple(SeriesPage(*key, tuple(group), tuple(of)) for key, (group, of) in grouped.items())


@dataclass(frozen=True)
class HistoryPage(Page):
    pages: tuple[SeriesPage, ...]
    changes: tuple[Change, ...]  # newest first
    runs: int
    template = "history"
    path = "history.html"
    columns = CHANGE_COLUMNS

    @property
    def listed(self) -> tuple[Change, ...]:
        return self.changes[:CHANGES_MAX]

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.server for page in self.pages for each in page.series))

    @property
    def value(self) -> object:
        return {"changes": super().value, "pages": [page.path for page in self.pages]}

    @property
    def rows(self) -> list[tuple[object, ...]]:
        return [change.row for change in self.changes]


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


def chart(series: Sequence[HistorySeries], styles: Sequence[Series], found: Sequence[Change]) -> Chart:
    """Series of one number of threads over time, as percentage changes against the anchor."""
    runs = sorted({(point.run, point.started) for each in series for point in each.points})
    place = {run: number for number, (run, _) in enumerate(runs)}
    days = [wording.day(started) for _, started in runs]
    lines = tuple(
        Line(
            style,
            tuple((place[point.run], round((point.ratio - 1) * 100, 3)) for point in each.points),
            marked=len(runs) <= MARKED_MAX,
            width=1.75,
        )
        for each, style in zip(series, styles, strict=True)
    )
    marks = {(place[each.point.first_bad], each.acknowledged is not None): each.kind for each in found}
    return Chart(
        Axis(
            ticks=tuple((at, days[at]) for at in range(0, len(runs), max(1, len(runs) // 6))),
            ends=(-0.5, max(len(runs) - 0.5, 0.5)),
        ),
        Axis(title="change against the anchor, %"),
        lines,
        rules=tuple(
            Rule(at - 0.5, f"--{kind}", width=1.5, dotted=known)
            for (at, known), kind in sorted(marks.items())
        ),
        readouts=readouts(lines, lambda at: days[int(at)], lambda change: wording.percent(1 + change / 100)),
    )
